"""The fit or evaluation of an agreement, and its guarantee against each kind of attacker.

A party has its rows, the coordinator has none, and a reference run in one process has all rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.table import ColumnFacts
from dpboost.evaluating.evaluate import release_figures
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.gate import Gate
from dpboost.federated.protocol.agreed_evaluation import AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.session import PartyRowStore, Session
from dpboost.federated.training.histogram_learner import HistogramLearner
from dpboost.growing.boosting_loop import BoostingLoop
from dpboost.growing.growth import Growth
from dpboost.growing.split_learner import SplitLearner
from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.collusion import epsilon_against
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.histograms import level_sums
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.best_rules import LEAST_COLUMNS
from dpboost.recipes.recipe import Recipe, Setting, constraints_of
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import ResolvedSchema, lightgbm_name
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel, with_facts
from dpboost.training.privacy_params import PrivacyRequest, check_noise
from dpboost.training.request import FitRequest, Inputs
from dpboost.trees.bin_layout import Layout

# Bins of a numeric feature where splits are read off noisy histograms: a side of a split adds up
# the noise of all its cells.
HISTOGRAM_BINS = 32
DEVIATION = "splits are read off noisy histograms of all features, leaves are noisy sums"
OWNER = "an agreement"
#: Recipes of single trees whose queries parties can answer.
FEDERATED_RECIPES = tuple(
    name for name, recipe in TREE_ALGORITHMS.items() if not recipe.needs_exact_sums
)


# -- what is asked ---------------------------------------------------------------------------------


def agreed_inputs(agreement: Agreement) -> Inputs:
    """Return what is public of the tables that an agreement is about."""
    names = tuple(lightgbm_name(name) for name in agreement.features)
    schema = agreement.declared
    return Inputs(
        columns=ColumnFacts(feature_names=names, categorical=frozenset(agreement.listed)),
        schema=schema.resolve(names),
        classes=schema.classes if agreement.task != "regression" else None,
    )


def agreed_privacy(agreement: Agreement) -> PrivacyRequest:
    """Return the guarantee that an agreement asks for."""
    return PrivacyRequest(
        epsilon=float(agreement.epsilon),
        delta=float(agreement.delta),
        neighbors=agreement.relation,
        schema=agreement.declared,
        assume_public=(),
        noise_seed=agreement.noise_seed,
        rows_per_user=agreement.rows_of_user,
        part=None if agreement.folds is None else agreement.folds.share,
    )


def agreed_request(agreement: Agreement, owner: str = OWNER) -> FitRequest:
    """Return the fit of an agreement, checked as that of one table, and for what parties can do."""
    known = {**ALGORITHMS, **{name: TREE_ALGORITHMS[name] for name in FEDERATED_RECIPES}}
    recipe = known.get(agreement.recipe)
    if recipe is None:
        raise refuse("recipe", owner, "one of " + ", ".join(map(repr, known)), agreement.recipe)
    given = dict(agreement.hyper)
    if recipe.needs_exact_sums:
        for name in ("max_interaction", "interaction_constraints", "feature_fraction", "selection"):
            if name in given:
                must = "None: splits are read off noisy sums of all features of a level"
                raise refuse(name, owner, must, given[name])
        given = {"max_bin": HISTOGRAM_BINS} | given
    inputs = agreed_inputs(agreement)
    request = FitRequest(
        task=agreement.task,
        recipe=recipe,
        given=given,
        privacy=agreed_privacy(agreement),
        objective=agreement.learns,
        weights=agreement.weights,
        continuation=agreement.continuation,
        public_seed=agreement.public_seed,
        owner=owner,
        n_jobs=1,
    ).checked()
    _check_declared(agreement, inputs.schema, recipe, owner)
    request = request.on_columns(inputs)
    _check_learned(agreement, request)
    accountant = recipe.accountant(float(agreement.epsilon), float(agreement.delta))
    if accountant.name != agreement.accountant:
        raise refuse("accountant", owner, f"{accountant.name!r} here", agreement.accountant)
    request.check_epsilon(len(agreement.features))
    if recipe.needs_exact_sums:
        least = _least_of_histograms(request, agreement)
        if request.privacy.row_epsilon < least:
            what = "recipe, depth, number of features and of trees"
            raise request.privacy.refuse_epsilon(owner, least, what)
    check_noise(
        recipe, request.given, request.privacy, request.objective, inputs.classes, owner=owner
    )
    return request


def _check_declared(
    agreement: Agreement, schema: ResolvedSchema, recipe: Recipe, owner: str
) -> None:
    """Raise unless a schema says what parties have to know to begin."""
    name = "label_bounds" if agreement.task == "regression" else "classes"
    if getattr(schema, name) is None:
        raise InvalidParameterError(
            f"The 'schema' parameter of {owner} must declare the classes or label bounds, on which "
            f"all parties agree first: Schema({name}=...)."
        )
    if not recipe.single:
        return
    known = {*schema.bounds, *schema.edges, *schema.categories}
    missing = [name for position, name in enumerate(schema.feature_names) if position not in known]
    if missing:
        raise InvalidParameterError(
            f"The 'schema' parameter of {owner} must declare bounds, edges or categories of every "
            f"column, on which all parties agree first. Missing: {', '.join(missing)}."
        )
    if agreement.rows_per_user is not None or agreement.folds is not None or agreement.weighted:
        must = "without weights, rows_per_user and folds: a tree over parties counts rows"
        raise refuse("agreement", owner, must, agreement)


def _check_learned(agreement: Agreement, request: FitRequest) -> None:
    """Raise if objective, classes, or a model that is continued, do not go with the rest."""
    numbers, owner = agreement.task == "regression", request.owner
    request.check_classes(() if numbers else agreement.declared.classes or (), RowExtras())
    earlier = agreement.continued
    if earlier is not None:
        constraints = constraints_of(request.given, agreement.features, owner)
        earlier.check_constraints(constraints.monotone_text, constraints.interaction_text, owner)


def _least_of_histograms(request: FitRequest, agreement: Agreement) -> float:
    """Return the least epsilon at which the noise of level histograms can be drawn exactly."""
    recipe = request.recipe
    assert recipe.without_facts is not None, "recipes of exact sums know how they divide"
    hyper: Any = recipe.without_facts(request.given)
    limit = round(1 / GRADIENT_UNIT)
    bound = level_sums(len(agreement.features), limit, agreement.relation)
    parts = 2 * max(hyper.max_depth, 1) * recipe.n_ensembles(hyper)
    return float(Fraction(bound.constant * parts, 2**31))


# -- what is run -----------------------------------------------------------------------------------


def train(
    session: Session, agreement: Agreement, rows: Any, *, show_progress: bool = False
) -> FittedModel:
    """Train on the rows of all parties of a session: its side is that of a party, or has no rows.

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
    elif fitted.recipe.columns_to_choose and len(agreement.features) >= LEAST_COLUMNS:
        more |= {"columns": "none is chosen before the first tree: that takes exact sums"}
    return with_facts(fitted, more, parties=shares(agreement))


def train_agreed(
    source: RowHandle, agreement: Agreement, ledger: Ledger, *, show_progress: bool = False
) -> FittedModel:
    """Train by the terms of an agreement, wherever the rows are."""
    request = agreed_request(agreement)
    recipe = request.recipe
    if not recipe.single:
        # Leaves of parties are noisy sums, whose noise shrinks with the number of rows.
        adapted = replace(recipe, build=lambda own: _build(recipe, own, source), useful_budget=None)
        request = replace(request, recipe=adapted, show_progress=show_progress)
    return fit(source, agreed_inputs(agreement), request, ledger)


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


def judge(session: Session, agreement: Agreement, rows: Any) -> Evaluation:
    """Evaluate the model of an agreement on the rows of all parties of a session."""
    ledger = session.open_ledger(agreement)
    found = evaluate_agreed(RowHandle(PartyRowStore(session, rows, ledger)), agreement, ledger)
    more = found.report.facts | facts(agreement, ledger) | session.losses
    return replace(found, report=_report(agreement, ledger, more))


def evaluate_agreed(source: RowHandle, agreement: Agreement, ledger: Ledger) -> Evaluation:
    """Evaluate by the terms of an agreement, wherever the rows are."""
    agreed = AgreedEvaluation.of(agreement)
    most = agreement.rows_of_user
    metrics, groups, curves, notes = release_figures(
        agreed.model, Gate(source, ledger), agreed.groups, agreed.metrics, alike=most or 1
    )
    told = {"evaluated": "a model text", "metrics": ", ".join(agreed.metrics)}
    report = PrivacyReport.from_ledger(ledger, facts=told, rows_per_user=most)
    return Evaluation(metrics=metrics, groups=groups, curves=curves, report=report, notes=notes)


# -- what it promises against whom -----------------------------------------------------------------


def party_report(agreement: Agreement, ledger: Ledger) -> PrivacyReport:
    """Return the report of one party, from its own ledger."""
    return _report(agreement, ledger, facts(agreement, ledger))


def _report(agreement: Agreement, ledger: Ledger, told: dict[str, Any]) -> PrivacyReport:
    earlier = agreement.continued
    return PrivacyReport.from_ledger(
        ledger,
        facts=told,
        rows_per_user=agreement.rows_of_user,
        continues=earlier is not None,
        earlier=None if earlier is None else earlier.report,
        parties=shares(agreement),
    )


def facts(agreement: Agreement, ledger: Ledger) -> dict[str, Any]:
    """Return the guarantee against the coordinator, other parties, and several of them.

    All parties have the same shares: the ledger is that of one side. Public numbers only.
    """
    n_parties, honest = agreement.n_parties, agreement.honest
    signed = "" if agreement.identities else "; honest but curious: keys are relayed unsigned"
    found: dict[str, Any] = {
        "parties": n_parties,
        "noise": "each party adds all of it"
        if honest == 1
        else f"in shares, {honest} of which carry all of it",
        "protected at": _unit(agreement),
        "against coordinator": f"{_epsilon(agreement, ledger, 0)}{signed}",
    }
    if agreement.init_model is not None:
        found["continues"] = (
            "a model text of the agreement: the budget of its training adds to these numbers"
        )
    most = n_parties - agreement.dropouts - 1
    if agreement.dropouts:
        found["lost parties"] = (
            f"up to {agreement.dropouts} of a release, in any of its phases; {agreement.threshold} "
            "parties take its masks off"
        )
        found["surplus noise"] = (
            f"variance {n_parties / honest:.4g} times the charge without a lost party, "
            f"{(most + 1) / honest:.4g} times with {agreement.dropouts} lost"
        )
    counts = {1, agreement.colluding, agreement.colluding + 1, most} - {0}
    for colluding in sorted(counts):
        if colluding <= most:
            who = "1 other party" if colluding == 1 else f"{colluding} others"
            found[f"against {who}"] = (
                f"{_epsilon(agreement, ledger, colluding)}, with the coordinator or without"
            )
    return found


def shares(agreement: Agreement) -> dict[str, int]:
    """Return whose shares the noise consists of, for the certificate."""
    return {
        "parties": agreement.n_parties,
        "honest": agreement.honest,
        "colluding": agreement.colluding,
        "losses": agreement.dropouts,
    }


def _unit(agreement: Agreement) -> str:
    """Say what is protected, and where."""
    most = agreement.rows_per_user
    if most is None:
        return (
            "each party: a row among the rows of one party; a person with rows at m parties is "
            "protected at m times epsilon"
        )
    places = agreement.parties_per_user
    return (
        f"each person: all rows, of which {most} take part at a party; a person has rows at "
        f"{places} of the parties at most, as declared"
    )


def _epsilon(agreement: Agreement, ledger: Ledger, colluding: int) -> str:
    if not ledger.private:
        return "no guarantee"
    found = epsilon_against(
        ledger,
        # As if all that may be lost were lost.
        n_parties=agreement.n_parties - agreement.dropouts,
        colluding=colluding,
        honest=agreement.honest,
    )
    if math.isinf(found):
        return "no finite epsilon"
    return f"epsilon = {found:.4g}"
