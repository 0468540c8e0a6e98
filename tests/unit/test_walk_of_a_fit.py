"""What a reader of a fit has to read does not grow."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.walk_of_a_fit import calls, climbs, default_fit, floor, holds, last_release, rows, stays

ROOT = Path(__file__).resolve().parents[2]
#: The most of each, as the program names it.
MOST = {
    r"default fit: (\d+) files": 69,
    r"its last leaf release: (\d+) files": 12,
    r"stays, (\d+) climbs": 20,
    r"single tree: (\d+) files": 73,
    r"evaluate: (\d+) files": 45,  # small tables are predicted here, too, not by LightGBM
}


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def fit(table):
    return default_fit(*table)


@pytest.fixture(scope="module")
def told():
    """Return what the program prints in a process of its own: what ran before counts nothing."""
    command = [sys.executable, "-m", "tests.walk_of_a_fit"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("line", MOST)
def test_a_walk_is_no_longer(told, line):
    (found,) = re.findall(line, told)
    assert int(found) <= MOST[line]


def files(found):
    return {call.file for call in found}


def test_a_walk_knows_what_a_fit_needs(fit, table):
    walk = calls(fit)
    assert {"estimators/base.py", "training/fit.py", "privacy/ledger.py"} <= files(walk)
    release = files(last_release(walk))
    assert {"privacy/ledger.py", "privacy/accounting.py", "privacy/mechanisms.py"} <= release
    # From the rows to the noise.
    assert {"rows/boosting_state.py", "growing/boosting_loop.py"} <= release
    moves = set(stays(fit, table[0]))
    assert {"estimators/base.py", "training/fit.py", "data/table.py"} <= moves


def test_a_climb_is_a_move_to_a_higher_floor():
    low, high = "_utils/schema_checks.py", "estimators/base.py"
    assert floor(low) < floor(high)
    assert climbs([high, low, high, low]) == [high]


def test_what_holds_a_table(table):
    X, y = table
    assert holds(X, X)
    assert holds(X[:, 1], X)
    assert holds({"given": [X]}, X)
    assert not holds(X.copy(), X)
    assert not holds([y], X)
