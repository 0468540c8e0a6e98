"""Fine cells merged into bins, against the rule written out with arrays."""

import numpy as np
import pytest

from dpboost._kernels import bin_merging

HALVINGS = 12


def divide(mass, target):
    """Bins of about the target mass: heavier cells alone, the rest between them evenly."""
    alone = mass >= target
    light = np.where(alone, 0.0, mass)
    ends = np.cumsum(light)
    stretch = np.cumsum(alone)
    borders = np.concatenate([[0.0], ends[alone], ends[-1:]])
    lengths = np.diff(borders)
    parts = np.maximum(np.rint(lengths / target), 1.0)
    position = (ends - light / 2 - borders[stretch]) / np.maximum(lengths, 1e-300)[stretch]
    part = np.where(
        alone, -1.0, np.minimum(np.floor(position * parts[stretch]), parts[stretch] - 1)
    )
    new = (np.diff(stretch) != 0) | (np.diff(part) != 0)
    return np.concatenate([[0], np.cumsum(new)])


def searched(mass, n_bins):
    """The search for the least target, one step after the other."""
    bins = np.zeros(len(mass), dtype=int)
    least, most = 0.0, float(mass.sum())
    for _ in range(HALVINGS):
        target = (least + most) / 2
        found = divide(mass, target)
        if found[-1] < n_bins:
            bins, most = found, target
        else:
            least = target
        if bins[-1] == n_bins - 1:
            break
    return bins


def merged(mass, n_bins):
    bins = np.full(mass.shape, 77, np.uint8)
    bin_merging.merge(mass, mass.sum(axis=1), n_bins, HALVINGS, bins)
    return bins


@pytest.mark.parametrize("n_bins", [1, 2, 7, 64, 255, 256])
@pytest.mark.parametrize("peaks", [0, 1, 30])
def test_bins_are_those_of_the_search(n_bins, peaks):
    random = np.random.default_rng(n_bins + peaks)
    mass = random.gamma(0.7, size=(4, 300)) * (random.random((4, 300)) < 0.6) + 1e-3
    mass[:, random.permutation(300)[:peaks]] *= 200.0
    found = merged(mass, n_bins)
    assert found.tolist() == [searched(one, n_bins).tolist() for one in mass]


def test_where_no_step_finds_few_enough_bins_there_is_one():
    mass = np.zeros((1, 9))
    mass[0, 4] = 1.0
    assert searched(mass[0], 2).tolist() == merged(mass, 2)[0].tolist() == [0] * 9
    assert merged(mass, 3)[0].tolist() == [0] * 4 + [1] + [2] * 4
