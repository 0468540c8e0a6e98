"""Federated boosting: the engine's training with parties as the source of rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.partition_learner import PartitionLearner
from dpboost.boosting.split_learner import SplitLearner
from dpboost.data.column_types import ColumnFacts
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.training.histogram_learner import HistogramLearner
from dpboost.federated.training.party_queries import PartyRowStore
from dpboost.federated.training.threat_model import facts
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.exact_arithmetic import number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.privacy.sensitivity.histograms import level_sums
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import Hyperparameters, Recipe, Setting
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import lightgbm_name
from dpboost.training.fit import Fitted, TrainingRequest, train
from dpboost.training.noise_check import check_noise
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.trees.bin_layout import Layout

# Bins of a numeric feature where splits are read off noisy histograms: a side of a split adds up
# the noise of all its cells.
HISTOGRAM_BINS = 32
DEVIATION = "splits are read off noisy histograms of all features, leaves are noisy sums"
OWNER = "federated boosting"


def boost(coordinator: Coordinator, *, show_progress: bool = False) -> Fitted:
    """Train a private ensemble on the rows of parties.

    Parameters
    ----------
    coordinator : Coordinator
        With a session under an agreement that names the recipe.
    show_progress : bool, default=False
        Whether a long fit draws a progress bar.

    Returns
    -------
    Fitted

    Raises
    ------
    InvalidParameterError
        If the agreement does not fit the recipe; nothing is drawn or charged.
    PartyLostError, RefusedError
        If a party drops out or refuses. What was charged stays charged.

    Privacy
    -------
    Everything in the result is public, declared or released by ``coordinator.ledger``, and was
    charged by every party as well.
    """
    agreement = coordinator.agreement
    fitted = train_agreed(
        PartyRowStore(coordinator), agreement, coordinator.ledger, show_progress=show_progress
    )
    coordinator.finish()
    return _with_facts(fitted, agreement, coordinator.ledger)


def train_agreed(
    source: RowStore, agreement: Agreement, ledger: Ledger, *, show_progress: bool = False
) -> Fitted:
    """Train by the terms of an agreement, wherever the rows are.

    Parameters
    ----------
    source : RowStore
        Of ``RawRows``: parties, or, to compare with them, one process that has all rows.
    agreement : Agreement
        The terms.
    ledger : Ledger
        The gate, with the whole budget.
    show_progress : bool, default=False
        Whether a long fit draws a progress bar.

    Returns
    -------
    Fitted
    """
    recipe, hyper = check_agreement(agreement)
    schema = agreement.declared
    names = tuple(lightgbm_name(name) for name in agreement.features)
    return train(
        source,
        ColumnFacts(feature_names=names, categorical=frozenset(agreement.listed)),
        schema.resolve(names),
        request=TrainingRequest(
            task=agreement.task,
            # Leaves of parties are noisy sums, whose noise shrinks with the number of rows.
            recipe=replace(
                recipe, build=lambda own: _build(recipe, own, source), useful_budget=None
            ),
            hyperparameters=hyper,
            privacy=privacy_request(agreement),
            objective=ObjectiveRequest(task=agreement.task),
        ),
        extras=RowExtras(),
        ledger=ledger,
        public=agreement.public(),
        n_threads=1,
        show_progress=show_progress,
    )


def privacy_request(agreement: Agreement) -> PrivacyRequest:
    """Return what an agreement asks of the guarantee, as the engine has it."""
    return PrivacyRequest(
        epsilon=float(agreement.epsilon),
        delta=float(agreement.delta),
        neighbours=agreement.relation,
        schema=agreement.declared,
        assume_public=(),
        noise_seed=agreement.noise_seed,
    )


def check_agreement(agreement: Agreement) -> tuple[Recipe, Hyperparameters]:
    """Return recipe and hyper-parameters of an agreement that federated boosting can keep.

    Raises
    ------
    InvalidParameterError
    """
    recipe = ALGORITHMS.find(agreement.recipe, OWNER)
    try:
        hyper = Hyperparameters(**agreement.hyper)
    except TypeError as error:
        raise refuse("hyper", OWNER, "hyper-parameters by name", agreement.hyper) from error
    hyper.validate(OWNER)
    recipe.check(hyper, OWNER)
    hyper = hyper.on_columns(agreement.features, OWNER)
    nominal = agreement.declared.resolve(agreement.features).categories
    listed = np.isin(np.arange(len(agreement.features)), list(nominal))
    monotone = hyper.constraints(agreement.features, OWNER).monotone
    check_ordered(monotone, listed, agreement.features)
    if not recipe.start_share:
        for name in ("max_interaction", "interaction_constraints"):
            if getattr(hyper, name) is not None:
                must = "None: parties tell of all features of a level; recipe='best' takes it"
                raise refuse(name, OWNER, must, getattr(hyper, name))
    schema = agreement.declared
    name = "label_bounds" if agreement.task == "regression" else "classes"
    if getattr(schema, name) is None:
        raise InvalidParameterError(
            f"The agreement must declare Schema({name}=...): parties have to know it to begin."
        )
    accountant = recipe.accountant(float(agreement.epsilon), float(agreement.delta))
    if accountant.name != agreement.accountant:
        raise refuse("accountant", OWNER, f"{accountant.name!r} here", agreement.accountant)
    least = recipe.least_epsilon(hyper, float(agreement.delta), agreement.task, agreement.relation)
    if not recipe.start_share:
        hyper = replace(hyper, max_bin=hyper.max_bin or HISTOGRAM_BINS)
        least = max(least, _least_of_histograms(recipe, hyper, agreement))
    if number_of(agreement.epsilon) < least:
        raise refuse(
            "epsilon",
            OWNER,
            f"at least {least:.2g} for this recipe, depth, number of features and of trees, so "
            "that every release can be drawn exactly",
            float(agreement.epsilon),
        )
    if hyper.selection is not None:
        raise refuse("selection", OWNER, "None: splits are read off noisy sums", hyper.selection)
    check_noise(
        recipe,
        hyper,
        privacy_request(agreement),
        ObjectiveRequest(task=agreement.task),
        schema.classes,
        owner=OWNER,
    )
    return recipe, hyper


def _least_of_histograms(recipe: Recipe, hyper: Hyperparameters, agreement: Agreement) -> float:
    """Return the least epsilon at which the noise of level histograms can be drawn exactly."""
    filled = hyper.filled(recipe.defaults(None))  # type: ignore[arg-type]
    assert filled.n_estimators is not None
    assert filled.max_depth is not None
    limit = round(1 / GRADIENT_UNIT)
    bound = level_sums(len(agreement.features), limit, agreement.relation)
    n_ensembles = 1
    if recipe.name == "seq":
        n_ensembles = filled.n_estimators
    elif filled.trees_per_ensemble is not None:
        n_ensembles = -(-filled.n_estimators // filled.trees_per_ensemble)
    parts = 2 * max(filled.max_depth, 1) * n_ensembles
    return float(Fraction(bound.constant * parts, 2**31))


def _build(recipe: Recipe, setting: Setting, source: RowStore) -> BoostingLoop:
    """Build a recipe's strategies; where they ask for exact sums, with sums that parties give."""
    loop = recipe.build(setting)
    if isinstance(loop.learner, PartitionLearner):
        return loop
    assert isinstance(loop.learner, SplitLearner)
    layout = Layout.of(setting.binner)
    learner = HistogramLearner(central=loop.learner, source=source, layout=layout)
    return replace(loop, learner=learner)


def _with_facts(fitted: Fitted, agreement: Agreement, ledger: Ledger) -> Fitted:
    """Add to the report what holds against whom."""
    more: dict[str, Any] = facts(agreement, ledger)
    if not fitted.recipe.start_share:
        more |= {"selection": "largest gain of noisy histograms", "deviation": DEVIATION}
    report = replace(fitted.report, facts=fitted.report.facts | more)
    ensemble = replace(fitted.ensemble, report=report.to_dict())
    return replace(fitted, ensemble=ensemble, report=report)
