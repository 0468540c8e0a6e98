"""Parties that keep their rows: secure sums, shares of the noise, one coordinator.

Every party charges its own ledger, adds its share of the noise and a mask, and sends the result;
the coordinator sees sums that are as private as the ones it would draw itself.
"""

from dpboost.federated.cross_validation import cv, cv_agreements, cv_evaluation_agreement
from dpboost.federated.estimators import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
)
from dpboost.federated.evaluation import evaluate, evaluate_channel, evaluation_agreement
from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.party.party import Party
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.transport import Channel, LocalChannel, PartyLostError, RefusedError
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.simulation import simulate
from dpboost.federated.tree_classifier import FederatedTreeClassifier

__all__ = [
    "Agreement",
    "Channel",
    "Coordinator",
    "FederatedBoostingClassifier",
    "FederatedBoostingRegressor",
    "FederatedTreeClassifier",
    "FoldBook",
    "HeldRows",
    "Identity",
    "LocalChannel",
    "Party",
    "PartyLostError",
    "RefusedError",
    "cv",
    "cv_agreements",
    "cv_evaluation_agreement",
    "evaluate",
    "evaluate_channel",
    "evaluation_agreement",
    "simulate",
]
