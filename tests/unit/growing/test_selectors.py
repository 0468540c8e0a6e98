import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost.growing.selectors import SELECTIONS, GainChoice, PrivateArgmax
from dpboost.privacy.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.trees.gain import GradientGain

ONE = 65536


def criterion():
    return GradientGain(hessian=1.0, reg_lambda=0.1, gradient_limit=ONE)


@pytest.fixture
def separated(statistics):
    """Rows whose best split is feature 2, bin 0, by far; all other features are constant."""
    bins = np.zeros((3, 400), dtype=np.uint8)
    bins[2, :200] = 1
    gradients = np.where(bins[2] == 1, ONE, -ONE)
    return statistics(bins, gradients, np.ones(400, dtype=bool))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_without_noise_the_best_candidate_wins(separated, open_ledger, selection):
    selector = PrivateArgmax(criterion=criterion(), selection=selection)
    feature, split_bin = selector.choose(separated, epsilon=math.inf, ledger=open_ledger())
    assert (feature.tolist(), split_bin.tolist()) == ([2], [0])


@pytest.mark.parametrize("selection", SELECTIONS)
def test_without_rows_all_candidates_tie_and_the_first_wins(statistics, open_ledger, selection):
    nobody = statistics(np.zeros((3, 0), np.uint8), np.zeros(0, np.int64), np.zeros(0, bool))
    selector = PrivateArgmax(criterion=criterion(), selection=selection)
    feature, split_bin = selector.choose(nobody, epsilon=math.inf, ledger=open_ledger())
    assert (feature.tolist(), split_bin.tolist()) == ([0], [0])


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_level_is_one_charged_release(rows, statistics, open_ledger, selection):
    data = statistics(*rows(), neighbors=Neighbors.REPLACE)
    data.split(np.array([0], np.int32), np.array([1], np.uint8))
    ledger = open_ledger(1, neighbors=Neighbors.REPLACE)
    selector = PrivateArgmax(criterion=criterion(), selection=selection)
    feature, split_bin = selector.choose(data, epsilon=Fraction(1, 3), ledger=ledger)
    assert len(feature) == len(split_bin) == 2
    (entry,) = ledger.entries
    assert entry.label == "split choice"
    assert entry.charge.cost == Fraction(1, 3)
    assert entry.bound == criterion().bound(Neighbors.REPLACE)
    kinds = {"exponential": ExponentialMechanism, "permute_and_flip": PermuteAndFlip}
    assert type(entry.mechanism) is kinds[selection]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_little_budget_chooses_nearly_at_random(separated, open_ledger, selection):
    selector = PrivateArgmax(criterion=criterion(), selection=selection)
    ledger = open_ledger(1)
    chosen = set()
    for _ in range(400):
        feature, split_bin = selector.choose(separated, epsilon=Fraction(1, 1000), ledger=ledger)
        chosen.add((int(feature[0]), int(split_bin[0])))
    assert len(chosen) == 9, "a candidate that is empty or constant is never drawn"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_little_budget_chooses_labels_gains_nearly_at_random(separated, open_ledger, selection):
    rows = SimpleNamespace(scores=lambda nodes, criterion: separated.split_scores(criterion))
    selector = GainChoice(criterion=criterion(), selection=selection)
    ledger, none = open_ledger(1), np.zeros(1)
    chosen = {
        int(selector.choose(rows, none, none, none, budget=Fraction(1, 1000), ledger=ledger)[0])
        for _ in range(400)
    }
    assert len(chosen) == 9
