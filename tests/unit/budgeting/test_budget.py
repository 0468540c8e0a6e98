from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import threading
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import dpboost
from dpboost import (
    Budget,
    BudgetExceededError,
    BudgetWarning,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
)
from dpboost.budgeting.budget import DisjointTable
from dpboost.budgeting.budget_records import BudgetLine, check_closing, spent
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import PublicFacts
from tests.permissions import owner_alone
from tests.unit.budgeting.test_budget_records import change

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": {0: (-3, 3), 1: (-3, 3)}}
NUMBERS = SCHEMA | {"label_bounds": (-4, 4)}
CLASSES = SCHEMA | {"classes": [0, 1]}
FIFTH = Fraction(1, 5)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return X, X[:, 0] + rng.normal(size=400)


def regressor(**changes: object) -> DPBoostRegressor:
    settings = {"schema": NUMBERS, "n_estimators": 3, "verbosity": -1}
    return DPBoostRegressor(**(settings | changes))


def tree(**changes: object) -> DPTreeClassifier:
    return DPTreeClassifier(**({"schema": CLASSES, "max_depth": 1} | changes))


def gaussian() -> Budget:
    return Budget(epsilon=1, delta=1e-5, table="hospital")


class _StopError(Exception):
    pass


def stop(env: object) -> None:
    raise _StopError


# -- what a fit takes --------------------------------------------------------------------------


def test_five_fits_at_a_fifth_cost_exactly_the_whole(rows) -> None:
    budget = gaussian()
    reports = [
        regressor().fit(*rows, budget=budget, fraction=0.2).privacy_report_ for _ in range(5)
    ]
    assert budget.remaining == {"Gaussian": 0}
    capacity = GDPAccountant().capacity(Fraction(1), Fraction(8, 10**6))
    assert sum(report.capacity for report in reports) == capacity
    assert sum(report.spent for report in reports) <= capacity
    assert budget.epsilon_spent == pytest.approx(1, abs=1e-9)
    with pytest.raises(BudgetExceededError, match=r"20 % of the Gaussian account.*'hospital'.*0 %"):
        regressor().fit(*rows, budget=budget, fraction=0.2)


def test_ten_tenths_of_a_float_are_the_whole(rows) -> None:
    budget = Budget(epsilon=1, delta=0)
    for _ in range(10):
        tree().fit(rows[0], rows[1] > 0, budget=budget, fraction=0.1)
    assert budget.remaining == {"pure": 0}
    with pytest.raises(BudgetExceededError):
        tree().fit(rows[0], rows[1] > 0, budget=budget, fraction=1e-3)


def test_a_refused_fit_draws_and_records_nothing(rows, monkeypatch) -> None:
    budget = gaussian()
    regressor().fit(*rows, budget=budget, fraction=0.7)
    drawn = []
    monkeypatch.setattr(Ledger, "_draw", lambda *arguments: drawn.append(arguments))
    monkeypatch.setattr(Ledger, "row_coins", lambda *arguments: drawn.append(arguments))
    with pytest.raises(BudgetExceededError):
        regressor().fit(*rows, budget=budget, fraction=0.4)
    assert drawn == []
    assert budget.remaining == {"Gaussian": Fraction(3, 10)}


def test_the_line_is_booked_before_the_first_draw(rows, monkeypatch) -> None:
    budget = gaussian()
    left = []

    def draw(*arguments: object) -> None:
        left.append(budget.remaining["Gaussian"])
        raise _StopError

    monkeypatch.setattr(Ledger, "_draw", draw)
    with pytest.raises(_StopError):
        regressor().fit(*rows, budget=budget, fraction=0.2)
    assert left == [1 - FIFTH]
    assert budget.remaining == {"Gaussian": 1 - FIFTH}


@pytest.mark.parametrize(
    "arguments",
    [
        {"fraction": 0},
        {"fraction": -0.5},
        {"fraction": 1.1},
        {"fraction": "half"},
        {"fraction": None},
        {"fraction": np.nan},
    ],
)
def test_fractions_outside_their_domain_are_refused(rows, arguments) -> None:
    budget = gaussian()
    with pytest.raises(InvalidParameterError, match="'fraction'"):
        regressor().fit(*rows, budget=budget, **arguments)
    assert budget.lines == ()


def test_bad_input_costs_nothing(rows) -> None:
    budget = gaussian()
    with pytest.raises(InvalidParameterError):
        regressor().fit(rows[0], rows[1][:-1], budget=budget, fraction=0.5)
    with pytest.raises(InvalidParameterError, match="'fraction'.*its epsilon is at least"):
        regressor(recipe="dpboost", n_estimators=50).fit(
            *rows, budget=Budget(epsilon=1, delta=0), fraction=Fraction(1, 10**9)
        )
    assert budget.lines == ()


def test_the_budget_replaces_epsilon_and_delta(rows) -> None:
    budget = gaussian()
    report = regressor(epsilon=50, delta=0.1).fit(*rows, budget=budget, fraction=FIFTH)
    report = report.privacy_report_
    assert (report.epsilon, report.delta) == (1, Fraction(1, 10**5))
    assert report.private
    alone = GDPAccountant().epsilon(report.spent, report.delta)
    assert report.epsilon_spent == pytest.approx(alone)
    assert FIFTH < report.epsilon_spent < 0.5  # mu squared adds, epsilon does not
    assert report.facts["budget"].startswith("20 % of the budget of 'hospital'")
    assert "20 % of the budget of 'hospital'" in report.details()


def test_a_pure_fit_spends_its_fraction_of_epsilon(rows) -> None:
    budget = Budget(epsilon=Fraction(1, 2), delta=0)
    report = tree().fit(rows[0], rows[1] > 0, budget=budget, fraction=0.3).privacy_report_
    assert report.spent == report.capacity == Fraction(15, 100)
    assert report.epsilon_spent == 0.15
    assert budget.epsilon_spent == 0.15


def test_rules_read_what_the_fit_may_spend_alone(rows, monkeypatch) -> None:
    seen = []

    def facts(**given: object) -> PublicFacts:
        seen.append(given["epsilon"])
        return PublicFacts(**given)

    monkeypatch.setattr("dpboost.training.request.PublicFacts", facts)
    report = regressor().fit(*rows, budget=gaussian(), fraction=0.05).privacy_report_
    alone = GDPAccountant().epsilon(report.capacity, Fraction(1, 10**5))
    regressor(recipe="dpboost").fit(*rows, budget=Budget(epsilon=1, delta=0), fraction=0.25)
    assert seen == pytest.approx([alone, 0.25], rel=1e-2)


# -- two accounts ------------------------------------------------------------------------------


def test_the_two_accounts_are_kept_apart(rows) -> None:
    budget = Budget(epsilon=1, delta=1e-5, pure_epsilon=0.25)
    with budget:
        tree().fit(rows[0], rows[1] > 0, fraction=1)
        assert budget.remaining == {"pure": 0, "Gaussian": 1}
        assert budget.epsilon_spent == 0.25
        report = regressor().fit(*rows, fraction=1).privacy_report_
    capacity = GDPAccountant().capacity(Fraction(3, 4), Fraction(8, 10**6))
    assert report.capacity == capacity
    assert budget.epsilon_spent == pytest.approx(1, abs=1e-9)
    with pytest.raises(BudgetExceededError):
        tree().fit(rows[0], rows[1] > 0, budget=budget, fraction=0.01)


@pytest.mark.parametrize(
    ("terms", "model", "cure"),
    [
        ({"delta": 1e-5}, tree(), "pure_epsilon="),
        ({"delta": 1e-5, "pure_epsilon": 1}, DPBoostClassifier(schema=CLASSES), "below epsilon"),
    ],
)
def test_an_account_that_is_not_there_is_named(rows, terms, model, cure) -> None:
    budget = Budget(epsilon=1, **terms)
    with pytest.raises(InvalidParameterError, match=cure):
        model.fit(rows[0], rows[1] > 0, budget=budget, fraction=1)
    assert budget.lines == ()


def test_costs_of_two_measures_do_not_share_an_account() -> None:
    budget = gaussian()
    budget.reserve("a", "mu squared", FIFTH)
    with pytest.raises(InvalidParameterError, match="mu squared, but this recipe uses rho"):
        budget.reserve("b", "rho", FIFTH)
    assert len(budget.lines) == 1


@pytest.mark.parametrize("inner", [GDPAccountant(), ZCDPAccountant(), PureAccountant()])
def test_parts_of_an_account_add_up_to_it(inner) -> None:
    budget = Budget(epsilon=2, delta=1e-5, pure_epsilon=1)
    parts = [budget.account(inner, Fraction(part, 10)) for part in (1, 2, 7)]
    assert sum(part.allowance for part in parts) == inner.capacity(Fraction(1), Fraction(8, 10**6))
    limit = inner.lattice_error_limit(Fraction(1))
    assert sum(part.lattice_error_limit(Fraction(9)) for part in parts) == limit
    failures = [budget.delta - part.least_delta for part in parts]
    # The other account holds as much again, and the conversion has the rest.
    assert 2 * sum(failures) + Fraction(8, 10**6) == budget.delta


@pytest.mark.parametrize("pure_epsilon", [0, 8, 16])
def test_stability_histograms_stay_inside_what_is_set_aside(
    rows, pure_epsilon, monkeypatch
) -> None:
    budget = Budget(epsilon=16, delta=0.01, pure_epsilon=pure_epsilon)
    X = np.tile(np.column_stack((rows[0], np.arange(400) % 3)), (10, 1))
    y = np.tile(np.where(rows[1] > 0, "yes", "no"), 10)
    settings = {"schema": SCHEMA, "assume_public": ("column_types",)}
    models = {"pure": DPTreeClassifier(**settings), "Gaussian": DPBoostClassifier(**settings)}
    failures: list[Fraction] = []
    book = Ledger._book

    def watched(self: Ledger, entry: object) -> None:
        book(self, entry)
        failures.append(entry.charge.delta)

    monkeypatch.setattr(Ledger, "_book", watched)
    for name in budget.remaining:
        for _ in range(2):
            given = {"categorical_feature": [2]} if name == "Gaussian" else {}
            models[name].fit(X, y, budget=budget, fraction=0.5, **given)
            assert "class labels" in models[name].privacy_report_.facts["learned"]
    lists = {"pure": 1, "Gaussian": 2}
    share = budget.failure_delta(Fraction(1, 2)) / 2
    assert sum(failures) == sum(2 * lists[name] * share for name in budget.remaining)
    conversion = Fraction(0) if pure_epsilon == 16 else Fraction(8, 1000)
    assert len(budget.remaining) * 4 * share + conversion == budget.delta


def test_a_third_histogram_leaves_no_capacity() -> None:
    accountant = gaussian().account(GDPAccountant(), FIFTH)
    assert accountant.capacity(Fraction(1), accountant.least_delta) == accountant.allowance
    assert accountant.capacity(Fraction(1), accountant.least_delta - Fraction(1, 10**9)) == 0


# -- nothing is refunded -----------------------------------------------------------------------


def overspent(budget: Budget, X: np.ndarray, y: np.ndarray) -> bool:
    """Tell whether fits that fail half-way get more out of a budget than it holds."""
    released = Fraction(0)
    draw = Ledger._draw

    def watched(self: Ledger, entry: object, value: object) -> object:
        nonlocal released
        released += entry.charge.cost
        return draw(self, entry, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "_draw", watched)
        for _ in range(20):
            try:
                regressor().fit(X, y, budget=budget, fraction=FIFTH, callbacks=[stop])
            except BudgetExceededError:
                break
            except _StopError:
                continue
    return released > GDPAccountant().capacity(budget.epsilon, budget.delta * Fraction(4, 5))


def test_fits_that_fail_are_not_refunded(rows) -> None:
    budget = gaussian()
    assert not overspent(budget, *rows)
    assert budget.remaining == {"Gaussian": 0}
    assert len(budget.lines) == 5


def test_a_refund_on_an_exception_would_be_found(rows, monkeypatch) -> None:
    fit = DPBoostRegressor.fit

    def refunding(self: DPBoostRegressor, X: object, y: object, **given: object) -> object:
        try:
            return fit(self, X, y, **given)
        except _StopError:
            given["budget"]._records.lines.pop()
            raise

    monkeypatch.setattr(DPBoostRegressor, "fit", refunding)
    assert overspent(gaussian(), *rows)


# -- blocks, copies, processes -----------------------------------------------------------------


def test_inside_a_block_every_fit_says_its_fraction(rows) -> None:
    with gaussian() as budget:
        regressor().fit(*rows, fraction=0.5)
        with pytest.raises(InvalidParameterError, match="needs the 'fraction'"):
            regressor().fit(*rows)
        with pytest.raises(InvalidParameterError, match="cv needs the 'fraction'"):
            dpboost.cv({}, dpboost.Dataset(*rows))
        with pytest.raises(InvalidParameterError, match="cannot charge a dpboost.Budget"):
            dpboost.LPDTRegressor().fit(*rows)
    assert budget.remaining == {"Gaussian": Fraction(1, 2)}
    with pytest.raises(InvalidParameterError, match="needs a budget"):
        regressor().fit(*rows, fraction=0.5)


def test_helper_threads_are_inside_the_block(rows) -> None:
    errors = []

    def fit() -> None:
        try:
            regressor().fit(*rows)
        except InvalidParameterError as error:
            errors.append(str(error))

    with gaussian():
        helper = threading.Thread(target=fit)
        helper.start()
        helper.join()
    assert "needs the 'fraction'" in errors[0]


def test_which_of_several_open_budgets_must_be_said(rows) -> None:
    with gaussian() as first, gaussian() as second:
        with pytest.raises(InvalidParameterError, match="Several budgets are open"):
            regressor().fit(*rows, fraction=0.5)
        regressor().fit(*rows, budget=first, fraction=0.5)
        with pytest.raises(InvalidParameterError, match="already open"):
            first.__enter__()
    assert (len(first.lines), len(second.lines)) == (1, 0)


def test_a_block_that_fails_is_closed(rows) -> None:
    with pytest.raises(_StopError), gaussian():
        raise _StopError
    regressor().fit(*rows)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps, clone])
def test_budgets_are_not_copied(make) -> None:
    with pytest.raises(TypeError):
        make(gaussian())


def test_clones_of_estimators_hold_no_money(rows) -> None:
    budget = gaussian()
    model = regressor().fit(*rows, budget=budget, fraction=1)
    assert "budget" not in model.get_params()
    with pytest.raises(BudgetExceededError):
        clone(model).fit(*rows, budget=budget, fraction=0.1)
    pickle.loads(pickle.dumps(model))


def test_a_search_pays_for_every_fit(rows) -> None:
    search = GridSearchCV(regressor(), {"max_depth": [1, 2]}, cv=2)
    with gaussian() as budget:
        search.fit(*rows, fraction=FIFTH)
    assert budget.remaining == {"Gaussian": 0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on Unix alone")
def test_other_processes_are_refused(rows) -> None:
    budget = gaussian()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child() -> None:
        for use in (
            lambda: budget.reserve("a", "mu squared", FIFTH),
            lambda: regressor().fit(*rows, budget=budget, fraction=FIFTH),
            lambda: budget.save("nowhere"),
            budget.__enter__,
        ):
            try:
                use()
            except InvalidParameterError as error:
                queue.put(str(error))
        queue.put("end")

    process = context.Process(target=child)
    process.start()
    messages = list(iter(queue.get, "end"))
    process.join()
    assert len(messages) == 4
    assert all("is usable only in the process that opened it" in message for message in messages)


def test_threads_share_a_budget_exactly() -> None:
    budget = gaussian()
    refused = []

    def take() -> None:
        for _ in range(20):
            try:
                budget.reserve("fit", "mu squared", Fraction(1, 100))
            except BudgetExceededError:
                refused.append(1)

    helpers = [threading.Thread(target=take) for _ in range(8)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    assert budget.remaining == {"Gaussian": 0}
    assert len(refused) == 60


def test_a_known_table_or_estimator_warns_without_its_budget(rows) -> None:
    X, y = rows[0].copy(), rows[1]
    budget = gaussian()
    model = regressor().fit(X, y, budget=budget, fraction=0.1)
    with pytest.warns(BudgetWarning, match="'hospital'"):
        regressor().fit(X, y)
    with pytest.warns(BudgetWarning, match="'hospital'"):
        model.fit(X.copy(), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        regressor().fit(X.copy(), y)
        model.fit(X, y, budget=budget, fraction=0.1)


# -- what has to agree -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbors": "replace"}, "'neighbors'"),
        ({"rows_per_user": 3}, "'rows_per_user'"),
        ({"noise_seed": 1}, "'noise_seed'"),
    ],
)
def test_what_would_not_add_up_is_refused(rows, changes, message) -> None:
    budget = gaussian()
    with pytest.raises(InvalidParameterError, match=message):
        regressor(**changes).fit(*rows, budget=budget, fraction=0.5)
    assert budget.lines == ()


def test_users_are_protected_where_the_budget_says_so(rows) -> None:
    budget = Budget(epsilon=1, delta=1e-5, rows_per_user=2)
    ids = np.arange(400) // 2
    model = regressor(rows_per_user=2)
    report = model.fit(*rows, user_ids=ids, budget=budget, fraction=FIFTH).privacy_report_
    whole = GDPAccountant().capacity(Fraction(1), Fraction(8, 10**6))
    assert report.capacity == whole * FIFTH / 4
    assert report.epsilon_spent == pytest.approx(
        GDPAccountant().epsilon(report.spent * 4, report.delta)
    )
    with pytest.raises(InvalidParameterError, match="'rows_per_user'"):
        tree().fit(rows[0], rows[1] > 0, budget=budget, fraction=FIFTH)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"epsilon": 0}, "'epsilon'"),
        ({"epsilon": np.inf}, "'epsilon'"),
        ({"epsilon": -1}, "'epsilon'"),
        ({"delta": 1}, "'delta'"),
        ({"delta": -1e-9}, "'delta'"),
        ({"neighbors": "both"}, "'neighbors'"),
        ({"rows_per_user": 0}, "'rows_per_user'"),
        ({"pure_epsilon": 2}, "'pure_epsilon'"),
        ({"pure_epsilon": -1}, "'pure_epsilon'"),
        ({"delta": 0, "pure_epsilon": 0.5}, "'pure_epsilon'"),
        ({"table": ""}, "'table'"),
        ({"table": 3}, "'table'"),
    ],
)
def test_bad_terms_are_named(terms, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Budget(**({"epsilon": 1, "delta": 1e-5} | terms))


def test_only_budgets_are_budgets(rows) -> None:
    with pytest.raises(InvalidParameterError, match="'budget'"):
        regressor().fit(*rows, budget=1.0, fraction=0.5)


def test_the_report_of_a_budget_lists_its_fits(rows) -> None:
    with Budget(epsilon=1, delta=1e-5, pure_epsilon=0.5, table="hospital") as budget:
        tree().fit(rows[0], rows[1] > 0, fraction=0.5)
        regressor().fit(*rows, fraction=0.25)
    lines = str(budget).splitlines()
    assert lines[0].startswith("Budget of 'hospital': epsilon = 1, delta = 1e-05")
    assert lines[1:3] == ["pure account: 50 % left", "Gaussian account: 75 % left"]
    assert lines[3].split() == ["what", "charged", "of", "rows"]
    assert lines[4].split() == ["DPTreeClassifier", "50", "%", "pure", "all"]
    assert lines[5].split() == ["DPBoostRegressor", "25", "%", "Gaussian", "all"]


# -- files -------------------------------------------------------------------------------------


def test_a_budget_goes_on_in_its_file(rows, tmp_path) -> None:
    path = tmp_path / "hospital.budget"
    budget = Budget(
        epsilon=Fraction(1, 3), delta=1e-5, pure_epsilon=0.1, table="hospital", neighbors="replace"
    )
    tree(neighbors="replace").fit(rows[0], rows[1] > 0, budget=budget, fraction=0.5)
    budget.save(path)
    tree(neighbors="replace").fit(rows[0], rows[1] > 0, budget=budget, fraction=0.3)
    again = Budget.load(path)
    assert str(again) == str(budget)
    assert again.remaining == {"pure": FIFTH, "Gaussian": 1}
    assert (again.epsilon, again.pure_epsilon) == (Fraction(1, 3), Fraction(1, 10))
    # Both write to one file, and each sees what the other took.
    again.reserve("elsewhere", "epsilon", FIFTH)
    assert budget.remaining["pure"] == 0
    with pytest.raises(BudgetExceededError):
        tree(neighbors="replace").fit(rows[0], rows[1] > 0, budget=budget, fraction=0.1)


def test_the_line_is_on_disk_before_the_first_draw(rows, tmp_path, monkeypatch) -> None:
    path = tmp_path / "budget"
    budget = gaussian()
    budget.save(path)
    seen = []

    def draw(*arguments: object) -> None:
        seen.append(Budget.load(path).remaining["Gaussian"])
        raise _StopError

    monkeypatch.setattr(Ledger, "_draw", draw)
    with pytest.raises(_StopError):
        regressor().fit(*rows, budget=budget, fraction=FIFTH)
    assert seen == [1 - FIFTH]


def test_files_are_new_and_one(tmp_path) -> None:
    path = tmp_path / "budget"
    budget = gaussian()
    budget.save(path)
    assert owner_alone(path)
    with pytest.raises(InvalidParameterError, match="exists"):
        gaussian().save(path)
    with pytest.raises(InvalidParameterError, match="already"):
        budget.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_without_its_file_a_budget_pays_nothing(tmp_path) -> None:
    path = tmp_path / "budget"
    budget = gaussian()
    budget.save(path)
    budget.reserve("fit", "mu squared", FIFTH)
    path.rename(tmp_path / "gone")
    with pytest.raises(InvalidParameterError, match="does not exist: it was deleted or moved"):
        budget.reserve("fit", "mu squared", FIFTH)
    gaussian().save(path)
    with pytest.raises(InvalidParameterError, match="has lost lines"):
        budget.reserve("fit", "mu squared", FIFTH)


@pytest.mark.parametrize(
    "break_file",
    [
        lambda path: change(path, "UPDATE terms SET format = 'dpboost budget 0'"),
        lambda path: change(path, "UPDATE terms SET json = '[]'"),
        lambda path: change(path, "UPDATE terms SET json = ?", json.dumps({"epsilon": "1"})),
        lambda path: change(path, "DELETE FROM terms"),
    ],
)
def test_files_of_something_else_are_refused(tmp_path, break_file) -> None:
    path = tmp_path / "budget"
    budget = gaussian()
    budget.save(path)
    budget.reserve("fit", "mu squared", FIFTH)
    break_file(path)
    with pytest.raises(InvalidParameterError, match="'path' parameter of Budget.load"):
        Budget.load(path)


# -- parts of the rows -------------------------------------------------------------------------


def line(fraction: object, *part: tuple[str, str]) -> BudgetLine:
    return BudgetLine(
        what="fit",
        account="pure",
        privacy_measure="epsilon",
        fraction=Fraction(fraction),
        part=part,
    )


@pytest.mark.parametrize(
    ("lines", "total"),
    [
        ([line("1/5"), line("1/5")], "2/5"),
        ([line("1/5", ("t", "a")), line("1/3", ("t", "b"))], "1/3"),
        ([line("1/5", ("t", "a")), line("1/5", ("t", "a")), line("1/3", ("t", "b"))], "2/5"),
        ([line("1/5", ("t", "a")), line("1/3", ("u", "b")), line("1/9")], "29/45"),
        (
            [
                line("1/10", ("t", "a")),
                line("1/5", ("t", "a"), ("h", "in")),
                line("1/4", ("t", "a"), ("h", "out")),
                line("1/3", ("t", "b")),
            ],
            "7/20",
        ),
    ],
)
def test_of_disjoint_parts_the_dearest_counts(lines, total) -> None:
    assert spent(lines) == {"pure": Fraction(total)}


CLOSINGS = {
    "another account": {"account": "Gaussian"},
    "other rows": {"part": (("t", "a"),)},
    "more than it had": {"fraction": FIFTH + 1},
    "less than nothing": {"fraction": -FIFTH},
    "a line that is not there": {"closes": 7},
    "a line before the first": {"closes": -1},
}


def test_a_line_is_closed_once_and_by_no_more_than_it_had(tmp_path) -> None:
    budget = gaussian()
    budget.save(tmp_path / "budget")
    position = budget.reserve("fit", "mu squared", FIFTH)
    budget.reserve("fit", "mu squared", FIFTH)  # alike, but another one
    budget.close(position, FIFTH / 2)
    assert budget.remaining == {"Gaussian": 1 - 3 * FIFTH / 2}
    for fraction in (FIFTH / 4, 0):
        with pytest.raises(ValueError, match="closes another one"):
            budget.close(position, Fraction(fraction))
    again = Budget.load(tmp_path / "budget")
    assert again.remaining == budget.remaining
    assert len(again.lines) == 3
    # What is free again can be booked, and no more than that.
    budget.reserve("fit", "mu squared", 1 - 3 * FIFTH / 2)
    with pytest.raises(BudgetExceededError):
        budget.reserve("fit", "mu squared", Fraction(1, 10**6))


@pytest.mark.parametrize("other", CLOSINGS.values(), ids=list(CLOSINGS))
def test_a_closing_line_has_to_fit(other) -> None:
    first = line(FIFTH)
    closing = replace(first, fraction=FIFTH / 2, closes=0)
    check_closing([first], closing)
    with pytest.raises(ValueError, match="closes another one"):
        check_closing([first], replace(closing, **other))


def test_a_file_whose_closing_line_does_not_fit_is_refused(tmp_path) -> None:
    budget = gaussian()
    budget.save(tmp_path / "budget")
    budget.close(budget.reserve("fit", "mu squared", FIFTH), FIFTH / 2)
    change(tmp_path / "budget", "UPDATE lines SET fraction = '1/2' WHERE closes = 0")
    with pytest.raises(InvalidParameterError, match="'path' parameter of Budget.load"):
        Budget.load(tmp_path / "budget")


def test_disjoint_tables_share_a_budget(rows, tmp_path) -> None:
    X, y = rows
    budget = gaussian()
    budget.save(tmp_path / "records")
    north, south = budget.disjoint("north"), budget.disjoint("south")
    first = regressor().fit(X[:200], y[:200], budget=north, fraction=0.7)
    regressor().fit(X[200:], y[200:], budget=south, fraction=0.6)
    assert budget.remaining == {"Gaussian": Fraction(3, 10)}
    assert "'north' of its disjoint tables" in str(first.privacy_report_.facts["budget"])
    regressor().fit(*rows, budget=budget, fraction=0.2)
    with pytest.raises(BudgetExceededError):
        regressor().fit(X[:200], y[:200], budget=north, fraction=0.2)
    regressor().fit(X[200:], y[200:], budget=south, fraction=0.2)
    again = Budget.load(tmp_path / "records")
    assert again.lines == budget.lines
    assert again.remaining == budget.remaining == {"Gaussian": 0}
    with pytest.raises(InvalidParameterError, match="'table'"):
        budget.disjoint("")


def test_a_replaced_row_may_change_tables(tmp_path) -> None:
    budget = Budget(epsilon=1, delta=1e-5, neighbors="replace")
    for divide in (budget.disjoint, lambda name: DisjointTable(budget=budget, table=name)):
        with pytest.raises(InvalidParameterError, match="neighbors='add_remove'.*Two tables"):
            divide("north")
    # Lines of tables under this relation would count less than they cost.
    budget.save(tmp_path / "budget")
    budget.reserve("fit", "mu squared", FIFTH, (("tables", "north"),))
    with pytest.raises(InvalidParameterError, match="'path' parameter of Budget.load.*Two tables"):
        Budget.load(tmp_path / "budget")


def test_train_takes_its_part(rows) -> None:
    budget = gaussian()
    params = {"schema": NUMBERS, "verbosity": -1}
    booster = dpboost.train(params, dpboost.Dataset(*rows), 2, budget=budget, fraction=0.25)
    assert booster.privacy_report.facts["budget"].startswith("25 % of the budget")
    with budget:
        dpboost.train(params, dpboost.Dataset(*rows), 2, fraction=0.25)
        with pytest.raises(InvalidParameterError, match="needs the 'fraction'"):
            dpboost.train(params, dpboost.Dataset(*rows), 2)
    assert budget.remaining == {"Gaussian": Fraction(1, 2)}
    assert [line.what for line in budget.lines] == ["DPBoostRegressor"] * 2
