"""Cross-validation over parties: folds, the budget, metrics, and coordinators that cheat."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import dpboost
from dpboost import Budget, Dataset, DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost.budgeting.verification import verify_accounting
from dpboost.federated import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    FederatedTreeClassifier,
    cv,
    cv_agreement,
    outcome_of,
    simulate,
)
from tests.unit.federated.channels import Losing, parties_of, run, without_report

pytestmark = pytest.mark.filterwarnings("ignore")
BOUNDS = {0: (-1, 1), 1: (-1, 1)}
X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
SCORE = X[:, 0] - X[:, 1]
SIZES = (120, 1, 0, 179)
FEATURES = ("Column_0", "Column_1")
KINDS = {
    "two classes": (FederatedBoostingClassifier, {"classes": [0, 1]}, (SCORE > 0).astype(int)),
    "three classes": (
        FederatedBoostingClassifier,
        {"classes": [0, 1, 2]},
        np.digitize(SCORE, [-0.5, 0.5]),
    ),
    "numbers": (FederatedBoostingRegressor, {"label_bounds": (-2, 2)}, SCORE),
}
SMALL = {"n_estimators": 3, "max_depth": 2, "random_state": 3, "epsilon": 8.0}


def model_of(kind, **options):
    estimator, known, _ = KINDS[kind]
    return estimator(**(SMALL | {"schema": {"bounds": BOUNDS, **known}, "verbosity": 0} | options))


def cut(values):
    return np.split(values, np.cumsum(SIZES)[:-1])


def tables_of(kind):
    return list(zip(cut(X), cut(KINDS[kind][2]), strict=True))


def text_of(booster):
    return without_report(booster.model_to_string().split("\nparameters:")[0])


# -- as one table does ----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_the_fits_are_those_of_one_place(kind, delta):
    _, known, y = KINDS[kind]
    options = {"delta": delta, "noise_seed": 5}
    over = cv(model_of(kind, **options), tables_of(kind), 3, return_cvbooster=True)
    params = SMALL | options | {"schema": {"bounds": BOUNDS, **known}, "verbosity": -1}
    params |= {
        "two classes": {"objective": "binary"},
        "three classes": {"objective": "multiclass", "num_class": 3},
        "numbers": {"objective": "regression"},
    }[kind]
    one = dpboost.cv(params, Dataset(X, y), nfold=3, metric_rounds=1, return_cvbooster=True)
    boosters = [found["cvbooster"].boosters for found in (over, one)]
    assert [text_of(each) for each in boosters[0]] == [text_of(each) for each in boosters[1]]
    assert sorted(over) == sorted(one)
    mine, yours = over.privacy_report, one.privacy_report
    for name in ("spent", "capacity", "epsilon_spent", "delta_spent", "kind", "reasons"):
        assert getattr(mine, name) == getattr(yours, name)
    scopes = [line.scope.removeprefix("metrics/") for line in mine.releases]
    assert scopes == [line.scope for line in yours.releases]
    assert [replace(line, scope="") for line in mine.releases] == [
        replace(line, scope="") for line in yours.releases
    ]


@pytest.mark.parametrize(
    ("kind", "metrics"),
    [
        ("two classes", ["auc", "binary_error"]),
        ("three classes", None),
        ("numbers", "l1,rmse"),
    ],
)
def test_without_noise_the_metrics_are_those_of_one_place(kind, metrics):
    _, known, y = KINDS[kind]
    options = {"epsilon": math.inf, "noise_seed": 5}
    over = cv(model_of(kind, **options), tables_of(kind), 4, metrics)
    params = SMALL | options | {"schema": {"bounds": BOUNDS, **known}, "verbosity": -1}
    params["objective"] = "regression" if kind == "numbers" else "multiclass"
    if kind == "two classes":
        params["objective"] = "binary"
    if kind == "three classes":
        params["num_class"] = 3
    one = dpboost.cv(params, Dataset(X, y), nfold=4, metrics=metrics, metric_rounds=1)
    assert sorted(over) == sorted(one)
    for name, values in over.items():
        assert values == pytest.approx(one[name][-1:], rel=1e-12)  # of the last round alone
    assert not over.privacy_report.private


# -- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_a_row_may_cost_adds_up_to_the_budget(delta, persons):
    options, given = {"delta": delta, "epsilon": 30.0}, {}
    if persons:
        options |= {"rows_per_user": 2, "parties_per_user": 2}
        given = {"user_ids": cut(np.arange(300) // 3)}
    found = cv(model_of("numbers", **options), tables_of("numbers"), 3, **given)
    report = found.privacy_report
    assert 0.99 * report.capacity < report.spent <= report.capacity
    assert report.epsilon_spent == pytest.approx(30, rel=1e-4)
    assert report.epsilon_spent <= 30
    assert report.private
    assert report.rows_per_user == (4 if persons else None)
    assert "3 folds by a secret random assignment of each party" in report.facts["cross-validation"]
    assert report.facts["against coordinator"].startswith("epsilon = 30")
    assert len(found.party_reports) == 4
    for own in found.party_reports:
        assert (own.spent, own.capacity) == (report.spent, report.capacity)
    if delta:
        assert report.to_pld() is not None
    verify_accounting(json.loads(json.dumps(report.certificate())))


def test_all_parts_are_in_one_ledger_and_in_one_file_of_charges(tmp_path):
    terms = cv_agreement(model_of("numbers"), 4, FEATURES, nfold=3)
    parties = parties_of(terms, tables_of("numbers"), folder=tmp_path)
    found = run(terms, parties)
    for one in (found.coordinator, *found.parties):
        fits, metrics = one.ledger.root.children.values()
        assert list(fits.children) == ["fold 0", "fold 1", "fold 2"]
        costs = sorted(each.total.cost for each in fits.children.values())
        assert one.ledger.spent == sum(costs[1:]) + metrics.total.cost <= one.ledger.capacity
    for folder in tmp_path.iterdir():
        (path,) = folder.rglob("charges.txt")
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) == len(found.coordinator.ledger.entries)
        for name in ("fits/fold 0", "fits/fold 2", "metrics"):
            assert any(f", in {name}" in line for line in lines)


@pytest.mark.parametrize("persons", [False, True])
def test_more_colluders_than_agreed_are_told_of_the_whole(persons):
    options, given = {"delta": 0.0, "colluding": 1}, {}
    if persons:
        options |= {"rows_per_user": 2}
        given = {"user_ids": cut(np.arange(300) // 2)}
    found = cv(model_of("two classes", **options), tables_of("two classes"), 3, **given)
    said = found.privacy_report.facts["against 2 others"]
    assert float(said.split("= ")[1].split(",")[0]) > 8


def test_a_model_that_is_continued_counts_once():
    first = model_of("two classes", epsilon=1.0).fit(tables_of("two classes"))
    found = cv(
        model_of("two classes"),
        tables_of("two classes"),
        2,
        init_model=first,
        return_cvbooster=True,
    )
    assert found.privacy_report.total[0] == 9
    assert [one.num_trees() for one in found["cvbooster"].boosters] == [6, 6]


def test_weights_go_with_their_rows():
    found = cv(
        model_of("two classes", max_weight=2.0),
        tables_of("two classes"),
        2,
        sample_weight=cut(np.linspace(0, 3, 300)),
        return_cvbooster=True,
    )
    report = found["cvbooster"].boosters[0].privacy_report
    assert "an attribute of each row" in report.facts["weights"]


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({}, {"nfold": 1}, "nfold"),
        ({}, {"nfold": 101}, "nfold"),
        ({}, {"metrics": "l2"}, "l2"),
        ({}, {"sample_weight": cut(np.ones(300))}, "max_weight"),
        ({}, {"user_ids": [np.arange(2)]}, "user_ids"),
        ({"epsilon": 1e-9, "delta": 0.0}, {}, "epsilon"),
        ({"recipe": "none"}, {}, "recipe"),
        ({"colluding": 4}, {}, "colluding"),
    ],
)
def test_refuses_before_anything_happens(change, given, message):
    with pytest.raises((InvalidParameterError, RefusedError), match=message):
        cv(model_of("two classes", **change), tables_of("two classes"), **given)


def test_a_part_of_the_budget_must_be_enough_for_a_fit():
    terms = {"recipe": "dpboost", "delta": 0.0, "n_estimators": 30, "max_depth": 4}
    least = 1e-3
    while True:
        try:
            model_of("two classes", epsilon=least, **terms).agreement(4, FEATURES)
            break
        except InvalidParameterError:
            least *= 1.1
    with pytest.raises(InvalidParameterError, match="epsilon"):
        cv_agreement(model_of("two classes", epsilon=least, **terms), 4, FEATURES)


@pytest.mark.parametrize("model", [FederatedTreeClassifier(), DPBoostRegressor(), None])
def test_what_is_no_boosting_over_parties_is_refused(model):
    with pytest.raises(InvalidParameterError, match="'model'"):
        cv(model, tables_of("two classes"))


def test_several_quantiles_and_a_budget_are_refused():
    model = model_of("numbers", objective="quantile", alpha=[0.1, 0.9])
    with pytest.raises(InvalidParameterError, match="one number"):
        cv(model, tables_of("numbers"))
    with (
        Budget(epsilon=1, delta=0),
        pytest.raises(InvalidParameterError, match="cannot charge a dpboost.Budget"),
    ):
        cv(model_of("numbers"), tables_of("numbers"))


def test_the_model_that_is_given_is_not_fitted():
    model = model_of("numbers")
    cv(model, tables_of("numbers"), 2)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- one session ----------------------------------------------------------------------------------


def test_a_session_ends_as_the_simulation_does():
    given = tables_of("two classes")
    model = model_of("two classes", noise_seed=5)
    expected = cv(model, given, 2, ["auc"], return_cvbooster=True)
    terms = cv_agreement(model, 4, FEATURES, nfold=2, metrics=["auc"])
    found = run(terms, parties_of(terms, given))
    for one in (found.coordinator, *found.parties):
        boosters = [fitted.ensemble for fitted in one.fits]
        assert len(boosters) == 2
        values = [own["auc"].value for own in one.evaluation.groups.values()]
        assert list(one.evaluation.groups) == [0, 1]
        assert expected["valid auc-mean"] == [float(np.mean(values))]
    results = outcome_of(found.coordinator)
    assert results["valid auc-mean"] == expected["valid auc-mean"]
    assert results.privacy_report.spent == expected.privacy_report.spent


def test_parties_may_be_lost_in_each_part():
    terms = replace(cv_agreement(model_of("two classes"), 4, FEATURES, nfold=2), dropouts=1)
    for step in (2, 7):
        links = {0: lambda hub, index, at=step: Losing(hub, index, ("words", at))}
        parties = parties_of(terms, tables_of("two classes"))
        found = run(terms, parties, links).coordinator
        assert found.evaluation.report.facts["fewest parties in a release"] == "3 of 4"


def test_each_row_is_in_all_fits_but_that_of_its_fold(monkeypatch):
    from dpboost.federated.party.party import OwnRows

    kept, judged = [], []
    raw, judge = OwnRows.raw, OwnRows.judged
    monkeypatch.setattr(
        OwnRows,
        "raw",
        lambda own, terms, rows=None: kept.append((own, rows)) or raw(own, terms, rows),
    )
    monkeypatch.setattr(
        OwnRows,
        "judged",
        lambda own, terms, folds=None: judged.append((own, folds)) or judge(own, terms, folds),
    )
    terms = cv_agreement(model_of("numbers"), 4, FEATURES, nfold=3)
    simulate(terms, tables_of("numbers"))
    assert len(judged) == 4
    for own, folds in judged:
        fits = [rows for party, rows in kept if party is own]
        assert [fit.tolist() for fit in fits] == [(folds != fold).tolist() for fold in range(3)]


def test_an_agreement_names_its_metrics():
    terms = cv_agreement(model_of("numbers"), 4, FEATURES, nfold=2, metrics="l1,rmse")
    assert terms.folds.metrics == ("l1", "rmse")
    with pytest.raises((InvalidParameterError, RefusedError), match="auc"):
        cv_agreement(model_of("numbers"), 4, FEATURES, nfold=2, metrics=["auc"])
