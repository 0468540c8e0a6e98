"""One side of a session: a fit that goes on with sums over all parties at each of its releases.

Every party and the coordinator run the same fit. What is a party's own is in `PartySession`, what
is the coordinator's in `CoordinatorSession`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import RefusedError
from dpboost.federated.protocol.steps import Steps, absorb
from dpboost.federated.secagg.keys import UntrustedKeyError, check_signature
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.noise_shares import check_shared
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.remote import Draw, RemoteSensitive

#: No sum over rows and noise is as large: 2^30 units of each of 2^31 rows.
LARGEST_SUM = 1 << 62

Drawn = Sequence[tuple[LedgerEntry, RemoteSensitive]]


class ImpossibleSumError(RefusedError):
    """A sum that no rows can give."""

    code = m.IMPOSSIBLE


class Session(ABC):
    """What both sides share.

    Parameters
    ----------
    agreement : Agreement

    Attributes
    ----------
    agreement : Agreement
    ledgers : list of Ledger
        Opened so far: one, or one for each fit and the evaluation of a cross-validation.
    sums, outcomes : Holder
        What holds the values of sums over parties, and those that each party releases itself.
    """

    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.ledgers: list[Ledger] = []
        self.sums = Holder(self, each=False)
        self.outcomes = Holder(self, each=True)
        self._steps: Steps | None = None
        self._step = 0
        self._n_shares = agreement.n_parties
        self._fewest = agreement.n_parties

    @abstractmethod
    def join(self) -> None:
        """Exchange keys."""

    @abstractmethod
    def finish(self, result: bytes) -> None:
        """Make sure that all sides have the same result."""

    @abstractmethod
    def _entropy(self, agreement: Agreement) -> Entropy:
        """Return a source of secret bits for a ledger."""

    @abstractmethod
    def _sums(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.Sum:
        """Return the sums over the parties that are present."""

    @abstractmethod
    def _all_outcomes(self, digest: bytes, drawn: Drawn, draw: Draw) -> m.AllOutcomes:
        """Return the outcomes of all parties that are present."""

    def open_ledger(self, agreement: Agreement) -> Ledger:
        """Open the ledger of a fit or of an evaluation of this session."""
        self.note(agreement.digest)
        ledger = agreement.ledger(self._entropy(agreement))
        self.ledgers.append(ledger)
        return ledger

    def fold_coins(self) -> RowCoins:
        """Return the coins by which this side deals its rows to folds."""
        return self._entropy(self.agreement).row_coins()

    def note(self, command: Any) -> None:
        """Take note of a command to the rows: it is a part of the next step."""
        assert self._steps is not None
        self._steps.command(command)

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of the last sum, in parts of what is charged for."""
        if self.agreement.noise_seed is not None:
            return 1.0
        return self._n_shares / self.agreement.honest

    @property
    def losses(self) -> dict[str, Any]:
        """Say in the report whom a release went on without, where somebody may be lost."""
        if not self.agreement.dropouts:
            return {}
        n_parties = self.agreement.n_parties
        return {"fewest parties in a release": f"{self._fewest} of {n_parties}"}

    def fetch(self, drawn: Drawn, draw: Draw, *, each: bool) -> list[NDArray[Any]]:
        """Return the outcomes of booked releases, in one exchange."""
        assert self._steps is not None
        self._step += 1
        digest = self._steps.step(drawn, honest=self.agreement.honest, each=each)
        if each:
            stacked = self._all_outcomes(digest, drawn, draw)
            found, parties = list(stacked.outcomes), stacked.parties
        else:
            summed = self._sums(digest, drawn, draw)
            found, parties = list(summed.sums), summed.parties
        self._check(drawn, found, parties, each=each)
        if not each:
            self._n_shares = len(parties)
            for _, value in drawn:
                value.released_with(self.noise_variance_ratio)
        self._fewest = min(self._fewest, len(parties))
        self._steps.released(found, parties)
        return found

    def _check(
        self, drawn: Drawn, found: Sequence[NDArray[Any]], parties: tuple[int, ...], *, each: bool
    ) -> None:
        """Raise unless these can be the outcomes: by the agreement and the outcomes alone."""
        least = self.agreement.n_parties - self.agreement.dropouts
        fine = len(drawn) == len(found) and least <= len(parties)
        fine = fine and all(index < self.agreement.n_parties for index in parties)
        for (entry, value), outcome in zip(drawn, found, strict=fine):
            mechanism, shape = entry.mechanism, value.shape
            if not each:
                fine = fine and outcome.shape == shape and is_sum(outcome)
                continue
            own = (len(parties), *outcome.shape[1:]) == outcome.shape
            fine = fine and own and all(is_outcome(one, mechanism, shape) for one in outcome)
        if not fine:
            raise ImpossibleSumError(
                f"Step {self._step} of the session has an outcome that no rows can give."
            )

    def _begin(self, roster: m.Roster) -> None:
        """Begin the chain of steps, with the keys of all parties."""
        agreement, hellos = self.agreement, roster.hellos
        keys = [hello.key for hello in hellos]
        numbers = [hello.party for hello in hellos]
        try:
            if numbers != list(range(agreement.n_parties)) or len(set(keys)) < len(keys):
                raise UntrustedKeyError("Every party has a key of its own.")
            for hello in hellos:
                if hello.terms != agreement.digest:
                    raise UntrustedKeyError("All parties have the same agreement.")
            for identity, hello in zip(agreement.identities, hellos, strict=False):
                check_signature(identity, signed_hello(hello), hello.signature)
        except UntrustedKeyError as error:
            refused = RefusedError(f"The keys of the parties are not to be trusted. {error}")
            refused.code = m.KEYS
            raise refused from None
        found = hashlib.sha256(agreement.digest)
        for hello in hellos:
            found.update(signed_hello(hello))
        self._steps = Steps(found.digest())
        self._name = found.digest()

    def _name_of_step(self) -> bytes:
        """Return what names a step before anything of it is known."""
        return hashlib.sha256(self._name + self._step.to_bytes(8, "big")).digest()


class Holder:
    """A `dpboost.privacy.remote.RemoteHolder` of a session.

    Parameters
    ----------
    session : Session
    each : bool
        Whether every party releases an outcome of its own.
    """

    def __init__(self, session: Session, *, each: bool) -> None:
        self._session = session
        self._each = each

    def check(self, mechanism: Mechanism, remote: RemoteSensitive) -> None:
        """Raise where noise of this kind cannot be added in shares."""
        if not self._each:
            check_shared(mechanism)

    def fetch(self, drawn: Drawn, draw: Draw) -> list[NDArray[Any]]:
        """Return the outcome of each booked release."""
        return self._session.fetch(drawn, draw, each=self._each)


def is_sum(outcome: NDArray[Any]) -> bool:
    """Return whether rows and noise may add up to this."""
    if outcome.dtype != np.int64:
        return False
    return not outcome.size or bool(
        (outcome.min() > -LARGEST_SUM) and (outcome.max() < LARGEST_SUM)
    )


def is_outcome(outcome: NDArray[Any], mechanism: Mechanism, shape: tuple[int, ...]) -> bool:
    """Return whether a mechanism may have drawn this from a value of a shape."""
    if mechanism.needs != "range":
        return outcome.shape == shape and is_sum(outcome)
    chosen = outcome.shape == shape[:1] and outcome.dtype == np.int32
    return chosen and bool(((outcome >= 0) & (outcome < shape[1])).all())


def signed_hello(hello: m.Hello) -> bytes:
    """Return the bytes of a hello that a party signs: all but the signature."""
    found = hashlib.sha256()
    absorb(found, (hello.party, hello.terms, hello.version, hello.build, hello.certificate))
    absorb(found, hello.key)
    return b"dpboost hello 2" + found.digest()
