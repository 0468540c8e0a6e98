"""Subclasses that work with LightGBM's estimators work with ours."""

import copy
import pickle

import lightgbm
import numpy as np
import pytest
from sklearn.base import TransformerMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpboost
from dpboost.federated import FederatedBoostingClassifier

KNOWN = {"bounds": {0: (-4, 4), 1: (-4, 4)}, "classes": [0, 1]}


def classes_over(base, settings):
    """Return one subclass of every kind, by name."""

    class Plain(base):
        """No constructor of its own."""

    class Extra(base):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

    class ExtraFirst(base):
        def __init__(self, other="x", **options):
            self.other = other
            super().__init__(**options)

    class OtherDefault(base):
        def __init__(self, *, n_estimators=3, **kwargs):
            super().__init__(n_estimators=n_estimators, **kwargs)

    class Twice(Extra):
        def __init__(self, *, more=1, **kwargs):
            super().__init__(**kwargs)
            self.more = more

    class Below(Extra):
        """The constructor is that of the class above."""

    class Fewer(base):
        def __init__(self, n_estimators=4):
            super().__init__(n_estimators=n_estimators, **settings)

    class NoParameters(base):
        def __init__(self):
            super().__init__(n_estimators=2, **settings)

    class Fitting(base):
        def fit(self, X, y, **options):
            self.seen_ = np.shape(X)
            return super().fit(X, y, **options)

        def predict(self, X, **options):
            return super().predict(X, **options)[::-1][::-1]

    class Tool:
        def columns(self):
            return self.n_features_in_

    class MixedBefore(Tool, base):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

    class MixedAfter(base, Tool):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

    class Transforming(TransformerMixin, base):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

        def transform(self, X):
            return self.predict(X, pred_leaf=True)

    class Keeping:
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.kept = True

    class Cooperative(Keeping, base):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

    class Apart:
        def __init__(self):
            self.apart = True

    class TwoConstructors(Apart, base):
        def __init__(self, *, other="x", **kwargs):
            base.__init__(self, **kwargs)
            Apart.__init__(self)
            self.other = other

    return {
        name: kind
        for name, kind in locals().items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }


KINDS = [
    *("Plain", "Extra", "ExtraFirst", "OtherDefault", "Twice", "Below", "Fewer", "NoParameters"),
    *("Fitting", "MixedBefore", "MixedAfter", "Transforming", "Cooperative", "TwoConstructors"),
]
CLOSED = ("Fewer", "NoParameters")
SETTINGS = {
    "lightgbm": {"verbosity": -1, "n_jobs": 1},
    "dpboost": {"verbosity": 0, "n_jobs": 1, "schema": KNOWN, "noise_seed": 3},
}
BASES = {"lightgbm": lightgbm.LGBMClassifier, "dpboost": dpboost.DPBoostClassifier}
OURS = classes_over(BASES["dpboost"], SETTINGS["dpboost"])
THEIRS = classes_over(BASES["lightgbm"], SETTINGS["lightgbm"])
for _kinds in (OURS, THEIRS):
    for _name, _kind in _kinds.items():
        # Where pickle looks for them.
        _kind.__qualname__ = f"{_kind.__mro__[1].__module__.partition('.')[0]}_{_name}_{id(_kinds)}"
        globals()[_kind.__qualname__] = _kind

pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


@pytest.fixture(params=["lightgbm", "dpboost"])
def library(request):
    return request.param


@pytest.fixture(params=KINDS)
def made(request, library):
    """An estimator of a subclass and its settings."""
    kind = {"lightgbm": THEIRS, "dpboost": OURS}[library][request.param]
    settings = {} if request.param in CLOSED else SETTINGS[library]
    return kind(**settings), settings


def rows():
    X = np.random.default_rng(0).normal(size=(200, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_there_is_one_of_each_kind(library):
    assert sorted({"lightgbm": THEIRS, "dpboost": OURS}[library]) == sorted(KINDS)


def test_parameters_are_read_and_set(made):
    estimator, settings = made
    assert {**estimator.get_params(), **settings} == estimator.get_params()
    for name in ("other", "more"):
        if hasattr(estimator, name):
            assert estimator.get_params()[name] == getattr(estimator, name)
            estimator.set_params(**{name: "new"})
            assert estimator.get_params()[name] == getattr(estimator, name) == "new"
    estimator.set_params(n_estimators=6)
    assert estimator.get_params()["n_estimators"] == estimator.n_estimators == 6
    if settings:
        assert estimator.get_params()["n_jobs"] == 1
        estimator.set_params(n_jobs=2)
        assert estimator.get_params()["n_jobs"] == estimator.n_jobs == 2
    assert type(estimator).__name__ in repr(estimator)


def test_fits_predictions_and_pickles(made):
    estimator, _ = made
    X, y = rows()
    assert estimator.set_params(n_estimators=6).fit(X, y) is estimator
    assert estimator.booster_.current_iteration() == 6
    predicted = estimator.predict_proba(X)
    for again in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert type(again) is type(estimator)
        assert again.get_params() == estimator.get_params()
        np.testing.assert_array_equal(again.predict_proba(X), predicted)
    assert estimator.score(X, y) > 0.4


def test_clones_have_the_same_parameters(made, library):
    estimator, settings = made
    if library == "lightgbm" and not settings:
        pytest.skip("LightGBM names parameters that such a constructor does not take")
    changed = {"n_estimators": 7} if hasattr(estimator, "n_estimators") and settings else {}
    if hasattr(estimator, "other"):
        changed["other"] = "new"
    estimator.set_params(**changed)
    again = clone(estimator)
    assert type(again) is type(estimator)
    assert again.get_params() == estimator.get_params()
    assert changed.items() <= again.get_params().items()
    again.fit(*rows())


def test_searches_and_pipelines(made):
    estimator, settings = made
    X, y = rows()
    if not settings:
        return
    make_pipeline(StandardScaler(), clone(estimator)).fit(X, y).predict(X)
    search = GridSearchCV(estimator, {"n_estimators": [2, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.n_estimators in (2, 3)


def test_a_default_of_a_subclass_gives_way_to_an_alias():
    X, y = rows()
    model = OURS["OtherDefault"](num_iterations=5, **SETTINGS["dpboost"]).fit(X, y)
    assert model.booster_.current_iteration() == 5
    assert OURS["OtherDefault"](**SETTINGS["dpboost"]).fit(X, y).booster_.current_iteration() == 3


def test_estimators_that_take_less_stay_as_they_are():
    names = FederatedBoostingClassifier().get_params()
    assert "n_jobs" not in names
    assert "colluding" in names


def test_a_regressor_of_another_kind():
    class Mine(TransformerMixin, dpboost.DPBoostRegressor):
        def __init__(self, *, other="x", **kwargs):
            super().__init__(**kwargs)
            self.other = other

    X, _ = rows()
    schema = {"bounds": KNOWN["bounds"], "label_bounds": (-4, 4)}
    model = Mine(other="y", schema=schema, n_estimators=3, verbosity=0, n_jobs=1)
    assert clone(model).fit(X, X[:, 0]).get_params()["other"] == "y"
