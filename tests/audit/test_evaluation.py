"""The replay auditor on budgets from their opening to the last release."""

from __future__ import annotations

import copy
import pickle
import secrets
from fractions import Fraction

import numpy as np
import pytest

from dpboost import (
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    evaluate,
)
from dpboost.audit import pair_of, replay_budget
from dpboost.budgeting import open_budgets
from dpboost.budgeting.budget import DisjointTable
from dpboost.budgeting.budget_records import BudgetRecords
from dpboost.budgeting.claim import Claim
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.quantiles import quantile_balance

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": {0: (-1, 1)}}
CLASSES = SCHEMA | {"classes": [0, 1]}
NUMBERS = SCHEMA | {"label_bounds": (-1, 1)}
HALF = Fraction(1, 2)
# Where a row's coin puts it on either side of a holdout of one half.
HELD, TRAINED = 0.25, 0.75
SIDES = {"held": HELD, "trained": TRAINED}


def classes(relation: Neighbors = Neighbors.ADD_REMOVE, coin: float | None = None):
    # A row of the second class at the end of the features: alone in its cell.
    X = np.full((8, 1), -0.5)
    labels = np.zeros(8, dtype=int)
    return pair_of(X, labels, [1.0], 1, relation, instead=([-1.0], 0), coin=coin)


def numbers(relation: Neighbors = Neighbors.ADD_REMOVE):
    X = np.full((8, 1), -0.5)
    return pair_of(X, np.zeros(8), [1.0], 1.0, relation)


X0 = np.linspace(-1, 1, 50).reshape(-1, 1)
PUBLIC = DPBoostClassifier(schema=CLASSES, n_estimators=1, verbosity=-1, epsilon=100)
PUBLIC.fit(X0, (X0[:, 0] > 0).astype(int))
LINE = DPBoostRegressor(schema=NUMBERS, n_estimators=1, verbosity=-1, epsilon=100)
LINE.fit(X0, X0[:, 0])
THREE = DPBoostClassifier(
    schema=SCHEMA | {"classes": [0, 1, 2]}, n_estimators=1, verbosity=-1, epsilon=100
).fit(X0, np.digitize(X0[:, 0], [-0.3, 0.3]))


def shown(found) -> dict[str, str]:
    return {"evaluation": str(found), "report": found.report.details()}


def evaluated(model, relation: Neighbors, **terms):
    def run(X, y):
        budget = Budget(neighbors=relation.value, **terms)
        found = evaluate(model, X, y, budget=budget, fraction=HALF, groups=(0, [-0.5]))
        return shown(found)

    return run


@pytest.mark.parametrize("terms", [{"epsilon": 1, "delta": 1e-5}, {"epsilon": 1, "delta": 0}])
@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("model", [PUBLIC, THREE, LINE], ids=["two", "three", "numbers"])
def test_an_evaluation_tells_what_it_records_and_not_much_less(model, relation, terms) -> None:
    pair = numbers(relation) if model is LINE else classes(relation)
    audits = [
        replay_budget(evaluated(model, relation, **terms), each, seed=0)
        for each in (pair, pair.swapped)
    ]
    assert [audit.violations for audit in audits] == [(), ()]
    for audit in audits:
        (account,) = audit.booked
        assert audit.booked == {account: HALF}
        assert audit.measured[account] <= 0.5 + 1e-9
    # Of three classes a row may stay in a bin of one; the error of the number is small.
    least = {PUBLIC: 0.8, THREE: 0.5, LINE: 0.2}[model]
    assert max(max(audit.measured.values()) for audit in audits) >= least * 0.5
    reached = {entry.label: entry.reached for audit in audits for entry in audit.entries}
    for label in ("range of scores", "scores", "scores by label", "magnitudes of errors"):
        if label in reached and relation is Neighbors.ADD_REMOVE:
            assert reached[label] >= 0.8


def test_sums_of_errors_reach_their_charge() -> None:
    # An error and a label at the ends of their ranges: the noise of the look is forced to zero.
    pair = numbers()

    def run(X, y):
        budget = Budget(epsilon=1, delta=0)
        model = copy.copy(LINE)
        model.predict = lambda rows: np.full(len(rows), -1.0)
        return shown(evaluate(model, X, y, budget=budget, fraction=1))

    audit = replay_budget(run, pair, seed=0)
    assert audit.violations == ()
    assert {e.label: e.reached for e in audit.entries}["sums of errors"] >= 0.8


def life(X, y) -> dict[str, str]:
    """A budget with a fit that sets rows aside, two evaluations, and a fit that fails."""
    budget = Budget(epsilon=2, delta=1e-5, pure_epsilon=1)
    model = DPTreeClassifier(schema=CLASSES, max_depth=1, recipe="best")
    model.fit(X, y, budget=budget, fraction=HALF, holdout=HALF)
    of_held = evaluate(model, budget=budget, fraction=Fraction(1, 4), groups=(0, [-0.5]))
    of_all = evaluate(model, X, y, budget=budget, fraction=Fraction(1, 4))
    settings = {"n_estimators": 2, "max_depth": 1, "random_state": 0, "verbosity": -1}
    trees = DPBoostClassifier(schema=CLASSES, **settings)
    try:
        trees.fit(X, y, budget=budget, fraction=Fraction(1, 4), callbacks=[_fail])
    except ZeroDivisionError:
        # What was not refunded pays for nothing more.
        trees.fit(X, y, budget=budget, fraction=Fraction(1, 4))
    return shown(of_held) | {"all": str(of_all), "trees": trees.booster_.model_to_string()}


def _fail(env: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("relation", [Neighbors.ADD_REMOVE])
@pytest.mark.parametrize("side", SIDES)
def test_a_whole_budget_keeps_its_records(relation, side) -> None:
    for pair in (classes(relation, SIDES[side]), classes(relation, SIDES[side]).swapped):
        audit = replay_budget(life, pair, seed=1, compare_visible=False)
        assert audit.violations == ()
        assert audit.booked["pure"] == HALF
        assert audit.booked["Gaussian"] == 1
        # The differing row pays for the side that it is on.
        assert (audit.measured["pure"] > 0) == (side == "trained")


# -- planted mistakes --------------------------------------------------------------------------


def broken(run, side: str = "trained") -> bool:
    """Whether the records of a run are found to be wrong, on one pair or the other."""
    found = []
    for pair in (classes(coin=SIDES[side]), classes(coin=SIDES[side]).swapped):
        found += replay_budget(run, pair, seed=1, compare_visible=False).violations
    return any(violation.check == "records" for violation in found)


def twice_on_all(X, y) -> None:
    """Two evaluations of all rows with other groups."""
    budget = Budget(epsilon=1, delta=0)
    for groups in ([-0.5], [1.0]):
        evaluate(PUBLIC, X, y, budget=budget, fraction=HALF, groups=(0, groups))


def after_a_failure(X, y) -> None:
    budget = Budget(epsilon=1, delta=0)
    for _ in range(2):
        tree = DPTreeClassifier(schema=CLASSES, max_depth=1)
        store, tree._store = tree._store, _fail_to_store
        try:
            tree.fit(X, y, budget=budget, fraction=HALF)
        except ZeroDivisionError:
            tree._store = store


def _fail_to_store(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def with_holdout(X, y) -> None:
    budget = Budget(epsilon=1, delta=0)
    tree = DPTreeClassifier(schema=CLASSES, max_depth=1)
    tree.fit(X, y, budget=budget, fraction=HALF, holdout=HALF)
    evaluate(tree, budget=budget, fraction=HALF)


def with_clone(X, y) -> None:
    budget = Budget(epsilon=1, delta=0)
    try:
        second = copy.copy(budget)
    except TypeError:
        second = budget
    for each in (budget, second):
        evaluate(PUBLIC, X, y, budget=each, fraction=HALF)


@pytest.mark.parametrize("run", [twice_on_all, after_a_failure, with_holdout, with_clone])
@pytest.mark.parametrize("side", SIDES)
def test_nothing_is_found_as_it_is(run, side) -> None:
    assert not broken(run, side)


def test_a_histogram_that_is_charged_once_for_two_sets_of_groups_is_found(monkeypatch) -> None:
    book, paid = Claim.reserve, []

    def once(claim: Claim) -> None:
        if not any(budget is claim.budget for budget in paid):
            paid.append(claim.budget)
            book(claim)

    monkeypatch.setattr(Claim, "reserve", once)
    assert broken(twice_on_all)


def test_a_refund_on_an_exception_is_found(monkeypatch) -> None:
    fit = DPTreeClassifier.fit

    def refunding(tree, *arguments, budget, **options):
        try:
            return fit(tree, *arguments, budget=budget, **options)
        except ZeroDivisionError:
            budget._records.lines.pop()
            raise

    monkeypatch.setattr(DPTreeClassifier, "fit", refunding)
    assert broken(after_a_failure)


def test_a_held_row_in_a_release_of_the_fit_is_found(held_rows_train) -> None:
    assert broken(with_holdout, "held")


def test_a_clone_of_a_budget_is_found(monkeypatch) -> None:
    def cloned(budget: Budget) -> Budget:
        new = object.__new__(Budget)
        vars(new).update(vars(budget))
        new._records = BudgetRecords()
        return new

    monkeypatch.setattr(Budget, "__copy__", cloned)
    assert broken(with_clone)


def sent_elsewhere(folder):
    """An evaluation inside of a block, and a fit where its estimator was sent to."""

    def run(X, y) -> None:
        budget = Budget(epsilon=1, delta=0)
        budget.save(folder / secrets.token_hex(8))
        with budget:
            evaluate(PUBLIC, X, y, fraction=HALF)
            content = pickle.dumps(DPTreeClassifier(schema=CLASSES, max_depth=1))
        # As in another process, which knows nothing but the file.
        open_budgets.KNOWN.discard(budget)
        tree = pickle.loads(content)
        try:
            tree.fit(X, y)
        except InvalidParameterError:
            tree.fit(X, y, fraction=HALF)

    return run


@pytest.mark.parametrize("side", SIDES)
def test_a_fit_that_is_sent_elsewhere_is_in_the_records(side, tmp_path) -> None:
    run = sent_elsewhere(tmp_path)
    audit = replay_budget(run, classes(coin=SIDES[side]), seed=1, compare_visible=False)
    assert audit.violations == ()
    assert audit.booked == {"pure": 1}
    assert not broken(run, side)


def test_a_budget_that_is_not_sent_along_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(open_budgets, "_distinct", lambda marks: ())
    assert broken(sent_elsewhere(tmp_path))


def by_table(X, y) -> None:
    """A tree of each of two tables: a row that is replaced may leave one for the other."""
    budget = Budget(epsilon=1, delta=0, neighbors="replace")
    for name, own in (("low", X[:, 0] < 0), ("high", X[:, 0] >= 0)):
        part = DisjointTable(budget=budget, table=name)
        tree = DPTreeClassifier(schema=CLASSES, max_depth=1, neighbors="replace")
        tree.fit(X[own], y[own], budget=part, fraction=HALF)


def test_a_row_that_changes_tables_is_seen_in_both(monkeypatch) -> None:
    pair = classes(Neighbors.REPLACE)
    with pytest.raises(InvalidParameterError, match="Two tables then change"):
        replay_budget(by_table, pair, seed=1)
    # Were it not refused: the table that the row has left, or come to, has rows or none.
    monkeypatch.setattr(DisjointTable, "__post_init__", lambda table: None)
    for each in (pair, pair.swapped):
        found = replay_budget(by_table, each, seed=1, compare_visible=False).violations
        assert "public path" in {violation.check for violation in found}


def test_two_tables_may_cost_more_than_a_replacement_in_one() -> None:
    added, replaced = (quantile_balance(1, 9, relation)[0].constant for relation in Neighbors)
    assert 2 * added > replaced


def test_sides_that_are_not_disjoint_are_found(monkeypatch) -> None:
    # The same rows under two names of disjoint tables.
    def run(X, y):
        budget = Budget(epsilon=1, delta=0)
        for name in ("north", "south"):
            evaluate(PUBLIC, X, y, budget=budget.disjoint(name), fraction=HALF)

    assert broken(run)
