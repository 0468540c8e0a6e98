"""Undeclared metadata: assumed public, or estimated with a fraction of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, worded
from dpboost._utils.warnings import PrivacyWarning, warn_user
from dpboost.data.feature_bins import EdgeBins
from dpboost.data.table import ColumnFacts
from dpboost.privacy.exact_arithmetic import (
    NO_COST,
    Epsilon,
    FitBudget,
    PrivacyCost,
    cost_of,
    split_fit,
)
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.rows.raw_rows import CategoryTally, ClassTally
from dpboost.schema import ResolvedSchema
from dpboost.training.label_range import learn_label_range, release_label_range, release_row_count
from dpboost.training.private_bounds import magnitudes, release_bounds, release_magnitude
from dpboost.training.private_categories import release_categories

ASSUMPTIONS = ("column_types", "classes", "categories", "init_model")
# Lists of categories are not among them: df.name.astype("category") lists persons.
ASSUMED_BY_DEFAULT = ("column_types", "classes")
# A warning names so many labels or columns.
MOST_NAMED = 20
# Smallest budget that is worth spending on the bounds of one column, by privacy measure: with this
# noise some four thousand rows of like magnitude show.
LEAST_PER_COLUMN = {
    "epsilon": Fraction(1, 250),
    "rho": Fraction(1, 1_000_000),
    "mu squared": Fraction(1, 500_000),
}
# Parts of the labels' budget: for their magnitudes, and, where these say little, for the number of
# rows and the first two of seven histograms at most that say where they are.
MAGNITUDES_SHARE = Fraction(1, 2)
LOOK_SHARE = Fraction(3, 32)
# Bounds of one sign of which one is at most so many times the other hold labels far from zero:
# magnitudes alone say little of where these are.
FAR_FROM_ZERO = 4.0
# How far labels are looked for, in units of the largest magnitude that has passed.
BEYOND_MAGNITUDES = 4.0
# How much further than the 1 and 99 % points bounds are then, in the distance of these.
MARGIN = 1.0
# Where nothing is known of the labels, not even after asking.
FALLBACK_LABEL_BOUNDS = (-1.0, 1.0)
# The grid of arcsinh(x / scale) is linear up to its scale and logarithmic beyond; under a common
# bound the scale is this part of the bound.
COMMON_BOUND_SCALE = 1e-3


class UndeclaredWarning(UserWarning):
    """Part of the budget is used to estimate metadata that a ``Schema`` could declare."""


class AssumedPublicWarning(PrivacyWarning):
    """Metadata of the rows is published because it is assumed to be public."""


@dataclass(frozen=True, kw_only=True)
class CompletedSchema:
    """A complete schema, and the origin of each part."""

    #: Bounds or edges of the numeric columns, categories of the nominal ones, and the labels'
    #: bounds or classes. All later steps read this and no row.
    schema: ResolvedSchema
    #: Parts taken as public by assumption.
    assumed: tuple[str, ...]
    #: Parts released by a charged mechanism.
    learned: tuple[str, ...]
    #: What is left for training.
    budget: PrivacyCost
    #: Released distance of the 1 and 99 % points of the labels, where a loss asks for it.
    label_spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class KnownSchema:
    """What is known of columns and labels before any release, and what is to be learned; public."""

    schema: ResolvedSchema
    columns: ColumnFacts
    #: Columns of numbers that hold categories, which are to be learned.
    nominal: frozenset[int]
    #: Parts taken as public by assumption.
    assumed: tuple[str, ...]
    #: What has to be learned, each with its words for the report.
    undeclared: Mapping[str, str]
    #: The loss wants to know where labels lie inside their bounds, and how far beyond the 1 and
    #: 99 % points it is to reach, in the distance of these.
    label_margin: float | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is to be learned."""
        return not self.undeclared and (
            self.label_margin is None or self.schema.label_bounds is None
        )

    def budget(self, ledger: Ledger) -> FitBudget:
        """Divide what the fit may use once stability histograms have taken their part of delta."""
        n_histograms = sum(name in self.undeclared for name in ("classes", "categories"))
        left = ledger.delta - n_histograms * ledger.histogram_delta
        capacity = ledger.accountant.capacity(ledger.epsilon, left)
        return split_fit(capacity, list(self.undeclared))

    def completed(self, ledger: Ledger) -> CompletedSchema:
        """Return what is whole as it is."""
        training = self.budget(ledger).training
        return CompletedSchema(
            schema=self.schema, assumed=self.assumed, learned=(), budget=training
        )


def known_schema(
    schema: ResolvedSchema,
    columns: ColumnFacts,
    *,
    task: str,
    assume_public: tuple[str, ...],
    ledger: Ledger,
    assumed_classes: tuple[Any, ...] = (),
    assumed_categories: Mapping[int, Sequence[Any]] | None = None,
    nominal: frozenset[int] = frozenset(),
    label_margin: float | None = None,
) -> KnownSchema:
    """Fill in what is public by assumption, and name what is left to be learned.

    Parameters
    ----------
    schema : ResolvedSchema
        What the user declares, by position.
    columns : ColumnFacts
        Names and kinds of the columns.
    task : {"regression", "classification"}
        Whether label bounds or classes are needed.
    assume_public : tuple of str
        Which of ``ASSUMPTIONS`` hold.
    ledger : Ledger
        With the budget of the whole fit; nothing is charged.
    assumed_classes : tuple
        The set of labels, where it is public by assumption.
    assumed_categories : dict of int to sequence, optional
        Lists of categories that column types bring along, where these are public by assumption.
    nominal, label_margin
        As in `KnownSchema`.

    Raises
    ------
    InvalidParameterError
        When classes or categories must be learned but delta is 0.

    Warns
    -----
    AssumedPublicWarning
        Once, when the set of labels is taken as public: lists it. Once, when lists of categories
        are: names their columns.
    """
    check_learnable(
        schema,
        columns,
        task=task,
        assume_public=assume_public,
        nominal=nominal,
        epsilon=ledger.epsilon,
        delta=ledger.delta,
    )
    assumed = ["column types"] if "column_types" in assume_public else []
    schema = with_types(schema, columns, assume_public, nominal)
    lists = {
        position: tuple(values)
        for position, values in (assumed_categories or {}).items()
        if position not in {*schema.categories, *schema.learned}
    }
    if lists:
        assumed.append("category lists")
        _warn_of_lists([schema.feature_names[position] for position in sorted(lists)])
        schema = replace(schema, categories={**lists, **schema.categories})
    if task != "regression" and schema.classes is None and "classes" in assume_public:
        assumed.append("set of class labels")
        _warn_of_classes(assumed_classes)
        schema = replace(schema, classes=assumed_classes)
    return KnownSchema(
        schema=schema,
        columns=columns,
        nominal=nominal,
        assumed=tuple(assumed),
        undeclared=_undeclared(schema, columns, task, ledger, nominal),
        label_margin=label_margin,
    )


def complete_schema(
    known: KnownSchema, source: RowHandle, *, n_bins: int, ledger: Ledger, row_epsilon: float = 0.0
) -> CompletedSchema:
    """Learn what is not known.

    Parameters
    ----------
    source : RowHandle
        Of ``RawRows``.
    n_bins : int
        Bins of a numeric column, for grids without bounds of their own.
    ledger : Ledger
        The gate, with the budget of the whole fit.
    row_epsilon : float
        Of one row of the fit, for rules.

    Warns
    -----
    UndeclaredWarning
        Once, when anything was learned: names the columns, the first of them if there are many,
        and the arguments that would have saved its budget.

    Privacy
    -------
    What is learned costs one tenth of epsilon together at the most, in equal parts: label bounds,
    numeric bounds, categories, classes, as far as each is undeclared. Which parts are undeclared
    is a public fact of the schema and of the column types. What the labels' part has left goes
    back to training: how much that is follows from released numbers. Where labels lie inside their
    bounds costs a part of the rest that `learn_label_range` chooses by a released number of rows.
    """
    budget = known.budget(ledger)
    schema, left = _learn(known, source, budget, n_bins, ledger)
    _warn(known)
    training, learned, spread = budget.training + left, list(known.undeclared.values()), None
    if known.label_margin is not None and schema.label_bounds is not None:
        before = ledger.spent
        with ledger.sequential("preparation"):
            labels = learn_label_range(
                schema.label_bounds,
                source,
                margin=known.label_margin,
                budget=training,
                ledger=ledger,
                epsilon=row_epsilon,
                max_rows=schema.max_rows,
            )
        schema, spread = replace(schema, label_bounds=labels.bounds), labels.spread
        if training != np.inf:
            training -= ledger.spent - before
        if labels.looked:
            learned.append("range of labels inside their bounds")
    return CompletedSchema(
        schema=schema,
        assumed=known.assumed,
        learned=tuple(learned),
        budget=training,
        label_spread=spread,
    )


def with_types(
    schema: ResolvedSchema,
    columns: ColumnFacts,
    assume_public: Sequence[str],
    nominal: frozenset[int] = frozenset(),
) -> ResolvedSchema:
    """Add what column types say where these are public by assumption.

    Parameters
    ----------
    schema : ResolvedSchema
        What the user declares, by position.
    nominal : frozenset of int
        Columns of numbers that hold categories.

    Returns
    -------
    ResolvedSchema
        Columns of integer and boolean type are integer columns, and booleans lie in [0, 1].
    """
    if "column_types" not in assume_public:
        return schema
    known = {*schema.bounds, *schema.edges, *schema.categories, *nominal}
    flags = dict.fromkeys(sorted(columns.boolean - known), (0.0, 1.0))
    return replace(
        schema,
        integer=schema.integer | (columns.integer - columns.categorical - nominal),
        bounds={**schema.bounds, **flags},
    )


def _numeric_columns(
    schema: ResolvedSchema, columns: ColumnFacts, nominal: frozenset[int]
) -> list[int]:
    """Positions of numeric columns of which nothing is known."""
    known = {*schema.bounds, *schema.edges, *schema.categories, *columns.categorical, *nominal}
    return [position for position in range(columns.n_features) if position not in known]


def _category_tally(
    schema: ResolvedSchema, columns: ColumnFacts, nominal: frozenset[int]
) -> CategoryTally:
    """Return the query for the nominal columns whose categories are not known."""
    known = schema.categories
    return CategoryTally(
        listed=tuple(position for position in sorted(columns.categorical) if position not in known),
        nominal=tuple(position for position in sorted(nominal) if position not in known),
    )


def _undeclared(
    schema: ResolvedSchema,
    columns: ColumnFacts,
    task: str,
    ledger: Ledger,
    nominal: frozenset[int],
) -> dict[str, str]:
    """Name what has to be learned, each with its words for the report; public facts only."""
    steps = {}
    if task == "regression" and schema.label_bounds is None:
        steps["label_bounds"] = "label bounds"
    if task != "regression" and schema.classes is None:
        steps["classes"] = "class labels"
    if _category_tally(schema, columns, nominal).positions:
        steps["categories"] = "categories"
    n_columns = len(_numeric_columns(schema, columns, nominal))
    if n_columns:
        share = split_fit(ledger.capacity, [*steps, "bounds"]).preparation["bounds"]
        least = LEAST_PER_COLUMN[ledger.accountant.privacy_measure]
        if share >= cost_of(least * n_columns):
            steps["bounds"] = f"bounds of {n_columns} numeric columns"
        elif share >= cost_of(least):
            steps["common_bound"] = f"one common bound of {n_columns} numeric columns"
    return steps


def check_learnable(
    schema: ResolvedSchema,
    columns: ColumnFacts,
    *,
    task: str,
    assume_public: Sequence[str],
    nominal: frozenset[int],
    epsilon: Epsilon | Fraction | float,
    delta: Fraction | float,
    why: str = "delta=0",
) -> None:
    """Raise before anything is drawn when a stability histogram has no delta to spend.

    Parameters
    ----------
    schema, columns, task, assume_public, nominal
        As in `complete_schema`.
    epsilon, delta : Fraction or float
        Of the fit. Without noise no delta is needed.
    why : str
        What leaves no delta, for messages.

    Raises
    ------
    InvalidParameterError
        When classes or categories must be learned but delta is 0; names columns, no cell.
    """
    if delta > 0 or epsilon == np.inf:
        return
    allow = ", allow delta > 0" if why == "delta=0" else ""
    if task != "regression" and schema.classes is None and "classes" not in assume_public:
        raise InvalidParameterError(
            f"With {why} the class labels cannot be learned privately: declare them with "
            f"{worded('Schema(classes=...)', 'values of the target in the schema')}{allow}"
            + worded(", or let assume_public name 'classes'.", ".")
        )
    listed = schema.learned if "categories" in assume_public else columns.categorical
    positions = sorted({*listed, *nominal} - set(schema.categories))
    if not positions:
        return
    cure = ""
    if listed >= set(positions):
        cure = (
            ", or let assume_public name 'categories', where the lists of the column types are "
            "public knowledge"
        )
    cure = worded(cure, "")
    raise InvalidParameterError(
        f"A list of categories is made of rows, and with {why} it cannot be learned privately. "
        f"Undeclared: {_some([schema.feature_names[position] for position in positions])}. "
        f"Declare them {worded('with Schema(categories=...) or ', '')}as values in the data "
        f"dictionary{allow}{cure}."
    )


def _some(values: Sequence[Any]) -> str:
    """List public values, only the first ones if there are many."""
    more = len(values) - MOST_NAMED
    shown = ", ".join(map(repr, values[:MOST_NAMED]))
    return f"{shown} and {more} more" if more > 0 else shown


def _warn_of_classes(classes: Sequence[Any]) -> None:
    """Warn that the labels are published."""
    warn_user(
        f"The set of class labels is taken as public and is part of the model: {_some(classes)}. "
        + worded(
            "Declare it, schema=Schema(classes=...), or estimate it with part of the budget: "
            "leave 'classes' out of assume_public.",
            "Declare it as values of the target in the schema.",
        ),
        AssumedPublicWarning,
    )


def _warn_of_lists(names: Sequence[str]) -> None:
    """Warn that lists of categories are published."""
    warn_user(
        f"The categories that the column types of {_some(names)} list are taken as public and are "
        "part of the model, because assume_public names 'categories'. Declare them, "
        "schema=Schema(categories=...), or estimate them with part of the budget: leave "
        "'categories' out of assume_public.",
        AssumedPublicWarning,
    )


def _warn(known: KnownSchema) -> None:
    """Warn once about estimated metadata, and which declarations would save the budget."""
    if not known.undeclared:
        return
    numeric = _numeric_columns(known.schema, known.columns, known.nominal)
    nominal = _category_tally(known.schema, known.columns, known.nominal).positions
    asked = {"bounds": numeric, "common_bound": numeric, "categories": nominal}
    learned = []
    for name, words in known.undeclared.items():
        names = [known.columns.feature_names[position] for position in asked.get(name, ())]
        learned.append(f"{words} ({_some(names)})" if name in asked else words)
    arguments = {"common_bound": "bounds"}
    names = sorted({arguments.get(name, name) for name in known.undeclared})
    warn_user(
        f"One tenth of the privacy budget was used to estimate {', '.join(learned)}. "
        f"Declare public metadata in the schema to save it: {', '.join(names)}.",
        UndeclaredWarning,
    )


def _learn(
    known: KnownSchema, source: RowHandle, budget: FitBudget, n_bins: int, ledger: Ledger
) -> tuple[ResolvedSchema, PrivacyCost]:
    """Run the charged releases that fill the schema; return what they have left as well."""
    schema, columns, nominal = known.schema, known.columns, known.nominal
    left = NO_COST
    with ledger.sequential("preparation"):
        for name in known.undeclared:
            share = budget.preparation[name]
            if name == "label_bounds":
                before = ledger.spent
                bounds = _learn_label_bounds(source, share, ledger)
                schema = replace(schema, label_bounds=bounds)
                if share != np.inf:
                    left = share - (ledger.spent - before)
            elif name == "classes":
                classes = release_categories(
                    ledger,
                    source,
                    ClassTally(),
                    budget=share,
                    delta=ledger.histogram_delta,
                    label="class labels",
                )
                schema = replace(schema, classes=tuple(map(_whole, classes["label"])))
            elif name == "categories":
                tally = _category_tally(schema, columns, nominal)
                learned = _learn_categories(tally, source, share, ledger)
                schema = replace(schema, categories={**schema.categories, **learned})
            elif name == "bounds":
                positions = _numeric_columns(schema, columns, nominal)
                learned_bounds = _learn_bounds(positions, source, share, ledger)
                schema = replace(schema, bounds={**schema.bounds, **learned_bounds})
            else:
                positions = _numeric_columns(schema, columns, nominal)
                edges = _learn_common_grid(positions, source, share, n_bins, ledger)
                schema = replace(schema, edges={**schema.edges, **edges})
    return schema, left


def _learn_label_bounds(
    source: RowHandle, budget: PrivacyCost, ledger: Ledger
) -> tuple[float, float]:
    """Release where labels lie by their magnitudes.

    Where these put them far from zero, equal cells say more. Where no magnitude passes, or they
    are all zero, public bounds take the place of all that.
    """
    bounds = release_bounds(
        ledger, source, None, budget=budget * MAGNITUDES_SHARE, label="label bounds"
    )
    if bounds is None or bounds[0] == bounds[1]:
        return FALLBACK_LABEL_BOUNDS
    nearest, largest = sorted(map(abs, bounds))
    if bounds[0] < 0 < bounds[1] or largest > FAR_FROM_ZERO * nearest:
        return bounds
    # Cells that did not pass may hold many rows together.
    wide = BEYOND_MAGNITUDES * largest
    ends = (-wide, wide)
    count = release_row_count(
        ledger, source, *ends, budget=budget * LOOK_SHARE, label="label bounds"
    )
    found = release_label_range(
        ledger, source, *ends, count=count, budget=budget * LOOK_SHARE, label="label bounds"
    )
    if found is None:
        return bounds
    margin = MARGIN * (found.high - found.low)
    return found.low - margin, found.high + margin


def _learn_categories(
    tally: CategoryTally, source: RowHandle, budget: PrivacyCost, ledger: Ledger
) -> dict[int, tuple[Any, ...]]:
    """Release the categories of all nominal columns together."""
    positions = dict(zip(tally.columns, tally.positions, strict=True))
    released = release_categories(
        ledger, source, tally, budget=budget, delta=ledger.histogram_delta, label="categories"
    )
    # Equal values of two types, from two positions, are one category.
    return {
        positions[name]: tuple(dict.fromkeys(map(_whole, values)))
        for name, values in released.items()
    }


def _whole(value: Any) -> Any:
    """Return a released whole number as an integer again."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _learn_bounds(
    positions: list[int], source: RowHandle, budget: PrivacyCost, ledger: Ledger
) -> dict[int, tuple[float, float]]:
    """Release the bounds of every numeric column; those that do not pass stay unknown."""
    learned = {}
    each = budget / len(positions)
    source.prefetch([magnitudes(ledger, position, each) for position in positions])
    for position in positions:
        bounds = release_bounds(ledger, source, position, budget=each, label="feature bounds")
        if bounds is not None:
            learned[position] = bounds
    return learned


def _learn_common_grid(
    positions: list[int],
    source: RowHandle,
    budget: PrivacyCost,
    n_bins: int,
    ledger: Ledger,
) -> dict[int, tuple[float, ...]]:
    """Release one bound for all numeric columns and lay an arcsinh grid under it."""
    bound = release_magnitude(
        ledger, source, positions, budget=budget, label="common feature bound"
    )
    if bound is None or bound == 0:
        return {}
    grid = EdgeBins.arcsinh(n_bins, scale=bound * COMMON_BOUND_SCALE)
    edges = tuple(edge for edge in grid.edges if abs(edge) < bound)
    return dict.fromkeys(positions, edges)
