"""Continued models: one budget pays for both fits, and any other one adds up."""

import copy
import shutil
from fractions import Fraction

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor, InvalidParameterError, replay
from dpboost.reporting import terms as terms_module
from tests.checker.test_check_certificate import agreed

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}
PART = Fraction(1, 4)


def opened(**terms):
    return Budget(**({"epsilon": 2, "delta": 1e-6} | terms))


def fit(budget=None, first=None, **more):
    own = {} if budget is None else {"budget": budget, "fraction": PART}
    model = DPBoostRegressor(
        epsilon=2, delta=1e-6, schema=SCHEMA, n_estimators=3, verbosity=-1, n_jobs=1
    )
    return model.fit(X, X[:, 0], init_model=first, **own, **more)


def terms(model):
    return model.privacy_report_.total


@pytest.mark.parametrize("more", [{}, {"holdout": 0.3}], ids=str)
def test_one_budget_pays_for_both_fits(more):
    budget = opened()
    first = fit(budget)
    second = fit(budget, first, **more)
    report = second.privacy_report_
    assert report.total == report.own == (2.0, 1e-6)
    assert report.continues
    assert report.mu is None
    for record in (None, budget):
        plain = report.certificate(budget=record)
        refused, trusted = agreed(plain)
        assert refused is None
        assert "the continued model has a line here" in trusted
        assert plain["claim"]["continued_model"]
    assert "both fits together" in report.details()
    again = replay(second.transcript_)
    assert again.booster_.model_to_string() == second.booster_.model_to_string()


def test_a_file_is_one_budget_in_all_processes(tmp_path):
    opened().save(tmp_path / "table.budget")
    fit(Budget.load(tmp_path / "table.budget")).booster_.save_model(tmp_path / "first.txt")
    second = fit(Budget.load(tmp_path / "table.budget"), tmp_path / "first.txt")
    assert terms(second) == (2.0, 1e-6)


def test_another_budget_adds_up():
    """Also where its terms and lines are the same."""
    budget, other = opened(), opened()
    first = fit(budget)
    assert terms(fit(other, first)) == (4.0, 2e-6)
    assert terms(fit(budget, fit())) == (4.0, 2e-6)
    assert terms(fit(None, first)) == (4.0, 2e-6)


def test_what_an_earlier_budget_adds_stays():
    budget, other = opened(), opened(epsilon=1)
    first = fit(other)
    second = fit(budget, first)
    assert terms(second) == (3.0, 2e-6)
    assert terms(fit(budget, second)) == (3.0, 2e-6)
    # Two budgets in turn: the sum is an upper bound.
    assert terms(fit(other, second)) == (4.0, 3e-6)


def test_a_sum_that_forgets_another_budget_would_be_found(monkeypatch):
    monkeypatch.setattr(terms_module, "_one_budget", lambda own, other: True)
    with pytest.raises(AssertionError):
        test_another_budget_adds_up()
    # Without any budget nobody pays, and both verifications say so.
    plain = fit(None, fit()).privacy_report_.certificate()
    assert "nothing covers the model that is continued" in agreed(plain)[0].lower()


def test_budgets_without_a_name_add_up(tmp_path):
    """As files of earlier versions are."""
    budget = opened()
    budget._identity = None
    assert terms(fit(budget, fit(budget))) == (4.0, 2e-6)
    assert Budget.of_terms({**budget.terms})._identity is None


def test_an_older_copy_of_the_file_is_refused(tmp_path):
    opened().save(tmp_path / "table.budget")
    shutil.copy(tmp_path / "table.budget", tmp_path / "copy.budget")
    first = fit(Budget.load(tmp_path / "table.budget"))
    older = Budget.load(tmp_path / "copy.budget")
    with pytest.raises(InvalidParameterError, match="replaced by an older copy"):
        fit(older, first)
    assert older.lines == ()


def test_a_certificate_that_drops_the_budget_is_refused():
    budget = opened()
    plain = copy.deepcopy(fit(budget, fit(budget)).privacy_report_.certificate())
    plain["accounting"]["budget"] = None
    assert agreed(plain)[0]
