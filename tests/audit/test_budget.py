"""The replay auditor on fits that take a part of a budget."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import pytest

from dpboost import Budget, DPTreeClassifier
from dpboost.audit import replay_pair
from dpboost.audit.tree_audit import tree_bank
from dpboost.privacy.sensitivity.bound import Neighbors

PART = Fraction(1, 5)


def costs():
    """Measured costs of a fit at a fifth of epsilon 1, pair by pair; budgets are opened anew."""
    found = []
    for witness in islice(tree_bank("best", [Neighbors.ADD_REMOVE]), 8):
        if "weight_column" in witness.settings:
            continue

        def fit(X, y, settings=witness.settings):
            budget = Budget(epsilon=1, delta=settings.get("delta", 0), pure_epsilon=1)
            model = DPTreeClassifier(n_jobs=1, **settings).fit(X, y, budget=budget, fraction=PART)
            return {"model": model.booster_.model_to_string(), "report": str(model.privacy_report_)}

        audit = replay_pair(fit, witness.pair, seed=0)
        assert audit.violations == ()
        found.append(max(audit.cost, abs(audit.loss)))
    return found


@pytest.mark.filterwarnings("ignore")
def test_a_fit_tells_no_more_than_its_part():
    found = costs()
    assert max(found) <= PART + 1e-9
    assert max(found) >= 0.8 * PART


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_handed_more_than_its_part_would_be_found(monkeypatch):
    account = Budget.account
    monkeypatch.setattr(Budget, "account", lambda self, inner, part: account(self, inner, 2 * part))
    assert max(costs()) > PART + 1e-9
