"""Recipes beside the literal algorithms: one score of each, by repeat, larger is better.

Both sides see the same rows. Noise is seeded on both sides, so that a comparison has one outcome
until an algorithm changes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.reproductions.federated_trees.mixture import HIGH, LOW, Mixture
from benchmarks.reproductions.lpdt import baselines
from dpboost import DPBoostRegressor, DPTreeClassifier
from dpboost.federated import FederatedTreeClassifier
from dpboost.local import LPDTRegressor
from tests.oracles import boosting, dp_topdown, federated_trees, friedman_schuster, lpdt

#: Why one draw for all splits is worse where noise outweighs scores.
OUTNUMBERED = "one draw takes a threshold for an attribute 762 times of 767 where noise decides"

#: Why leaves that are clipped to nothing are better where leaves are noise.
DEAD_LEAVES = "the printed index clips later leaves to nothing, and their noise with them"

#: Why leaves of LPDT-V that are shrunken are a little worse at large budgets.
SHRUNKEN = "leaves that are drawn to the node above keep some of its mean where noise is small"

Score = Callable[[int], float]


@dataclass(frozen=True)
class Case:
    """A point of a grid.

    Attributes
    ----------
    name : str
    ours, theirs : callable
        ``ours(repeat)``: score of the recipe; that of the literal algorithm.
    repeats : int
    quick : bool
        Whether the point is run with every suite; the others are run at night.
    explained : str
        Why the recipe is worse there; empty where it is not.
    """

    name: str
    ours: Score
    theirs: Score
    repeats: int
    quick: bool = False
    explained: str = ""

    def compare(self) -> Comparison:
        """Run both sides; where the recipe seems worse, four times as many fresh rows decide.

        Of two hundred points without a difference five are below two errors by chance.
        """
        found = self._on(range(self.repeats))
        if found.not_worse:
            return found
        return self._on(range(self.repeats, 5 * self.repeats))

    def _on(self, repeats: range) -> Comparison:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.array([[self.ours(r), self.theirs(r)] for r in repeats])
        gap = found[:, 0] - found[:, 1]
        return Comparison(
            self.name, *found.mean(axis=0), float(gap.std(ddof=1) / math.sqrt(len(gap)))
        )


@dataclass(frozen=True)
class Comparison:
    """Mean scores, and the standard error of their difference over the repeats."""

    name: str
    ours: float
    theirs: float
    error: float

    @property
    def not_worse(self) -> bool:
        """Whether the recipe is not worse beyond two errors."""
        return self.ours - self.theirs >= -2 * self.error


# Friedman and Schuster


def concept(n, n_numeric, random):
    """Rows of five nominal attributes of three values, and numeric ones on [0, 100]."""
    X = random.integers(0, 3, (n, 5)).astype(float)
    numeric = random.uniform(0, 100, (n, n_numeric))
    signs = np.where(X[:, 0] == 0, X[:, 1] == 1, np.where(X[:, 0] == 1, X[:, 2] > 0, X[:, 3] == 2))
    if n_numeric:
        signs = np.where(numeric[:, 0] > 35, signs, X[:, 4] == 0)
    y = signs.astype(int)
    flipped = random.random(n) < 0.1
    return np.hstack([X, numeric]), np.where(flipped, 1 - y, y)


def friedman_rows(n, n_numeric, repeat):
    """Return training and test rows."""
    random = np.random.default_rng([repeat, n, n_numeric])
    return concept(n, n_numeric, random), concept(2000, n_numeric, random)


def ours_of_friedman(recipe, n, n_numeric, budget, options, repeat):
    """Return the accuracy of a recipe."""
    (X, y), (X_test, y_test) = friedman_rows(n, n_numeric, repeat)
    schema = {
        "categories": dict.fromkeys(range(5), (0, 1, 2)),
        "bounds": dict.fromkeys(range(5, 5 + n_numeric), (0.0, 100.0)),
        "classes": (0, 1),
        "max_rows": 50_000,
    }
    model = DPTreeClassifier(
        recipe=recipe, epsilon=budget, schema=schema, noise_seed=repeat, n_jobs=1, **options
    )
    return float(np.mean(model.fit(X, y).predict(X_test) == y_test))


def theirs_of_friedman(counted, pruned, n, n_numeric, budget, depth, criterion, repeat):
    """Return the accuracy of the literal algorithm."""
    (X, y), (X_test, y_test) = friedman_rows(n, n_numeric, repeat)
    domain = friedman_schuster.Domain((3,) * 5 + ((0.0, 100.0),) * n_numeric, 2)
    tree = friedman_schuster.Induction(
        domain, depth, budget, criterion, counted, 50_000, np.random.default_rng(repeat)
    ).build(X, y)
    if pruned:
        friedman_schuster.prune(tree)
    return float(np.mean(friedman_schuster.predict(tree, X_test) == y_test))


def friedman_cases() -> Iterator[Case]:
    """SuLQ-ID3, DiffPID3, DiffPC4.5 with both ways to draw thresholds, and pruning."""
    for budget in (0.5, 1.0, 4.0, math.inf):
        for n in (1000, 5000):
            for recipe, criterion in (
                ("sulq_id3", "entropy"),
                ("diffp_id3", "entropy"),
                ("diffp_id3", "gini"),
                ("diffp_id3", "max"),
            ):
                counted = recipe == "sulq_id3"
                options = {"max_depth": 3, "criterion": criterion}
                yield Case(
                    f"{recipe}, {criterion}, {n} rows, epsilon {budget:g}",
                    partial(ours_of_friedman, recipe, n, 0, budget, options),
                    partial(theirs_of_friedman, counted, False, n, 0, budget, 3, criterion),
                    30,
                    quick=n == 1000 and budget in (4.0, math.inf),
                )
            for draws in ("joint", "per_feature"):
                for pruned in (False, True):
                    options = {"max_depth": 4, "criterion": "gini", "prune": pruned}
                    yield Case(
                        f"diffp_c45, {draws}{', pruned' * pruned}, {n} rows, epsilon {budget:g}",
                        partial(
                            ours_of_friedman,
                            "diffp_c45",
                            n,
                            3,
                            budget,
                            options | {"threshold_draws": draws},
                        ),
                        partial(theirs_of_friedman, False, pruned, n, 3, budget, 4, "gini"),
                        20,
                        quick=n == 1000 and budget == 4.0 and not pruned,
                        explained=OUTNUMBERED if draws == "joint" else "",
                    )


# DP-TopDown

HOLDERS, THRESHOLDS = 4, 10


def topdown_rows(n, repeat):
    """Rows of twelve uniform features, of which classes depend on four."""
    random = np.random.default_rng([repeat, n])
    X = random.random((n + 2000, 12))
    raw = 4 * (X[:, 0] - 0.5) + 6 * (X[:, 1] - 0.5) * (X[:, 2] > 0.6) + 2 * (X[:, 3] > 0.8) - 0.4
    y = (random.random(len(raw)) < 1 / (1 + np.exp(-1.5 * raw))).astype(int)
    return (X[:n], y[:n]), (X[n:], y[n:])


def splits_of(X):
    """Values of evenly spaced thresholds of every feature."""
    edges = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
    return (X[:, :, np.newaxis] < edges).reshape(len(X), -1)


def ours_of_topdown(recipe, n, alpha, repeat):
    """Return the accuracy of a recipe."""
    (X, y), (X_test, y_test) = topdown_rows(n, repeat)
    schema = {"bounds": dict.fromkeys(range(12), (0.0, 1.0)), "classes": (0, 1)}
    options = {"epsilon": alpha, "schema": schema, "noise_seed": repeat}
    options |= {"max_bin": THRESHOLDS + 1}
    if recipe == "dp_topdown":
        model = DPTreeClassifier(recipe=recipe, preset="paper", n_jobs=1, **options).fit(X, y)
    else:
        parts = list(zip(np.array_split(X, HOLDERS), np.array_split(y, HOLDERS), strict=True))
        model = FederatedTreeClassifier(recipe=recipe, **options).fit(parts)
    return float(np.mean(model.predict(X_test) == y_test))


def theirs_of_topdown(private_split, n, alpha, repeat):
    """Return the accuracy of the literal algorithm."""
    (X, y), (X_test, y_test) = topdown_rows(n, repeat)
    one = isinstance(private_split, dp_topdown.SingleMachine)
    of = None if one else np.repeat(np.arange(HOLDERS), -(-n // HOLDERS))[:n]
    tree = dp_topdown.dp_topdown(
        splits_of(X), y, 2, alpha, private_split, np.random.default_rng(repeat), of=of
    )
    return float(np.mean(tree.predict(splits_of(X_test)) == y_test))


def topdown_cases() -> Iterator[Case]:
    """The three subroutines."""
    for recipe, private_split in (
        ("dp_topdown", dp_topdown.SingleMachine()),
        ("noisy_counts", dp_topdown.NoisyCounts()),
        ("local_rnm", dp_topdown.LocalRNM()),
    ):
        for n in (5000, 20_000):
            for alpha in (0.125, 1.0, 8.0, 64.0, 512.0):
                yield Case(
                    f"{recipe}, {n} rows, alpha {alpha:g}",
                    partial(ours_of_topdown, recipe, n, alpha),
                    partial(theirs_of_topdown, private_split, n, alpha),
                    10,
                    quick=n == 5000 and alpha == 8.0,
                )


# Federated trees


def mixture_rows(n, p, rho, repeat):
    """Return the parties' rows and test rows of a mixture of Gaussians."""
    mixture = Mixture(n_features=p, correlation=rho)
    random = np.random.default_rng([repeat, n, p])
    X, y = mixture.sample(n, random)
    parts = list(zip(np.array_split(X, 5), np.array_split(y, 5), strict=True))
    return mixture, parts, mixture.sample(2000, random)


def ours_of_federated(recipe, n, p, rho, depth, epsilon, repeat):
    """Return the accuracy of a recipe."""
    mixture, parts, (X_test, y_test) = mixture_rows(n, p, rho, repeat)
    model = FederatedTreeClassifier(
        recipe=recipe,
        epsilon=epsilon,
        max_depth=depth,
        max_bin=10,
        schema=mixture.schema(),
        noise_seed=repeat,
    ).fit(parts)
    return float(np.mean(model.predict(X_test) == y_test))


def theirs_of_federated(saving, released, n, p, rho, depth, epsilon, repeat):
    """Return the accuracy of the literal algorithm."""
    _, parts, (X_test, y_test) = mixture_rows(n, p, rho, repeat)
    settings = federated_trees.Settings(
        epsilon=epsilon, max_depth=depth, low=LOW, high=HIGH, saving=saving, released=released
    )
    tree = federated_trees.Tree(parts, settings, np.random.default_rng(repeat))
    return float(np.mean(tree.predict(X_test) == y_test))


def federated_cases() -> Iterator[Case]:
    """Algorithms 5 and 6 as printed, and 5 as released."""
    for n, p, rho, depth in ((250, 10, 0.9, 5), (250, 25, 0.3, 5), (1000, 10, 0.3, 5)):
        for epsilon in (0.1, 1.2, 3.4, 10.0):
            for recipe, saving, released in (
                ("histograms", False, False),
                ("histograms_saving", True, False),
                ("histograms", False, True),
                ("histograms_saving", True, True),
            ):
                yield Case(
                    f"{recipe} and {'released' if released else 'printed'}, {n} rows, p {p}, "
                    f"rho {rho:g}, epsilon {epsilon:g}",
                    partial(ours_of_federated, recipe, n, p, rho, depth, epsilon),
                    partial(theirs_of_federated, saving, released, n, p, rho, depth, epsilon),
                    20,
                    quick=(p, epsilon) == (10, 3.4) and n == 250,
                )


# DPBoost


def boosting_rows(n, repeat):
    """Rows of eight features with labels in [-1, 1]."""
    random = np.random.default_rng([repeat, n])
    X = random.random((n + 1000, 8))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.5 * (X[:, 2] > 0.5) - 0.5 + random.normal(0, 0.1, len(X))
    y = np.clip(y, -1, 1)
    return (X[:n], y[:n]), (X[n:], y[n:])


BINS = 16


def ours_of_boosting(n, epsilon, options, repeat):
    """Return minus the mean squared error of the recipe."""
    (X, y), (X_test, y_test) = boosting_rows(n, repeat)
    schema = {"bounds": dict.fromkeys(range(8), (0.0, 1.0)), "label_bounds": (-1, 1)}
    model = DPBoostRegressor(
        recipe="dpboost",
        preset="paper",
        epsilon=epsilon,
        schema=schema,
        max_bin=BINS,
        noise_seed=repeat,
        n_jobs=1,
        verbosity=-1,
        **options,
    ).fit(X, y)
    return -float(np.mean((model.predict(X_test) - y_test) ** 2))


def theirs_of_boosting(n, epsilon, options, printed_index, repeat):
    """Return minus the mean squared error of the literal algorithm."""
    (X, y), (X_test, y_test) = boosting_rows(n, repeat)
    bins, test_bins = ((rows * BINS).astype(int) for rows in (X, X_test))
    found = boosting.boosted(
        bins,
        y,
        test_bins,
        epsilon=epsilon,
        random=np.random.default_rng(repeat),
        n_bins=BINS,
        n_trees=options.get("n_estimators", 50),
        depth=options.get("max_depth", 6),
        per_ensemble=options.get("trees_per_ensemble", 50),
        printed_index=printed_index,
    )
    return -float(np.mean((found - y_test) ** 2))


def boosting_cases() -> Iterator[Case]:
    """DPBoost in one ensemble and in several."""
    for n in (2000, 8000):
        for epsilon in (1.0, 4.0, 10.0, 100.0):
            for options in ({}, {"n_estimators": 20, "trees_per_ensemble": 10, "max_depth": 3}):
                for printed in (False, True):
                    yield Case(
                        f"dpboost, {'several ensembles' if options else 'one ensemble'}, "
                        f"{'printed index' if printed else 'index in the ensemble'}, {n} rows, "
                        f"epsilon {epsilon:g}",
                        partial(ours_of_boosting, n, epsilon, options),
                        partial(theirs_of_boosting, n, epsilon, options, printed),
                        15,
                        quick=n == 2000 and epsilon == 10.0 and not printed,
                        explained=DEAD_LEAVES if printed else "",
                    )


# LPDT


def local_rows(n, repeat):
    """Return public, private and test rows of three features with labels in [-1, 1]."""
    random = np.random.default_rng([repeat, n])
    X = random.beta(2, 3, (n + 1500, 3))
    y = np.sin(5 * X[:, 0]) * 0.6 + 0.4 * (X[:, 1] > 0.5) + random.normal(0, 0.2, len(X))
    y = np.clip(y, -1, 1)
    ends = [500, 500 + n]
    return tuple(zip(np.split(X, ends), np.split(y, ends), strict=True))


SIZES = {"max_depth": 3, "min_samples_leaf": 20}


def ours_of_lpdt(rule, estimate, n, epsilon, repeat):
    """Return minus the mean squared error of LPDT."""
    (X_public, y_public), (X, y), (X_test, y_test) = local_rows(n, repeat)
    model = LPDTRegressor(
        epsilon=epsilon,
        rule=rule,
        mechanism="paper",
        estimate=estimate,
        label_bounds=(-1, 1),
        schema={"bounds": dict.fromkeys(range(3), (0.0, 1.0))},
        noise_seed=repeat,
        **SIZES,
    ).fit(X, y, X_public=X_public, y_public=y_public)
    return -float(np.mean((model.predict(X_test) - y_test) ** 2))


def theirs_of_lpdt(rule, n, epsilon, repeat):
    """Return minus the mean squared error of the literal algorithm, clipped to the labels."""
    (X_public, y_public), (X, y), (X_test, y_test) = local_rows(n, repeat)
    boxes = lpdt.partition(X_public, y_public, SIZES["max_depth"], SIZES["min_samples_leaf"], rule)
    random = np.random.default_rng(repeat)
    found = lpdt.lpdt(X, y, X_test, boxes, epsilon, 1.0, random)
    return -float(np.mean((np.clip(found, -1, 1) - y_test) ** 2))


def baseline(name, theirs, n, epsilon, repeat):
    """Return minus the mean squared error of a baseline of the benchmarks, or of the text."""
    _, (X, y), (X_test, y_test) = local_rows(n, repeat)
    random = np.random.default_rng([repeat, theirs])
    scale = baselines.Scale(np.zeros(3), np.ones(3), 0.0, 1.0)
    X_test, y_test = X_test[:200], y_test[:200]
    options: dict[str, Any] = {"epsilon": epsilon, "random": random}
    if name == "DECONV" and theirs:
        found = lpdt.deconvolution(X, y, X_test, epsilon, 1.0, 0.5, random)
    elif name == "DECONV":
        found = baselines.deconvolution_predictions(X, y, X_test, scale, bandwidth=0.5, **options)
    elif theirs:
        found = lpdt.histogram(X, y, X_test, 2, epsilon, 1.0, name == "APHIST", random)
    else:
        adjusted = name == "APHIST"
        found = baselines.histogram_predictions(
            X, y, X_test, scale, n_sides=2, adjusted=adjusted, **options
        )
    return -float(np.median((np.clip(found, -1, 1) - y_test) ** 2))


def local_cases() -> Iterator[Case]:
    """LPDT with both estimates and rules, and its baselines."""
    for epsilon in (2.0, 4.0, 8.0):
        for n in (2000, 6000):
            for rule in ("max_edge", "variance"):
                for estimate in ("paper", "shrunken"):
                    yield Case(
                        f"LPDT, {rule}, {estimate} estimate, {n} reports, epsilon {epsilon:g}",
                        partial(ours_of_lpdt, rule, estimate, n, epsilon),
                        partial(theirs_of_lpdt, rule, n, epsilon),
                        20,
                        quick=n == 2000 and epsilon == 4.0,
                        explained=SHRUNKEN if rule == "variance" and estimate == "shrunken" else "",
                    )
            for name in ("PHIST", "APHIST", "DECONV"):
                yield Case(
                    f"{name}, {n} reports, epsilon {epsilon:g}",
                    partial(baseline, name, False, n, epsilon),
                    partial(baseline, name, True, n, epsilon),
                    20,
                    quick=n == 2000 and epsilon == 4.0,
                )


def cases() -> list[Case]:
    """Return the whole grid."""
    return [
        *friedman_cases(),
        *topdown_cases(),
        *federated_cases(),
        *boosting_cases(),
        *local_cases(),
    ]
