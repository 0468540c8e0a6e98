"""Federated boosting: the engine's training with parties as the source of rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.boosting.growth import Growth
from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.split_learner import SplitLearner
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.session import Session
from dpboost.federated.training.agreed_terms import agreed_inputs, agreed_privacy
from dpboost.federated.training.histogram_learner import HistogramLearner
from dpboost.federated.training.party_row_store import PartyRowStore
from dpboost.federated.training.threat_model import facts, shares
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.exact_arithmetic import number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.histograms import level_sums
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.parameters import Given, constraints_of, on_columns
from dpboost.recipes.recipe import Recipe, Setting, Terms
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.inputs import check_number_of_classes
from dpboost.training.noise_check import check_noise
from dpboost.training.request import FitRequest
from dpboost.trees.bin_layout import Layout

# Bins of a numeric feature where splits are read off noisy histograms: a side of a split adds up
# the noise of all its cells.
HISTOGRAM_BINS = 32
DEVIATION = "splits are read off noisy histograms of all features, leaves are noisy sums"
OWNER = "federated boosting"


def boost(
    session: Session, agreement: Agreement, rows: Any, *, show_progress: bool = False
) -> FittedModel:
    """Train a private ensemble on the rows of all parties of a session.

    Parameters
    ----------
    session : Session
        One side of it, which has joined.
    agreement : Agreement
        On this fit.
    rows : RawRows or None
        Those of this party; None at the coordinator.
    show_progress : bool, default=False
        Whether a long fit draws a progress bar.

    Returns
    -------
    FittedModel
        The same on all sides.

    Raises
    ------
    InvalidParameterError
        If the agreement does not fit the recipe; nothing is drawn or charged.
    PartyLostError, RefusedError
        If a party is lost or differs. What was charged stays charged.

    Privacy
    -------
    Everything in the result is public, declared or released by the ledger of this side.
    """
    ledger = session.open_ledger(agreement)
    handle = RowHandle(PartyRowStore(session, rows, ledger))
    fitted = train_agreed(handle, agreement, ledger, show_progress=show_progress)
    more: dict[str, Any] = facts(agreement, ledger) | session.losses
    if fitted.recipe.needs_exact_sums:
        more |= {"selection": "largest gain of noisy histograms", "deviation": DEVIATION}
    return with_facts(fitted, more, parties=shares(agreement))


def train_agreed(
    source: RowHandle, agreement: Agreement, ledger: Ledger, *, show_progress: bool = False
) -> FittedModel:
    """Train by the terms of an agreement, wherever the rows are.

    Parameters
    ----------
    source : RowHandle
        Of ``RawRows``: parties, or, to compare with them, one process that has all rows.
    agreement : Agreement
        The terms.
    ledger : Ledger
        The gate, with the whole budget.
    show_progress : bool, default=False
        Whether a long fit draws a progress bar.

    Returns
    -------
    FittedModel
    """
    recipe, given = check_agreement(agreement)
    request = FitRequest(
        task=agreement.task,
        # Leaves of parties are noisy sums, whose noise shrinks with the number of rows.
        recipe=replace(recipe, build=lambda own: _build(recipe, own, source), useful_budget=None),
        given=given,
        privacy=agreed_privacy(agreement),
        objective=agreement.learns,
        public_seed=agreement.public_seed,
        owner=OWNER,
        n_jobs=1,
        show_progress=show_progress,
    )
    return fit(source, agreed_inputs(agreement), request, ledger)


def check_agreement(agreement: Agreement) -> tuple[Recipe, Given]:
    """Return recipe and parameters of an agreement that federated boosting can keep.

    Raises
    ------
    InvalidParameterError
    """
    recipe = ALGORITHMS.find(agreement.recipe, OWNER)
    given: dict[str, Any] = dict(agreement.hyper)
    recipe.check(given, OWNER)
    given = on_columns(given, agreement.features, OWNER)
    nominal = agreement.declared.resolve(agreement.features).categories
    listed = np.isin(np.arange(len(agreement.features)), list(nominal))
    monotone = constraints_of(given, agreement.features, OWNER).monotone
    check_ordered(monotone, listed, agreement.features)
    if recipe.needs_exact_sums:
        for name in ("max_interaction", "interaction_constraints", "feature_fraction"):
            if name in given:
                must = "None: parties tell of all features of a level; recipe='best' takes it"
                raise refuse(name, OWNER, must, given[name])
    schema, learns = agreement.declared, agreement.learns
    name = "label_bounds" if agreement.task == "regression" else "classes"
    if getattr(schema, name) is None:
        raise InvalidParameterError(
            f"The agreement must declare Schema({name}=...): parties have to know it to begin."
        )
    learns.check_recipe(recipe, OWNER)
    earlier = agreement.continued
    if earlier is not None:
        constraints = constraints_of(given, agreement.features, OWNER)
        earlier.check_constraints(constraints.monotone_text, constraints.interaction_text, OWNER)
    if agreement.task == "regression":
        learns.check_labels(schema, RowExtras(), None)
    else:
        classes = tuple(schema.classes or ())
        check_number_of_classes(len(classes), recipe)
        learns.check_classes(classes, RowExtras())
    accountant = recipe.accountant(float(agreement.epsilon), float(agreement.delta))
    if accountant.name != agreement.accountant:
        raise refuse("accountant", OWNER, f"{accountant.name!r} here", agreement.accountant)
    terms = Terms(
        delta=float(agreement.delta),
        task=agreement.task,
        neighbours=agreement.relation,
        n_features=len(agreement.features),
        weighted=agreement.weighted,
    )
    least = recipe.least_epsilon(given, terms)
    if recipe.needs_exact_sums:
        given = {"max_bin": HISTOGRAM_BINS} | given
        least = max(least, _least_of_histograms(recipe, given, agreement))
    least *= agreement.rows_of_user or 1
    if agreement.folds is not None:
        least /= float(agreement.folds.share[0])
    if number_of(agreement.epsilon) < least:
        raise refuse(
            "epsilon",
            OWNER,
            f"at least {least:.2g} for this recipe, depth, number of features and of trees, so "
            "that every release can be drawn exactly",
            float(agreement.epsilon),
        )
    if "selection" in given:
        must = "None: splits are read off noisy sums"
        raise refuse("selection", OWNER, must, given["selection"])
    check_noise(
        recipe,
        given,
        agreed_privacy(agreement),
        learns,
        schema.classes,
        owner=OWNER,
    )
    return recipe, given


def _least_of_histograms(recipe: Recipe, given: Given, agreement: Agreement) -> float:
    """Return the least epsilon at which the noise of level histograms can be drawn exactly."""
    assert recipe.without_facts is not None, "recipes of exact sums know how they divide"
    hyper: Any = recipe.without_facts(given)
    limit = round(1 / GRADIENT_UNIT)
    bound = level_sums(len(agreement.features), limit, agreement.relation)
    parts = 2 * max(hyper.max_depth, 1) * recipe.n_ensembles(hyper)
    return float(Fraction(bound.constant * parts, 2**31))


def _build(recipe: Recipe, setting: Setting, source: RowHandle) -> Growth:
    """Build a recipe's strategies; where they ask for exact sums, with sums that parties give."""
    growth = recipe.build(setting)
    if not recipe.needs_exact_sums:
        return growth
    assert isinstance(growth, BoostingLoop)
    assert isinstance(growth.learner, SplitLearner)
    layout = Layout.of(setting.binner)
    learner = HistogramLearner(central=growth.learner, source=source, layout=layout)
    return replace(growth, learner=learner)
