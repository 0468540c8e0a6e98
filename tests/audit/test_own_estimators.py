"""What others bring is audited as the library audits itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.audit import audit_estimator, outside_pairs, replay_estimator, replay_recipe
from dpboost.losses import custom
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import BEST

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class NoisySum:
    """The sum of labels in [-1, 1] with Laplace noise, in parts of a public number."""

    def __init__(self, epsilon=1.0, scale=1.0, exact_count=False):
        self.epsilon, self.scale, self.exact_count = epsilon, scale, exact_count

    def fit(self, X, y):
        noise = np.random.default_rng().laplace(scale=self.scale / self.epsilon)
        self.value_ = np.clip(y, -1, 1).sum() + noise
        self.count_ = len(y) if self.exact_count else 0
        return self

    def predict(self, X):
        return np.full(len(X), self.value_ + 1000 * self.count_)


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_pairs_are_neighbors_inside_the_promised_ranges(task, neighbors):
    pairs = list(outside_pairs(task, neighbors))
    assert len({pair.name for pair in pairs}) == len(pairs)
    low = -1 if task == "regression" else 0
    for pair in pairs:
        assert pair.X.shape == (len(pair.y), 1)
        assert 0 <= pair.X.min() <= pair.X.max() <= 1
        assert set(pair.y) <= {low, 1}
        assert 0 <= pair.row < len(pair.y)
        assert (pair.replacement is None) == (neighbors is Neighbors.ADD_REMOVE)


def test_a_sound_estimator_stands_and_careless_ones_do_not():
    sound = audit_estimator(NoisySum, epsilon=1.0, n_runs=400)
    assert [each.refuted for each in sound] == [False] * len(list(outside_pairs("regression")))
    for careless in (partial(NoisySum, scale=0.2), partial(NoisySum, exact_count=True)):
        found = audit_estimator(careless, epsilon=1.0, n_runs=400)
        assert any(each.refuted for each in found)
        assert "REFUTED" in "".join(map(str, found))


def test_replaced_rows_need_twice_the_noise():
    once = audit_estimator(NoisySum, epsilon=0.5, neighbors="replace", n_runs=1000)
    assert any(each.refuted for each in once)
    twice = partial(NoisySum, scale=2.0)
    found = audit_estimator(twice, epsilon=1.0, neighbors="replace", n_runs=400)
    assert not any(each.refuted for each in found)


def test_pairs_and_statistics_may_be_given():
    (pair, *_) = outside_pairs("regression")
    (found,) = audit_estimator(
        partial(NoisySum, exact_count=True),
        epsilon=1.0,
        n_runs=100,
        pairs=[pair],
        statistic=lambda model: [model.count_],
    )
    assert found.refuted
    assert found.pair == pair.name


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"epsilon": 1.0, "n_runs": 1}, {"epsilon": 1.0, "task": "ranking"}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidParameterError):
        audit_estimator(NoisySum, **wrong)
    with pytest.raises(InvalidParameterError, match="task"):
        replay_estimator(DPBoostRegressor, task="ranking")


def shallow(facts):
    return replace(BEST.defaults(facts), max_depth=1)


MINE = replace(BEST, name="shallow", defaults=shallow)


def few(monkeypatch):
    """Keep two witnesses: a leaf of one row, and nothing declared."""
    from dpboost.audit import own_estimators

    everyone = own_estimators.witnesses
    kept = ("one-row leaf, tree 0", "nothing declared, 2 features")

    def some(task, neighbors):
        return (witness for witness in everyone(task, neighbors) if witness.name in kept)

    monkeypatch.setattr(own_estimators, "witnesses", some)


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_a_recipe_of_ones_own_is_replayed(neighbors, monkeypatch):
    few(monkeypatch)
    make = partial(DPBoostRegressor, recipe=MINE, epsilon=2.0)
    found = replay_estimator(make, relations=[neighbors], seed=1)
    assert found.violations == []
    assert found.skipped == []
    assert found.epsilon == 2.0
    assert found.reached["leaf sums"] >= 0.8
    assert found.n_runs == 8


def test_a_recipe_may_stand_for_its_name(monkeypatch):
    few(monkeypatch)
    from dpboost.audit.witnesses import witnesses

    witness = next(w for w in witnesses("regression", Neighbors.ADD_REMOVE) if "leaf" in w.name)
    assert replay_recipe(MINE, chosen=[witness], seed=1).violations == []


def squared(labels, scores):
    return scores - labels, np.ones_like(labels)


def test_a_loss_without_a_pickle_is_replayed(monkeypatch):
    few(monkeypatch)
    make = partial(
        DPBoostRegressor,
        objective=lambda labels, scores: squared(labels, scores),
        gradient_bound=1.0,
        hessian_bound=1.0,
        epsilon=1.0,
    )
    assert replay_estimator(make, seed=1).violations == []


def test_a_loss_of_ones_own_is_replayed_and_a_clip_that_is_left_out_is_found(monkeypatch):
    few(monkeypatch)
    make = partial(
        DPBoostRegressor, objective=squared, gradient_bound=1.0, hessian_bound=1.0, epsilon=1.0
    )
    assert replay_estimator(make, seed=1).violations == []
    loss = custom.CustomLoss
    reach = loss.gradient_reach

    def too_small(self, gradient_limit):
        bound = reach(self, gradient_limit)
        return replace(bound, l1=bound.l1 // 2, squares=bound.squares // 4, difference=None)

    monkeypatch.setattr(loss, "gradient_reach", too_small)
    found = {violation.check for _, violation in replay_estimator(make, seed=1).violations}
    assert "entry cost" in found


def test_classifiers_and_selections(monkeypatch):
    few(monkeypatch)
    make = partial(DPBoostClassifier, recipe="dpboost", epsilon=1.0)
    assert replay_estimator(make, task="binary", seed=1).violations == []


def test_what_cannot_be_fitted_is_said(monkeypatch):
    few(monkeypatch)
    make = partial(DPBoostRegressor, recipe="dpboost", epsilon=1e-9)
    found = replay_estimator(make)
    assert found.n_runs == 0
    assert len(found.skipped) == 2
    assert "epsilon" in found.skipped[0][1]
