"""Report, certificate, page, `explain_epsilon`, `forecast` and budget say one thing of a fit.

Every figure of a certificate is compared with the ledger that the report was made of.
"""

from __future__ import annotations

import html
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dpboost import (
    Budget,
    DPBoostClassifier,
    DPTreeClassifier,
    evaluate,
    explain_epsilon,
    forecast,
)
from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting.verification import verify_accounting
from dpboost.federated import FederatedBoostingClassifier
from dpboost.privacy.release_record import release_record
from dpboost.reporting.attacker import best_true_positive_rate, membership_advantage
from dpboost.reporting.certificate import NOT_STATED, STATED, model_hash
from dpboost.reporting.plain_words import from_whom, who
from dpboost.reporting.proof_pages import pages_of
from dpboost.reporting.standards import ASKED
from dpboost.reporting.terms import ReportTerms

N_ROWS = 1500
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
Y = (X[:, 0] > 0).astype(int)
USERS = np.arange(N_ROWS) // 3
SCHEMA = {"bounds": dict.fromkeys(range(3), (-4, 4)), "classes": [0, 1]}
RATES = (0.001, 0.01, 0.05, 0.5)
#: Reports with the ledgers that they were made of.
KEPT: list = []


def estimator(kind=DPBoostClassifier, **more):
    trees = {} if kind is DPTreeClassifier else {"n_estimators": 5, "verbosity": -1}
    return kind(schema=SCHEMA, **trees, **more)


class Case:
    """A fitted model, its budget and the scores that were released of it."""

    def __init__(self, model, budget=None, scores=()):
        self.model, self.budget, self.scores = model, budget, list(scores)
        self.report = model.privacy_report_
        # A party has a ledger of its own, which has the same entries.
        lines = self.report.accounting["lines"]
        self.ledger = next(led for told, led in KEPT if told.accounting["lines"] == lines)
        self.certificate = json.loads(
            json.dumps(
                self.report.certificate(model=model, budget=budget, scores=self.scores),
                allow_nan=False,
            )
        )
        page = self.report.certificate_to_html(model=model, budget=budget, scores=self.scores)
        self.page = html.unescape(re.sub(r"<[^>]+>", " ", page or ""))


def plain():
    return Case(estimator(epsilon=1.0, delta=1e-6).fit(X, Y))


def pure():
    return Case(estimator(epsilon=1.0, delta=0.0).fit(X, Y))


def paper():
    return Case(estimator(epsilon=2.0, recipe="dpboost").fit(X, Y))


def tree():
    return Case(estimator(DPTreeClassifier, epsilon=2.0).fit(X, Y))


def users():
    model = estimator(epsilon=2.0, rows_per_user=2)
    return Case(model.fit(X, Y, user_ids=USERS))


def continued():
    first = estimator(epsilon=1.0).fit(X, Y)
    return Case(estimator(epsilon=2.0).fit(X, Y, init_model=first))


def in_a_budget():
    budget = Budget(epsilon=3, delta=1e-6, table="trial")
    return Case(estimator().fit(X, Y, budget=budget, fraction=0.25), budget)


def held_out():
    budget = Budget(epsilon=3, delta=1e-6)
    model = estimator().fit(X, Y, budget=budget, fraction=0.5, holdout=0.3)
    held = evaluate(model, budget=budget, fraction=0.5, metrics=["auc"])
    groups = (np.where(X[:, 1] > 0, "high", "low"), ["high", "low", "absent"])
    again = evaluate(model, X, Y, budget=budget, fraction=0.25, groups=groups)
    return Case(model, budget, [held, again])


def users_in_a_budget():
    budget = Budget(epsilon=3, delta=1e-6, rows_per_user=2)
    model = estimator(rows_per_user=2).fit(X, Y, user_ids=USERS, budget=budget, fraction=0.5)
    judged = evaluate(model, X, Y, user_ids=USERS, budget=budget, fraction=0.5, metrics=["auc"])
    return Case(model, budget, [judged])


def parties():
    tables = [(X[part::3], Y[part::3]) for part in range(3)]
    model = estimator(FederatedBoostingClassifier, epsilon=3.0, max_depth=2)
    return Case(model.fit(tables))


CASES = {
    each.__name__: each
    for each in (
        *(plain, pure, paper, tree, users, continued),
        *(in_a_budget, held_out, users_in_a_budget, parties),
    )
}
PLANNED = ("plain", "pure", "paper", "tree", "users", "parties")


@pytest.fixture(scope="module")
def made():
    """Return the cases; the ledger of each is kept as its report is made."""
    of_ledger = ReportTerms.__dict__["from_ledger"].__func__

    def kept(cls, ledger, **more):
        report = of_ledger(cls, ledger, **more)
        KEPT.append((report, ledger))
        return report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReportTerms, "from_ledger", classmethod(kept))
        yield {}
    KEPT.clear()


@pytest.fixture(params=list(CASES))
def case(request, made):
    name = request.param
    if name not in made:
        made[name] = CASES[name]()
    made[name].name = name
    return made[name]


def test_the_claim_is_that_of_the_ledger(case):
    report, claim = case.report, case.certificate["claim"]
    assert (claim["epsilon"], claim["delta"]) == report.total
    assert (claim["own_epsilon"], claim["own_delta"]) == report.own
    assert claim["mu"] == report.mu
    assert claim["sentence"] == report.guarantee
    assert claim["private"]
    assert (claim["neighbours"], claim["unit"]) == (report.neighbors, report.unit)
    assert claim["rows_per_person"] == (report.rows_per_user or 1)
    assert claim["continued_model"] == (case.name == "continued")
    if case.budget is not None:
        assert claim["epsilon"] == float(case.budget.epsilon)
        assert claim["own_epsilon"] < claim["epsilon"]
    if case.name == "continued":
        assert claim["epsilon"] == 3.0


def test_every_release_is_listed_and_they_add_up(case):
    report, claim = case.report, case.certificate["claim"]
    assert [line["kind"] for line in claim["releases"]] == [line.label for line in report.releases]
    assert [line["times"] for line in claim["releases"]] == [
        line.releases for line in report.releases
    ]
    assert claim["number_of_releases"] == sum(line["times"] for line in claim["releases"])
    shares = sum(line.share for line in report.releases)
    assert shares == Fraction(report.spent) / Fraction(report.capacity)
    assert sum(line["share_of_budget"] for line in claim["releases"]) == pytest.approx(shares)
    for line in claim["releases"]:
        assert line["kind"] in case.page


def test_the_meaning_is_that_of_the_model_by_itself(case):
    report, record = case.report, case.certificate
    epsilon, delta = report.own
    terms = {"epsilon": epsilon, "delta": delta, "mu": report.mu}
    meaning = record["meaning"]
    assert meaning["true_positives_at_1_percent_false"] == best_true_positive_rate(0.01, **terms)
    assert meaning["membership_advantage"] == membership_advantage(**terms)
    assert f"{100 * meaning['true_positives_at_1_percent_false']:.4g} %" in case.page
    assert f"at most {100 * meaning['true_positives_at_1_percent_false']:.4g} %" in " ".join(
        str(report).split()
    )
    whole = record["meaning_of_the_budget"]
    assert (whole is None) == (report.own == report.total)
    if whole is not None:
        # An account that counts in mu does so for everything under the budget.
        measured = {line["measure"]: line for line in report.budget["accounts"]}
        mu = math.sqrt(Fraction(measured["mu squared"]["capacity"]))
        assert mu > report.mu
        terms = {"epsilon": report.total[0], "delta": report.total[1], "mu": mu}
        assert whole["true_positives_at_5_percent_false"] == best_true_positive_rate(0.05, **terms)
        assert whole["membership_advantage"] > meaning["membership_advantage"]


def test_what_explain_epsilon_says_of_the_report_is_in_it(case):
    found, report = case.report.explanation, case.report
    assert (found.epsilon, found.delta) == report.own
    assert found.mu == report.mu
    rates = re.findall(r"at most ([0-9.]+) %", " ".join(str(report).split()))[:2]
    for rate, shown in zip((0.01, 0.05), rates, strict=True):
        assert f"{100 * best_true_positive_rate(rate, **terms_of(found)):.4g}" == shown
        assert found.true_positives(rate) <= float(shown) / 100


def terms_of(found):
    return {"epsilon": found.epsilon, "delta": found.delta, "mu": found.mu}


@pytest.mark.parametrize("name", PLANNED)
def test_a_planned_fit_has_the_figures_of_its_report(name, made):
    case = made.setdefault(name, None) or CASES[name]()
    made[name], parameters = case, case.model.get_params()
    planned = explain_epsilon(
        parameters["epsilon"],
        parameters["delta"],
        recipe=case.report.facts["recipe"] if name in ("tree", "parties") else parameters["recipe"],
        rows_per_user=parameters.get("rows_per_user"),
    )
    found = case.report.explanation
    assert (planned.epsilon, planned.delta, planned.mu) == (found.epsilon, found.delta, found.mu)
    assert str(planned) == str(found)
    assert [planned.true_positives(rate) for rate in RATES] == [
        found.true_positives(rate) for rate in RATES
    ]


@pytest.mark.parametrize("name", ["plain", "pure", "paper", "users"])
def test_a_forecast_tells_the_same_ledger(name, made):
    case = made.setdefault(name, None) or CASES[name]()
    made[name] = case
    found = forecast(
        schema=SCHEMA, n_rows=N_ROWS, epsilon=[case.report.own[0]], estimator=case.model
    )
    assert str(found.guarantees[0]) == str(case.report.explanation)
    capacity, measure = float(case.report.capacity), case.report.privacy_measure
    noise = 1 / math.sqrt(capacity) if measure == "mu squared" else math.sqrt(2) / capacity
    assert found.hidden_rows == (pytest.approx(noise),)


def test_the_budget_has_the_lines_of_the_certificate(case):
    accounting = case.certificate["accounting"]
    if case.budget is None:
        assert accounting["budget"] is None
        assert "belongs to no budget" in case.certificate["utility_and_bias"]
        assert "The budget:" not in case.page
        return
    listed = accounting["budget"]["lines"]
    assert [(line["what"], Fraction(line["fraction"])) for line in listed] == [
        (line.what, line.fraction) for line in case.budget.lines
    ]
    own = [line for line in listed if line["own"]]
    assert [line["what"] for line in own] == ["DPBoostClassifier"]
    capacity = Fraction(case.report.capacity) * (case.report.rows_per_user or 1) ** 2
    assert Fraction(own[0]["allowance"]) == capacity
    assert f"epsilon = {float(case.budget.epsilon):g}" in case.page
    if case.name == "in_a_budget":
        # The only line. What is booked counts the part of delta that lists may take as well.
        booked = case.budget.epsilon_spent
        assert 0.98 * booked <= case.report.own[0] <= booked
        assert case.certificate["utility_and_bias"] == "no score was released under the budget"


def test_scores_are_those_of_the_evaluations(case):
    listed = case.certificate["scores"]
    assert listed == [
        {
            "metric": name,
            "group": group,
            "held_out": evaluation.held_out,
            **{
                part: None if figure.too_few else getattr(figure, part)
                for part in ("value", "low", "high")
            },
            "own_epsilon": evaluation.report.own[0],
            "own_delta": evaluation.report.own[1],
            "in_the_budget": True,
            "private": True,
        }
        for evaluation in case.scores
        for group, figures in {"all rows": evaluation.metrics, **evaluation.groups}.items()
        for name, figure in figures.items()
    ]
    for score in listed:
        assert ("too few rows" if score["value"] is None else f"{score['value']:.4g}") in case.page
    if case.name == "held_out":
        # Nobody is in the last group, and no figure says otherwise.
        assert {score["group"] for score in listed if score["value"] is None} >= {"absent"}
        assert "all rows, held out of the fit" in case.page


def test_every_field_is_that_of_the_ledger(case):
    """Nothing else stands in a certificate: a new field fails here until it is compared."""
    record, ledger, report = case.certificate, case.ledger, case.report
    first = 1.0 if case.name == "continued" else 0.0
    deltas = float(ledger.delta) * (2 if first else 1)
    delta = 0.0 if case.name in ("pure", "paper", "tree") else deltas
    own = [case.model.privacy_report_.own[0], delta]
    whole = own if case.budget is None else [float(case.budget.epsilon), delta]
    if case.budget is None:
        assert own[0] == float(ledger.epsilon) + first
    else:
        assert 0 <= own[0] - ledger.epsilon_spent <= 1e-3 * own[0]
    by_user = case.name.startswith("users")
    unit = "all rows of one added or removed user" if by_user else ledger.neighbors.sentence
    claim = record["claim"]
    assert claim == {
        "private": ledger.private,
        "reasons_why_not": list(ledger.reasons),
        "definition": "approximate" if delta else "pure",
        "sentence": claim["sentence"],
        "epsilon": whole[0],
        "delta": whole[1],
        "own_epsilon": own[0],
        "own_delta": own[1],
        "mu": report.mu,
        "continued_model": bool(first),
        "neighbours": ledger.neighbors.value,
        "unit": unit,
        "rows_per_person": 2 if by_user else 1,
        "accountant": ledger.accountant.name,
        "number_of_releases": len(ledger.entries),
        "releases": claim["releases"],
    }
    terms = f"epsilon = {whole[0]:g}" + (f", delta = {delta:g}" if delta else "")
    assert claim["sentence"].startswith(f"Differentially private ({terms}) for any two tables")
    assert claim["sentence"].endswith(f"that differ by {unit}.")
    for line in claim["releases"]:
        entries = [entry for entry in ledger.entries if entry.label == line["kind"]]
        sizes = [entry.bound.constant for entry in entries]
        assert line == {
            "kind": line["kind"],
            "times": len(entries),
            "mechanism": line["mechanism"],
            "norm": line["norm"],
            "least_sensitivity": min(sizes),
            "largest_sensitivity": max(sizes),
            "unit": line["unit"],
            "share_of_budget": line["share_of_budget"],
            "reason": line["reason"],
        }
    assert sum(line["share_of_budget"] for line in claim["releases"]) == pytest.approx(
        float(ledger.spent / ledger.capacity)
    )
    lines = None if case.budget is None else record["accounting"]["budget"]
    assert record["accounting"] == json.loads(
        json.dumps(
            release_record(ledger)
            | {
                "budget": lines,
                "parties": report.accounting["parties"],
                "earlier": {"epsilon": f"{first:g}", "delta": "1/1000000" if first else "0"},
            }
        )
    )
    assert verify_accounting(record)
    assert record["trust_model"] == {
        "kind": "parties" if case.name == "parties" else "central",
        "protected": list(who(report)),
        "from_whom": list(from_whom(report)),
    }
    correctness = record["correctness"]
    assert correctness == {
        "exact_arithmetic": True,
        "noise_source": "the operating system's random bits",
        "proofs": pages_of(dict.fromkeys(entry.label for entry in ledger.entries)),
        "machine_checked": correctness["machine_checked"],
        "audit": correctness["audit"],
    }
    assert record["outside_the_guarantee"] == {
        **dict.fromkeys(
            ("timing_and_memory", "refused_input", "the_process_itself"), "not covered"
        ),
        **dict.fromkeys(STATED["outside_the_guarantee"], NOT_STATED),
    }
    assert record["conditions"] == {
        "assumed_public": list(report.assumed_public),
        "declared_public": "bounds, classes",
        "learned_under_the_budget": "nothing",
        "taken_as_public": record["conditions"]["taken_as_public"],
        **dict.fromkeys(STATED["conditions"], NOT_STATED),
    }
    assert set(record) == {
        *("identity", "claim", "accounting", "meaning", "meaning_of_the_budget", "conditions"),
        *("correctness", "trust_model", "outside_the_guarantee", "utility_and_bias", "scores"),
        *("data", "approval", "life", "asked_for", "scores_outside_the_budget"),
    }
    assert set(record["identity"]) == {
        *("library", "version", "build_sha256", "recipe", "issued", "model_sha256"),
    }


def test_identity_conditions_and_trust_are_those_of_the_fit(case):
    record, facts = case.certificate, case.report.facts
    assert record["identity"]["model_sha256"] == model_hash(case.model)
    assert record["identity"]["model_sha256"] in case.page
    assert record["identity"]["recipe"] == facts["recipe"]
    assert record["conditions"]["assumed_public"] == list(case.report.assumed_public)
    assert record["conditions"]["declared_public"] == facts["declared public"]
    assert record["trust_model"]["kind"] == ("parties" if case.name == "parties" else "central")
    for group, names in STATED.items():
        assert {record[group][name] for name in names} == {NOT_STATED}


def test_every_group_of_a_certificate_says_where_it_is_asked_for(case):
    items = {line["item"].partition(".")[0] for line in case.certificate["asked_for"]}
    own = {"meaning_of_the_budget": "meaning", "scores": "utility_and_bias", "asked_for": "claim"}
    own["scores_outside_the_budget"] = "utility_and_bias"
    assert {own.get(name, name) for name in case.certificate} == items
    for line in ASKED:
        assert line.words in case.page


def test_scores_of_another_model_are_refused(made, tmp_path):
    from dpboost.reporting.released_scores import write_scores

    held, other = (made.get(name) or CASES[name]() for name in ("held_out", "plain"))
    path = tmp_path / "scores.json"
    write_scores(str(path), held.scores[0], model_hash(held.model))
    found = held.report.certificate(model=held.model, scores=[path])["scores"]
    assert found == held.certificate["scores"][: len(found)]
    with pytest.raises(InvalidParameterError, match="must be of its model"):
        other.report.certificate(model=other.model, scores=[path])
    with pytest.raises(InvalidParameterError, match="'model'"):
        other.report.certificate(scores=[path])
    path.write_text("[]")
    with pytest.raises(InvalidParameterError, match="--scores"):
        other.report.certificate(model=other.model, scores=[path])
