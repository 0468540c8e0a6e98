"""Leaves of DP-TopDown by noisy maxima and by counts: ``python -m tests.oracles.leaf_labels``.

Line 14 of the algorithm labels a leaf by report-noisy-max; the recipe releases all class counts.
Trees of the paper's settings on Adult keep their splits, and their leaves are labeled again.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.reproductions.dp_topdown.one_machine import load
from dpboost import DPTreeClassifier
from dpboost.growing.class_leaves import CountedProbability, GrownTree
from dpboost.trees.growing_tree import GrowingTree

ALPHAS = (0.125, 0.5, 1.0, 2.0, 8.0, 64.0, 512.0)
#: The share of figure 2, and the least of figure 1.
LEAF_SHARES = (0.5, 0.005)
N_DIVISIONS, N_DRAWS = 10, 20


def by_counts(growing, counts, epsilon, random):
    """Return the classes of the recipe: an empty leaf takes that of the node above."""
    noisy = counts + random.laplace(scale=1 / epsilon, size=counts.shape)
    grown = GrownTree(growing=growing, counts=noisy, noise_stddev=2**0.5 / epsilon)
    return CountedProbability().of(grown).argmax(axis=1)


def by_noisy_max(growing, counts, epsilon, random):
    """Return the classes of line 14: the index of the largest noisy count."""
    return (counts + random.laplace(scale=1 / epsilon, size=counts.shape)).argmax(axis=1)


def by_permute_and_flip(growing, counts, epsilon, random):
    """Return classes by the noisy maximum with exponential noise, which is permute-and-flip."""
    return (counts + random.exponential(scale=1 / epsilon, size=counts.shape)).argmax(axis=1)


def without_noise(growing, counts, epsilon, random):
    """Return the classes of the exact counts."""
    return counts.argmax(axis=1)


LABELS: dict[str, Callable] = {
    "noisy counts, as shipped": by_counts,
    "noisy maximum, line 14": by_noisy_max,
    "permute-and-flip": by_permute_and_flip,
    "exact": without_noise,
}


def accuracies(alpha: float, share: float, repeat: int) -> dict[str, float]:
    """Return the mean accuracy of each way to label the leaves of one tree."""
    table = load("adult")
    (X, y), (X_test, y_test) = table.parts(repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPTreeClassifier(
            epsilon=alpha,
            leaf_share=share,
            schema=table.schema,
            noise_seed=repeat,
            n_jobs=1,
            **table.settings,
        ).fit(X, y)
    growing = GrowingTree()
    for position in range(len(model.tree_.splits)):
        growing.split(model.tree_.splits.at(position))
    counts = np.zeros((len(growing.leaves), len(model.classes_)))
    np.add.at(counts, (model.apply(X), np.searchsorted(model.classes_, y)), 1)
    reached, truth = model.apply(X_test), np.searchsorted(model.classes_, y_test)
    found = {}
    for name, labels in LABELS.items():
        random = np.random.default_rng(repeat)
        drawn = [labels(growing, counts, alpha * share, random) for _ in range(N_DRAWS)]
        found[name] = float(np.mean([np.mean(own[reached] == truth) for own in drawn]))
    return found


def main() -> None:
    """Print a table in Markdown: accuracies and the differences from noisy counts."""
    n_divisions = int(sys.argv[1]) if len(sys.argv) > 1 else N_DIVISIONS
    first = next(iter(LABELS))
    print(f"| share of the leaves | alpha | {' | '.join(LABELS)} |")
    print("| --: | --: |" + " --: |" * len(LABELS))
    for share, alpha in itertools.product(LEAF_SHARES, ALPHAS):
        found = [accuracies(alpha, share, repeat) for repeat in range(n_divisions)]
        cells = []
        for name in LABELS:
            gap = np.array([each[name] - each[first] for each in found])
            error = gap.std(ddof=1) / len(gap) ** 0.5
            own = np.mean([each[name] for each in found])
            cells.append(f"{own:.4f}" + f" ({gap.mean():+.4f} ± {error:.4f})" * (name != first))
        print(f"| {share:g} | {alpha:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
