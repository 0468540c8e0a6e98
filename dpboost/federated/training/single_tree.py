"""Single trees over parties: what is sent, and the fit that a coordinator runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.binner import Binner
from dpboost.federated.party.admission import admit
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.training import threat_model
from dpboost.federated.training.agreed_terms import agreed_inputs, agreed_privacy
from dpboost.federated.training.party_row_store import PartyRowStore
from dpboost.losses import Loss
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.exact_arithmetic import NO_COST
from dpboost.privacy.queries import Command
from dpboost.recipes.recipe import PublicFacts, Setting
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.rows.class_queries import (
    CellSizes,
    ClassCounts,
    ClassHistograms,
    FeatureHistograms,
    GroupedCells,
    NodeSizes,
    SplitRows,
)
from dpboost.rows.encoded_rows import BinRows, EncodeLabels
from dpboost.rows.site_queries import ImpurityBounds, SplitScores
from dpboost.rows.sorted_rows import SortedRows
from dpboost.schema import ResolvedSchema
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.loss_choice import choose_loss
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.request import FitRequest, Inputs
from dpboost.trees.growing_tree import Splits

#: Recipes whose questions parties can answer.
FEDERATED_RECIPES = tuple(
    name for name, recipe in TREE_ALGORITHMS.items() if not recipe.needs_exact_sums
)


@dataclass(frozen=True, kw_only=True)
class PlantTree:
    """Have a party put its rows into the agreed bins, at the root of a single tree."""

    def execute(self, rows: HeldRows) -> SortedRows:
        """Return the rows as a tree looks at them, by the terms that the party has approved."""
        inputs = agreed_inputs(rows.agreement)
        request = agreed_request(rows.agreement, "PlantTree").on_columns(inputs)
        schema = inputs.schema
        loss, classes = choose_loss(request.recipe, request.objective, schema, inputs.extras)
        binner = inputs.binner(schema, request)
        growth = request.recipe.build(setting_of(request, inputs, loss, binner, len(classes)))
        encoded = EncodeLabels(loss=loss, classes=classes).execute(rows)
        planted = growth.binning(binner, loss, None).execute(encoded)
        assert isinstance(planted, SortedRows)
        return planted


def setting_of(
    request: FitRequest, inputs: Inputs, loss: Loss, binner: Binner, n_classes: int
) -> Setting:
    """Return what a party builds the agreed tree from, of which it needs the way to the root."""
    privacy = request.privacy
    facts = PublicFacts(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        n_rows=None,
        n_features=inputs.columns.n_features,
        loss=loss,
        given=request.given,
        budget=NO_COST,
        accountant=PureAccountant(),
        neighbours=privacy.neighbours,
        max_rows=inputs.schema.max_rows,
        n_classes=n_classes,
    )
    return Setting(
        hyper=request.recipe.settle(facts),
        loss=loss,
        binner=binner,
        facts=facts,
        public=request.public,
        n_threads=1,
    )


class PartyTree(PartyRowStore):
    """The rows of parties as the store of a single tree.

    Parameters
    ----------
    coordinator : Coordinator

    Privacy
    -------
    As `PartyRowStore`. What parties do with labels and bins they do by the terms.
    """

    def __init__(self, coordinator: Coordinator) -> None:
        super().__init__(coordinator)
        self.each = coordinator.each
        self.release = coordinator.release

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of the last sum, in parts of what is charged for."""
        return self._coordinator.noise_variance_ratio

    def apply(self, order: Command) -> None:
        """Tell all parties, with the next question."""
        if isinstance(order, EncodeLabels):
            return  # a part of PlantTree
        super().apply(PlantTree() if isinstance(order, BinRows) else order)


wire.known("splits of a tree", Splits)
admit("plant tree", PlantTree, HeldRows)
# These check themselves, with the rows.
for _name, _kind in {
    "split rows of a tree": SplitRows,
    "node sizes of a tree": NodeSizes,
    "class counts of a tree": ClassCounts,
    "class histograms of a tree": ClassHistograms,
    "cell sizes of a tree": CellSizes,
    "feature histograms of a tree": FeatureHistograms,
    "grouped cells of a tree": GroupedCells,
    "split scores of a tree": SplitScores,
    "impurity bounds of a tree": ImpurityBounds,
}.items():
    admit(_name, _kind, SortedRows)


def agreed_request(agreement: Agreement, owner: str) -> FitRequest:
    """Return what an agreement on a single tree asks of a fit.

    Raises
    ------
    InvalidParameterError
        Where the recipe is not one for parties, or a value is not one for the recipe.
    """
    recipe = TREE_ALGORITHMS.get(agreement.recipe)
    if recipe is None or recipe.needs_exact_sums:
        must = "one of " + ", ".join(map(repr, FEDERATED_RECIPES))
        raise refuse("recipe", owner, must, agreement.recipe)
    recipe.check(agreement.hyper, owner)
    others = (agreement.rows_per_user, agreement.init_model, agreement.folds)
    if agreement.objective or agreement.weighted or others != (None, None, None):
        must = (
            "without objective, weights, rows_per_user, init_model and folds: a tree over parties "
            "counts rows"
        )
        raise refuse("agreement", owner, must, agreement)
    return FitRequest(
        task=agreement.task,
        recipe=recipe,
        given=agreement.hyper,
        privacy=agreed_privacy(agreement),
        objective=ObjectiveRequest(task=agreement.task),
        public=np.random.default_rng(0),
        owner=owner,
        n_jobs=1,
    )


def check_agreement(agreement: Agreement, owner: str) -> FitRequest:
    """Return what is asked by an agreement under which a tree can be grown.

    Raises
    ------
    InvalidParameterError
        Where one cannot, before anything is drawn or charged.
    """
    if agreement.task != "classification":
        raise refuse("agreement", owner, "for classification", agreement.task)
    if agreement.accountant != "pure":
        raise refuse("agreement", owner, "in pure epsilon", agreement.accountant)
    request = agreed_request(agreement, owner)
    check_declared(agreement.declared.resolve(agreement.features), owner)
    request.on_columns(agreed_inputs(agreement))
    request.check_epsilon(len(agreement.features))
    return request


def check_declared(schema: ResolvedSchema, owner: str) -> None:
    """Raise unless a schema says everything: parties learn nothing from their rows beforehand."""
    known = {*schema.bounds, *schema.edges, *schema.categories}
    missing = [name for position, name in enumerate(schema.feature_names) if position not in known]
    if missing:
        raise InvalidParameterError(
            f"The 'schema' parameter of {owner} must declare bounds, edges or categories of every "
            f"column, on which all parties agree first. Missing: {', '.join(missing)}."
        )
    if not schema.classes:
        raise InvalidParameterError(
            f"The 'schema' parameter of {owner} must declare the classes, on which all parties "
            "agree first: Schema(classes=...)."
        )


def fit_federated_tree(coordinator: Coordinator, *, owner: str) -> FittedModel:
    """Release one tree from the rows of parties.

    Parameters
    ----------
    coordinator : Coordinator
        Of an open session, whose agreement names one of ``FEDERATED_RECIPES``.
    owner : str
        Name of the caller in error messages.

    Returns
    -------
    FittedModel
        With the report of the coordinator's ledger.

    Raises
    ------
    InvalidParameterError
        For terms that do not fit a single tree, before anything is drawn or charged.
    RefusedError, PartyLostError
        Where a party refuses or is lost; what was booked stays booked.

    Privacy
    -------
    The coordinator sees sums that carry the noise of the charge, choices that parties have
    released from their own rows, and nothing else.
    """
    agreement, ledger = coordinator.agreement, coordinator.ledger
    request = check_agreement(agreement, owner)
    fitted = fit(PartyTree(coordinator), agreed_inputs(agreement), request, ledger)
    return with_facts(fitted, threat_model.facts(agreement, ledger) | coordinator.losses)
