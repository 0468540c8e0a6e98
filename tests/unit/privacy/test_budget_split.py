import math
from fractions import Fraction

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import divide, split_fit, split_tree

TOTAL = Fraction(7, 3)


def test_divide_is_exact_and_proportional():
    parts = divide(TOTAL, [1, 2, Fraction(1, 7), 0])
    assert sum(parts) == TOTAL
    assert parts[1] == 2 * parts[0]
    assert parts[3] == 0
    assert divide(math.inf, [1, 0]) == (math.inf, 0)
    for weights in ([], [0], [2, -1]):
        with pytest.raises(InvalidParameterError, match="weights"):
            divide(TOTAL, weights)


def test_preparation_takes_a_tenth_when_something_is_learned():
    budget = split_fit(TOTAL, ["age", "income", "label"])
    assert sum(budget.preparation.values()) == TOTAL / 10
    assert set(budget.preparation.values()) == {TOTAL / 30}
    assert budget.training + sum(budget.preparation.values()) == TOTAL
    assert split_fit(TOTAL, []).training == TOTAL
    assert split_fit(TOTAL, []).preparation == {}
    infinite = split_fit(math.inf, ["x"])
    assert (infinite.training, infinite.preparation["x"]) == (math.inf, math.inf)


def test_preparation_is_checked():
    with pytest.raises(InvalidParameterError, match="learned"):
        split_fit(TOTAL, ["x", "x"])


def test_half_of_a_tree_goes_to_the_leaves():
    budget = split_tree(TOTAL, 6)
    assert budget.leaves == TOTAL / 2
    assert budget.levels == (TOTAL / 12,) * 6
    assert budget.leaves + sum(budget.levels) == TOTAL
    assert split_tree(TOTAL, 0).leaves == TOTAL
    assert split_tree(TOTAL, 3, Fraction(1)).levels == (0, 0, 0)
    assert split_tree(math.inf, 2).levels == (math.inf, math.inf)
    with pytest.raises(InvalidParameterError, match="leaf_share"):
        split_tree(TOTAL, 2, Fraction(0))
