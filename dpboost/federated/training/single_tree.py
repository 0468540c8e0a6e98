"""Single trees over parties."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.session import Session
from dpboost.federated.training.agreed_terms import agreed_inputs, agreed_privacy
from dpboost.federated.training.party_row_store import PartyRowStore
from dpboost.federated.training.threat_model import facts, shares
from dpboost.privacy.queries import RowHandle
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.schema import ResolvedSchema
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.request import FitRequest

#: Recipes whose questions parties can answer.
FEDERATED_RECIPES = tuple(
    name for name, recipe in TREE_ALGORITHMS.items() if not recipe.needs_exact_sums
)


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
        public_seed=0,
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


def grow(session: Session, agreement: Agreement, rows: Any, *, owner: str) -> FittedModel:
    """Release one tree from the rows of all parties of a session.

    Parameters
    ----------
    session : Session
        One side of it, which has joined.
    agreement : Agreement
        That names one of ``FEDERATED_RECIPES``.
    rows : RawRows or None
        Those of this party; None at the coordinator.
    owner : str
        Name of the caller in error messages.

    Returns
    -------
    FittedModel
        The same on all sides.

    Raises
    ------
    InvalidParameterError
        For terms that do not fit a single tree, before anything is drawn or charged.
    RefusedError, PartyLostError
        If a party is lost or differs. What was charged stays charged.

    Privacy
    -------
    All sides see sums that carry the noise of the charge, and choices that parties have released
    from their own rows.
    """
    request = check_agreement(agreement, owner)
    ledger = session.open_ledger(agreement)
    handle = RowHandle(PartyRowStore(session, rows, ledger))
    fitted = fit(handle, agreed_inputs(agreement), request, ledger)
    told = facts(agreement, ledger) | session.losses
    return with_facts(fitted, told, parties=shares(agreement))
