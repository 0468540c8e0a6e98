"""From a raw table to a trained ensemble: the steps of a fit, in their order."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._threads import effective_n_threads
from dpboost._validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
)
from dpboost.algorithms import ALGORITHMS
from dpboost.boosting.ensemble import Ensemble
from dpboost.boosting.loop import Watch
from dpboost.boosting.rows import TrainingRows
from dpboost.data.binner import Binner
from dpboost.data.labels import (
    check_same_length,
    encode_classes,
    read_class_labels,
    read_regression_labels,
)
from dpboost.data.learning import ASSUMPTIONS, Knowledge, complete_schema
from dpboost.data.noisy_bins import release_bins
from dpboost.data.table import Table, read_table
from dpboost.lesson import Lesson
from dpboost.losses.softmax import MOST_CLASSES
from dpboost.objective import ObjectiveRequest, RowExtras
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.arithmetic import Budget, as_fraction
from dpboost.privacy.budget import divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.report import PrivacyReport
from dpboost.privacy.unit import for_group, for_part
from dpboost.progress import tree_progress
from dpboost.random import Entropy
from dpboost.recipe import Hyperparameters, PublicFacts, Recipe, Setting
from dpboost.schema import ResolvedSchema, Schema, lightgbm_name
from dpboost.tree.layout import Layout
from dpboost.users import first_rows, read_users, sample_rows, take_rows

# The budget of a row is at most a thousandth of that of its user.
MOST_ROWS_PER_USER = 1000


class NotPrivateWarning(UserWarning):
    """The model gives no guarantee, by the user's choice of parameters."""


@dataclass(frozen=True, kw_only=True)
class PrivacyRequest:
    """What the user asks of the guarantee, validated.

    Parameters
    ----------
    epsilon : float
        Budget of the fit; infinite for no privacy.
    delta : float
        Probability that the guarantee may fail, in [0, 1).
    neighbours : Neighbours
        What "one person more or less" means.
    schema : Schema
        What is declared public.
    assume_public : tuple of str
        What is taken as public by assumption.
    noise_seed : int or None
        Reproducible noise; the model is then not private.
    rows_per_user : int, optional
        Most rows of a user that take part; the guarantee is then for all rows of a user.
    part : (share, parts), optional
        The fit is one of so many that share the budget, and may spend this share of it.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    schema: Schema
    assume_public: tuple[str, ...]
    noise_seed: int | None
    rows_per_user: int | None = None
    part: tuple[Fraction, int] | None = None

    @classmethod
    def validated(
        cls,
        owner: str,
        *,
        epsilon: Any,
        delta: Any,
        neighbours: Any,
        schema: Any,
        assume_public: Any,
        noise_seed: Any,
        rows_per_user: Any = None,
        part: tuple[Fraction, int] | None = None,
    ) -> PrivacyRequest:
        """Check every part, or raise ``InvalidParameterError``."""
        relation = check_choice(
            "neighbours", owner, neighbours, tuple(member.value for member in Neighbours)
        )
        listed = isinstance(assume_public, (tuple, list, set, frozenset))
        if not listed or not all(name in ASSUMPTIONS for name in assume_public):
            raise InvalidParameterError(
                f"The 'assume_public' parameter of {owner} must be a tuple of names among "
                f"{ASSUMPTIONS}. Got {assume_public!r} instead."
            )
        if noise_seed is not None:
            check_integer("noise_seed", owner, noise_seed, low=0)
        if rows_per_user is not None:
            check_integer("rows_per_user", owner, rows_per_user, low=1, high=MOST_ROWS_PER_USER)
        return cls(
            epsilon=check_real("epsilon", owner, epsilon, low=0, low_open=True, infinite=True),
            delta=check_real("delta", owner, delta, low=0, high=1, high_open=True),
            neighbours=Neighbours(relation),
            schema=Schema.coerce(schema),
            assume_public=tuple(assume_public),
            noise_seed=noise_seed,
            rows_per_user=rows_per_user,
            part=part,
        )

    @property
    def row_epsilon(self) -> float:
        """About the epsilon that one row of one fit may spend, for rules and limits."""
        share = 1.0 if self.part is None else float(self.part[0])
        return self.epsilon * share / (self.rows_per_user or 1)

    def accountant(self, recipe: Recipe) -> Accountant:
        """Return the recipe's accountant, for the unit that is protected."""
        accountant = recipe.accountant(self.epsilon, self.delta)
        if self.part is not None:
            accountant = for_part(accountant, *self.part, as_fraction("delta", "fit", self.delta))
        return for_group(accountant, self.rows_per_user or 1)

    def ledger(self, accountant: Accountant) -> Ledger:
        """Open the books: the only way from private to released numbers."""
        return Ledger(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            accountant=accountant,
            entropy=(
                Entropy.secure() if self.noise_seed is None else Entropy.seeded(self.noise_seed)
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """The public outcome of a fit.

    Parameters
    ----------
    ensemble : Ensemble
        Released trees and public bins.
    recipe : Recipe
        The algorithm.
    hyperparameters : Hyperparameters
        The values used.
    knowledge : Knowledge
        The completed schema and where it comes from.
    report : PrivacyReport
        Every release and its charge.
    """

    ensemble: Ensemble
    recipe: Recipe
    hyperparameters: Hyperparameters
    knowledge: Knowledge
    report: PrivacyReport


class Monitor(Protocol):
    """Looks on while a model is trained: public rows, released rounds, and callbacks."""

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""

    def check(self, schema: Schema, n_features: int, classes: Any) -> None:
        """Refuse what cannot be used, before anything is drawn."""

    def begin(self, setting: Setting, schema: ResolvedSchema, n_rounds: int) -> Watch:
        """Prepare with released bins and start values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """How the table is to be read; all of it public.

    Parameters
    ----------
    feature_names : tuple of str, optional
        Instead of the table's own.
    categorical : tuple of str or int
        Columns of numbers that hold categories.
    zero_as_missing : bool
    user_ids : array-like of shape (n_rows,), optional
        Whose row each one is: private, as the rows are.
    """

    feature_names: tuple[str, ...] | None = None
    categorical: tuple[str | int, ...] = ()
    zero_as_missing: bool = False
    user_ids: Any = None


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_ensemble(
    X: Any,
    y: Any,
    *,
    task: str,
    recipe: str,
    hyperparameters: Hyperparameters,
    privacy: PrivacyRequest,
    public: np.random.Generator,
    n_jobs: int | None,
    show_progress: bool,
    owner: str,
    reading: Reading = Reading(),
    monitor: Monitor | None = None,
    objective: ObjectiveRequest | None = None,
) -> Fitted:
    """Train a private ensemble.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Anything that ``read_table`` understands.
    y : array-like of shape (n_rows,)
        Labels.
    task : {"regression", "classification"}
        Kind of the labels; ``objective`` says which loss.
    recipe : str
        Name of the algorithm.
    hyperparameters : Hyperparameters
        What the user has set.
    privacy : PrivacyRequest
        The guarantee asked for.
    public : numpy.random.Generator
        Public randomness: random partitions, order of features.
    n_jobs : int or None
        Threads, as LightGBM counts them.
    show_progress : bool
        Whether a long fit draws a progress bar.
    owner : str
        Name of the caller in error messages.
    reading : Reading
        How the table is to be read, and whose rows they are.
    monitor : Monitor, optional
        Looks on, and may end training.
    objective : ObjectiveRequest, optional
        What to learn, weights and initial scores; the default of the task without them.

    Returns
    -------
    Fitted

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by ``ledger``.
    """
    objective = objective or ObjectiveRequest(task=task)
    algorithm = ALGORITHMS.find(recipe, owner)
    hyperparameters.validate(owner)
    algorithm.check(hyperparameters, owner)
    objective.check_recipe(algorithm, owner)
    _check_unit(objective, privacy, owner)
    privacy = replace(privacy, schema=objective.completed(privacy.schema))
    least = algorithm.least_epsilon(hyperparameters, privacy.delta, task, privacy.neighbours)
    if privacy.row_epsilon < least:
        times = privacy.epsilon / privacy.row_epsilon
        raise refuse(
            "epsilon",
            owner,
            f"at least {least * times:.2g} for this recipe, depth and number of trees, so that "
            "every release can be drawn exactly",
            privacy.epsilon,
        )
    n_threads = effective_n_threads(n_jobs)
    table = _read(X, privacy.schema, reading)
    extras = objective.read_rows(table.n_rows)
    labels = _read_labels(y, table, task, algorithm, privacy, objective, extras)
    nominal = _nominal(reading.categorical, table, privacy.schema, owner)
    users = _read_users(reading, privacy, table, owner)
    n_bins = hyperparameters.max_bin or algorithm.max_bin
    if monitor is not None:
        classes = _known_classes(labels, task, privacy)
        monitor.check(privacy.schema, table.n_features, classes)
    _warn_if_not_private(privacy)
    ledger = privacy.ledger(privacy.accountant(algorithm))
    schema = privacy.schema.resolve(table.feature_names)
    assumed_classes = labels
    counted = None
    if users is not None and privacy.rows_per_user is not None:
        coins = ledger.row_coins().words(0, table.n_rows)
        chosen = sample_rows(users, privacy.rows_per_user, coins)
        X, labels, users = take_rows(X, chosen), labels[chosen], users[chosen]
        extras = extras.take(chosen)
        table = _read(X, privacy.schema, reading)
        counted = first_rows(users)
    knowledge = complete_schema(
        schema,
        table,
        labels,
        task=task,
        assume_public=privacy.assume_public,
        n_bins=n_bins,
        ledger=ledger,
        assumed_classes=assumed_classes,
        nominal=nominal,
        counted=counted,
    )
    # The order of a pandas type is public where column types are; learned categories have none.
    ordered = table.ordered if "column_types" in privacy.assume_public else frozenset()
    table = _read(X, knowledge.schema, reading)
    lesson = _encode(labels, task, algorithm, knowledge.schema, objective, extras)
    prepared = _prepare(algorithm, table, ordered, lesson, knowledge, privacy, n_bins, ledger)
    hyper = hyperparameters.filled(algorithm.defaults(prepared.facts))
    setting = Setting(
        hyper=hyper,
        loss=prepared.facts.loss,
        binner=prepared.binner,
        facts=prepared.facts,
        public=public,
        n_threads=n_threads,
    )
    rows = TrainingRows(
        prepared.binner.transform(table, n_threads),
        lesson.targets,
        lesson.present,
        prepared.facts.loss,
        Layout.of(prepared.binner),
        n_threads,
        weights=prepared.weights,
        init_scores=lesson.init_scores,
    )
    loop = algorithm.build(setting)
    with (
        tree_progress(loop.n_rounds, show=show_progress) as on_tree,
        ledger.sequential("training"),
    ):
        watch = monitor.begin(setting, knowledge.schema, loop.n_rounds) if monitor else None
        trees = loop.boost(
            rows, budget=prepared.budget, ledger=ledger, on_tree=on_tree, watch=watch
        )
    report = PrivacyReport.from_ledger(
        ledger,
        assumed_public=knowledge.assumed,
        facts=_facts(algorithm, hyper, knowledge, privacy)
        | objective.facts()
        | (monitor.facts if monitor else {}),
        rows_per_user=privacy.rows_per_user,
        continues=objective.continues,
        earlier=objective.earlier,
    )
    starts = np.atleast_1d(np.asarray(setting.loss.start_units, dtype=np.int64))
    ensemble = Ensemble(
        trees=trees,
        binner=prepared.binner,
        start=tuple((starts * setting.loss.unit).tolist()),
        unit=setting.loss.unit,
        objective=setting.loss.objective,
        report=report.to_dict(),
    )
    return Fitted(
        ensemble=ensemble,
        recipe=algorithm,
        hyperparameters=hyper,
        knowledge=knowledge,
        report=report,
    )


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """What a recipe has released before its first tree.

    Parameters
    ----------
    binner : Binner
        Public or released bins.
    facts : PublicFacts
        With the released row count and the loss at its start value.
    budget : Fraction or inf
        What is left for the trees.
    weights : ndarray of shape (n_rows,), int32, or None
        Private weights of the rows, in units of the largest one.
    """

    binner: Binner
    facts: PublicFacts
    budget: Budget
    weights: NDArray[np.int32] | None


def _prepare(
    recipe: Recipe,
    table: Table,
    ordered: frozenset[int],
    lesson: Lesson,
    knowledge: Knowledge,
    privacy: PrivacyRequest,
    n_bins: int,
    ledger: Ledger,
) -> _Prepared:
    """Release start value, row count and bins where the recipe asks for them."""
    binner = Binner.from_schema(
        knowledge.schema,
        n_bins=n_bins,
        categorical=table.categorical,
        ordered=ordered,
        zero_as_missing=table.zero_as_missing,
    )
    shares = [0.0, 0.0]
    if recipe.start_share is not None:
        shares[0] = recipe.start_share(lesson.loss, privacy.delta)
    if recipe.bins_share is not None and knowledge.schema.bounds:
        shares[1] = recipe.bins_share(privacy.delta)
    weights = [Fraction(str(share)) for share in shares]
    start, bins, rest = divide(knowledge.epsilon, [*weights, 1 - sum(weights)])
    n_rows: float | None = None
    loss = lesson.loss
    row_weights: NDArray[np.int32] | None = None
    with ledger.sequential("preparation"):
        if start:
            loss, row_weights, n_rows = lesson.release(start, ledger)
            n_rows = min(n_rows, knowledge.schema.max_rows or math.inf)
        if bins and n_rows is not None:
            binner = release_bins(
                binner, table, n_bins=n_bins, n_rows=n_rows, budget=bins, ledger=ledger
            )
    facts = PublicFacts(
        epsilon=privacy.row_epsilon,
        delta=privacy.delta,
        n_rows=n_rows,
        n_features=table.n_features,
        loss=loss,
    )
    return _Prepared(binner=binner, facts=facts, budget=rest, weights=row_weights)


def _read(X: Any, schema: Schema | ResolvedSchema, reading: Reading) -> Table:
    """Read the table as the user asks."""
    return read_table(
        X,
        schema=schema,
        feature_names=reading.feature_names,
        zero_as_missing=reading.zero_as_missing,
    )


def _read_users(
    reading: Reading, privacy: PrivacyRequest, table: Table, owner: str
) -> NDArray[np.int64] | None:
    """Return the user of each row, where users are what is protected."""
    if (reading.user_ids is None) != (privacy.rows_per_user is None):
        raise InvalidParameterError(
            f"{owner} protects users where rows_per_user says how many rows of each take part "
            "and fit(..., user_ids=...) whose row each one is: give both or none."
        )
    return None if reading.user_ids is None else read_users(reading.user_ids, table.n_rows)


def _nominal(
    columns: tuple[str | int, ...], table: Table, schema: Schema, owner: str
) -> frozenset[int]:
    """Return the positions of numeric columns named as categorical whose categories are open."""
    resolved = schema.resolve(table.feature_names)
    places = set()
    for column in columns:
        place = column
        if isinstance(column, str):
            name = lightgbm_name(column)
            place = table.feature_names.index(name) if name in table.feature_names else -1
        if not isinstance(place, (int, np.integer)) or not 0 <= place < table.n_features:
            raise InvalidParameterError(
                f"The 'categorical_feature' argument of {owner} names the column {column!r}, "
                "which X does not have."
            )
        places.add(int(place))
    for place in places & {*resolved.bounds, *resolved.edges}:
        raise InvalidParameterError(
            f"The column {table.feature_names[place]!r} is named in 'categorical_feature', but "
            "Schema declares bounds or edges for it: declare categories instead."
        )
    return frozenset(places - {*resolved.categories, *table.categorical})


def _known_classes(labels: NDArray[Any], task: str, privacy: PrivacyRequest) -> Any:
    """Return the classes that are declared or assumed public, None where they are neither."""
    if task == "regression" or privacy.schema.classes is not None:
        return privacy.schema.classes if task != "regression" else None
    return tuple(np.unique(labels)) if "classes" in privacy.assume_public else None


def _read_labels(
    y: Any,
    table: Table,
    task: str,
    recipe: Recipe,
    privacy: PrivacyRequest,
    objective: ObjectiveRequest,
    extras: RowExtras,
) -> NDArray[Any]:
    """Private labels of the right kind and length, refused when they are not."""
    labels = read_regression_labels(y) if task == "regression" else read_class_labels(y)
    check_same_length(table.n_rows, labels)
    objective.check_labels(privacy.schema, extras)
    if task == "regression":
        return labels
    classes = privacy.schema.classes
    if classes is None and "classes" in privacy.assume_public:
        classes = tuple(np.unique(labels))
    if classes is None:
        return labels
    _check_number_of_classes(len(classes), recipe)
    objective.check_classes(classes, extras)
    if {isinstance(value, str) for value in classes} != {labels.dtype.kind == "U"}:
        raise InvalidParameterError(
            "The classes declared in Schema(classes=...) and the labels y must be of one kind: "
            "all text, or all numbers."
        )
    return labels


def _check_number_of_classes(n_classes: int, recipe: Recipe) -> None:
    """Raise when a recipe cannot learn so many classes; their set is public or released."""
    if n_classes > 2 and not recipe.multiclass:
        raise InvalidParameterError(
            f"Only binary classification is supported by recipe={recipe.name!r}. The type of the "
            "target is multiclass: use recipe='best', or declare two classes with "
            "Schema(classes=...)."
        )
    if n_classes > MOST_CLASSES:
        raise InvalidParameterError(
            f"The labels y have more than {MOST_CLASSES} classes. Were they meant for a "
            "regression? Otherwise declare fewer with Schema(classes=...)."
        )


def _encode(
    labels: NDArray[Any],
    task: str,
    recipe: Recipe,
    schema: ResolvedSchema,
    objective: ObjectiveRequest,
    extras: RowExtras,
) -> Lesson:
    """Loss of the task, labels on its grid, and which rows take part."""
    classes: tuple[Any, ...] = ()
    if task == "regression":
        indices, present = np.zeros(len(labels), dtype=np.int64), np.ones(len(labels), dtype=bool)
        targets: NDArray[Any] = labels
    else:
        assert schema.classes is not None
        if not schema.classes:
            raise InvalidParameterError(
                "No class label passed the threshold of its release: declare the classes with "
                "Schema(classes=...)."
            )
        _check_number_of_classes(len(schema.classes), recipe)
        # In the order of ``classes_``, which scikit-learn wants sorted.
        classes = tuple(sorted(schema.classes))
        indices, present = encode_classes(labels, classes)
        targets = indices
    if classes:
        objective.check_classes(classes, extras)
    loss = objective.loss(schema, len(classes))
    return Lesson(
        loss=loss,
        targets=loss.encode_labels(targets),
        present=present,
        classes=classes,
        indices=indices,
        objective=objective,
        extras=extras,
    )


def _check_unit(objective: ObjectiveRequest, privacy: PrivacyRequest, owner: str) -> None:
    """Raise when the budgets of a model and of its continuation would not add up."""
    earlier = objective.earlier
    if earlier is None:
        return
    units = {
        "neighbours": (earlier.neighbours, privacy.neighbours.value),
        "rows_per_user": (earlier.rows_per_user, privacy.rows_per_user),
    }
    for name, (before, now) in units.items():
        if before != now:
            raise refuse(
                name,
                owner,
                f"{before!r} as in the report of init_model, so that the budgets add up",
                now,
            )


def _facts(
    recipe: Recipe, hyper: Hyperparameters, knowledge: Knowledge, privacy: PrivacyRequest
) -> dict[str, bool | int | float | str]:
    """Public facts for the report: recipe, hyper-parameters, what was declared and learned."""
    declared = [
        part.name
        for part in fields(privacy.schema)
        if getattr(privacy.schema, part.name) not in (None, {})
    ]
    facts: dict[str, bool | int | float | str] = {
        "recipe": recipe.name,
        **hyper.given(),
        "declared public": ", ".join(declared) or "nothing",
        "learned": ", ".join(knowledge.learned) or "nothing",
    }
    if privacy.part is not None:
        facts["part of"] = (
            f"{privacy.part[1]} fits under one budget; the epsilon spent is that of all of them"
        )
    return facts


def _warn_if_not_private(privacy: PrivacyRequest) -> None:
    """Say it when the user's parameters give no guarantee."""
    if privacy.noise_seed is not None:
        reason = "noise_seed makes the noise reproducible for whoever knows the seed"
    elif math.isinf(privacy.epsilon):
        reason = "epsilon is infinite, so there is no noise"
    else:
        return
    warnings.warn(f"This model is not private: {reason}.", NotPrivateWarning, stacklevel=6)
