"""The page of small models, from results that are made up."""

from __future__ import annotations

import pytest

from benchmarks.harness.results import Result, Results
from benchmarks.small_models import body


def results(compact_auc, compact_seconds):
    numbers = {
        "full": {"AUC": 0.9, "bytes": 4e6, "seconds": 2.0},
        "compact": {"AUC": compact_auc, "bytes": 8e5, "seconds": compact_seconds},
    }
    rows = [
        Result(
            part="accuracy",
            data="adult",
            method=method,
            epsilon=1.0,
            repeat=0,
            measure=measure,
            value=value,
        )
        for method, own in numbers.items()
        for measure, value in own.items()
    ]
    return Results(facts={"repeats": "1"}, rows=rows)


@pytest.mark.parametrize(
    ("auc", "seconds", "broken"), [(0.9, 1.0, 0), (0.899, 1.0, 1), (0.899, 3.0, 2)]
)
def test_the_page_says_which_bars_are_kept(auc, seconds, broken):
    page = "\n".join(body(results(auc, seconds)))
    assert page.count("**does not hold**") == broken
    assert page.count("| holds |") == 4 - broken
