"""Cross-validation as one mechanism: folds, budget, metrics, results."""

import math
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from unittest import mock

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import dpboost
from dpboost import Dataset, InvalidParameterError
from dpboost.model_selection.cross_validation import METRIC_SHARE
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.randomness import RowCoins
from dpboost.sklearn import DPBoostRegressor

SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-2, 2)}
PARAMS = {"schema": SCHEMA, "max_depth": 3, "n_jobs": 1, "verbosity": 0}
X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
Y = X[:, 0] - X[:, 1]

pytestmark = pytest.mark.filterwarnings("ignore")


def cv(params=(), labels=Y, n_rounds=5, n_folds=3, **options):
    data = Dataset(X, labels, user_ids=options.pop("user_ids", None))
    return dpboost.cv({**PARAMS, **dict(params)}, data, n_rounds, nfold=n_folds, **options)


def records_of(call):
    """Run and return the ledgers that were opened, the first one that of the metrics."""
    opened = []
    original = Ledger.__init__

    def opening(self, **options):
        original(self, **options)
        opened.append(self)

    with mock.patch.object(Ledger, "__init__", opening):
        result = call()
    return opened, result


# -- folds ----------------------------------------------------------------------------------------


def test_each_row_is_in_all_fits_but_one():
    seen = []
    original = DPBoostRegressor.fit

    def fit(self, rows, labels, **options):
        seen.append(np.asarray(rows))
        return original(self, rows, labels, **options)

    with mock.patch.object(DPBoostRegressor, "fit", fit):
        cv(n_folds=4)
        cv(n_folds=4)
    first, second = seen[:4], seen[4:]
    assert set(Counter(map(tuple, np.vstack(first).tolist())).values()) == {3}
    assert all(abs(len(part) - 450) < 100 for part in first)
    assert [len(part) for part in first] != [len(part) for part in second]


def test_rows_of_a_user_share_a_fold_and_are_limited():
    seen = []
    original = DPBoostRegressor.fit

    def fit(self, rows, labels, **options):
        seen.append(options["user_ids"])
        return original(self, rows, labels, **options)

    users = np.arange(600) // 6
    with mock.patch.object(DPBoostRegressor, "fit", fit):
        results = cv({"rows_per_user": 2}, user_ids=users)
    counts = Counter(np.concatenate(seen).tolist())
    assert set(counts.values()) == {4}  # two rows in two of three fits
    assert all(set(Counter(part.tolist()).values()) == {2} for part in seen)
    assert results.privacy_report.rows_per_user == 2
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        cv({"rows_per_user": 2})


# -- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_what_a_row_may_cost_adds_up_to_the_budget(delta, epsilon):
    records, results = records_of(
        lambda: cv({"delta": delta, "epsilon": epsilon}, metrics=["l1", "l2"])
    )
    metrics, *fits = records
    report = results.privacy_report
    assert metrics.capacity == report.capacity * METRIC_SHARE
    assert all(fit.capacity == report.capacity * (1 - METRIC_SHARE) / 2 for fit in fits)
    assert metrics.spent == metrics.capacity
    assert report.spent == metrics.spent + sum(sorted(fit.spent for fit in fits)[1:])
    assert 0.99 * report.capacity < report.spent <= report.capacity
    assert report.epsilon_spent == pytest.approx(epsilon, rel=1e-4)
    assert report.epsilon_spent <= epsilon


def test_public_rows_leave_the_whole_budget_to_the_fits():
    records, results = records_of(lambda: cv(public_sets=Dataset(X[:50], Y[:50])))
    fits = [book for book in records if book.entries]
    assert len(fits) == 3
    assert all(fit.capacity == results.privacy_report.capacity / 2 for fit in fits)


def test_histograms_of_every_fit_may_fail():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    frame["b"] = frame["b"].astype("category")
    params = {"schema": {"label_bounds": (-2, 2)}, "assume_public": (), "epsilon": 20.0}
    with pytest.warns(dpboost.UndeclaredWarning):
        records, results = records_of(
            lambda: dpboost.cv({**PARAMS, **params}, Dataset(frame, Y), 3, nfold=3)
        )
    metrics, *fits = records
    assert results.privacy_report.kind == "approximate"
    spent = sum(fit.delta_spent for fit in fits)
    assert spent == 3 * Fraction(1, 10**7)
    whole = metrics.accountant.inner.capacity(Fraction(20), Fraction(1, 10**6) - spent)
    assert all(fit.capacity <= whole * Fraction(9, 20) for fit in fits)
    assert results.privacy_report.epsilon_spent <= 20


def test_seeds_and_infinite_budgets_are_reported():
    with pytest.warns(dpboost.NotPrivateWarning):
        first = cv({"noise_seed": 1}, return_cvbooster=True)
    with pytest.warns(dpboost.NotPrivateWarning):
        second = cv({"noise_seed": 1})
    with pytest.warns(dpboost.NotPrivateWarning):
        exact = cv({"epsilon": math.inf})
    models = first.pop("cvbooster").boosters
    assert first == second
    assert not first.privacy_report.private
    assert models[0].model_to_string() != models[1].model_to_string()
    assert "epsilon is infinite" in exact.privacy_report.guarantee


FRACTION = Fraction(3, 10)


@pytest.mark.parametrize("public", [False, True])
def test_a_budget_has_all_fits_and_metrics_as_one_line(public):
    budget = dpboost.Budget(epsilon=5, delta=1e-6)
    sets = Dataset(X[:50], Y[:50]) if public else None
    with budget:
        records, results = records_of(lambda: cv(public_sets=sets, fraction=FRACTION))
    (line,) = budget.lines
    assert (line.what, line.fraction) == ("cv", FRACTION)
    report = results.privacy_report
    assert report.epsilon_spent <= budget.epsilon_spent
    assert report.facts["budget"].startswith("30 % of the budget")
    metrics, *fits = records
    whole = budget.total(dpboost.privacy.accounting.GDPAccountant()) * FRACTION
    share = 0 if public else METRIC_SHARE
    assert all(fit.capacity == whole * (1 - share) / 2 for fit in fits)
    assert metrics.spent == whole * share
    assert 0.99 * whole < report.spent <= whole


def test_histograms_of_all_folds_stay_inside_the_fraction_of_delta():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    frame["b"] = frame["b"].astype("category")
    params = {"schema": {"label_bounds": (-2, 2)}, "assume_public": ("column_types",)}
    budget = dpboost.Budget(epsilon=30, delta=1e-4)
    records, results = records_of(
        lambda: dpboost.cv(
            {**PARAMS, **params}, Dataset(frame, Y), 3, nfold=3, budget=budget, fraction=0.5
        )
    )
    spent = sum(fit.delta_spent for fit in records)
    assert 0 < spent <= budget.failure_delta(Fraction(1, 2))
    assert results.privacy_report.epsilon_spent <= budget.epsilon_spent


def test_what_does_not_fit_into_a_budget_draws_and_books_nothing(monkeypatch):
    monkeypatch.setattr(Ledger, "release", lambda *a, **k: pytest.fail("released"))
    budget = dpboost.Budget(epsilon=5, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="'fraction'"):
        cv({"n_estimators": 1000}, budget=budget, fraction=1e-7)
    with pytest.raises(InvalidParameterError, match="noise_seed"):
        cv({"noise_seed": 1}, budget=budget, fraction=0.5)
    assert budget.lines == ()
    budget.reserve("fit", "mu squared", Fraction(4, 5))
    with pytest.raises(dpboost.BudgetExceededError):
        cv(budget=budget, fraction=0.5)
    assert len(budget.lines) == 1


# -- results --------------------------------------------------------------------------------------


def test_without_noise_the_metric_is_that_of_the_rows():
    with pytest.warns(dpboost.NotPrivateWarning):
        results = cv({"epsilon": math.inf}, metrics=["l1", "rmse"], n_rounds=60)
    assert list(results) == ["valid l1-mean", "valid l1-stdv", "valid rmse-mean", "valid rmse-stdv"]
    assert [len(values) for values in results.values()] == [60] * 4
    assert 0.0 < results["valid l1-mean"][-1] < results["valid rmse-mean"][-1] < Y.std()


@pytest.mark.parametrize(
    ("params", "labels", "name"),
    [
        ({}, Y, "l2"),
        ({"objective": "binary"}, (Y > 0).astype(int), "binary_logloss"),
        ({"objective": "multiclass", "num_class": 3}, np.digitize(Y, [-0.5, 0.5]), "multi_logloss"),
        ({"metric": "mae"}, Y, "l1"),
        ({"objective": "binary", "metric": ["binary_error"]}, (Y > 0).astype(int), "binary_error"),
        ({"objective": "binary", "metric": "auc"}, (Y > 0).astype(int), "auc"),
        ({"objective": "binary", "metric": "brier"}, (Y > 0).astype(int), "brier"),
        ({"objective": "quantile", "metric": "quantile"}, Y, "quantile"),
        ({"metric": "r2"}, Y, "r2"),
    ],
)
def test_metrics_and_their_names(params, labels, name):
    results = cv({"epsilon": 20.0, **params}, labels)
    assert list(results) == [f"valid {name}-mean", f"valid {name}-stdv"]
    assert math.isfinite(results[f"valid {name}-mean"][0])


def test_metrics_of_public_rows_come_for_every_round():
    seen = {}
    results = cv(
        {"epsilon": 5.0},
        metrics="rmse",
        public_sets=Dataset(X[:80], Y[:80]),
        callbacks=[lightgbm.record_evaluation(seen)],
        return_cvbooster=True,
    )
    boosters = results.pop("cvbooster").boosters
    errors = [
        [
            np.sqrt(np.mean((each.predict(X[:80], num_iteration=n) - Y[:80]) ** 2))
            for each in boosters
        ]
        for n in range(1, 6)
    ]
    np.testing.assert_allclose(results["valid_0 rmse-mean"], np.mean(errors, axis=1), rtol=1e-5)
    np.testing.assert_allclose(results["valid_0 rmse-stdv"], np.std(errors, axis=1), rtol=1e-3)
    assert seen["valid_0"]["rmse-mean"] == results["valid_0 rmse-mean"]


def test_early_stopping_cuts_the_results():
    results = cv(
        {"epsilon": 0.1, "early_stopping_round": 2, "noise_seed": 2},
        n_rounds=40,
        public_sets=Dataset(X[:80], Y[:80]),
        return_cvbooster=True,
    )
    booster = results["cvbooster"]
    best = booster.best_iteration
    assert len(results["valid_0 l2-mean"]) == best < 40
    assert booster.num_trees() == [40] * 3
    assert [each.best_iteration for each in booster.boosters] == [best] * 3


@pytest.mark.parametrize(("how_many", "rounds"), [(1, [9]), (3, [1, 5, 9]), ("all", range(1, 10))])
def test_there_is_a_value_for_each_round_and_a_few_are_released(how_many, rounds):
    with pytest.warns(dpboost.ParameterWarning) if how_many != "all" else nullcontext() as caught:
        records, results = records_of(
            lambda: cv(n_rounds=9, metrics=["l1", "l2"], metric_rounds=how_many)
        )
    assert set(results) == {f"valid {name}-{kind}" for name in ("l1", "l2") for kind in KINDS}
    assert {len(values) for values in results.values()} == {9}
    changes = set()
    for values in results.values():  # one alone may say the same twice, at the end of its range
        changes |= {n for n in range(1, 10) if n == 1 or not equal(values[n - 2], values[n - 1])}
    assert [n for n in sorted(changes) if not np.isnan(values[n - 1])] == list(rounds)
    assert records[0].spent == records[0].capacity
    if caught is not None:
        shown = f"of rounds {', '.join(map(str, rounds))}, and"
        shown = f"of round {rounds[0]} alone" if len(rounds) == 1 else shown
        assert any(f"released {shown}" in str(each.message) for each in caught)


KINDS = ("mean", "stdv")


def equal(left, right):
    return left == right or (np.isnan(left) and np.isnan(right))


def test_metrics_of_a_round_are_those_of_the_model_after_it():
    params = {"epsilon": math.inf, "learning_rate": 0.3}
    with pytest.warns(dpboost.NotPrivateWarning):
        found = cv(params, n_rounds=4, metric_rounds="all", metrics="l2", return_cvbooster=True)
    # Without noise these are means of folds of the rows, of about a third each.
    for n, value in enumerate(found["valid l2-mean"], 1):
        each = [
            np.mean((b.predict(X, num_iteration=n) - Y) ** 2) for b in found["cvbooster"].boosters
        ]
        assert value == pytest.approx(np.mean(each), rel=0.15)


def test_early_stopping_looks_at_what_is_released():
    params = {"epsilon": math.inf, "learning_rate": 1e-9, "early_stopping_round": 2}
    with pytest.warns(dpboost.NotPrivateWarning):
        found = cv(params, n_rounds=9, metric_rounds=3, return_cvbooster=True)
    assert len(found["valid l2-mean"]) == found["cvbooster"].best_iteration == 1
    found = cv({"early_stopping_round": 2}, metric_rounds=1)
    assert np.isfinite(found["valid l2-mean"][-1])  # noise may make it zero


def test_what_cannot_be_paid_is_nan_for_each_round():
    def mine(predictions, data):
        return "my own", float(np.mean(predictions - data.get_label())), True

    with pytest.warns(dpboost.ParameterWarning, match="mape, my own: nan") as caught:
        found = cv(metrics=["l2", "mape"], feval=mine, eval_train_metric=True)
    assert sum("nan" in str(each.message) for each in caught) == 1
    nan = {name for name, values in found.items() if np.isnan(values).all()}
    assert {len(values) for values in found.values()} == {5}
    assert set(found) - nan == {"valid l2-mean", "valid l2-stdv"}
    assert {"valid mape-mean", "valid my own-mean", "train l2-mean"} <= nan
    records, found = records_of(lambda: cv({"early_stopping_round": 2}, metrics="mape"))
    assert np.isnan(found["valid mape-mean"]).tolist() == [True] * 5
    fits = [book for book in records if book.entries]
    assert all(fit.capacity == found.privacy_report.capacity / 2 for fit in fits)


GIVEN_FOLDS = {
    "a splitter": lambda: KFold(4),
    "a stratified one": lambda: StratifiedKFold(4, shuffle=True),
    "secret ones": lambda: dpboost.SecretKFold(4),
    "a list": lambda: list(KFold(4).split(X)),
    "a generator": lambda: KFold(4).split(X),
}


@pytest.mark.parametrize("name", GIVEN_FOLDS)
def test_of_given_folds_the_number_is_taken(name):
    with pytest.warns(dpboost.ParameterWarning, match="to 4 folds at random, in secret"):
        found = cv(folds=GIVEN_FOLDS[name](), return_cvbooster=True)
    assert len(found["cvbooster"].boosters) == 4
    assert "folds" not in found.transcript.call.arguments
    again = dpboost.replay(found.transcript)
    assert again["valid l2-mean"] == found["valid l2-mean"]


def test_training_rows_are_no_public_set():
    data = Dataset(X, Y)
    with pytest.raises(InvalidParameterError, match="public_sets contains"):
        dpboost.cv(PARAMS, data, 3, public_sets=[data])


def test_callbacks_before_a_round_run_in_every_fit():
    results = cv(
        {"noise_seed": None},
        callbacks=[lightgbm.reset_parameter(learning_rate=[1e-9] * 5)],
        return_cvbooster=True,
    )
    for booster in results["cvbooster"].boosters:
        spread = np.ptp(booster.predict(X))
        assert spread < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": GroupKFold(3)}, "'folds'.*GroupKFold.*in secret"),
        ({"folds": 3}, "'folds'"),
        ({"folds": [0]}, "'nfold'.*at least 2"),
        ({"metric_rounds": 0}, "'metric_rounds'"),
        ({"metric_rounds": "each"}, "'metric_rounds'"),
        ({"fpreproc": len}, "'fpreproc'"),
        ({"n_folds": 1}, "'nfold'.*at least 2"),
        ({"metrics": "aucc"}, "'aucc' cannot be released privately"),
        ({"public_sets": X}, "public_sets must be"),
        ({"params": {"epsilon": -1}}, "epsilon"),
        ({"params": {"recipe": "none"}}, "recipe"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, dict) else "refused",
)
def test_what_would_tell_is_refused_before_a_draw(options, message, monkeypatch):
    monkeypatch.setattr(Ledger, "release", lambda *a, **k: pytest.fail("released"))
    monkeypatch.setattr(RowCoins, "words", lambda *a, **k: pytest.fail("drew coins"))
    with pytest.raises(InvalidParameterError, match=message):
        cv(**options)


@pytest.mark.parametrize("row", [0, -1])
@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_weights_are_checked_before_a_row_is_dealt(row, weight, no_release):
    weights = np.ones(len(Y))
    weights[row] = weight
    with pytest.raises(InvalidParameterError, match="'sample_weight'"):
        dpboost.cv(PARAMS, Dataset(X, Y, weight=weights), 2, nfold=2)


def test_weights_and_earlier_models_reach_every_fit():
    weight = np.where(Y > 0, 1.0, 0.0)
    params = {**PARAMS, "epsilon": 200.0, "max_depth": 1}
    first = dpboost.train(params, Dataset(X, Y), 5)
    results = dpboost.cv(params, Dataset(X, Y, weight=weight), 30, nfold=2, return_cvbooster=True)
    means = [booster.predict(X).mean() for booster in results["cvbooster"].boosters]
    assert min(means) > 0.3
    longer = dpboost.cv(params, Dataset(X, Y), 5, nfold=2, init_model=first, return_cvbooster=True)
    assert longer["cvbooster"].num_trees() == [10, 10]
    report = longer.privacy_report
    assert (report.earlier_epsilon, report.earlier_delta) == (200, Fraction(1, 10**6))
    assert "epsilon = 400, delta = 2e-06" in report.guarantee


@pytest.mark.parametrize("n_rows", [1, 2, 7])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("start", ["init_model", "scores", "flat scores"])
def test_a_fold_without_rows_may_continue_something(n_rows, classes, start):
    params = {
        **{"objective": "multiclass", "num_class": classes, "verbosity": -1, "epsilon": 5.0},
        "schema": {"bounds": SCHEMA["bounds"], "classes": list(range(classes))},
    }
    labels = np.arange(len(X)) % classes
    first = dpboost.train(params, Dataset(X, labels), 2)
    scores = np.zeros((n_rows, classes))
    given = {"scores": scores, "flat scores": scores.ravel()}
    rows = Dataset(X[:n_rows], labels[:n_rows], init_score=given.get(start))
    options = {"init_model": first} if start == "init_model" else {}
    results = dpboost.cv(params, rows, 2, nfold=2, return_cvbooster=True, **options)
    expected = 4 * classes if options else 2 * classes
    assert [each.num_trees() for each in results["cvbooster"].boosters] == [expected] * 2


@pytest.mark.parametrize("form", ["table", "flat"])
def test_scores_of_classes_stay_with_their_rows(form):
    params = {
        **{"objective": "multiclass", "num_class": 3, "verbosity": -1, "epsilon": math.inf},
        "schema": {"bounds": SCHEMA["bounds"], "classes": [0, 1, 2]},
        "seed": 3,
    }
    labels = np.arange(len(X)) % 3
    scores = 20.0 * (labels[:, np.newaxis] == np.arange(3))  # who knows the class learns nothing
    given = scores if form == "table" else scores.T.ravel()
    with pytest.warns(dpboost.NotPrivateWarning):
        results = dpboost.cv(
            params, Dataset(X, labels, init_score=given), 2, nfold=2, return_cvbooster=True
        )
    for booster in results["cvbooster"].boosters:
        assert np.abs(booster.predict(X, raw_score=True)).max() < 0.01


@pytest.mark.parametrize("recipe", ["best", "dpboost"])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_a_fold_that_leaves_nothing_to_train_on_is_no_error(recipe, kind, objective):
    # Of one row, the fold that holds it trains on none: an error would tell that there is one.
    params = {"objective": objective, "recipe": recipe, "verbosity": -1}
    results = dpboost.cv(
        params,
        dpboost.Dataset(kind(np.ones((1, 2))), np.ones(1), free_raw_data=False),
        nfold=2,
        num_boost_round=2,
    )
    assert all(np.isfinite(values).all() for values in results.values())
