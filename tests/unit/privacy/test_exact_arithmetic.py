import math
import random
from fractions import Fraction

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy import exact_arithmetic
from dpboost.privacy.exact_arithmetic import as_budget, ratio_down, root_down, root_up, shorten


def random_fractions(n, bits):
    generator = random.Random(5)
    return [
        Fraction(generator.getrandbits(bits) + 1, generator.getrandbits(bits) + 1) for _ in range(n)
    ]


@pytest.mark.parametrize("limit", [5, 12])
def test_ratio_down_is_the_best_ratio_below(monkeypatch, limit):
    monkeypatch.setattr(exact_arithmetic, "RATIO_LIMIT", limit)
    ratios = {Fraction(p, q) for p in range(1, limit + 1) for q in range(1, limit + 1)}
    for value in random_fractions(300, 10):
        below = [ratio for ratio in ratios if ratio <= value]
        if below:
            assert Fraction(*ratio_down(value)) == max(below)
        else:
            with pytest.raises(InvalidParameterError, match="too large to be drawn"):
                ratio_down(value)


@pytest.mark.parametrize("value", random_fractions(50, 90) + [Fraction(2**40), Fraction(1, 3)])
def test_ratio_down_fits_the_kernels_and_loses_little(value):
    numerator, denominator = ratio_down(value)
    assert 1 <= numerator < 2**32
    assert 1 <= denominator < 2**32
    assert Fraction(numerator, denominator) <= value
    if 2**-30 < value < 2**30:
        assert Fraction(numerator, denominator) > value * (1 - Fraction(1, 2**20))


def test_ratio_down_keeps_what_fits():
    assert ratio_down(Fraction(6, 8)) == (3, 4)
    assert ratio_down(Fraction(2**32 - 1, 1)) == (2**32 - 1, 1)
    assert ratio_down(Fraction(1, 2**32 - 1)) == (1, 2**32 - 1)


@pytest.mark.parametrize("value", random_fractions(50, 70))
def test_roots_enclose_the_root(value):
    above = root_up(value)
    assert above**2 >= value
    assert above == 0 or (above - 1) ** 2 < value
    below = root_down(value)
    assert 0 < below**2 <= value
    assert below**2 >= value * (1 - Fraction(1, 2**28))


def test_roots_of_squares_are_exact():
    assert root_up(Fraction(49)) == 7
    assert root_down(Fraction(9, 16)) == Fraction(3, 4)
    assert root_down(math.inf) == math.inf


@pytest.mark.parametrize("value", random_fractions(50, 100))
def test_shorten_rounds_down_a_little(value):
    short = shorten(value)
    assert value * (1 - Fraction(1, 2**30)) <= short <= value
    assert (short.numerator * short.denominator).bit_length() <= 220
    assert shorten(short) == short


def test_a_float_is_the_decimal_that_it_prints_as():
    assert as_budget("epsilon", "test", 0.1) == Fraction(1, 10)
    assert as_budget("epsilon", "test", 1e-6) == Fraction(1, 10**6)
    assert as_budget("epsilon", "test", math.inf) == math.inf


@pytest.mark.parametrize("value", [0, -1, math.nan, "1", None, True, -math.inf])
def test_budgets_are_positive_numbers(value):
    with pytest.raises(InvalidParameterError, match="epsilon"):
        as_budget("epsilon", "test", value)
