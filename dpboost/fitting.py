"""From a raw table to a trained ensemble: the steps of a fit, in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._threads import effective_n_threads
from dpboost._validation import (
    InvalidParameterError,
    refuse,
)
from dpboost.algorithms import ALGORITHMS
from dpboost.boosting.ensemble import Ensemble
from dpboost.boosting.loop import Watch
from dpboost.boosting.rows import TrainingRows
from dpboost.data.labels import (
    encode_classes,
)
from dpboost.data.learning import Knowledge, complete_schema
from dpboost.lesson import Lesson
from dpboost.objective import ObjectiveRequest, RowExtras
from dpboost.preparation import prepare
from dpboost.privacy.report import PrivacyReport
from dpboost.privacy_request import PrivacyRequest, warn_if_not_private
from dpboost.progress import tree_progress
from dpboost.reading import (
    Reading,
    check_number_of_classes,
    known_classes,
    nominal_columns,
    read,
    read_labels,
    users_of,
)
from dpboost.recipe import Hyperparameters, Recipe, Setting
from dpboost.schema import ResolvedSchema, Schema
from dpboost.tree.layout import Layout
from dpboost.users import first_rows, sample_rows, take_rows


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
    reading: Reading | None = None,
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
    reading : Reading, optional
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
    reading = reading or Reading()
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
    table = read(X, privacy.schema, reading)
    extras = objective.read_rows(table.n_rows)
    labels = read_labels(y, table, task, algorithm, privacy, objective, extras)
    nominal = nominal_columns(reading.categorical, table, privacy.schema, owner)
    users = users_of(reading, privacy, table, owner)
    n_bins = hyperparameters.max_bin or algorithm.max_bin
    if monitor is not None:
        classes = known_classes(labels, task, privacy)
        monitor.check(privacy.schema, table.n_features, classes)
    warn_if_not_private(privacy, stacklevel=6)
    ledger = privacy.ledger(privacy.accountant(algorithm))
    schema = privacy.schema.resolve(table.feature_names)
    assumed_classes = labels
    counted = None
    if users is not None and privacy.rows_per_user is not None:
        coins = ledger.row_coins().words(0, table.n_rows)
        chosen = sample_rows(users, privacy.rows_per_user, coins)
        X, labels, users = take_rows(X, chosen), labels[chosen], users[chosen]
        extras = extras.take(chosen)
        table = read(X, privacy.schema, reading)
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
    table = read(X, knowledge.schema, reading)
    lesson = _encode(labels, task, algorithm, knowledge.schema, objective, extras)
    prepared = prepare(
        algorithm, table, ordered, lesson, knowledge, privacy, n_bins, ledger, n_threads
    )
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
        check_number_of_classes(len(schema.classes), recipe)
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
    facts: dict[str, bool | int | float | str] = {
        "recipe": recipe.name,
        **hyper.given(),
        "declared public": privacy.declared,
        "learned": ", ".join(knowledge.learned) or "nothing",
    }
    if privacy.part is not None:
        facts["part of"] = (
            f"{privacy.part[1]} fits under one budget; the epsilon spent is that of all of them"
        )
    return facts
