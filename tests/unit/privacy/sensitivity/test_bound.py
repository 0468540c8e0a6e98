"""Which numbers a sensitivity may have."""

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.sensitivity.bound import MOST_CHANGE, Sensitivity


def test_twice_the_largest_bound_fits_in_the_integers_of_values():
    assert Sensitivity("l1", MOST_CHANGE, "test", MOST_CHANGE).constant == MOST_CHANGE
    largest = np.iinfo(np.int64).max
    assert 2 * MOST_CHANGE <= largest < 2 * (MOST_CHANGE + 1)


@pytest.mark.parametrize("number", [0, -1, 1.5, MOST_CHANGE + 1])
def test_other_numbers_are_refused(number):
    with pytest.raises(InvalidParameterError, match="constant"):
        Sensitivity("l1", number, "test")
    with pytest.raises(InvalidParameterError, match="coordinates"):
        Sensitivity("l1", 1, "test", number)


def test_other_norms_are_refused():
    with pytest.raises(InvalidParameterError, match="kind"):
        Sensitivity("l3", 1, "test")
