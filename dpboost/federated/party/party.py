"""A data holder: its rows, its own ledger, and what it sends."""

from __future__ import annotations

import hashlib
import math
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.federated.party.admission import admitted
from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.party.mask_phases import MaskPhases
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.party.refusal import RefusalError
from dpboost.federated.party.taking_part import taking_part
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.secagg.dropout_messages import (
    Prepare,
    Present,
    Unmask,
)
from dpboost.federated.secagg.keys import (
    Identity,
    SessionKey,
    UntrustedKeyError,
    check_signature,
    signed_content,
)
from dpboost.privacy.ledger import Booked, BudgetExceededError, Ledger, ScopeError
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Mechanism,
    PermuteAndFlip,
)
from dpboost.privacy.noise_shares import MaskedShare, OneTimePad
from dpboost.privacy.randomness import RowCoins
from dpboost.privacy.sensitive import Sensitive
from dpboost.rows.class_queries import branch_of

_MECHANISMS = (DiscreteLaplace, DiscreteGaussian, ExponentialMechanism, PermuteAndFlip)
_MESSAGES: tuple[type, ...] = (m.Hello, m.Invite, m.Introduce, m.Ask, Prepare, Present, Unmask)


class _Prepared(NamedTuple):
    """A release that can be charged and drawn: nothing about it is left to be checked."""

    mechanism: Mechanism
    sensitive: Sensitive
    branch: tuple[str, ...]
    asked: m.Asked


class Change(NamedTuple):
    """What a message has changed of rows and records: enough to do it once more.

    Parameters
    ----------
    told : bytes or None
        The message, where rows have seen it.
    coins : tuple of bytes
        Keys of the coins that were drawn for it.
    booked : tuple of Booked
        What was charged for it.
    """

    told: bytes | None
    coins: tuple[bytes, ...]
    booked: tuple[Booked, ...]


class Party:
    """One data holder.

    Parameters
    ----------
    index : int
        Its number, from 0.
    X : table of shape (n_rows, n_features)
        Its rows; there may be none.
    y : array-like of shape (n_rows,)
        Their labels.
    agreement : Agreement
        The terms that the data holder has read and approves.
    identity : Identity, optional
        Its signing key; needed where the agreement lists identities.
    sample_weight : array-like of shape (n_rows,), optional
        Private weights of the rows, clipped to the agreed bound; needed where the agreement says
        that rows are weighted, and refused where it does not.
    user_ids : array-like of shape (n_rows,), optional
        Whose row each one is; needed where the agreement protects persons, and refused where it
        does not. Of each the rows that come first take part.
    folds : FoldBook, optional
        Which rows are in which fold; needed where the agreement is on a session of a
        cross-validation, and the same in all of them.
    first_row : int, default=0
        Number of the first row among those of all parties; matters only to noise from a seed.
    n_threads : int, default=1
        Threads of the kernels.
    max_message_bytes : int, default=64 MiB
        Longer messages are refused before they are read, and so are questions whose answer would
        be longer.

    Raises
    ------
    InvalidParameterError
        For rows or keys that do not fit the agreement, before anything is drawn.

    Privacy
    -------
    All that leaves is what `receive` returns. Before an answer is sent it is charged to this
    party's own ledger, with the bound that the party itself computes from the question, and
    carries a share of the noise and a mask that only goes away in the sum over all parties that
    were asked exactly the same.

    Examples
    --------
    >>> from dpboost.federated import Agreement
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_histograms")
    >>> tables = [([[30], [60]], [0, 1]), ([[20], [80], [50]], [0, 1, 1])]

    >>> Party(1, *tables[1], agreement=terms).index
    1
    """

    def __init__(
        self,
        index: int,
        X: Any,
        y: Any,
        *,
        agreement: Agreement,
        identity: Identity | None = None,
        sample_weight: Any = None,
        user_ids: Any = None,
        folds: FoldBook | None = None,
        first_row: int = 0,
        n_threads: int = 1,
        max_message_bytes: int = wire.MOST_BYTES,
    ) -> None:
        self._index = check_integer("index", "Party", index, low=0, high=agreement.n_parties - 1)
        own = identity.public if identity is not None else None
        if agreement.identities and own != agreement.identities[index]:
            raise InvalidParameterError(
                f"The 'identity' of party {index} must hold the key that the agreement lists."
            )
        self._most_bytes = check_integer(
            "max_message_bytes", "Party", max_message_bytes, low=wire.LEAST_BYTES
        )
        own_rows = taking_part(
            X, y, agreement, sample_weight=sample_weight, user_ids=user_ids, folds=folds
        )
        self._agreement = agreement
        self._identity = identity
        self._entropy = agreement.entropy()
        self._ledger = agreement.ledger(self._entropy)
        self._held = HeldRows(
            table=own_rows.table,
            labels=own_rows.labels,
            extras=own_rows.extras,
            folds=own_rows.folds,
            agreement=agreement,
            draw_coins=self._draw_coins,
            first_row=first_row,
            threads=Threads(n_threads),
        )
        self._rows: Any = self._held
        self._session: bytes | None = None
        self._key: SessionKey | None = None
        self._chain = b""
        self._turn: m.Step | None = None
        self._last = (b"", b"")
        self._masks = MaskPhases(agreement, self._index, identity)
        # What has changed since `take_change` was called: the message, coins, and records before.
        self._changed = False
        self._told: bytes | None = None
        self._coins: list[bytes] = []
        self._coins_again: list[bytes] = []
        self._n_booked = 0

    @property
    def index(self) -> int:
        """Its number."""
        return self._index

    @property
    def ledger(self) -> Ledger:
        """Its own ledger: everything that was charged, whether or not it arrived."""
        return self._ledger

    @property
    def agreement(self) -> Agreement:
        """The terms."""
        return self._agreement

    def receive(self, message: bytes) -> bytes:
        """Take in a message and return the reply.

        The same message again gets the same bytes again, and costs nothing. Whatever else goes
        wrong gets a code that depends on public things only.
        """
        digest = hashlib.sha256(message).digest()
        if digest == self._last[0]:
            return self._last[1]
        try:
            content = self._read(message)
            if isinstance(content, m.Hello):
                # It may come between a message and the same message again.
                return wire.encode(m.Done(party=self._index))
            reply = wire.encode(self._handle(content, message, digest))
        except RefusalError as refusal:
            return wire.encode(m.Refused(party=self._index, code=refusal.code))
        self._last = (digest, reply)
        self._changed = True
        return reply

    # -- from one process to the next -----------------------------------------------------------

    def suspend(self) -> dict[str, Any]:
        """Return all that another process needs to go on as this party.

        It holds private rows and secret keys: for the data holder's own disk and nobody else.
        """
        return {"rows": self._rows, "records": self._ledger.root, **self.session()}

    def session(self) -> dict[str, Any]:
        """Return the part of `suspend` that is neither rows nor records; it has secret keys."""
        generator = self._entropy.bit_generator
        return {
            "noise": None if self._entropy.private else generator.state,
            "session": (self._session, self._chain, self._turn, self._last),
            "key": None if self._key is None else self._key.secret,
            "pairs": self._masks.pairs,
            "masks": self._masks.masks,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on where a party with the same rows and agreement has stopped.

        Parameters
        ----------
        state : dict
            What `suspend` returned.
        """
        self._rows = state["rows"]
        self._ledger.resume(state["records"])
        self._n_booked = len(self._ledger.entries)
        self._go_on(state)

    def take_change(self) -> Change | None:
        """Return what has changed since this was called last; None if nothing has.

        Together with `session` it is as secret as what `suspend` returns.
        """
        if not self._changed:
            return None
        booked = self._ledger.booked_since(self._n_booked)
        change = Change(told=self._told, coins=tuple(self._coins), booked=booked)
        self._changed, self._told = False, None
        self._coins.clear()
        self._n_booked += len(booked)
        return change

    def repeat(self, change: Change, session: dict[str, Any]) -> None:
        """Do what another process has done for a message; nothing is drawn or sent.

        Parameters
        ----------
        change : Change
            What `take_change` returned there.
        session : dict
            What `session` returned then.
        """
        if change.told is not None:
            self._coins_again = list(change.coins)
            # It was within the limits then.
            ask = wire.decode(change.told, m.Ask, wire.BYTES_PER_VALUE * len(change.told))
            # What went wrong there goes wrong here as well, and leaves rows as it left them.
            with suppress(RefusalError):
                self._obey(ask)
                self._prepare_all(ask, b"")
            self._coins_again = []
        self._ledger.book_again(change.booked)
        self._n_booked += len(change.booked)
        self._go_on(session)

    def _go_on(self, state: dict[str, Any]) -> None:
        """Take up the session where it was."""
        if state["noise"] is not None:
            self._entropy.bit_generator.state = state["noise"]
        self._session, self._chain, self._turn, self._last = state["session"]
        self._key = None
        if state["key"] is not None:
            assert self._session is not None
            terms = self._agreement.digest + self._session
            self._key = SessionKey(self._index, terms, self._identity, state["key"])
        self._masks.pairs, self._masks.masks = state["pairs"], state["masks"]

    @property
    def held(self) -> HeldRows:
        """Its rows as they were given."""
        return self._held

    def _draw_coins(self) -> RowCoins:
        """Return new secret coins, or those that another process has drawn for this message."""
        if self._coins_again:
            return RowCoins(self._coins_again.pop(0))
        coins = self._ledger.row_coins()
        self._coins.append(coins.key_for_workers())
        return coins

    # -- messages -------------------------------------------------------------------------------

    def _read(self, message: bytes) -> Any:
        try:
            return wire.decode(message, _MESSAGES, self._most_bytes)
        except wire.MalformedMessageError:
            raise RefusalError(m.MALFORMED) from None

    def _handle(self, content: Any, message: bytes, digest: bytes) -> Any:
        if isinstance(content, m.Invite):
            return self._join(content)
        if isinstance(content, m.Introduce):
            return self._meet(content)
        if isinstance(content, m.Ask):
            self._check_turn(content.turn)
            self._masks.check_roster(content)
            # From here on rows and records change, also where the message is refused.
            self._changed, self._told = True, message
            self._obey(content)
            return self._answer(content, digest)
        if isinstance(content, Prepare):
            if content.turn.session != self._session:
                raise RefusalError(m.OTHER_SESSION)
            return self._masks.deposit(content.turn, self._turn)
        if isinstance(content, Present):
            return self._masks.endorse(content)
        return self._masks.unmask(content, self._turn)

    def _join(self, invite: m.Invite) -> m.Joined:
        if invite.terms != self._agreement.digest:
            raise RefusalError(m.OTHER_TERMS)
        if self._turn is not None:
            # Rows, ledger and masks belong to one session: its budget is not given twice.
            raise RefusalError(m.OTHER_SESSION)
        self._session, self._masks.pairs = invite.session, None
        self._key = SessionKey(self._index, invite.terms + invite.session, self._identity)
        return m.Joined(party=self._index, key=self._key.public, signature=self._key.signature)

    def _meet(self, introduction: m.Introduce) -> m.Done:
        if self._key is None or introduction.session != self._session:
            raise RefusalError(m.OTHER_SESSION)
        keys, signatures = introduction.keys, introduction.signatures
        terms = self._agreement.digest + introduction.session
        try:
            if {len(keys), len(signatures)} != {self._agreement.n_parties}:
                raise UntrustedKeyError("A key for each party is needed.")
            if len(set(keys)) < len(keys) or keys[self._index] != self._key.public:
                raise UntrustedKeyError("Every party has a key of its own.")
            for index, identity in enumerate(self._agreement.identities):
                content = signed_content(terms, index, keys[index])
                check_signature(identity, content, signatures[index])
            self._masks.pairs = self._key.pair(keys)
        except (UntrustedKeyError, TypeError, ValueError):
            raise RefusalError(m.KEYS) from None
        self._key = None
        self._chain = hashlib.sha256(terms + b"".join(keys)).digest()
        return m.Done(party=self._index)

    def _check_turn(self, turn: m.Step) -> None:
        """Refuse everything but the next position of the session."""
        if self._masks.pairs is None or turn.session != self._session:
            raise RefusalError(m.OTHER_SESSION)
        last = (-1, 0) if self._turn is None else (self._turn.number, self._turn.attempt)
        if (turn.number, turn.attempt) == last:
            raise RefusalError(m.CHANGED)
        if (turn.number, turn.attempt) < last:
            raise RefusalError(m.LATE)
        if turn.number > last[0] + 1:
            raise RefusalError(m.EARLY)

    def _obey(self, ask: m.Ask) -> None:
        """Carry out the orders of a message, once whatever the number of its attempts."""
        if self._turn is not None and self._turn.number == ask.turn.number:
            return
        told = wire.encode(ask.orders)
        # Whatever happens now, this position of the session is taken, and every later mask depends
        # on what was told: where parties were told different things, no sum comes out.
        self._turn = ask.turn
        self._chain = hashlib.sha256(self._chain + told).digest()
        try:
            for order in ask.orders:
                self._rows = admitted(order, self._rows).execute(self._rows)
        except Exception:  # noqa: BLE001 - whatever it was, a code is all that may be told
            raise RefusalError(m.QUESTION) from None

    # -- answers --------------------------------------------------------------------------------

    def _answer(self, ask: m.Ask, digest: bytes) -> m.Answers:
        nonce = self._chain + digest
        self._turn = ask.turn
        # All of them before the first is charged: one that is none costs nothing.
        prepared = self._prepare_all(ask, nonce)
        self._masks.bind(ask, nonce)
        try:
            parts = tuple(self._release(one) for one in prepared)
        except BudgetExceededError:
            raise RefusalError(m.BUDGET) from None
        except Exception:  # noqa: BLE001 - whatever it was, a code is all that may be told
            raise RefusalError(m.QUESTION) from None
        return m.Answers(party=self._index, turn=ask.turn, parts=parts)

    def _prepare_all(self, ask: m.Ask, nonce: bytes) -> list[_Prepared]:
        """Check the questions of a message and answer them, on the private side."""
        try:
            return [
                self._prepare(asked, nonce, position) for position, asked in enumerate(ask.asked)
            ]
        except Exception:  # noqa: BLE001 - whatever it was, a code is all that may be told
            raise RefusalError(m.QUESTION) from None

    def _prepare(self, asked: m.Asked, nonce: bytes, position: int) -> _Prepared:
        """Check a question and answer it, on the private side."""
        if not isinstance(asked.mechanism, _MECHANISMS):
            raise ScopeError("A question says how it is answered.")
        query = admitted(asked.query, self._rows)
        bounds = query.bounds(self._agreement.relation)
        if asked.mechanism.needs != "range":
            self._check_size(query.shape)
        answer = query.evaluate(self._rows)
        if not asked.each and answer.shape != tuple(query.shape):
            raise ScopeError("An answer has the shape that its question says.")
        sensitive = Sensitive(answer, bounds, unit=query.unit)
        mechanism: Any = asked.mechanism
        if not asked.each:
            mechanism = MaskedShare(
                base=mechanism,
                honest=self._agreement.honest,
                pad=OneTimePad(lambda size: self._masks.words(nonce, position, size)),
                whole=None if self._agreement.noise_seed is None else self._index == 0,
            )
        self._ledger.check(mechanism, sensitive, label=asked.label)
        return _Prepared(mechanism, sensitive, branch_of(query), asked)

    def _check_size(self, shape: tuple[int, ...]) -> None:
        """Raise where an answer of this shape would be too long a message."""
        if not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ScopeError("A question says of which shape its answer is.")
        # As text every three bytes take four.
        if 4 * 8 * math.prod(shape) > 3 * self._most_bytes:
            raise ScopeError("An answer must be a message.")

    def _release(self, prepared: _Prepared) -> m.Masked | m.Released:
        """Charge this party's own ledger, then draw."""
        with ExitStack() as scopes:
            # What part of the rows this is about is for the rows to say, not for the message.
            stage = getattr(self._rows, "stage", None)
            if stage is not None:
                scopes.enter_context(self._ledger.sequential(stage))
            parts = (*branch_of(self._rows), *prepared.branch)
            scopes.enter_context(self._ledger.branch(parts))
            outcome = self._ledger.release(
                prepared.mechanism, prepared.sensitive, label=prepared.asked.label
            )
        return m.Released(outcome=outcome) if prepared.asked.each else m.Masked(words=outcome)
