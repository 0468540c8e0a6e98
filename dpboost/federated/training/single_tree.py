"""Single trees over parties: what is sent, and the fit that a coordinator runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.binner import Binner
from dpboost.federated.party.boosting_state import check
from dpboost.federated.party.party import HeldRows
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.training import threat_model
from dpboost.privacy.exact_arithmetic import pure_cost
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.recipes.tree_recipe import TreeHyperparameters, TreeRecipe, find_tree_recipe
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import (
    CellSizes,
    ClassCounts,
    ClassHistograms,
    FeatureHistograms,
    GroupedCells,
    NodeSizes,
    SplitRows,
)
from dpboost.rows.site_queries import ImpurityBounds, SplitScores
from dpboost.schema import ResolvedSchema
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import CompletedSchema
from dpboost.training.tree_fit import (
    FittedTree,
    check_least_epsilon,
    public_classes,
    release_tree,
    rows_of_tree,
)
from dpboost.trees.growing_tree import Splits

#: Recipes whose questions parties can answer.
FEDERATED_RECIPES = tuple(name for name, recipe in TREE_ALGORITHMS.items() if recipe.sums_alone)


@dataclass(frozen=True, kw_only=True)
class PlantTree:
    """Have a party put its rows into the agreed bins, at the root of a single tree."""

    def execute(self, rows: HeldRows) -> ClassRows:
        """Return the rows as a tree looks at them, by the terms that the party has approved."""
        check(isinstance(rows, HeldRows))
        agreement = rows.agreement
        recipe, hyper = agreed_recipe(agreement, "PlantTree")
        schema = agreement.declared.resolve(agreement.features)
        binner = public_binner(schema, hyper.max_bin or recipe.max_bin)
        return rows_of_tree(
            rows.table,
            rows.labels,
            binner,
            public_classes(schema),
            recipe.candidates(binner),
            rows.n_threads,
        )


for _name, _kind in {
    "plant tree": PlantTree,
    "splits of a tree": Splits,
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
    wire.known(_name, _kind)


def agreed_recipe(agreement: Agreement, owner: str) -> tuple[TreeRecipe, TreeHyperparameters]:
    """Return recipe and hyper-parameters of an agreement on a single tree.

    Raises
    ------
    InvalidParameterError
        Where the recipe is not one for parties, or a value is not one for the recipe.
    """
    recipe = find_tree_recipe(
        {name: TREE_ALGORITHMS[name] for name in FEDERATED_RECIPES}, agreement.recipe, owner
    )
    hyper = TreeHyperparameters(**agreement.hyper)
    hyper.validate(owner)
    recipe.check(hyper, owner)
    nominal = agreement.declared.resolve(agreement.features).categories
    listed = np.isin(np.arange(len(agreement.features)), list(nominal))
    return recipe, hyper.on_columns(agreement.features, listed, owner)


def check_agreement(agreement: Agreement, owner: str) -> tuple[TreeRecipe, TreeHyperparameters]:
    """Return recipe and hyper-parameters of an agreement under which a tree can be grown.

    Raises
    ------
    InvalidParameterError
        Where one cannot, before anything is drawn or charged.
    """
    if agreement.task != "classification":
        raise refuse("agreement", owner, "for classification", agreement.task)
    if agreement.accountant != "pure":
        raise refuse("agreement", owner, "in pure epsilon", agreement.accountant)
    recipe, hyper = agreed_recipe(agreement, owner)
    check_declared(agreement.declared.resolve(agreement.features), owner)
    n_features = len(agreement.features)
    check_least_epsilon(recipe, hyper, n_features, privacy_of(agreement, owner), owner)
    return recipe, hyper


def check_declared(schema: ResolvedSchema, owner: str) -> None:
    """Raise unless a schema says everything: parties learn nothing from their rows beforehand."""
    known = {*schema.bounds, *schema.edges, *schema.categories}
    missing = [name for place, name in enumerate(schema.feature_names) if place not in known]
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


def fit_federated_tree(coordinator: Coordinator, *, owner: str) -> FittedTree:
    """Release one tree from the rows of parties.

    Parameters
    ----------
    coordinator : Coordinator
        Of an open session, whose agreement names one of ``FEDERATED_RECIPES``.
    owner : str
        Name of the caller in error messages.

    Returns
    -------
    FittedTree
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
    agreement = coordinator.agreement
    recipe, hyper = check_agreement(agreement, owner)
    schema = agreement.declared.resolve(agreement.features)
    privacy = privacy_of(agreement, owner)
    binner = public_binner(schema, hyper.max_bin or recipe.max_bin)
    coordinator.apply(PlantTree())
    return release_tree(
        coordinator,
        recipe=recipe,
        hyperparameters=hyper,
        binner=binner,
        completed=CompletedSchema(
            schema=schema, assumed=(), learned=(), budget=pure_cost(coordinator.ledger.epsilon)
        ),
        privacy=privacy,
        ledger=coordinator.ledger,
        n_threads=1,
        facts=lambda: threat_model.facts(agreement, coordinator.ledger),
    )


def public_binner(schema: ResolvedSchema, n_bins: int) -> Binner:
    """Return the bins of the model; text categories are read by their names."""
    listed: dict[int, Any] = {
        place: list(values)
        for place, values in schema.categories.items()
        if any(isinstance(value, str) for value in values)
    }
    return Binner.from_schema(schema, n_bins=n_bins, categorical=listed)


def privacy_of(agreement: Agreement, owner: str) -> PrivacyRequest:
    """Return the guarantee that an agreement asks for."""
    return PrivacyRequest.validated(
        owner,
        epsilon=float(agreement.epsilon),
        delta=float(agreement.delta),
        neighbours=agreement.neighbours,
        schema=agreement.declared,
        assume_public=(),
        noise_seed=agreement.noise_seed,
    )
