"""A warning where released numbers show that the rows lie at the ends of what was declared.

Of a range that does not fit the rows everything is clipped to its ends, and the model learns
nothing. Whether that is so is private; what is told here rests on numbers that the fit has released
in any case: histograms of bins, names of categories, the mean of the labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpboost._utils.warnings import warn_user
from dpboost.data.feature_bins import AffineBins
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.losses import FractionalLabelLoss, LabelRangeLoss, LogLinkLoss, Loss
from dpboost.schema import ResolvedSchema
from dpboost.training.private_bins import ReleasedBins
from dpboost.training.public_schema import CompletedSchema
from dpboost.training.start_value import SURE, SeenRows

#: Part of the rows at an end from which a range is doubtful.
MOST = 0.5
#: The same where an end is a value that many rows may have: zero, or one of a few whole numbers.
NEARLY_ALL = 0.99
#: Part of the rows at each end that comes of clipping, not of the values of a column.
AT_BOTH = 0.1
#: So many whole numbers, or fewer, are a few.
FEW_VALUES = 20
#: A mean of labels that is nearer to a bound than this part of the range is at the bound; the
#: second one where the bound is zero, as that of amounts which most rows do not have.
AT_A_BOUND, AT_ZERO = 0.01, 0.001
#: As near as this it must be for sure.
NEAR = 0.1
# Columns that a message lists.
_MOST_LISTED = 10


def warn_of_declared(
    declared: ResolvedSchema,
    completed: CompletedSchema,
    seen: SeenRows | None,
    bins: ReleasedBins,
    loss: Loss,
    *,
    weighted: bool,
) -> None:
    """Warn once of ranges and lists at whose ends released numbers show most rows.

    Parameters
    ----------
    declared : ResolvedSchema
        By the user.
    completed : CompletedSchema
    seen : SeenRows or None
        None where nothing was released of the rows.
    weighted : bool
        Whether the released number of rows counts weights of theirs.

    Warns
    -----
    ParameterWarning
        With a line for each kind of declaration.

    Privacy
    -------
    A function of what was declared and released.
    """
    lines = list(_lines(declared, completed, seen, bins, loss, weighted))
    if lines:
        told = "".join(f"\n* {line}" for line in lines)
        warn_user(
            f"Released numbers show that what was declared may not fit the rows:{told}",
            ParameterWarning,
        )


def _lines(
    declared: ResolvedSchema,
    completed: CompletedSchema,
    seen: SeenRows | None,
    bins: ReleasedBins,
    loss: Loss,
    weighted: bool,
) -> Iterator[str]:
    names = declared.feature_names
    if seen is not None:
        at = [
            f"{names[position]!r} ({declared.bounds[position][0]:g} to "
            f"{declared.bounds[position][1]:g})"
            for position in sorted(bins.ends)
            if position in declared.bounds and _at_an_end(declared, position, seen, bins, weighted)
        ]
        if at:
            yield (
                f"Most values of {_listed(at)} lie at an end of the declared range, or beyond it, "
                "where they are clipped. Correct the ranges by the codebook: "
                "schema=Schema(bounds=...), or lower and upper in the data dictionary; leave them "
                "as they are if the values really lie there."
            )
    empty = [
        repr(names[position])
        for position, values in sorted(completed.schema.categories.items())
        if not values and position not in declared.categories
    ]
    if empty:
        yield (
            f"No value of {_listed(empty)} has enough rows to be learned, so that all of them "
            'count as "other". Declare the values, schema=Schema(categories=...), or leave the '
            "columns out."
        )
    bounds = declared.label_bounds
    if bounds is not None and seen is not None and _start_at_an_end(bounds, completed, seen, loss):
        yield (
            f"The mean of the labels lies at an end of the label bounds {bounds[0]:g} to "
            f"{bounds[1]:g}; labels beyond them are clipped. Correct them by the codebook: "
            "schema=Schema(label_bounds=...), or lower and upper of the target in the data "
            "dictionary."
        )


def _at_an_end(
    declared: ResolvedSchema, position: int, seen: SeenRows, bins: ReleasedBins, weighted: bool
) -> bool:
    """Return whether most rows of a feature are at the ends of its range, beyond noise."""
    feature = bins.binner.features[position]
    few = (
        position in declared.integer
        and isinstance(feature, AffineBins)
        and feature.n_cells <= FEW_VALUES
    )
    # Histograms count rows, where the released number counts weights.
    n_rows = float(bins.masses[position].sum()) if weighted else seen.n_rows * seen.weight
    parts = np.maximum(bins.ends[position], 0.0) / n_rows
    deviation = math.sqrt(2) * bins.noise_stddev / n_rows
    noise = SURE * deviation
    # Of a few codes two may have all rows.
    whole = float(parts.max() if few else parts.sum())
    if whole - noise <= MOST:
        return False
    if whole + deviation > NEARLY_ALL:
        return True
    doubtful = [part for part, end in zip(parts, declared.bounds[position], strict=True) if end]
    return not few and (sum(doubtful) - noise > MOST or float(parts.min()) - noise > AT_BOTH)


def _start_at_an_end(
    bounds: tuple[float, float], completed: CompletedSchema, seen: SeenRows, loss: Loss
) -> bool:
    """Return whether the released mean of the labels is at a declared bound, beyond noise."""
    inside = completed.schema.label_bounds
    if seen.mean is None or inside is None:
        return False
    width = bounds[1] - bounds[0]
    if isinstance(loss, LabelRangeLoss):
        unit = (inside[1] - inside[0]) / 2
        start = inside[0] + unit * (1 + seen.mean)
    elif isinstance(loss, LogLinkLoss | FractionalLabelLoss):
        unit = inside[1] if isinstance(loss, LogLinkLoss) else 1.0
        start = unit * seen.mean
    else:
        return False
    deviation = unit * seen.noise_stddev / seen.n_rows / width
    distances = [(start - bounds[0]) / width, (bounds[1] - start) / width]
    return any(
        distance + SURE * deviation < NEAR
        and distance - deviation < (AT_A_BOUND if end else AT_ZERO)
        for distance, end in zip(distances, bounds, strict=True)
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    listed = ", ".join(names[:_MOST_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed
