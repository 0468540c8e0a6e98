"""Budgets with periods: what overlapping rows pay, and which rows a period has."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import sqlite3
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import (
    Budget,
    BudgetExceededError,
    Dataset,
    DPBoostClassifier,
    DPTreeClassifier,
    InvalidParameterError,
    cv,
    evaluate,
    feature_histograms,
    refit_leaves,
    replay,
)
from dpboost.budgeting import periods as periods_module
from dpboost.budgeting.budget_records import spent
from dpboost.budgeting.periods import Overlap, most_paid

pytestmark = pytest.mark.filterwarnings("ignore")

CLASSES = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "classes": [0, 1]}
TENTH = Fraction(1, 10)


def quarter(number: int, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    X = rng.uniform(-1, 1, size=(size, 2))
    return X, (X[:, 0] > 0).astype(int)


def classifier(**changes: object) -> DPBoostClassifier:
    settings = {"schema": CLASSES, "n_estimators": 3, "verbosity": -1, "n_jobs": 1}
    return DPBoostClassifier(**(settings | changes))


def opened(periods: int = 1, **terms: object) -> Budget:
    return Budget(**({"epsilon": 4, "delta": 1e-5, "table": "ward", "periods": periods} | terms))


def joined(*numbers: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    tables = [quarter(number) for number in numbers]
    of_rows = [f"q{number}" for number in numbers for _ in range(60)]
    return np.vstack([X for X, _ in tables]), np.concatenate([y for _, y in tables]), of_rows


# -- the largest sum ---------------------------------------------------------------------------


def by_hand(sums, overlap, account, including=None):
    """The definition: all sets of so many periods, and what somebody in them pays for each fit."""
    names = sorted({"nobody else", *itertools.chain(*sums)} | ({including} - {None}))
    power = 1 if account == "pure" else 2
    found = Fraction(0)
    for chosen in itertools.combinations(names, min(overlap.most, len(names))):
        if including is None or including in chosen:
            paid = Fraction(0)
            for window, fraction in sums.items():
                rows = len(set(chosen) & window) if window else overlap.most
                paid += fraction * (min(rows, 1) if overlap.of_users else rows**power)
            found = max(found, paid)
    return found


def random_sums(rng):
    names = [f"q{number}" for number in range(rng.integers(1, 8))]
    sums = {}
    for _ in range(rng.integers(1, 9)):
        first = rng.integers(len(names))
        window = names[first : first + rng.integers(1, 4)]
        if rng.random() < 0.4:
            window = [name for name in names if rng.random() < 0.4]
        sums[frozenset(window)] = Fraction(int(rng.integers(1, 30)), int(rng.integers(30, 90)))
    return sums


@pytest.mark.parametrize("of_users", [False, True])
@pytest.mark.parametrize("account", ["pure", "Gaussian"])
def test_the_search_finds_the_largest_sum_of_all_sets(of_users, account):
    rng = np.random.default_rng(len(account) + of_users)
    for _ in range(250):
        sums = random_sums(rng)
        overlap = Overlap(most=int(rng.integers(1, 5)), of_users=of_users)
        assert most_paid(sums, overlap, account) == by_hand(sums, overlap, account)
        for name in ["q0", "q3"]:
            found = most_paid(sums, overlap, account, name)
            assert found == by_hand(sums, overlap, account, name)


@pytest.mark.parametrize("account", ["pure", "Gaussian"])
@pytest.mark.parametrize("of_users", [False, True])
def test_a_search_that_ends_early_is_never_below(of_users, account, monkeypatch):
    rng = np.random.default_rng(5)
    monkeypatch.setattr(periods_module, "MOST_STEPS", 2)
    for _ in range(250):
        sums = random_sums(rng)
        overlap = Overlap(most=int(rng.integers(1, 5)), of_users=of_users)
        assert most_paid(sums, overlap, account) >= by_hand(sums, overlap, account)


def test_ten_years_of_quarters_are_searched_to_the_end():
    windows = {frozenset(f"q{n}" for n in range(i, i + 4)): Fraction(1, 44) for i in range(40)}
    assert most_paid(windows, Overlap(most=4, of_users=False), "Gaussian") == 1
    assert most_paid(windows, Overlap(most=4, of_users=False), "pure") == Fraction(16, 44)
    # Of a user in periods that are far apart, all windows of each.
    assert most_paid(windows, Overlap(most=4, of_users=True), "Gaussian") == Fraction(16, 44)


# -- what a fit takes --------------------------------------------------------------------------


def test_a_fit_is_charged_to_the_periods_whose_rows_it_reads():
    budget = opened()
    for number in range(3):
        X, y = quarter(number)
        classifier().fit(X, y, budget=budget.window(f"q{number}"), fraction=0.9)
    assert budget.remaining == {"Gaussian": TENTH}
    with pytest.raises(BudgetExceededError, match="of the period 'q1' 10 % is left"):
        classifier().fit(*quarter(1), budget=budget.window("q1"), fraction=0.2)
    assert len(budget.lines) == 3
    own = {"q0": TENTH, "q1": TENTH, "q2": TENTH}
    assert budget.left_of_periods == {"Gaussian": own}


def test_rows_in_several_periods_cost_as_their_squares():
    budget = opened(periods=2)
    X, y, of_rows = joined(0, 1)
    window = budget.window("q0", "q1", of_rows=of_rows)
    with pytest.raises(
        BudgetExceededError, match="costs more because one individual may have rows in several"
    ):
        classifier().fit(X, y, budget=window, fraction=0.26)
    model = classifier().fit(X, y, budget=window, fraction=0.25)
    assert budget.remaining == {"Gaussian": 0}
    assert budget.left_of_periods["Gaussian"] == {"q0": 0, "q1": 0}
    assert "no person has rows in more than 2 of its periods, one row in each" in str(
        model.privacy_report_.facts["budget"]
    )


def test_rows_of_a_user_cost_once_from_however_many_periods_they_come():
    budget = opened(periods=2, rows_per_user=2, epsilon=20)
    X, y, of_rows = joined(0, 1)
    window = budget.window("q0", "q1", of_rows=of_rows)
    users = np.tile(np.arange(60), 2)
    classifier(rows_per_user=2).fit(X, y, user_ids=users, budget=window, fraction=0.75)
    assert budget.remaining == {"Gaussian": Fraction(1, 4)}


def test_pure_epsilon_of_rows_adds_up():
    budget = opened(periods=2, delta=0)
    X, y, of_rows = joined(0, 1)
    window = budget.window("q0", "q1", of_rows=of_rows)
    tree = DPTreeClassifier(schema=CLASSES, max_depth=1).fit(X, y, budget=window, fraction=0.5)
    assert budget.remaining == {"pure": 0}
    assert tree.privacy_report_.private


def test_everything_that_takes_of_a_budget_takes_of_periods():
    budget = opened(epsilon=8)
    X, y = quarter(0)
    own = {"budget": budget.window("q0"), "fraction": TENTH}
    model = classifier().fit(X, y, holdout=0.5, **own)
    evaluate(model, budget=budget, fraction=TENTH)
    assert budget.remaining == {"Gaussian": 1 - TENTH}
    stopping = classifier(early_stopping_round=1, n_estimators=16).fit(X, y, holdout=0.5, **own)
    assert stopping.privacy_report_.private
    evaluate(model, X, y, **own)
    feature_histograms(model, X, **own)
    refit_leaves(model, X, y, **own)
    model.score(X, y, **own)
    params = {"objective": "binary", "schema": CLASSES, "verbosity": -1}
    cv(params, Dataset(X, y), num_boost_round=2, nfold=2, **own)
    assert {line.part[0] for line in budget.lines} == {("periods", "q0")}
    later = budget.window("q1")
    refit_leaves(model, *quarter(1), budget=later, fraction=1)
    assert budget.left_of_periods["Gaussian"]["q1"] == 0
    assert budget.left_of_periods["Gaussian"]["q0"] > TENTH


def test_a_transcript_makes_the_model_of_a_window_again():
    budget = opened(periods=2)
    X, y, of_rows = joined(0, 1)
    window = budget.window("q0", "q1", of_rows=of_rows)
    model = classifier().fit(X, y, budget=window, fraction=0.2)
    again = replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    text = json.dumps(model.privacy_report_.to_dict(), default=str)
    assert str(of_rows) not in text


# -- which rows a period has -------------------------------------------------------------------


def changed(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[7, 1] += 0.01
    return X


@pytest.mark.parametrize(
    "other",
    [changed, lambda X: X[:-1], lambda X: X[::-1], lambda X: X.astype(np.float32), pd.DataFrame],
)
def test_other_rows_for_a_period_are_refused_before_a_draw(other, monkeypatch):
    budget = opened()
    X, y = quarter(0)
    classifier().fit(X, y, budget=budget.window("q0"), fraction=TENTH)
    drawn = []
    monkeypatch.setattr(dpboost.privacy.ledger.Ledger, "_draw", lambda *given: drawn.append(given))
    rows = other(X)
    with pytest.raises(InvalidParameterError, match="'q0' differ from its rows in earlier"):
        classifier().fit(rows, y[: len(rows)], budget=budget.window("q0"), fraction=TENTH)
    assert not drawn
    assert len(budget.lines) == 1


def test_tables_that_happen_to_be_alike_are_no_error():
    # An error would tell of two private tables that they are the same.
    budget = opened()
    for name in ("q0", "q9"):
        classifier().fit(*quarter(0), budget=budget.window(name), fraction=1)
    assert set(budget.left_of_periods["Gaussian"]) == {"q0", "q9"}


def test_rows_of_a_window_are_those_of_its_periods_in_any_other():
    budget = opened(periods=1)
    X, y, of_rows = joined(0, 1)
    classifier().fit(X, y, budget=budget.window("q0", "q1", of_rows=of_rows), fraction=TENTH)
    classifier().fit(*quarter(1), budget=budget.window("q1"), fraction=TENTH)
    mixed = np.random.default_rng(0).permutation(120)
    with pytest.raises(InvalidParameterError, match="differ from its rows in earlier"):
        classifier().fit(
            X, y, budget=budget.window("q0", "q1", of_rows=np.array(of_rows)[mixed]), fraction=TENTH
        )
    window = budget.window("q0", "none", "none either", of_rows=["q0"] * 60)
    classifier().fit(*quarter(0), budget=window, fraction=TENTH)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"periods": ("q0", "q1")}, "needs of_rows="),
        (
            {"periods": ("q0",), "of_rows": ["q0"]},
            "'of_rows' parameter of Budget.window must be 1-D",
        ),
        ({"periods": ("q0",), "of_rows": ["q1"] * 60}, "must hold only names of its periods"),
    ],
)
def test_periods_that_do_not_belong_to_the_rows_are_refused(window, words):
    budget = opened()
    given = budget.window(*window.pop("periods"), **window)
    with pytest.raises(InvalidParameterError, match=words):
        classifier().fit(*quarter(0), budget=given, fraction=TENTH)
    assert budget.lines == ()


def test_what_has_no_period_is_refused():
    budget = opened()
    X, y = quarter(0)
    with pytest.raises(InvalidParameterError, match="does not name the periods"):
        classifier().fit(X, y, budget=budget, fraction=TENTH)
    with budget, pytest.raises(InvalidParameterError, match="does not name the periods"):
        classifier().fit(X, y, fraction=TENTH)
    for names in ((), ("",), (1,), ("training rows",)):
        with pytest.raises(InvalidParameterError, match="'periods'"):
            budget.window(*names)
    with pytest.raises(InvalidParameterError, match="exclude each other"):
        budget.disjoint("north")
    with pytest.raises(InvalidParameterError, match="needs a budget with periods"):
        Budget(epsilon=1, delta=0).window("q0")
    with pytest.raises(InvalidParameterError, match="needs neighbors='add_remove'"):
        opened(neighbors="replace")
    with pytest.raises(InvalidParameterError, match="iterator, which gives its rows once"):
        classifier().fit(iter([X]), y, budget=budget.window("q0"), fraction=TENTH)
    with pytest.raises(InvalidParameterError, match=r"'X' parameter .* a table with rows"):
        classifier().fit("rows.csv", y, budget=budget.window("q0"), fraction=TENTH)
    for elsewhere in (type("Array", (), {"dask": {}})(), OnSpark()):
        with pytest.raises(InvalidParameterError, match="does not take rows of Dask or Spark"):
            classifier().fit(elsewhere, y, budget=budget.window("q0"), fraction=TENTH)
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(budget.window("q0"))
    assert budget.lines == ()


class OnSpark:
    """Rows as `dpboost.spark` gives them."""

    @property
    def public_example(self):
        return np.zeros((1, 2))


@pytest.mark.parametrize("kind", ["arrays", "files"])
def test_batches_are_the_table_that_they_divide(kind, tmp_path):
    """Wherever they are divided; other rows in a batch are another table."""
    X, y, of_rows = joined(0, 1)
    budget = opened(2)

    def fit(X, *sizes):
        cuts = np.cumsum((0, *sizes, len(X) - sum(sizes)))
        parts = [X[start:stop] for start, stop in itertools.pairwise(cuts)]
        if kind == "files":
            dataset = pytest.importorskip("pyarrow.dataset")
            files = [tmp_path / f"{cut}-{number}.parquet" for number, cut in enumerate(cuts[1:])]
            for file, part in zip(files, parts, strict=True):
                pd.DataFrame(part, columns=["a", "b"]).to_parquet(file)
            parts = dataset.dataset(files)
        window = budget.window("q0", "q1", of_rows=of_rows)
        schema = {**CLASSES, "bounds": {"a": (-1, 1), "b": (-1, 1)}} if kind == "files" else CLASSES
        return classifier(schema=schema).fit(parts, y, budget=window, fraction=Fraction(1, 40))

    fit(X, 50, 40)
    fit(X, 7)
    if kind == "arrays":
        window = budget.window("q0", "q1", of_rows=of_rows)
        classifier().fit(X, y, budget=window, fraction=Fraction(1, 40))
    other = X.copy()
    other[100, 0] += 1e-9
    before = budget.lines
    with pytest.raises(InvalidParameterError, match="rows of the period 'q1' differ from its rows"):
        fit(other, 33)
    assert budget.lines == before


def test_names_of_several_rows_of_somebody_are_not_learned():
    X, _, of_rows = joined(0, 1)
    words = np.where(X[:, 0] > 0, "yes", "no")
    learns = classifier(schema={"bounds": CLASSES["bounds"]}, assume_public=("column_types",))
    for periods, users in ((2, None), (1, None), (2, np.arange(120))):
        budget = opened(periods, epsilon=30, rows_per_user=None if users is None else 1)
        window = budget.window("q0", "q1", of_rows=of_rows)
        learns.set_params(rows_per_user=budget.rows_per_user)
        given = {} if users is None else {"user_ids": users}
        if periods == 2 and users is None:
            with pytest.raises(InvalidParameterError, match="With several rows of one individual"):
                learns.fit(X, words, budget=window, fraction=0.2, **given)
            assert budget.lines == ()
        else:
            learns.fit(X, words, budget=window, fraction=1, **given)
            assert "class labels" in learns.privacy_report_.facts["learned"]


# -- the file ----------------------------------------------------------------------------------


def test_a_file_keeps_the_rows_of_periods_for_other_processes(tmp_path):
    path = tmp_path / "ward.budget"
    budget = opened(periods=2)
    classifier().fit(*quarter(0), budget=budget.window("q0"), fraction=TENTH)
    budget.save(path)
    code = (
        "import sys, numpy as np, dpboost\n"
        "from tests.unit.budgeting.test_periods import *\n"
        "budget = Budget.load(sys.argv[1])\n"
        "classifier().fit(*quarter(1), budget=budget.window('q1'), fraction=TENTH)\n"
        "try: classifier().fit(*quarter(5), budget=budget.window('q0'), fraction=TENTH)\n"
        "except InvalidParameterError as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'q0' differ from its rows in earlier" in ran.stdout
    # This process sees what the other one has recorded.
    with pytest.raises(InvalidParameterError, match="'q1' differ from its rows"):
        classifier().fit(*quarter(6), budget=budget.window("q1"), fraction=TENTH)
    again = Budget.load(path)
    assert (again.periods, again.left_of_periods) == (2, budget.left_of_periods)
    if os.name == "posix":
        assert os.stat(path).st_mode & 0o077 == 0


def test_a_file_that_others_may_read_holds_no_budget_of_periods(tmp_path):
    path = tmp_path / "ward.budget"
    opened().save(path)
    before = os.umask(0)
    try:
        (tmp_path / "copy.budget").write_bytes(path.read_bytes())
    finally:
        os.umask(before)
    with pytest.raises(InvalidParameterError, match="chmod 600"):
        Budget.load(tmp_path / "copy.budget")
    assert Budget.load(path).table == opened().table
    with sqlite3.connect(path) as database:
        database.execute("UPDATE hash_key SET key = ?", (b"short",))
    with pytest.raises(InvalidParameterError, match="damaged"):
        Budget.load(path)


# -- what is left ------------------------------------------------------------------------------


def test_a_forecast_counts_the_fits_that_the_records_then_allow():
    # A quarter and one are spent to the last.
    fractions = (0.05, 0.15, 0.25, 0.3, 0.6, 1)
    for most, window, fraction in itertools.product((1, 2), (1, 2), fractions):
        budget = opened(most)
        told = budget.forecast(fraction=fraction, window=window)
        names = [f"t{number}" for number in range(40)]
        done = 0
        for number in range(1, 30):
            part = tuple(("periods", name) for name in names[max(0, number - window) : number])
            try:
                budget.reserve("fit", "mu squared", Fraction(str(fraction)), part)
            except BudgetExceededError:
                break
            done += 1
        assert told.n_fits == (done if done < 29 else math.inf)
    assert 0 < told.epsilon < 4
    with pytest.raises(InvalidParameterError, match="'fraction'"):
        budget.forecast(fraction=0)
    with pytest.raises(InvalidParameterError, match="read its property `remaining`"):
        Budget(epsilon=1, delta=0).forecast(fraction=1)


@pytest.mark.parametrize("terms", [{}, {"rows_per_user": 2}], ids=str)
def test_a_forecast_says_how_good_each_fit_is(terms):
    """By `dpboost.forecast`, at what the fit has by itself."""
    budget = opened(**terms)
    planned = classifier(n_estimators=2)
    given = {"like": quarter(0), "schema": CLASSES, "estimator": planned, "random_state": 0}
    found = budget.forecast(fraction=0.25, window=2, n_rows=100, **given)
    assert found.accuracy.metric == "auc"
    assert found.accuracy.epsilon == (found.epsilon,)
    assert found.accuracy.low[0] <= found.accuracy.value[0] <= found.accuracy.high[0]
    assert str(found.accuracy) in str(found)
    assert budget.lines == ()
    with pytest.raises(InvalidParameterError, match="'n_rows' parameter of forecast"):
        budget.forecast(fraction=0.25, **given)
    with pytest.raises(InvalidParameterError, match="'like' parameter of Budget.forecast"):
        budget.forecast(fraction=0.25, n_rows=100)


def test_the_picture_has_a_bar_for_each_period():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    budget = opened()
    budget.reserve("fit", "mu squared", TENTH, (("periods", "q0"), ("periods", "q1")))
    axes = budget.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["left of q0, Gaussian account", "left of q1, Gaussian account"]
    assert [round(bar.get_width(), 9) for bar in axes.patches] == [0.9, 0.9]
    pyplot.close("all")
    assert "periods: q0, q1" in str(budget)


def test_lines_that_name_no_period_count_for_everybody():
    budget = opened(2)
    budget.reserve("fit", "mu squared", TENTH, (("periods", "q0"),))
    budget.reserve("elsewhere", "mu squared", TENTH)
    assert spent(budget.lines, budget.overlap) == {"Gaussian": 5 * TENTH}
