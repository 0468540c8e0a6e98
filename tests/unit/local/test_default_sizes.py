import numpy as np
import pytest

from dpboost import LPDTPartition
from dpboost.local.default_sizes import theoretical_depth


def planned(rows, epsilon, n_reports, rule="variance", **options):
    X, y = rows(0, 600)
    y = np.sin(9 * X[:, 0]) + 0.1 * y
    return LPDTPartition.from_public(
        X, y, rule=rule, epsilon=epsilon, n_reports=n_reports, **options
    )


@pytest.mark.parametrize("rule", ["max_edge", "variance"])
def test_more_budget_and_more_reports_mean_more_cells(rows, rule):
    few = planned(rows, 0.5, 1_000, rule).n_cells
    more = planned(rows, 2.0, 2_000, rule).n_cells
    most = planned(rows, 6.0, 100_000, rule).n_cells
    assert few < more < most


def test_less_noise_means_more_levels(rows):
    levels = [planned(rows, epsilon, 5_000).labels.n_levels for epsilon in (1.0, 4.0, 12.0)]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1]
    assert planned(rows, 6.0, 5_000, mechanism="paper").labels.n_levels == 2


def test_what_is_given_is_kept(rows):
    deep = planned(rows, 0.5, 500, max_depth=3, min_samples_leaf=5)
    assert deep.n_cells == 8
    assert planned(rows, 6.0, 5_000, n_levels=7).labels.n_levels == 7


def test_the_same_public_rows_give_the_same_partition(rows):
    assert planned(rows, 2.0, 5_000).to_json() == planned(rows, 2.0, 5_000).to_json()


def test_the_mechanism_counts(rows):
    assert (
        planned(rows, 3.0, 5_000, mechanism="paper").n_cells
        < planned(rows, 3.0, 5_000, mechanism="signed_cell").n_cells
    )


def test_the_depth_of_the_theorem():
    assert theoretical_depth(1, 0.01, 3) == 0
    assert theoretical_depth(6_000, 8.0, 1) == 4  # 6000 * 64 / 8.7 = 44,140 = 2^15.43, a quarter
    assert theoretical_depth(10**6, 2.0, 10) > theoretical_depth(10**4, 2.0, 10)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_handful_of_public_rows_is_enough(rows, n):
    X, _ = rows(0, n)
    partition = LPDTPartition.from_public(
        X, X[:, 0], epsilon=1.0, n_reports=100, label_bounds=(0, 1)
    )
    assert partition.n_cells >= 1
