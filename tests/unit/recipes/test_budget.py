"""Every recipe spends exactly its epsilon, as a fraction, and not a draw more."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost import BudgetExceededError, DPBoostClassifier, DPBoostRegressor
from dpboost.privacy.mechanisms import DiscreteLaplace, ExponentialMechanism
from dpboost.recipes import ALGORITHMS

BOUNDS = {0: (-3, 3), 1: (-3, 3)}
DECLARED = {"bounds": BOUNDS, "label_bounds": (-3, 3), "classes": [0, 1]}


def rows(n_rows=80):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 2))
    return X, X[:, 0]


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
@pytest.mark.parametrize("trees", [(6, 3), (7, 3), (2, 5), (1, 1)])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_books_close_at_exactly_epsilon(recipe, epsilon, trees, neighbors):
    X, y = rows()
    n_estimators, per_ensemble = trees
    for estimator, labels in ((DPBoostRegressor, y), (DPBoostClassifier, (y > 0).astype(int))):
        for schema in (DECLARED, None):
            model = estimator(
                recipe=recipe,
                epsilon=epsilon,
                delta=0,
                n_estimators=n_estimators,
                trees_per_ensemble=per_ensemble if recipe == "dpboost" else None,
                max_depth=2,
                max_bin=8,
                n_jobs=1,
                schema=schema,
                neighbors=neighbors,
            ).fit(X, labels)
            report = model.privacy_report_
            assert report.spent == report.capacity == Fraction(str(epsilon))
            assert sum(line.share for line in report.releases) == 1


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
@pytest.mark.parametrize("depth", [1, 4])
def test_half_of_a_tree_goes_to_its_leaves(recipe, depth):
    X, y = rows()
    model = DPBoostRegressor(
        recipe=recipe, epsilon=2.0, n_estimators=4, max_depth=depth, schema=DECLARED
    ).fit(X, y)
    shares = {line.label: line.share for line in model.privacy_report_.releases}
    assert shares == {"leaf values": Fraction(1, 2), "split choice": Fraction(1, 2)}


@pytest.mark.parametrize("mechanism", [ExponentialMechanism, DiscreteLaplace])
def test_a_recipe_that_overspends_is_stopped_before_the_draw(mechanism, monkeypatch):
    X, y = rows()
    drawn = []
    original = mechanism.draw

    def draw(self, *arguments, **options):
        drawn.append(self.epsilon)
        return original(self, *arguments, **options)

    constructor = mechanism.__post_init__

    def dearer(self):
        constructor(self)
        object.__setattr__(self, "epsilon", self.epsilon * 3)

    monkeypatch.setattr(mechanism, "draw", draw)
    monkeypatch.setattr(mechanism, "__post_init__", dearer)
    with pytest.raises(BudgetExceededError):
        DPBoostRegressor(
            recipe="dpboost", epsilon=1.0, max_depth=3, n_estimators=4, schema=DECLARED
        ).fit(X, y)
    assert sum(drawn) <= 1
