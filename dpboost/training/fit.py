"""From rows, wherever they are, to a trained ensemble: the steps that follow the reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dpboost._utils.progress import tree_progress
from dpboost.boosting.loop import RoundCallback
from dpboost.boosting.training_rows import TrainingRows
from dpboost.data.column_types import ColumnFacts
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.privacy.report import PrivacyReport
from dpboost.recipes.recipe import Hyperparameters, Recipe, Setting
from dpboost.rows.encoded_rows import BinRows
from dpboost.rows.raw_rows import ReadAgain
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import ResolvedSchema, Schema
from dpboost.training.initialization import prepare
from dpboost.training.loss_setup import LossSetup
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.privacy_params import PrivacyRequest, warn_of_budget
from dpboost.training.public_schema import CompletedSchema, complete_schema
from dpboost.trees.bin_layout import Layout
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.tree import Tree


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
    completed : CompletedSchema
        The completed schema and where it comes from.
    report : PrivacyReport
        Every release and its charge.
    """

    ensemble: Ensemble
    recipe: Recipe
    hyperparameters: Hyperparameters
    completed: CompletedSchema
    report: PrivacyReport


class TrainingCallback(Protocol):
    """Looks on while a model is trained: public rows, released rounds, and callbacks."""

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""

    @property
    def best_iteration(self) -> int:
        """The last round that is kept, 0 for all."""

    def check(self, schema: Schema, n_features: int, classes: Any) -> None:
        """Refuse what cannot be used, before anything is drawn."""

    def begin(self, setting: Setting, schema: ResolvedSchema, n_rounds: int) -> RoundCallback:
        """Prepare with released bins and start values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRequest:
    """What is to be trained; public, and validated before.

    Parameters
    ----------
    task : {"regression", "classification"}
    recipe : Recipe
    hyperparameters : Hyperparameters
        What the user has set.
    privacy : PrivacyRequest
        The guarantee asked for.
    objective : ObjectiveRequest
        What to learn.
    assumed_classes : tuple
        The set of labels, where it is public by assumption.
    assumed_categories : dict of int to sequence
        Lists of categories that column types bring along, where these are public by assumption.
    nominal : frozenset of int
        Columns of numbers that hold categories, which are to be learned.
    """

    task: str
    recipe: Recipe
    hyperparameters: Hyperparameters
    privacy: PrivacyRequest
    objective: ObjectiveRequest
    assumed_classes: tuple[Any, ...] = ()
    assumed_categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    nominal: frozenset[int] = frozenset()


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def train(
    source: RowStore,
    columns: ColumnFacts,
    schema: ResolvedSchema,
    *,
    request: TrainingRequest,
    extras: RowExtras,
    ledger: Ledger,
    public: np.random.Generator,
    n_threads: int,
    show_progress: bool,
    monitor: TrainingCallback | None = None,
) -> Fitted:
    """Train a private ensemble on rows that have been read and checked.

    Parameters
    ----------
    source : RowStore
        Of ``RawRows``.
    columns : ColumnFacts
        Names and kinds of the columns.
    schema : ResolvedSchema
        What the user declares, by position.
    request : TrainingRequest
    extras : RowExtras
        Weights and initial scores; only asked whether they are there and how many outputs they
        are for.
    ledger : Ledger
        The gate, with the budget of the whole fit.
    public : numpy.random.Generator
        Public randomness: random partitions, order of features.
    n_threads : int
    show_progress : bool
        Whether a long fit draws a progress bar.
    monitor : TrainingCallback, optional
        Looks on, and may end training.

    Returns
    -------
    Fitted

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by ``ledger``.
    """
    algorithm, privacy, objective = request.recipe, request.privacy, request.objective
    n_bins = request.hyperparameters.max_bin or algorithm.max_bin
    completed = complete_schema(
        schema,
        columns,
        source,
        task=request.task,
        assume_public=privacy.assume_public,
        n_bins=n_bins,
        ledger=ledger,
        assumed_classes=request.assumed_classes,
        assumed_categories=request.assumed_categories,
        nominal=request.nominal,
        label_margin=objective.label_margin if algorithm.objectives else None,
        row_epsilon=privacy.row_epsilon,
    )
    if "categories" in completed.learned:
        source.apply(ReadAgain(schema=completed.schema))
    if "categories" not in privacy.assume_public:
        # Categories have an order where the list of their type is used, and nowhere else.
        columns = replace(columns, ordered=frozenset())
    loss_setup = LossSetup.of(
        request.task, algorithm, completed.schema, objective, extras, completed.label_spread
    )
    source.apply(loss_setup.order)
    prepared = prepare(
        algorithm,
        columns,
        source,
        loss_setup,
        completed,
        privacy,
        n_bins,
        request.hyperparameters,
        ledger,
    )
    loss, binner = prepared.facts.loss, prepared.binner
    hyper = request.hyperparameters.filled(algorithm.defaults(prepared.facts))
    setting = Setting(
        hyper=hyper,
        loss=loss,
        binner=binner,
        facts=prepared.facts,
        public=public,
        n_threads=n_threads,
    )
    if algorithm.useful_budget is not None:
        needed = algorithm.useful_budget(hyper, loss, privacy.neighbours)
        warn_of_budget(privacy, algorithm.name, spent_on=prepared.budget, needed=needed)
    source.apply(BinRows(binner=binner, loss=loss, weighting=prepared.weighting))
    rows = TrainingRows(
        source,
        Layout.of(binner),
        n_outputs=loss.n_outputs,
        n_threads=n_threads,
    )
    loop = algorithm.build(setting)
    with (
        tree_progress(loop.n_rounds, show=show_progress) as on_tree,
        ledger.sequential("training"),
    ):
        watch = monitor.begin(setting, completed.schema, loop.n_rounds) if monitor else None
        trees = loop.boost(
            rows, budget=prepared.budget, ledger=ledger, on_tree=on_tree, watch=watch
        )
    released: tuple[Tree, ...] = ()
    if loop.finish is not None:
        best = monitor.best_iteration if monitor else 0
        released = trees[: best * loss.n_outputs] if best > 0 else trees
        trees = loop.finish.rewrite(released, loss.n_outputs)
    report = PrivacyReport.from_ledger(
        ledger,
        assumed_public=completed.assumed,
        facts=_facts(request.task, algorithm, hyper, completed, privacy)
        | objective.facts()
        | (monitor.facts if monitor else {}),
        rows_per_user=privacy.rows_per_user,
        continues=objective.continues,
        earlier=objective.earlier,
    )
    starts = np.atleast_1d(np.asarray(loss.start_units, dtype=np.int64))
    ensemble = Ensemble(
        trees=trees,
        binner=binner,
        start=tuple((starts * loss.unit).tolist()),
        unit=loss.unit,
        objective=loss.objective,
        report=report.to_dict(),
        n_rows=prepared.n_rows,
        masses=prepared.masses,
        released=released,
    )
    return Fitted(
        ensemble=ensemble,
        recipe=algorithm,
        hyperparameters=hyper,
        completed=completed,
        report=report,
    )


def _facts(
    task: str,
    recipe: Recipe,
    hyper: Hyperparameters,
    completed: CompletedSchema,
    privacy: PrivacyRequest,
) -> dict[str, bool | int | float | str]:
    """Public facts for the report: recipe, hyper-parameters, what was declared and learned."""
    facts: dict[str, bool | int | float | str] = {
        "recipe": recipe.name,
        **hyper.given(),
        "declared public": privacy.declared,
        "learned": ", ".join(completed.learned) or "nothing",
        **privacy.facts,
    }
    declared = privacy.schema.classes is not None
    if task != "regression" and recipe.start_share is None and declared:
        facts["other labels"] = "rows with them take no part; the recipe does not count them"
    if privacy.part is not None:
        facts["part of"] = (
            f"{privacy.part[1]} fits under one budget; the epsilon spent is that of all of them"
        )
    return facts
