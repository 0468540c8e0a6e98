"""What to expect of a table of few rows, or of few rows of a class, by released counts alone.

``python -m benchmarks run few-rows`` measures what both cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.interface import worded
from dpboost.training.start_value import SURE, SeenRows

#: Below so many rows, and so many of a class, noise takes more than a little of the accuracy.
ENOUGH_ROWS, ENOUGH_OF_CLASS = 1000, 100

_ROWS = "docs/howto/few-rows.md"
_CLASSES = "docs/howto/imbalanced-classes.md"
# Classes that a message lists.
_MOST_LISTED = 10


def listed(classes: Sequence[Any]) -> str:
    """Return classes as messages show them, the first ones of many."""
    shown = ", ".join(map(repr, classes[:_MOST_LISTED]))
    return f"{shown}, ..." if len(classes) > _MOST_LISTED else shown


def expected_of(seen: SeenRows | None, classes: Sequence[Any], *, weighted: bool) -> list[str]:
    """Return what is to be expected, a line with its cure for each reason.

    Parameters
    ----------
    seen : SeenRows or None
        Released; None where nothing was released yet.
    classes : sequence
        Public, in the order of the released sizes; empty in a regression.
    weighted : bool
        Whether rows have weights: released sums of weights are no numbers of rows.

    Privacy
    -------
    Released numbers only.
    """
    if seen is None or weighted:
        return []
    lines = []
    # Where rows take no part, their labels are to be mended first.
    if seen.n_rows < ENOUGH_ROWS and not seen.some_take_no_part:
        lines.append(
            f"Few rows: about {_about(seen.n_rows)} by the released count, less than "
            f"{ENOUGH_ROWS:,}. Expect a less accurate model than without privacy, and wide "
            f"intervals of scores. Declare all bounds, categories and classes, use fewer columns, "
            f"raise epsilon, or collect more rows: {_ROWS} has measured figures."
        )
    few = [
        (classes[k], size)
        for k, (size, noise) in enumerate(zip(seen.sizes, seen.noise_stddevs, strict=True))
        if k < len(classes) and SURE * noise < size < ENOUGH_OF_CLASS
    ]
    if few:
        counts = ", ".join(_about(size) for _, size in few[:_MOST_LISTED])
        lines.append(
            f"Few rows of class {listed([name for name, _ in few])}: about {counts} by the "
            f"released count, less than {ENOUGH_OF_CLASS}. Expect probabilities that rank it less "
            "well than without privacy, and predictions to name it seldom or never. Rank by the "
            f"probabilities, raise epsilon, or join like classes: {_CLASSES} has measured figures."
        )
    return lines


def empty_classes(seen: SeenRows | None, declared: Sequence[Any]) -> list[str]:
    """Return a line on declared classes without a released size beyond noise, if any.

    Parameters
    ----------
    seen : SeenRows or None
        Released; None where nothing was released yet.
    declared : sequence
        Declared classes, in the order of the sizes; empty where none are.
    """
    positions = [] if seen is None else [k for k in seen.empty_classes if k < len(declared)]
    if seen is None or not positions:
        return []
    return within_noise(
        [declared[k] for k in positions], [seen.noise_stddevs[k] for k in positions]
    )


def within_noise(classes: Sequence[Any], noise_stddevs: Sequence[float]) -> list[str]:
    """Return a line on declared classes whose released size is no more than noise, if any.

    Parameters
    ----------
    classes : sequence
        Those of them.
    noise_stddevs : sequence of float
        Standard deviation of the noise of each size.
    """
    if not classes:
        return []
    rows = SURE * max(noise_stddevs)
    return [
        f"The released count of class {listed(classes)} is within {SURE:g} standard deviations of "
        f"its noise ({_about(rows)} rows): too few rows to be learned at this epsilon, or a label "
        "that is spelled or typed otherwise in "
        + worded(
            "y. Check Schema(classes=...), or that dpboost.train has labels 0 to num_class - 1; ",
            "the target. Check its values in the schema; ",
        )
        + f"if it is right, raise epsilon: {_CLASSES}."
    ]


def small_classes(sizes: NDArray[np.float64], noise_stddev: float) -> list[int]:
    """Return positions of classes that noise alone could have made as large as they are."""
    return [int(position) for position in np.flatnonzero(sizes <= SURE * noise_stddev)]


def _about(n_rows: float) -> str:
    """Write a released number of rows with two digits, as more of them are noise."""
    return f"{float(f'{n_rows:.2g}'):,.0f}"
