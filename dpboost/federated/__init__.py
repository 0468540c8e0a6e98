"""Federated training: secure aggregation, distributed noise, and one coordinator.

Every party runs the fit on its rows. At each release it charges its ledger, sends its part with a
share of the noise and a mask, and continues with the sum, which the coordinator computes.
"""

from dpboost.federated.cross_validation import cv, cv_agreement
from dpboost.federated.estimators import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
)
from dpboost.federated.evaluation import evaluate, evaluation_agreement
from dpboost.federated.outcome import Coordinator, outcome_of
from dpboost.federated.party.party import Party
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import (
    Hub,
    Link,
    LocalLink,
    PartyLostError,
    PartyRefusedError,
    SessionEndedError,
)
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.simulation import simulate
from dpboost.federated.tree_classifier import FederatedTreeClassifier

__all__ = [
    "Agreement",
    "Coordinator",
    "FederatedBoostingClassifier",
    "FederatedBoostingRegressor",
    "FederatedTreeClassifier",
    "Hub",
    "Identity",
    "Link",
    "LocalLink",
    "Party",
    "PartyLostError",
    "PartyRefusedError",
    "SessionEndedError",
    "cv",
    "cv_agreement",
    "evaluate",
    "evaluation_agreement",
    "outcome_of",
    "simulate",
]
