"""What a reader of a fit has to read does not grow."""

from __future__ import annotations

import pytest

from tests.walk_of_a_fit import (
    calls,
    climbs,
    default_fit,
    evaluation,
    floor,
    holds,
    last_release,
    rows,
    single_tree,
    stays,
)

MOST_FILES = 104
MOST_FILES_OF_A_RELEASE = 21
MOST_CLIMBS = 52
MOST_FILES_OF_A_TREE = 97
MOST_FILES_OF_AN_EVALUATION = 50


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def fit(table):
    return default_fit(*table)


@pytest.fixture(scope="module")
def walk(fit):
    return calls(fit)


def files(found):
    return {call.file for call in found}


def test_files_of_a_default_fit(walk):
    assert {"estimators/base.py", "training/fit.py", "privacy/ledger.py"} <= files(walk)
    assert len(files(walk)) <= MOST_FILES


def test_files_of_a_leaf_release(walk):
    found = files(last_release(walk))
    assert {"privacy/ledger.py", "privacy/accounting.py", "privacy/mechanisms.py"} <= found
    # From the rows to the steps of the leaves.
    assert {"rows/boosting_state.py", "growing/shrunken_leaves.py"} <= found
    assert len(found) <= MOST_FILES_OF_A_RELEASE


def test_climbs_of_the_table(fit, table):
    found = stays(fit, table[0])
    assert {"estimators/base.py", "training/fit.py", "data/binner.py"} <= set(found)
    assert len(climbs(found)) <= MOST_CLIMBS


def test_files_of_a_single_tree_and_of_an_evaluation():
    assert len(files(calls(single_tree()))) <= MOST_FILES_OF_A_TREE
    assert len(files(calls(evaluation()))) <= MOST_FILES_OF_AN_EVALUATION


def test_a_climb_is_a_move_to_a_higher_floor():
    low, high = "_utils/dates.py", "estimators/base.py"
    assert floor(low) < floor(high)
    assert climbs([high, low, high, low]) == [high]


def test_what_holds_a_table(table):
    X, y = table
    assert holds(X, X)
    assert holds(X[:, 1], X)
    assert holds({"given": [X]}, X)
    assert not holds(X.copy(), X)
    assert not holds([y], X)
