"""Audits of the guarantee: ``python -m dpboost.audit``.

The replay auditor computes the exact privacy loss of every release of a real fit; the black box
bounds the epsilon of any estimator from below; the audit of non-interference replays calls without
their rows and on far tables. The library does not import this package.
"""

from __future__ import annotations

from dpboost.audit.blackbox import EpsilonEstimate, estimate_epsilon
from dpboost.audit.boosting_audit import black_box, replay_recipe, replay_witness
from dpboost.audit.budget_replay import BudgetAudit, replay_budget
from dpboost.audit.hill_climbing import climb
from dpboost.audit.hockey_stick import hockey_stick
from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.non_interference import NonInterference, non_interference
from dpboost.audit.own_estimators import (
    OutsideAudit,
    OutsidePair,
    audit_estimator,
    outside_pairs,
    replay_estimator,
)
from dpboost.audit.pair_replay import PairAudit, replay_pair
from dpboost.audit.released_surface import estimator_fit
from dpboost.audit.run_trace import Violation
from dpboost.audit.witnesses import Witness, witnesses

__all__ = [
    "BudgetAudit",
    "EpsilonEstimate",
    "NonInterference",
    "OutsideAudit",
    "OutsidePair",
    "Pair",
    "PairAudit",
    "Violation",
    "Witness",
    "audit_estimator",
    "black_box",
    "climb",
    "estimate_epsilon",
    "estimator_fit",
    "hockey_stick",
    "non_interference",
    "outside_pairs",
    "pair_of",
    "replay_budget",
    "replay_estimator",
    "replay_pair",
    "replay_recipe",
    "replay_witness",
    "witnesses",
]
