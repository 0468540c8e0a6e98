from fractions import Fraction

import pytest

from dpboost.growing.boosting_loop import (
    EnsembleOfEnsembles,
    HalfOfTheUnused,
    Sequential,
    geometric_shares,
)


@pytest.mark.parametrize("n_trees", [1, 2, 7, 50])
@pytest.mark.parametrize("learning_rate", [0.01, 0.1, 0.5, 1.0])
def test_geometric_shares_sum_to_exactly_one_and_decay(n_trees, learning_rate):
    shares = geometric_shares(n_trees, learning_rate)
    assert sum(shares) == 1
    assert all(isinstance(share, Fraction) for share in shares)
    for first, second in zip(shares, shares[1:], strict=False):
        assert float(second) == pytest.approx(float(first) * (1 - learning_rate))


def test_first_tree_of_an_ensemble_has_the_papers_share():
    eta, n_trees = 0.1, 50
    assert float(geometric_shares(n_trees, eta)[0]) == pytest.approx(
        eta / (1 - (1 - eta) ** n_trees)
    )


@pytest.mark.parametrize(("n_estimators", "sizes"), [(6, [3, 3]), (7, [3, 3, 1]), (2, [2])])
def test_ensembles_cover_all_trees_and_the_last_uses_all_rows(n_estimators, sizes):
    plans = EnsembleOfEnsembles(trees_per_ensemble=3, learning_rate=0.1).plan(n_estimators)
    assert [plan.n_trees for plan in plans] == sizes
    assert all(sum(plan.shares) == 1 for plan in plans)


def test_para_takes_half_of_the_unused_rows_each_time():
    (plan,) = HalfOfTheUnused().plan(4)
    assert plan.shares == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16))


def test_seq_is_one_tree_on_all_rows_at_a_time():
    plans = Sequential().plan(5)
    assert len(plans) == 5
    assert all(plan.n_trees == 1 and plan.shares is None for plan in plans)
