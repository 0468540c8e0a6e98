"""Files of budgets, damaged and shared: a clear error, or records that never count too little."""

import contextlib
import json
import pickle
import shutil
import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost import Budget, BudgetExceededError, DPBoostRegressor, InvalidParameterError
from dpboost.budgeting import open_budgets
from dpboost.budgeting.budget_records import spent

TENTH = Fraction(1, 10)
COLUMNS = ["what", "account", "privacy_measure", "fraction", "part", "closes", "number"]
TEXTS = st.sampled_from(
    [
        "",
        "half",
        "1/0",
        "-1/2",
        "1e99999999",
        "9" * 5000,
        "1/3",
        " 1/3",
        "1/3\0",
        "Gaussian",
        "pure",
    ]
    + ["epsilon", "rho", "[]", "{}", "[[]]", '[["tables", "a"]]', "[" * 10_000, "null", "NaN", "١"]
)
VALUES = st.one_of(
    TEXTS,
    st.text(max_size=8),
    st.binary(max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-2, 4),
    st.floats(),
    st.none(),
)


@contextlib.contextmanager
def written(**terms):
    """A budget with three lines, one of which is closed, and its file."""
    folder = Path(tempfile.mkdtemp())
    try:
        budget = Budget(**{"epsilon": 1, "delta": 1e-5, "table": "fuzz"} | terms)
        budget.save(folder / "budget")
        position = budget.reserve("fit", "mu squared", 3 * TENTH)
        budget.reserve("fit", "mu squared", TENTH, (("tables", "north"),))
        budget.close(position, 2 * TENTH)
        yield budget, folder / "budget"
    finally:
        shutil.rmtree(folder)


def usable(budget, path):
    """Use a file in every way: what is told is an error of ours, or one budget for all."""
    try:
        again = Budget.load(path)
        assert all(left <= 1 for left in again.remaining.values())
        assert "Budget of" in str(again)
        again.reserve("fit", "mu squared", TENTH)
        assert Budget.load(path).lines == again.lines
    except BudgetExceededError:
        assert again.remaining.get("Gaussian", 0) < TENTH
    except InvalidParameterError:
        pass
    # The object that was open all the while takes nothing for its own that it has not written.
    before = budget._records.lines[:]
    try:
        budget.reserve("fit", "mu squared", TENTH)
        assert budget.lines[: len(before)] == tuple(before)
        assert spent(budget.lines)["Gaussian"] <= 1
    except (InvalidParameterError, BudgetExceededError):
        pass


@given(data=st.data())
def test_bytes_of_a_file_that_change_are_told_or_harmless(data):
    with written() as (budget, path):
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 8))):
            kind = data.draw(st.sampled_from(["flip", "cut", "insert", "zero", "header"]))
            place = data.draw(st.integers(0, max(len(content) - 1, 0)))
            if kind == "header":
                place = min(place % 100, max(len(content) - 1, 0))
            if kind == "cut":
                del content[place:]
            elif kind == "insert":
                content[place:place] = data.draw(st.binary(min_size=1, max_size=20))
            elif kind == "zero":
                content[place : place + 512] = bytes(len(content[place : place + 512]))
            elif content:
                content[place] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        usable(budget, path)


@given(column=st.sampled_from(COLUMNS), row=st.integers(0, 3), value=VALUES)
def test_cells_of_a_file_that_change_are_told_or_harmless(column, row, value):
    with written() as (budget, path):
        with contextlib.suppress(sqlite3.Error, OverflowError):
            change(path, f"UPDATE lines SET {column} = ? WHERE number = ?", value, row)
        usable(budget, path)


@given(
    name=st.sampled_from(
        ["epsilon", "delta", "neighbours", "rows_per_user", "pure_epsilon", "table", "other"]
    ),
    value=st.one_of(TEXTS, st.integers(), st.none(), st.booleans(), st.lists(st.integers())),
)
def test_terms_of_a_file_that_change_are_told_or_harmless(name, value):
    with written() as (budget, path):
        with sqlite3.connect(path) as database:
            ((_, text),) = database.execute("SELECT * FROM terms").fetchall()
            changed = json.loads(text) | {name: value}
            database.execute("UPDATE terms SET json = ?", (json.dumps(changed),))
        database.close()
        usable(budget, path)


def change(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["book", "close", "load", "pickle", "swap", "leave"]),
        st.integers(1, 12),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_objects_on_one_file_never_spend_more_than_there_is(steps):
    """Books through objects, marks and reloads, held to a plain sum."""
    folder = Path(tempfile.mkdtemp())
    model = DPBoostRegressor(verbosity=-1)
    try:
        first = Budget(epsilon=1, delta=1e-5)
        first.save(folder / "budget")
        objects, marked, expected, open_lines = [first], [], [], []
        for step, size, which in steps:
            budget = objects[which % len(objects)]
            fraction = Fraction(size, 20)
            if step == "load":
                objects.append(Budget.load(folder / "budget"))
            elif step == "pickle":
                with budget:
                    marked.append(pickle.loads(pickle.dumps(model)))
            elif step == "swap" and marked:
                # Another process has the mark and nothing else.
                open_budgets.KNOWN.clear()
                objects.append(open_budgets.innermost("fit", marked[which % len(marked)]))
            elif step == "close" and open_lines:
                position = open_lines.pop()
                kept = min(fraction, expected[position])
                # The object may not have read the line that it closes.
                assert len(budget.lines) >= position
                budget.close(position, kept)
                expected[position] = kept
                expected.append(0)
            elif step == "book":
                if sum(expected) + fraction > 1:
                    with pytest.raises(BudgetExceededError):
                        budget.reserve("fit", "mu squared", fraction)
                else:
                    open_lines.append(budget.reserve("fit", "mu squared", fraction))
                    expected.append(fraction)
            assert {1 - sum(expected)} == {each.remaining["Gaussian"] for each in objects}
    finally:
        shutil.rmtree(folder)
