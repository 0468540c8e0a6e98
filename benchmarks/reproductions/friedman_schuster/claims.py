"""The orderings that Friedman and Schuster (KDD 2010) report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.harness.claims import Claim
from benchmarks.harness.derived import SPREAD, deviations
from benchmarks.harness.results import Result, pick

#: Ending of the methods that have the constants of the paper; DiffPC4.5 has n + 1 draws besides.
PAPER = ", paper's constants"
#: DiffPC4.5 prunes its trees; these are the same trees before.
UNPRUNED = f"{PAPER}, not pruned"
DRAWS = ", n + 1 draws"
SCORES = ("Max", "Gini", "InfoGain")

#: The trees that figures 6 and 7 show; the text tells of other shapes.
TREES = "random trees"

#: Smallest difference of accuracies that counts.
MARGIN = 0.005

_SOURCES = {
    "figure 3": "5.1: the Max scorer, which is least sensitive to noise, provides excellent "
    "accuracy",
    "figure 4": "5.1: the relation between the scores is similar for the numeric case",
    "figure 5": "5.1: discretizing is better for smaller training sets, numeric splits for larger",
    "figure 6": "5.1: few samples favor thrifty scores, many a limited depth's other scores",
    "figure 7": "5.1: few samples favor thrifty scores, many a limited depth's other scores",
    "figure 8": "5.2: Max significantly better than Gini, and both than InfoGain",
}
_GAIN = "information gain"
_ADULT: dict[str, Any] = {"part": "figure 8"}


def _few(data: str, n_rows: float) -> bool:
    return data == TREES and n_rows <= 5000


def _many(data: str, n_rows: float) -> bool:
    return data == TREES and n_rows == 50_000


def _up_to(most: float, data: str, position: float) -> bool:
    return position <= most


def _from(least: float, data: str, position: float) -> bool:
    return position >= least


def _of(suffix: str, terms: str) -> list[Claim]:
    """Return the claims on the three scores with the noise of a suffix."""
    gain, gini, most = f"InfoGain{suffix}", f"Gini{suffix}", f"Max{suffix}"
    splits = [
        Claim(part=figure, text=text, above=above, below=below)
        for figure in ("figure 3", "figure 4")
        for text, above, below in (
            ("Max above Gini", most, gini),
            (f"Gini above {_GAIN}", gini, gain),
        )
    ]
    trees = [
        Claim(part=figure, text=text, above=above, below=below, where=where)
        for figure in ("figure 6", "figure 7")
        for text, above, below, where in (
            (f"few rows: Max above {_GAIN}", most, gain, _few),
            (f"50,000 rows at limited depth: {_GAIN} above Max", gain, most, _many),
        )
    ]
    binned, numeric = f"Max, 10 bins{suffix}", f"Max, numeric{suffix}"
    bins = [
        Claim(
            part="figure 5",
            text="few rows: 10 bins above numeric splits",
            above=binned,
            below=numeric,
            where=partial(_up_to, 1000),
        ),
        Claim(
            part="figure 5",
            text="5,000 rows: numeric splits above 10 bins",
            above=numeric,
            below=binned,
            where=partial(_from, 5000),
        ),
    ]
    found = [*splits, *trees, *bins, *_on_adult(suffix)]
    return [
        replace(
            claim,
            text=f"{claim.text}, {terms}",
            margin=MARGIN,
            source=claim.source or _SOURCES[claim.part],
        )
        for claim in [*found, *_growing(suffix)]
    ]


def _growing(suffix: str) -> list[Claim]:
    """Return what more rows and a larger budget do."""
    found = []
    for score in SCORES:
        found.append(
            Claim(
                text=f"{score} at epsilon 4 above itself at 1 and below",
                above=f"{score}{suffix}",
                below=f"{score}{suffix}",
                where=partial(_from, 4.0),
                below_where=partial(_up_to, 1.0),
                source="5.2: all scorers improve significantly as the budget is increased",
                **_ADULT,
            )
        )
        found.append(
            Claim(
                part="figure 3",
                text=f"{score} with 5,000 rows above itself with 500 and fewer",
                above=f"{score}{suffix}",
                below=f"{score}{suffix}",
                where=partial(_from, 5000),
                below_where=partial(_up_to, 500),
                source="5.1: accuracy is higher as more training samples are available",
            )
        )
        if score != "InfoGain":
            found.append(
                Claim(
                    part=f"figure 3{SPREAD}",
                    text=f"{score} varies less with 5,000 rows than with 1,000 and fewer",
                    above=f"{score}{suffix}",
                    below=f"{score}{suffix}",
                    where=partial(_from, 5000),
                    below_where=partial(_up_to, 1000),
                    lower_is_better=True,
                    source="5.1: the variance of Max and Gini decreases as samples grow",
                )
            )
    return found


def derived(rows: Sequence[Result]) -> list[Result]:
    """Return how far the runs of figure 3 are apart."""
    return deviations(pick(rows, part="figure 3"), by_repeat=False)


def _on_adult(suffix: str) -> list[Claim]:
    return [
        Claim(text=text, above=above, below=below, where=partial(_up_to, 4.0), **_ADULT)
        for text, above, below in (
            ("Max above Gini", f"Max{suffix}", f"Gini{suffix}"),
            (f"Gini above {_GAIN}", f"Gini{suffix}", f"InfoGain{suffix}"),
        )
    ]


def claims() -> list[Claim]:
    """Return what the paper reports, with its constants, and the same with ours."""
    sulq = [
        Claim(text="SuLQ far below", above=f"InfoGain{PAPER}", below="SuLQ", **_ADULT),
        Claim(
            part="figure 3",
            text="SuLQ far below",
            above=f"Max{PAPER}",
            below="SuLQ",
            where=partial(_from, 1500),
        ),
        Claim(part="figure 6", text="SuLQ far below", above=f"InfoGain{PAPER}", below="SuLQ"),
    ]
    ours = [
        *_of("", "with our constants"),
        *(replace(claim, text=f"{claim.text}{DRAWS}", margin=MARGIN) for claim in _on_adult(DRAWS)),
        Claim(text="one draw above n + 1 draws", above="Max", below=f"Max{DRAWS}", **_ADULT),
        *(
            Claim(
                part=figure,
                text=f"{score}: pruned above not pruned",
                above=f"{score}{PAPER}",
                below=f"{score}{UNPRUNED}",
            )
            for figure in ("figure 7", "figure 8")
            for score in SCORES
        ),
    ]
    return [
        *_of(PAPER, "with the paper's constants"),
        # No sentence of the paper says by how much.
        *(replace(claim, ours=True, margin=MARGIN) for claim in (*sulq, *ours)),
        Claim(
            part="figure 3",
            text="ID3 without noise with 5,000 rows above itself with 500 and fewer",
            above="ID3",
            below="ID3",
            where=partial(_from, 5000),
            below_where=partial(_up_to, 500),
            source="5.1: ID3 does not get perfect accuracy for small samples, it overfits them",
        ),
    ]
