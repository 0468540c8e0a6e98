"""A data holder: its rows, its own ledger, and its side of a session."""

from __future__ import annotations

import os
from typing import Any

from dpboost import __version__
from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.federated.party.own_rows import OwnRows
from dpboost.federated.party.party_session import PartySession
from dpboost.federated.party.session_record import SessionRecord, folder_of
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import Link
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.training.replay import Result, check, run_party
from dpboost.reporting.certificate import build_hash


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
    folder : path, optional
        Where the records of all sessions are kept, on the holder's disk: with it a party that was
        stopped goes on. In this process alone without one.
    first_row : int, default=0
        Number of the first row among those of all parties; matters only to noise from a seed.
    n_threads : int, default=1
        Threads of the kernels.

    Raises
    ------
    InvalidParameterError
        For rows, keys or terms that do not fit, before anything is sent.

    Privacy
    -------
    The party runs the fit itself, on its own rows: nobody asks it anything. At each release its own
    ledger books the charge, and its part of the sum leaves with a share of the noise and a mask
    that only goes away in the sum over all parties that are at the same step.

    Examples
    --------
    >>> from dpboost.federated import Agreement
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_counts")
    >>> Party(1, [[20], [80], [50]], [0, 1, 1], agreement=terms).index
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
        folder: str | os.PathLike[str] | None = None,
        first_row: int = 0,
        n_threads: int = 1,
    ) -> None:
        self._index = check_integer("index", "Party", index, low=0, high=agreement.n_parties - 1)
        own = identity.public if identity is not None else None
        if agreement.identities and own != agreement.identities[index]:
            raise InvalidParameterError(
                f"The 'identity' of party {index} must hold the key that the agreement lists."
            )
        check(agreement)
        self._agreement = agreement
        self._identity = identity
        self._folder = None if folder is None else folder_of(folder, agreement.digest)
        self._rows = OwnRows(
            X,
            y,
            agreement,
            sample_weight=sample_weight,
            user_ids=user_ids,
            first_row=first_row,
            n_threads=n_threads,
        )

    @property
    def index(self) -> int:
        """Its number."""
        return self._index

    @property
    def agreement(self) -> Agreement:
        """The terms."""
        return self._agreement

    @property
    def n_rows(self) -> int:
        """Its rows that take part; private."""
        return self._rows.n_rows

    def run(self, link: Link, *, certificate: str = "") -> Result:
        """Take part in the session of the agreement.

        Parameters
        ----------
        link : Link
            To the coordinator.
        certificate : str, default=""
            SHA-256 of the certificate by which this party connects.

        Returns
        -------
        Result
            The same as at all other parties and at the coordinator, with this party's own ledger.

        Raises
        ------
        InvalidParameterError
            If the session began with other rows, another build or other terms.
        PartyLostError, RefusedError
            Where the session ends without a result. What was charged stays charged.
        """
        facts = {"version": __version__, "build": build_hash(), "rows": self._rows.digest}
        record = SessionRecord(self._folder)
        with record.held():
            session = PartySession(
                self._agreement,
                self._index,
                link,
                record=record,
                facts=facts,
                identity=self._identity,
                certificate=certificate,
            )
            return run_party(session, self._rows)
