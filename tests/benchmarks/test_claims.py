"""Orderings: intervals, words and counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.harness.claims import (
    AGREES,
    CONFIRMED,
    DISAGREES,
    NOT_MEASURED,
    REFUTED,
    UNDECIDED,
    Claim,
    counts,
    finding,
    judge,
    judged,
    sections,
)
from benchmarks.harness.results import Result


def rows_of(numbers, part="figure 1", data="d"):
    """Results by method, position and repeat."""
    return [
        Result(
            part=part, data=data, x=str(x), method=method, repeat=repeat, measure="m", value=value
        )
        for method, by_x in numbers.items()
        for x, repeats in by_x.items()
        for repeat, value in enumerate(repeats)
    ]


def claim(above="a", below="b", **more):
    return Claim(part="figure 1", text=f"{above} above {below}", above=above, below=below, **more)


FEW = rows_of(
    {
        "a": {1: [0.8, 0.6, 0.7], 2: [0.5, 0.5, 0.5]},
        "b": {1: [0.7, 0.5, 0.61], 2: [0.6, 0.61, 0.6]},
    }
)


def test_repeats_are_compared_pair_by_pair():
    verdict = judge(claim(where=lambda data, x: x == 1), FEW)
    differences = np.array([0.1, 0.1, 0.09])
    assert verdict.mean == pytest.approx(differences.mean())
    reach = 4.3027 * differences.std(ddof=1) / 3**0.5
    assert verdict.high - verdict.mean == pytest.approx(reach, rel=1e-3)
    assert verdict.word == AGREES
    assert judge(claim(where=lambda data, x: x == 2), FEW).word == DISAGREES
    assert judge(claim(), FEW).word == UNDECIDED
    assert judge(Claim(part="figure 2", text="", above="a", below="b"), FEW).word == NOT_MEASURED


def test_ten_repeats_confirm_and_refute():
    a = {1: [0.5 + repeat / 100 for repeat in range(10)]}
    b = {1: [0.4 + repeat / 100 + repeat % 2 / 1000 for repeat in range(10)]}
    assert judge(claim(), rows_of({"a": a, "b": b})).word == CONFIRMED
    assert judge(claim(), rows_of({"a": b, "b": a})).word == REFUTED
    nine = rows_of({"a": {1: a[1][:9]}, "b": {1: b[1][:9]}})
    assert judge(claim(), nine).word == AGREES


def test_an_interval_is_wide_enough_for_all_claims_of_its_kind():
    where = {"where": lambda data, x: x == 1}
    alone = judge(claim(**where), FEW)
    absent = claim(above="nobody")
    (first, *_) = judged([claim(**where)] * 5 + [absent, claim(ours=True, **where)], FEW)
    # Five at .05 in all: the .995 point of Student's t with two degrees of freedom.
    assert (first.high - first.mean) / (alone.high - alone.mean) == pytest.approx(
        9.9248 / 4.3027, rel=1e-3
    )
    assert judged([claim(ours=True, **where), claim(**where)], FEW)[0].high == alone.high


def test_rows_that_repeats_share_widen_an_interval():
    rows = rows_of({"a": {1: [0.8, 0.6, 0.7], 2: [0.5, 0.35, 0.41]}})
    where = {"where": lambda d, x: x == 1, "below_where": lambda d, x: x == 2}
    narrow, wide = (judge(claim(below="a", overlap=o, **where), rows) for o in (0.0, 1 / 9))
    assert narrow.mean == wide.mean == pytest.approx(0.28)
    ratio = (wide.high - wide.mean) / (narrow.high - narrow.mean)
    assert ratio == pytest.approx((1 + 3 / 9) ** 0.5)


def test_smaller_errors_are_better_and_draws_are_averaged():
    row = Result(part="figure 1", x="1", measure="m", value=0.0)
    rows = [
        replace(row, method=method, repeat=repeat, draw=draw, value=error)
        for method, repeats in {"a": [[0.1, 0.3], [0.2]], "b": [[0.5], [0.5]]}.items()
        for repeat, draws in enumerate(repeats)
        for draw, error in enumerate(draws)
    ]
    verdict = judge(claim(lower_is_better=True), rows)
    assert (verdict.n, verdict.mean) == (2, pytest.approx(0.3))


def test_a_number_without_a_position_counts_at_every_position():
    rows = rows_of({"a": {1: [0.3, 0.4], 2: [0.5, 0.6]}})
    rows += [
        Result(part="figure 1", data="d", method="b", repeat=repeat, measure="m", value=0.2)
        for repeat in range(2)
    ]
    assert judge(claim(where=lambda data, x: x == 2), rows).mean == pytest.approx(0.35)


def test_a_claim_on_one_set_looks_at_no_other():
    rows = rows_of({"a": {1: [1.0, 1.1]}, "b": {1: [0.5, 0.5]}}, data="other")
    assert judge(claim(data="d"), [*FEW, *rows]).n == 3


def test_the_sections_count_ours_apart():
    where = {"where": lambda data, x: x == 1}
    found = judged([claim(data="d", **where), claim("b", "a", ours=True, **where)], FEW)
    text = "\n".join(sections(found))
    assert counts(found) == "1 agrees, 1 disagrees"
    assert text.index("## What the paper reports") < text.index("## What we add")
    assert "Claims: 1 agrees." in text
    assert "Claims: 1 disagrees." in text
    assert "* a above b: 1 agrees, of 1 sets." in text
    assert "| b above a | figure 1 | 3 |" in text


def test_a_claim_may_be_about_one_of_several_measures():
    other = [replace(row, measure="nodes", value=-row.value) for row in FEW]
    where = {"where": lambda data, x: x == 1}
    alone = judge(claim(**where), FEW)
    assert judge(claim(measure="m", **where), [*FEW, *other]).mean == alone.mean
    assert judge(claim(measure="nodes", **where), [*FEW, *other]).mean == -alone.mean


def test_a_finding_counts_the_claims_of_the_paper_and_ours():
    rows = rows_of(
        {"a": {1: [5 + n / 10 for n in range(10)]}, "b": {1: [n / 9 for n in range(10)]}}
    )
    paper = [claim(), claim(above="b", below="a")]
    ours = [claim(ours=True)]
    assert finding(judged(paper, rows)) == (
        "Of 2 claims of the paper, 1 is confirmed and 1 refuted."
    )
    assert finding(judged(ours, rows)) == "The one claim of our own is confirmed."
    assert finding(judged([*ours, claim(), claim()], rows)) == (
        "All 2 claims of the paper are confirmed; the one claim of our own is confirmed."
    )
    assert finding([]) == ""
