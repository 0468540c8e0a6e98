"""One side of a session: a fit that uses the sum over all parties at each release.

Every party and the coordinator run the same fit, as `PartySession` and `CoordinatorSession`. Masks
are keyed by the digest of a step: the masks of parties whose queries, noise, commands, earlier sums
or participants differ do not cancel. Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import hashlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import PartyRefusedError
from dpboost.federated.secagg.keys import UntrustedKeyError, check_signature
from dpboost.federated.secagg.release_masks import statement
from dpboost.privacy.ledger import Ledger, Release
from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.noise_shares import check_shared
from dpboost.privacy.queries import Query, carry_out
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.remote import Draw, RemoteSensitive
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.class_queries import branch_of
from dpboost.trees.random_partition import Partition

#: No sum over rows and noise is as large: 2^30 units of each of 2^31 rows.
LARGEST_SUM = 1 << 62
# Tables that follow from the rest of an object, and are large.
_DERIVED: dict[type, frozenset[str]] = {Partition: frozenset({"table", "steps"})}

Drawn = Sequence[tuple[LedgerEntry, RemoteSensitive]]


class Session(ABC):
    """Shared code of both sides."""

    # From the key exchange on.
    _steps: Steps
    #: Of all that this side releases.
    ledger: Ledger

    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.sums = Holder(self, each=False)
        self.outcomes = Holder(self, each=True)
        self._step = 0
        #: Variance of the noise of the last sum, in parts of what is charged for.
        self.noise_variance_ratio = agreement.noise_variance_ratio
        self._fewest = agreement.n_parties

    @abstractmethod
    def join(self) -> None:
        """Exchange keys."""

    @abstractmethod
    def finish(self, result: bytes) -> None:
        """Make sure that all sides have the same result."""

    @abstractmethod
    def end(self, error: BaseException) -> None:
        """Let others know that this side has ended without a result."""

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
        """Open the ledger of this session, or of a part of it in that."""
        self.note(agreement.digest)
        entropy = self._entropy(agreement)
        if agreement == self.agreement:
            self.ledger = agreement.ledger(entropy)
            return self.ledger
        return agreement.ledger(entropy, self.ledger)

    def note(self, command: Any) -> None:
        """Take note of a command to the rows: it is a part of the next step."""
        self._steps.command(command)

    @property
    def losses(self) -> dict[str, Any]:
        """Say in the report whom a release went on without, where someone may be lost."""
        if not self.agreement.dropouts:
            return {}
        n_parties = self.agreement.n_parties
        return {"fewest parties in a release": f"{self._fewest} of {n_parties}"}

    def fetch(self, drawn: Drawn, draw: Draw, *, each: bool) -> list[NDArray[Any]]:
        """Return the outcomes of recorded releases, in one exchange."""
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
            if self.agreement.noise_seed is None:
                self.noise_variance_ratio = len(parties) / self.agreement.honest
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
            raise PartyRefusedError(
                f"Step {self._step} of the session has an outcome that no rows can give.",
                m.IMPOSSIBLE,
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
            text = f"The keys of the parties are not to be trusted. {error}"
            raise PartyRefusedError(text, m.KEYS) from None
        found = hashlib.sha256(agreement.digest)
        for hello in hellos:
            found.update(signed_hello(hello))
        self._steps = Steps(found.digest())
        self._name = found.digest()

    def _has_signed(
        self, index: int, signature: bytes, digest: bytes, present: tuple[int, ...]
    ) -> bool:
        """Return whether a party has signed who is present; without identities no one does."""
        try:
            if self.agreement.identities:
                content = statement(digest, present)
                check_signature(self.agreement.identities[index], content, signature)
        except UntrustedKeyError:
            return False
        return True

    def _name_of_step(self) -> bytes:
        """Return what names a step before anything of it is known."""
        return hashlib.sha256(self._name + self._step.to_bytes(8, "big")).digest()


class Holder:
    """A `dpboost.privacy.remote.RemoteHolder` of a session.

    It holds sums, or with ``each`` the outcomes that every party releases itself.
    """

    def __init__(self, session: Session, *, each: bool) -> None:
        self._session = session
        self._each = each

    def check(self, mechanism: Mechanism, remote: RemoteSensitive) -> None:
        """Raise if noise of this kind cannot be added in shares."""
        if not self._each:
            check_shared(mechanism)

    def fetch(self, drawn: Drawn, draw: Draw) -> list[NDArray[Any]]:
        """Return the outcome of each recorded release."""
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


class PartyRowStore:
    """A `dpboost.privacy.queries.RowStore` of one side of a session.

    Privacy
    -------
    It evaluates queries on this party's rows and hands them to the gate alone. It has no exact sums
    of all rows to give: a step of the engine that needs one fails before anything is drawn.
    """

    def __init__(self, session: Session, rows: Any, ledger: Ledger) -> None:
        self._session = session
        self._rows = rows
        self._ledger = ledger

    #: Parties release through the gate alone.
    exact_sums = False

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of the last sum, in parts of what is charged for."""
        return self._session.noise_variance_ratio

    def sensitive(self, query: Query, neighbors: Neighbors) -> RemoteSensitive:
        """Return what the gate takes."""
        return self._remote(query, neighbors, self._session.sums)

    def each(self, query: Query, neighbors: Neighbors) -> RemoteSensitive:
        """Return what the gate takes where every party releases an outcome from its own rows.

        Outcomes have a first axis of parties. Parties hold disjoint rows: all outcomes together
        cost what one costs.
        """
        return self._remote(query, neighbors, self._session.outcomes)

    def release(
        self, queries: Sequence[tuple[Mechanism, Query]], *, label: str
    ) -> list[NDArray[Any]]:
        """Release sums in one exchange, each in the scope of the part of the rows it is about."""
        return self._ledger.release_together(
            [
                Release(
                    mechanism=mechanism,
                    value=self.sensitive(query, self._ledger.neighbors),
                    label=label,
                    branch=branch_of(query),
                )
                for mechanism, query in queries
            ]
        )

    def apply(self, command: str, **given: Any) -> None:
        """Carry out a command on the rows of this party; it is a part of the next step."""
        self._session.note((command, given))
        if self._rows is not None:
            self._rows = carry_out(self._rows, command, given)

    def exact(self, query: Any) -> NoReturn:
        """Raise: parties show no sums without noise."""
        raise TypeError("Parties release through the gate alone: there are no exact sums of all.")

    def tally(self, query: Any) -> NoReturn:
        """Raise: parties show no counts without noise."""
        raise TypeError("Parties release through the gate alone: declare classes and categories.")

    def _remote(self, query: Query, neighbors: Neighbors, holder: Holder) -> RemoteSensitive:
        return RemoteSensitive(
            tuple(query.shape),
            query.bounds(neighbors),
            holder=holder,
            query=query,
            unit=query.unit,
            noise_variance_ratio=self._session.agreement.noise_variance_ratio,
            own=None if self._rows is None else query.evaluate(self._rows),
        )


# -- the digest of a step: what parties must agree on before a sum opens ---------------------------


class Steps:
    """The hash chain of the steps of a session."""

    def __init__(self, start: bytes) -> None:
        self._chain = start
        self._commands = hashlib.sha256()
        self._digest = b""

    def command(self, command: Any) -> None:
        """Take note of a command to the rows."""
        absorb(self._commands, command)

    def step(
        self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]], *, honest: int, each: bool
    ) -> bytes:
        """Return the digest of a step: all that is public of what is released next."""
        found = hashlib.sha256(self._chain + self._commands.digest())
        self._commands = hashlib.sha256()
        absorb(found, (honest, each, len(drawn)))
        for entry, value in drawn:
            mechanism = entry.mechanism
            absorb(found, (entry.label, entry.scope, entry.parallel, mechanism))
            absorb(found, tuple(mechanism.parameters(entry.bound)))
            absorb(found, (entry.bound, entry.unit, value.shape, value.query))
        self._digest = found.digest()
        return self._digest

    def released(self, outcomes: Sequence[NDArray[Any]], parties: tuple[int, ...]) -> None:
        """Take note of the outcomes of the last step, and of the parties that they are over."""
        found = hashlib.sha256(self._digest)
        absorb(found, (tuple(outcomes), parties))
        self._chain = found.digest()


def absorb(target: Any, value: Any) -> None:
    """Add a public value to a hash, with its type, so that no two values look alike.

    Row coins are left out: they are secret, and each party has its own.
    """
    # Most of a step are the names of its scopes.
    if type(value) is str:
        _tagged(target, b"S", value.encode())
    elif value is None or isinstance(value, RowCoins):
        target.update(b"N")
    elif isinstance(value, Enum):
        _tagged(target, b"E", f"{type(value).__name__}.{value.name}".encode())
    elif isinstance(value, (bool, int, np.integer, np.bool_)):
        _tagged(target, b"I", str(int(value)).encode())
    elif isinstance(value, (float, np.floating)):
        target.update(b"F" + struct.pack("<d", value))
    elif isinstance(value, Fraction):
        _tagged(target, b"Q", str(value).encode())
    elif isinstance(value, str):
        _tagged(target, b"S", value.encode())
    elif isinstance(value, bytes):
        _tagged(target, b"B", value)
    elif isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        _tagged(target, b"A", f"{little.dtype.str}{value.shape}".encode())
        target.update(little.tobytes())
    else:
        _absorb_parts(target, value)


def _absorb_parts(target: Any, value: Any) -> None:
    if isinstance(value, (tuple, list)):
        _tagged(target, b"T", str(len(value)).encode())
        for part in value:
            absorb(target, part)
    elif isinstance(value, (set, frozenset)):
        target.update(b"Z")
        absorb(target, sorted(value))
    elif isinstance(value, Mapping):
        _tagged(target, b"D", str(len(value)).encode())
        for key, part in value.items():
            absorb(target, key)
            absorb(target, part)
    elif is_dataclass(value):
        _tagged(target, b"O", type(value).__qualname__.encode())
        derived = _DERIVED.get(type(value), frozenset())
        for part in fields(value):
            if part.name not in derived:
                absorb(target, getattr(value, part.name))
    else:
        raise TypeError(f"An object of {type(value).__name__} has no digest.")


def _tagged(target: Any, tag: bytes, content: bytes) -> None:
    target.update(tag + len(content).to_bytes(8, "little") + content)
