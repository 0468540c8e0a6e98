"""Parties that keep their rows: secure sums, shares of the noise, one coordinator.

Every party charges its own ledger, adds its share of the noise and a mask, and sends the result;
the coordinator sees sums that are as private as the ones it would draw itself.
"""

from dpboost.federated.agreement import Agreement
from dpboost.federated.channel import Channel, LocalChannel, PartyLostError, RefusedError
from dpboost.federated.coordinator import Coordinator
from dpboost.federated.party import HeldRows, Party

__all__ = [
    "Agreement",
    "Channel",
    "Coordinator",
    "HeldRows",
    "LocalChannel",
    "Party",
    "PartyLostError",
    "RefusedError",
]
