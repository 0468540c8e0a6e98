"""Audit your own code: an estimator of any library by a black-box test, a recipe by replay.

    python examples/11_audit_your_own.py
    python examples/11_audit_your_own.py --estimator diffprivlib.models:GaussianNB \
        --settings '{"epsilon": 1.0, "bounds": [0, 1], "priors": [0.5, 0.5]}'

The black-box test trains the estimator many times on tables that differ in one row. Public are only
the range [0, 1] of the features and the classes 0 and 1. A claim that is not refuted is not proved.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from dpboost import DPBoostRegressor
from dpboost.audit import audit_estimator, replay_estimator
from dpboost.recipes import BEST


class NoisyRates(ClassifierMixin, BaseEstimator):
    """How often class 1 is found left and right of the middle, from noisy counts.

    A row is in one of four counts, so that Laplace noise of scale 1 / epsilon covers all of them.

    Parameters
    ----------
    epsilon : float
    careless : bool
        Whether empty halves are left without noise, as if no one could learn from that.
    """

    def __init__(self, epsilon: float = 1.0, *, careless: bool = False) -> None:
        self.epsilon = epsilon
        self.careless = careless

    def fit(self, X, y):
        """Count and add noise."""
        right = np.asarray(X)[:, 0] > 0.5
        counts = np.array([[np.sum(y[right == side] == c) for c in (0, 1)] for side in (0, 1)])
        noise = np.random.default_rng().laplace(scale=1 / self.epsilon, size=counts.shape)
        if self.careless:
            noise[counts.sum(axis=1) == 0] = 0.0
        self.classes_ = np.array([0, 1])
        self.counts_ = counts + noise
        return self

    def predict_proba(self, X):
        """Return the noisy shares, at least 1 %."""
        shares = np.maximum(self.counts_, 0.01) / np.maximum(self.counts_, 0.01).sum(1)[:, None]
        return shares[(np.asarray(X)[:, 0] > 0.5).astype(int)]

    def predict(self, X):
        """Return the likelier class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def shallow(facts):
    """Return the parameters of best, with trees of one level."""
    return replace(BEST.defaults(facts), max_depth=1)


def from_outside(name: str, make, epsilon: float, runs: int) -> None:
    """Audit an estimator and say what came out."""
    found = audit_estimator(make, epsilon=epsilon, task="binary", n_runs=runs)
    for each in found:
        print(f"  {each}")
    print(f"{name}: {'REFUTED' if any(each.refuted for each in found) else 'not refuted'}")


def main() -> int:
    """Audit an estimator from outside, and a recipe by replay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimator", help="module:Class of any library, with fit and predict")
    parser.add_argument("--settings", default="{}", help="its parameters, in JSON")
    parser.add_argument("--epsilon", type=float, default=1.0, help="what it claims")
    parser.add_argument("--runs", type=int, default=1000, help="fits on each table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.estimator:
        module, _, name = options.estimator.partition(":")
        kind = getattr(import_module(module), name)
        make = partial(kind, **json.loads(options.settings))
        from_outside(options.estimator, make, options.epsilon, options.runs)
        return 0
    for name, careless in (("noisy rates", False), ("careless rates", True)):
        make = partial(NoisyRates, options.epsilon, careless=careless)
        from_outside(name, make, options.epsilon, options.runs)
    recipe = replace(BEST, name="shallow", defaults=shallow)
    replayed = replay_estimator(partial(DPBoostRegressor, recipe=recipe, epsilon=options.epsilon))
    for label, part in sorted(replayed.reached.items()):
        print(f"  {label}: at most {part:.3f} of its charge")
    print(f"recipe of your own: {len(replayed.violations)} violations in {replayed.n_runs} fits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
