"""The page on public rows quotes what its run has measured."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pandas")

from benchmarks import public_start
from benchmarks.harness.results import read
from benchmarks.harness.run import RESULTS

PAGE = RESULTS.parents[1] / "docs" / "howto" / "public-rows.md"


def test_the_page_of_the_guide_quotes_what_was_measured():
    results = read(RESULTS / "public-start.csv")
    text = PAGE.read_text(encoding="utf-8")
    (quoted,) = re.findall(
        r"of (\d+) points, (\d+) are better by more than two standard errors, and (\d+) are worse, "
        r"by ([0-9.]+) and ([0-9.]+) AUC",
        text,
    )
    gains = [gain for *_, gain in public_start._gains(results)]
    worse = sorted(-gain.mean for gain in gains if gain.mean < -2 * gain.standard_error)
    better = sum(gain.mean > 2 * gain.standard_error for gain in gains)
    counts = [str(len(gains)), str(better), str(len(worse))]
    assert list(quoted) == [*counts, *(f"{each:.4f}" for each in worse)]
