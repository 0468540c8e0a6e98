"""A process hears once that the epsilons of its fits add up, and that nothing pays for scores."""

import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - as its users do
from sklearn.feature_selection import RFE, RFECV, SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpboost
from dpboost import DPBoostRegressor, EpsilonSumWarning
from dpboost._utils.warnings import log_warnings
from dpboost.budgeting import claim
from dpboost.training import privacy_params

pytestmark = pytest.mark.usefixtures("one_process")

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1, 1, (120, 2))
Y = X[:, 0]
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}
FAST = {"n_estimators": 2, "max_depth": 1, "n_jobs": 1, "verbosity": -1}


def model(**options):
    return DPBoostRegressor(**{"schema": SCHEMA, **FAST, **options})


def open_model(**options):
    return model(**{"schema": {"label_bounds": (-1, 1)}, **options})


def told(*calls):
    """Return the warnings of calls, one after the other."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    return [str(each.message) for each in caught]


def sums(*calls):
    return [text for text in told(*calls) if "add" in text]


def test_the_second_fit_says_the_sum_once():
    fits = [lambda: model(epsilon=0.5).fit(X, Y), lambda: model(epsilon=2.0, delta=0).fit(X, Y)]
    assert sums(fits[0]) == []
    (message,) = sums(fits[1])
    assert "has made 2 fits" in message
    assert "epsilon=2.5, delta=1e-06" in message
    assert sums(*fits) == []


def test_other_columns_are_another_table_and_the_same_object_is_not():
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = {"schema": {"label_bounds": (-1, 1), "bounds": {"a": (-1, 1), "b": (-1, 1)}}}
    assert sums(lambda: model().fit(X, Y), lambda: model(**named).fit(frame, Y)) == []
    assert sums(lambda: model(schema={"label_bounds": (-1, 1)}).fit(X.astype(int), Y)) == []
    frame["c"] = 1.0
    other = {"schema": {"label_bounds": (-1, 1)}}
    assert len(sums(lambda: model(**other).fit(frame, Y))) == 1


def test_what_is_under_a_budget_or_is_not_private_does_not_count():
    def under_a_budget():
        model().fit(X, Y, budget=dpboost.Budget(epsilon=1, delta=1e-6), fraction=0.5)

    calls = [
        under_a_budget,
        lambda: model(noise_seed=1).fit(X, Y),
        lambda: model(epsilon=float("inf")).fit(X, Y),
    ]
    first = model().fit(X, Y)
    assert sums(*calls, lambda: dpboost.replay(first.transcript_)) == []
    data = dpboost.Dataset(X, Y)
    params = {"schema": SCHEMA, **FAST}
    (message,) = sums(lambda: dpboost.cv(params, data, 2, nfold=2))
    assert "2 fits" in message  # all folds together are one


SEARCHES = {
    "cross_val_score": (lambda own: cross_val_score(own, X, Y, cv=5), "5 times", "as much as 10:?"),
    "cross_validate": (lambda own: cross_validate(own, X, Y, cv=KFold(3)), "3 times", "as 6,"),
    "GridSearchCV": (
        lambda own: GridSearchCV(own, {"learning_rate": [0.1, 0.2]}, cv=2).fit(X, Y),
        "5 times",
        "as 10,",
    ),
    "GridSearchCV without a refit": (
        lambda own: GridSearchCV(own, {"num_leaves": [3, 4]}, cv=2, refit=False).fit(X, Y),
        "4 times",
        "as 8,",
    ),
    "GridSearchCV over epsilon": (
        lambda own: GridSearchCV(own, {"epsilon": [0.5, 3.0]}, cv=2).fit(X, Y),
        "5 times",
        "epsilon=0.5 to 3 add up to as much as 10,",
    ),
    "HalvingGridSearchCV": (
        lambda own: HalvingGridSearchCV(
            own, {"learning_rate": [0.1, 0.2, 0.3, 0.4]}, cv=2, factor=2, min_resources=30
        ).fit(X, Y),
        "15 times",
        "as 30,",
    ),
    "RandomizedSearchCV": (
        lambda own: RandomizedSearchCV(
            own, {"learning_rate": [0.1, 0.2, 0.3]}, n_iter=2, cv=RepeatedKFold(n_splits=2)
        ).fit(X, Y),
        "41 times",
        "as 82,",
    ),
    "learning_curve": (
        lambda own: learning_curve(own, X, Y, cv=2, train_sizes=[0.5, 1.0]),
        "4 times",
        "as 8,",
    ),
    "validation_curve": (
        lambda own: validation_curve(
            own, X, Y, param_name="epsilon", param_range=[1.0, 2.0, 3.0], cv=2
        ),
        "6 times",
        "epsilon=1 to 3 add up to as much as 12,",
    ),
    "permutation_test_score": (
        lambda own: permutation_test_score(own, X, Y, cv=2, n_permutations=2),
        "6 times",
        "as 12,",
    ),
    "cross_val_score of a search": (
        lambda own: cross_val_score(
            GridSearchCV(own, {"learning_rate": [0.1, 0.2]}, cv=2), X, Y, cv=3
        ),
        "15 times",
        "as 30,",
    ),
    "RFE": (
        lambda own: RFE(own, n_features_to_select=1).fit(X, Y),
        "2 times",
        "as 4. Use one budget",
    ),
    "RFECV": (
        lambda own: RFECV(own, cv=3).fit(X, Y),
        "9 times",
        "as 18,",
    ),
    "SequentialFeatureSelector": (
        lambda own: SequentialFeatureSelector(own, n_features_to_select=1, cv=2).fit(X, Y),
        "4 times",
        "as 8,",
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_say_how_many_fits_they_make(name, monkeypatch):
    call, times, total = SEARCHES[name]
    fits, add_fit = [], claim.add_fit
    monkeypatch.setattr(privacy_params, "add_fit", lambda *spent: fits.append(1) or add_fit(*spent))
    own = name.split(" ")[0]
    with pytest.warns(EpsilonSumWarning, match=f"{own} fits .* {times} .*{total}") as caught:
        call(model(epsilon=2.0))
    assert len([each for each in caught if issubclass(each.category, EpsilonSumWarning)]) == 1
    most = int(times.split(" ")[0])
    assert len(fits) == most or (own == "RFECV" and most - 1 <= len(fits) < most)
    assert not [each for each in caught if issubclass(each.category, dpboost.ScoreWarning)]
    assert [
        text for text in told(lambda: call(model(epsilon=2.0))) if "scores are exact" in text
    ] == []


def test_an_elimination_counts_its_steps():
    for n_columns, step, fits in ((4, 1, 4), (5, 2, 3), (6, 0.5, 3)):
        wide = np.resize(X, (len(X), n_columns))
        said = f"RFE fits .* {fits} times .*as {2 * fits}. Use"
        with pytest.warns(EpsilonSumWarning, match=said):
            RFE(model(epsilon=2.0), n_features_to_select=1, step=step).fit(wide, Y)


def test_each_table_hears_of_its_search_and_later_fits_of_the_whole_sum():
    def search(rows):
        own = open_model(epsilon=2.0)
        return GridSearchCV(own, {"learning_rate": [0.1, 0.2]}, cv=2).fit(rows, Y)

    wider = np.column_stack((X, Y))
    assert len(sums(lambda: search(X))) == 1
    assert len(sums(lambda: search(wider))) == 1
    assert sums(lambda: search(X)) == []
    best = search(X).best_estimator_
    (message,) = sums(lambda: best.fit(X, Y))
    assert "add up to epsilon=32" in message
    assert any("not differentially private" in text for text in told(lambda: best.score(X, Y)))


def test_an_elimination_under_a_budget_has_one_account():
    own = open_model()
    with dpboost.Budget(epsilon=1, delta=1e-6) as budget:
        texts = sums(lambda: RFE(own, n_features_to_select=1).fit(X, Y, fraction=0.5))
    assert texts == []
    assert set(budget.remaining.values()) == {0}


def test_a_splitter_that_counts_the_rows_is_not_told():
    with pytest.warns(EpsilonSumWarning, match="fits DPBoostRegressor several times"):
        cross_val_score(model(), X[:6], Y[:6], cv=LeaveOneOut(), scoring="r2")


def test_estimators_inside_of_others_and_budgets():
    pipe = make_pipeline(StandardScaler(), model())
    with pytest.warns(EpsilonSumWarning, match="5 times"):
        cross_val_score(pipe, X, Y, cv=5)
    folds = dpboost.SecretKFold(2)
    with dpboost.Budget(epsilon=1, delta=1e-6):
        scorer = folds.scorer("r2", fraction=0.1)
        texts = sums(
            lambda: cross_val_score(
                model(), X, Y, cv=folds, scoring=scorer, params={"fraction": 0.4}
            )
        )
    assert texts == []


def test_each_condition_is_told_once_for_a_table_and_advice_as_well():
    labels = (Y > 0).astype(int)

    def fit(rows=X, **options):
        dpboost.DPBoostClassifier(**{**FAST, "verbosity": 0, "num_leaves": 7, **options}).fit(
            rows, labels
        )

    kinds = ("num_leaves", "tenth of the privacy budget", "set of class labels")
    first, second = " ".join(told(fit)), told(fit, lambda: fit(num_leaves=9))
    assert all(kind in first for kind in kinds)
    assert not any(kind in text for kind in kinds for text in second)
    other = told(lambda: fit(np.column_stack((X, Y))))
    assert any("set of class labels" in text for text in other)
    forced = pytest.raises(dpboost.AssumedPublicWarning)
    with warnings.catch_warnings(), forced:
        warnings.simplefilter("error", dpboost.AssumedPublicWarning)
        fit()


def test_below_zero_verbosity_leaves_conditions_alone():
    labels = (Y > 0).astype(int)

    def fit(**options):
        options = {"n_estimators": 2, "num_leaves": 7, **options}
        dpboost.DPBoostClassifier(**options).fit(X, labels)

    for quiet in ({"verbosity": -1}, {"verbose": -1}, {"verbose": "-1"}):
        texts = told(lambda quiet=quiet: fit(**quiet))
        assert not any("num_leaves" in text or "tenth" in text for text in texts)
    loud = told(lambda: fit(verbosity=0))
    assert any("num_leaves" in text for text in loud)


def test_a_score_is_told_once():
    fitted = model().fit(X, Y)
    texts = told(lambda: fitted.score(X, Y), lambda: fitted.score(X, Y))
    assert len([text for text in texts if "This score is not" in text]) == 1


def test_a_registered_logger_gets_everything():
    class Lines:
        def __init__(self):
            self.texts = []

        def info(self, text):
            self.texts.append(text)

        warning = info

    lines = Lines()
    dpboost.register_logger(lines)
    try:
        told(*[lambda: model(num_leaves=7, schema=None).fit(X, Y)] * 2)
    finally:
        lightgbm.register_logger(lightgbm.basic._DummyLogger())
        log_warnings(lambda text: None)
    for part in ("num_leaves=7", "tenth of the privacy budget"):
        assert sum(part in text for text in lines.texts) == 2
    assert sum("has made 2 fits" in text for text in lines.texts) == 1
    with pytest.raises(TypeError, match="must provide"):
        dpboost.register_logger(object())
