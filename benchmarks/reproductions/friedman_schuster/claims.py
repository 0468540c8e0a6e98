"""The orderings that Friedman and Schuster (KDD 2010) report."""

from __future__ import annotations

from benchmarks.reproductions.measure import Claim

#: Ending of the methods that have the constants of the paper; DiffPC4.5 has n + 1 draws besides.
PAPER = ", paper's constants"
PRUNED = f"{PAPER}, pruned"

# Held-out rows over training rows of ten folds.
_NINTH = 1 / 9


def claims() -> list[Claim]:
    """Return what the paper reports."""
    found = []
    for suffix in (PAPER, ""):
        terms = "with the paper's constants" if suffix else "with ours"
        for figure in ("figure 3", "figure 4"):
            found += [
                Claim(
                    figure=figure,
                    text=f"Max above Gini, {terms}",
                    above="Max" + suffix,
                    below="Gini" + suffix,
                ),
                Claim(
                    figure=figure,
                    text=f"Gini above information gain, {terms}",
                    above="Gini" + suffix,
                    below="InfoGain" + suffix,
                ),
            ]
        for figure in ("figure 6", "figure 7"):
            found += [
                Claim(
                    figure=figure,
                    text=f"few rows: Max above information gain, {terms}",
                    above="Max" + suffix,
                    below="InfoGain" + suffix,
                    where=lambda data, x: x <= 5000,
                ),
                Claim(
                    figure=figure,
                    text=f"50,000 rows at limited depth: information gain above Max, {terms}",
                    above="InfoGain" + suffix,
                    below="Max" + suffix,
                    where=lambda data, x: x == 50_000,
                ),
            ]
        found += [
            Claim(
                figure="figure 8",
                text=f"Max above Gini, {terms}",
                above="Max" + suffix,
                below="Gini" + suffix,
                where=lambda data, x: x <= 4,
                overlap=_NINTH,
            ),
            Claim(
                figure="figure 8",
                text=f"Gini above information gain, {terms}",
                above="Gini" + suffix,
                below="InfoGain" + suffix,
                where=lambda data, x: x <= 4,
                overlap=_NINTH,
            ),
        ]
    found += [
        Claim(
            figure="figure 8",
            text="Max above Gini, with n + 1 draws",
            above="Max, n + 1 draws",
            below="Gini, n + 1 draws",
            where=lambda data, x: x <= 4,
            overlap=_NINTH,
        ),
        Claim(
            figure="figure 8",
            text="Gini above information gain, with n + 1 draws",
            above="Gini, n + 1 draws",
            below="InfoGain, n + 1 draws",
            where=lambda data, x: x <= 4,
            overlap=_NINTH,
        ),
        Claim(
            figure="figure 8",
            text="one draw above n + 1 draws (ours)",
            above="Max",
            below="Max, n + 1 draws",
            overlap=_NINTH,
        ),
        Claim(
            figure="figure 8",
            text="SuLQ far below",
            above=f"InfoGain{PAPER}",
            below="SuLQ",
            overlap=_NINTH,
        ),
        Claim(
            figure="figure 3",
            text="SuLQ far below",
            above=f"Max{PAPER}",
            below="SuLQ",
            where=lambda data, x: x >= 1500,
        ),
        Claim(
            figure="figure 6",
            text="SuLQ far below",
            above=f"InfoGain{PAPER}",
            below="SuLQ",
        ),
        *(
            claim
            for suffix, terms in ((PAPER, "with the paper's constants"), ("", "with ours"))
            for claim in (
                Claim(
                    figure="figure 5",
                    text=f"few rows: 10 bins above numeric splits, {terms}",
                    above=f"Max, 10 bins{suffix}",
                    below=f"Max, numeric{suffix}",
                    where=lambda data, x: x <= 1000,
                ),
                Claim(
                    figure="figure 5",
                    text=f"5,000 rows: numeric splits above 10 bins, {terms}",
                    above=f"Max, numeric{suffix}",
                    below=f"Max, 10 bins{suffix}",
                    where=lambda data, x: x == 5000,
                ),
            )
        ),
    ]
    return found
