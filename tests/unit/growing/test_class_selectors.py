import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.growing.class_selectors import (
    ChoicePerFeature,
    JointChoice,
    NoisyCountChoice,
    release_sizes,
    released_impurity,
    row_limits,
)
from dpboost.privacy.sensitivity.impurities import LEAST_ROWS, MOST_ROWS, Impurity
from dpboost.trees.split_candidates import CATEGORY, MULTIWAY, THRESHOLD

ROOT = np.zeros(1, dtype=np.int32)
EXACT = math.inf


def limits(nodes):
    return np.full(len(nodes), 5000, dtype=np.int64)


def everything(nodes):
    return np.ones((len(nodes), 3), dtype=bool)


def choose(selector, statistics, ledger, epsilon=EXACT, nodes=ROOT, offered=None):
    return selector.choose(
        statistics,
        nodes,
        limits(nodes),
        everything(nodes) if offered is None else offered,
        budget=epsilon,
        ledger=ledger,
    )


def test_sizes_come_with_the_deviation_of_their_noise(class_rows, class_statistics, open_ledger):
    statistics = class_statistics(*class_rows())
    size, noise_stddev = release_sizes(statistics, ROOT, budget=EXACT, ledger=open_ledger())
    assert (size[0], noise_stddev) == (class_rows()[2].sum(), 0)
    epsilon = Fraction(1, 10)
    sizes = [
        release_sizes(statistics, ROOT, budget=epsilon, ledger=open_ledger(epsilon))[0][0]
        for _ in range(5)
    ]
    _, noise_stddev = release_sizes(statistics, ROOT, budget=epsilon, ledger=open_ledger(epsilon))
    assert noise_stddev == pytest.approx(10 * 2**0.5, rel=0.01)
    assert max(abs(found - size[0]) for found in sizes) < 40 * noise_stddev


def test_row_limits_are_a_little_above_the_released_sizes():
    sizes = np.array([-50.0, 10.2, 1000.0, 1e12])
    assert row_limits(sizes, 10.0, None).tolist() == [LEAST_ROWS, LEAST_ROWS, 1020, MOST_ROWS]
    assert row_limits(sizes, 10.0, 500).tolist() == [64, 64, 500, 500]
    assert row_limits(sizes, 10.0, 3).tolist() == [64] * 4


@pytest.mark.parametrize("measure", list(Impurity))
def test_the_two_ways_to_choose_agree_without_noise(
    class_rows, class_statistics, open_ledger, measure
):
    kinds = (THRESHOLD, MULTIWAY, THRESHOLD)
    for seed in range(4):
        statistics = class_statistics(*class_rows(seed=seed), kinds=kinds)
        found = [
            choose(selector(measure=measure, selection="exponential"), statistics, open_ledger())
            for selector in (JointChoice, ChoicePerFeature)
        ]
        assert np.array_equal(*found)


@pytest.mark.parametrize("selector", [JointChoice, ChoicePerFeature])
def test_little_budget_chooses_nearly_at_random(
    class_rows, class_statistics, open_ledger, selector
):
    """Thresholds and features alike: the best of the exact scores is no answer."""
    statistics = class_statistics(*class_rows(), kinds=(THRESHOLD,) * 3)
    ledger = open_ledger(1)
    little = Fraction(1, 1000)
    chosen = [
        choose(selector(measure=Impurity.GINI, selection="exponential"), statistics, ledger, little)
        for _ in range(200)
    ]
    found = np.unique(chosen)
    borders = statistics.candidates.candidate_offsets
    assert set(np.searchsorted(borders, found, side="right") - 1) == {0, 1, 2}
    assert set(found.tolist()) >= set(range(borders[1])), "a threshold is never drawn"


def test_features_that_are_not_offered_are_not_chosen(class_rows, class_statistics, open_ledger):
    kinds = (MULTIWAY, MULTIWAY, MULTIWAY)
    statistics = class_statistics(*class_rows(), kinds=kinds)
    for selector in (
        JointChoice(measure=Impurity.GINI, selection="permute_and_flip"),
        NoisyCountChoice(measure=Impurity.GINI),
    ):
        order = []
        offered = everything(ROOT)
        while offered.any():
            feature = int(choose(selector, statistics, open_ledger(), offered=offered.copy())[0])
            order.append(feature)
            offered[0, feature] = False
        assert sorted(order) == [0, 1, 2]
        assert order[2] == 2  # labels follow the first two


def test_what_each_way_costs(class_rows, class_statistics, open_ledger):
    epsilon = Fraction(1, 7)
    for selector, kinds, labels, costs in [
        (JointChoice, (THRESHOLD, CATEGORY, THRESHOLD), ["split choice"], [1]),
        (
            ChoicePerFeature,
            (THRESHOLD, MULTIWAY, THRESHOLD),
            ["threshold choice", "threshold choice", "split choice"],
            [1, 1, 1],
        ),
        (NoisyCountChoice, (MULTIWAY,) * 3, ["cell sizes", "class counts"], [0.5, 0.5]),
    ]:
        options = {} if selector is NoisyCountChoice else {"selection": "exponential"}
        ledger = open_ledger(10)
        choose(
            selector(measure=Impurity.ERRORS, **options),
            class_statistics(*class_rows(), kinds=kinds),
            ledger,
            epsilon=epsilon,
        )
        assert [entry.label for entry in ledger.entries] == labels
        assert [entry.charge.cost / epsilon for entry in ledger.entries] == costs


@pytest.mark.parametrize("measure", [Impurity.ENTROPY, Impurity.GINI, Impurity.ERRORS])
def test_impurity_of_released_counts(measure):
    counts = np.array([[[3, 1], [8, 8], [-4, 2]]])
    found = released_impurity(measure, counts.sum(axis=2), counts)
    exact = {
        Impurity.ENTROPY: [3 * math.log2(4 / 3) + 2, 16],
        Impurity.GINI: [1.5, 8],
        Impurity.ERRORS: [-3, -8],
    }[measure]
    assert found[0, :2] == pytest.approx(exact)
    assert np.isfinite(found).all()
