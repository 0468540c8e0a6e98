"""Rows of one process, their store and the handle that public code has."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from dpboost.privacy.queries import Sensitive, _reveal, handle_of, store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts


@dataclass(frozen=True)
class Above:
    """How many numbers lie above a public one."""

    limit: float
    shape = (1,)
    unit = 0.5

    def evaluate(self, rows):
        return np.array([int((rows > self.limit).sum()) * 2], dtype=np.int64)

    def bounds(self, neighbors):
        return counts(neighbors, 2)


class Numbers:
    def __init__(self, values):
        self.values = np.array(values)

    def __gt__(self, limit):
        return self.values > limit

    def shift(self, by):
        """Change the state."""
        self.values += by

    def shifted(self, by):
        """Return the next state."""
        return Numbers(self.values + by)


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_question_is_wrapped_with_its_own_bounds_and_unit(neighbors):
    handle = handle_of(np.array([1.0, 2.0, 3.0]))
    sensitive = handle.ask(Above(1.5), neighbors)
    assert isinstance(sensitive, Sensitive)
    assert _reveal(sensitive).tolist() == [4]
    assert sensitive.unit == 0.5
    assert sensitive.bounds == counts(neighbors, 2)


def test_an_order_changes_what_is_answered():
    handle = handle_of(Numbers([1.0, 2.0, 3.0]))
    assert handle.apply("shift", by=-1.0) is None
    assert store_of(handle).exact(Above(1.5)).tolist() == [2]
    assert handle.apply("shifted", by=-1.0) is None
    assert store_of(handle).exact(Above(1.5)).tolist() == [0]


def test_a_handle_shows_queries_and_commands_alone():
    handle = handle_of(np.array([1.0]))
    shown = {name for name in dir(handle) if not name.startswith("_")}
    assert shown == {"apply", "ask", "exact_sums", "one_place", "prefetch"}
    assert not hasattr(handle, "__dict__")
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private rows"):
            copied(handle)
