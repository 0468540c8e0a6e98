"""Constraints in all forms that users write."""

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.trees.constraints import Constraints

NAMES = ("age", "hours_a_week", "pay")


def read(monotone=None, interactions=None):
    return Constraints.of(monotone, interactions, NAMES, "fit")


@pytest.mark.parametrize(
    "given",
    [
        [1, 0, -1],
        (1, 0, -1),
        np.array([1, 0, -1]),
        "1,0,-1",
        "[1, 0, -1]",
        {"age": 1, "pay": -1},
        {0: 1, "pay": -1, "hours a week": 0},
    ],
)
def test_directions(given):
    assert read(given).monotone == (1, 0, -1)
    assert read(given).monotone_text == "1,0,-1"


@pytest.mark.parametrize("given", [None, "", [], [0, 0, 0], {}, "0,0,0"])
def test_no_directions(given):
    assert read(given).monotone == ()
    assert read(given).monotone_text is None


@pytest.mark.parametrize(
    "given", [[1, 0], "1,0", [1, 0, 2], [1, 0, 0.5], [True, 0, 0], "1,x,0", 3, {"age": "up"}]
)
def test_wrong_directions_are_refused(given):
    with pytest.raises(InvalidParameterError, match="monotone_constraints"):
        read(given)


@pytest.mark.parametrize("given", [{"wages": 1}, {3: 1}, {-1: 1}, {1.5: 1}])
def test_directions_of_unknown_columns_are_refused(given):
    with pytest.raises(InvalidParameterError, match="which X does not have"):
        read(given)


@pytest.mark.parametrize(
    "given", [[[0, 1], [2]], "[0,1],[2]", [["age", "hours a week"], ("pay",)], [{1, 0}, [2]]]
)
def test_groups(given):
    assert read(interactions=given).groups == ((0, 1), (2,))
    assert read(interactions=given).interaction_text == "[0,1],[2]"
    assert read(interactions=given).allowed(4).tolist() == [True, True, True, False]


@pytest.mark.parametrize("given", [None, "", []])
def test_no_groups(given):
    assert read(interactions=given).groups is None
    assert read(interactions=given).allowed(3).all()


@pytest.mark.parametrize("given", [[0, 1], "age", [[]], [["wages"]], [[3]], [{"age": 1}], "[0,1"])
def test_wrong_groups_are_refused(given):
    with pytest.raises(InvalidParameterError, match="interaction_constraints"):
        read(interactions=given)
