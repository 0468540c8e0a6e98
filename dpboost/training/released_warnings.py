"""Warnings about released values, before and after training.

The labels are not compared with declared classes, because the set of occurring classes is private.
Values outside a declared range are clipped, and whether this happens is private as well. The
warnings depend only on numbers that the fit releases in any case: sizes of classes, histograms of
bins, names of categories, the mean of the labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import worded
from dpboost._utils.warnings import warn_user
from dpboost.data.feature_bins import AffineBins
from dpboost.growing.growth import Grown
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.losses import FractionalLabelLoss, LabelRangeLoss, LogLinkLoss, Loss
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import PublicFacts, Recipe, Setting
from dpboost.schema import ResolvedSchema
from dpboost.training.loss_choice import SURE, SeenRows
from dpboost.training.privacy_params import warn_of_budget, warn_of_delta
from dpboost.training.private_bins import ReleasedBins
from dpboost.training.public_schema import CompletedSchema
from dpboost.training.request import FitRequest

#: Rounds times learning rate, as a part of the rule's, below which accuracy is lost: on Adult at
#: epsilon 1 a quarter costs .004 of AUC, an eighth .007, a thirtieth .016.
LEAST_PART = 0.3
#: Rounds, as a multiple of the rule's, from which pure epsilon leaves too little for each.
MOST_ROUNDS = 4
#: Fewer rounds are a trial, and come from no model.
FEWEST_ROUNDS = 20
#: Levels beyond the rule's from which leaves hold too little: four cost .005 on Adult.
MORE_LEVELS = 3

_ROUNDS = ("n_estimators", "learning_rate")
# Columns that a message lists.
_MOST_LISTED = 10
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


def warn_of_labels(seen: SeenRows, classes: Sequence[Any], *, declared: bool) -> None:
    """Warn if rows take no part, and where a declared class seems to have no rows.

    Parameters
    ----------
    seen : SeenRows
        Released.
    classes : sequence
        Declared or learned, in the order of the sizes.
    declared : bool
        Whether the user has declared them.
    """
    if seen.some_take_no_part:
        cure = "declare all of them, spelled and typed as in " + worded("y", "the target")
        cure = cure if declared else "declare them"
        where = worded("schema=Schema(classes=...)", "the values of the target in the schema")
        warn_user(
            f"Rows with labels other than {listed(classes)} take no part. According to released "
            f"numbers there are such rows, by more than {SURE:g} standard deviations of the "
            f"noise. If these are not all classes, {cure}: {where}.",
            ParameterWarning,
        )
    if declared:
        _warn_of(empty_classes(seen, classes))


def _first(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_MOST_LISTED])
    return f"{listed}, ..." if len(names) > _MOST_LISTED else listed


def _warn_of(lines: Sequence[str]) -> None:
    for line in lines:
        warn_user(line, ParameterWarning)


def warn_of_settings(facts: PublicFacts, recipe: Recipe) -> None:
    """Warn of rounds, rates and depths that cost accuracy under privacy, with the rule's values.

    Parameters
    ----------
    facts : PublicFacts
        With what the user has set, and the released number of rows.
    recipe : Recipe
        Of boosting.

    Warns
    -----
    ParameterWarning
        Once, for all of them.
    """
    given, pure = facts.given, facts.delta == 0
    rule: Any = recipe.defaults(replace(facts, given={}))
    used: Any = replace(rule, **given)
    if used.n_estimators < FEWEST_ROUNDS:
        return
    reached = used.n_estimators * used.learning_rate
    reasons: dict[str, tuple[str, ...]] = {}
    if reached < LEAST_PART * (rule.n_estimators * rule.learning_rate):
        reasons["a low learning rate underfits under noise"] = _ROUNDS
    elif pure and used.n_estimators > MOST_ROUNDS * rule.n_estimators:
        reasons["each round gets a small fraction of the budget"] = _ROUNDS[:1]
    if used.max_depth > rule.max_depth + MORE_LEVELS:
        reasons["deep trees have leaves of few rows, whose noise is large"] = ("max_depth",)
    if not reasons:
        return
    names = [name for part in reasons.values() for name in part if name in given]
    settings = " and ".join(f"{name}={given[name]}" for name in names)
    rules = " and ".join(f"{name}={getattr(rule, name):g}" for name in names)
    warn_user(
        f"Settings that cost accuracy under privacy: {settings}, because "
        f"{' and '.join(reasons)}. For this budget and number of rows the recipe "
        f"{recipe.name!r} uses {rules}: omit settings from a model without noise.",
        ParameterWarning,
    )


def warn_before_trees(
    seen: SeenRows | None,
    classes: Sequence[Any],
    setting: Setting,
    request: FitRequest,
    ledger: Ledger,
) -> None:
    """Warn by what was released before the first tree, and by what was set and declared.

    Parameters
    ----------
    seen : SeenRows or None
        None if nothing was released yet.
    classes : sequence
        Public, in their order; empty in a regression.
    """
    recipe, privacy, facts = request.recipe, request.privacy, setting.facts
    if seen is not None:
        warn_of_delta(ledger, seen.n_rows)
        # Where the set of labels is assumed public, every label is a class of some row.
        declared = privacy.schema.classes is not None
        if classes and (declared or "classes" not in privacy.assume_public):
            warn_of_labels(seen, classes, declared=declared)
        _warn_of(expected_of(seen, classes, weighted=setting.weighted))
    if facts.n_rows is not None and not recipe.single:
        warn_of_settings(facts, recipe)
    if recipe.useful_budget is not None:
        needed = recipe.useful_budget(setting.hyper, setting.loss, privacy.neighbors)
        warn_of_budget(privacy, recipe.name, spent_on=facts.budget, needed=needed)


def warn_after_trees(
    grown: Grown,
    schema: ResolvedSchema,
    seen: SeenRows | None,
    classes: Sequence[Any],
    request: FitRequest,
    ledger: Ledger,
) -> None:
    """Warn by what leaves have released: of lists of categories, and of classes.

    Leaves of a single tree have counted all rows. Those of other labels are in no count of a tree:
    nothing reports them alone.

    Parameters
    ----------
    seen, classes, request, ledger
        As in `warn_before_trees`.
    """
    _warn_of(unlisted_values(grown, schema))
    sizes = grown.class_sizes
    if sizes is None:
        return
    if seen is None:
        warn_of_delta(ledger, max(float(sizes.sum()), 1.0))
    if request.privacy.schema.classes is not None:
        small = small_classes(sizes, grown.noise_stddev)
        noise = [grown.noise_stddev] * len(small)
        _warn_of(within_noise([classes[position] for position in small], noise))


def unlisted_values(grown: Grown, schema: ResolvedSchema) -> list[str]:
    """Return a line on declared lists that most rows have no value of, if any."""
    if grown.listed is None:
        return []
    found = {position: grown.listed.of(position) for position in sorted(schema.categories)}
    doubtful = [
        repr(schema.feature_names[position])
        for position, listed_part in found.items()
        if listed_part is not None and listed_part.part + SURE * listed_part.deviation < 1 - MOST
    ]
    if not doubtful:
        return []
    return [
        f"The released sums of the leaves show that most rows have no declared value of "
        f"{_first(doubtful)}: they count as missing. Compare the spelling and the type of the "
        "values with the codebook: "
        + worded("schema=Schema(categories=...), or ", "")
        + "values in the data dictionary; leave them as they are if most cells are empty."
    ]


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
    seen : SeenRows or None
        None if nothing was released of the rows.
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
                f"Most values of {_first(at)} are at an end of the declared range, or beyond it, "
                "where they are clipped. Correct the ranges by the codebook: "
                + worded("schema=Schema(bounds=...), or ", "")
                + "lower and upper in the data dictionary; keep them if these values are correct."
            )
    empty = [
        repr(names[position])
        for position, values in sorted(completed.schema.categories.items())
        if not values and position not in declared.categories
    ]
    if empty:
        yield (
            f"No value of {_first(empty)} has enough rows to be estimated, so all values "
            'count as "other". Declare the values'
            + worded(", schema=Schema(categories=...), or", " in the data dictionary, or")
            + " leave the columns out."
        )
    bounds = declared.label_bounds
    if bounds is not None and seen is not None and _start_at_an_end(bounds, completed, seen, loss):
        yield (
            f"The mean of the labels is at an end of the label bounds {bounds[0]:g} to "
            f"{bounds[1]:g}; labels beyond them are clipped. Correct them by the codebook: "
            + worded("schema=Schema(label_bounds=...), or ", "")
            + "lower and upper of the target in the data dictionary."
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


#: Below so many rows, and so many of a class, noise takes more than a little of the accuracy.
ENOUGH_ROWS, ENOUGH_OF_CLASS = 1000, 100

_ROWS = "docs/howto/few-rows.md"
_CLASSES = "docs/howto/imbalanced-classes.md"


def listed(classes: Sequence[Any]) -> str:
    """Return classes as messages show them, the first ones of many."""
    shown = ", ".join(map(repr, classes[:_MOST_LISTED]))
    return f"{shown}, ..." if len(classes) > _MOST_LISTED else shown


def expected_of(seen: SeenRows | None, classes: Sequence[Any], *, weighted: bool) -> list[str]:
    """Return what is to be expected, a line with its cure for each reason.

    Parameters
    ----------
    seen : SeenRows or None
        Released; None if nothing was released yet.
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
    # If rows take no part, their labels must be corrected first.
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
        Released; None if nothing was released yet.
    declared : sequence
        Declared classes, in the order of the sizes; empty if none are.
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
