"""Which fold each row of a party is in: dealt once, and kept where its holder keeps its records."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.evaluating.fold_coins import deal_folds
from dpboost.federated.party.record_log import RecordLog, locked_file
from dpboost.federated.protocol.agreed_folds import AgreedFolds
from dpboost.federated.protocol.agreement import Agreement
from dpboost.privacy.randomness import Entropy, RowCoins

_LOG = "folds.log"


class FoldBook:
    """The folds of a party's rows for one cross-validation, and the terms of its sessions.

    Parameters
    ----------
    folder : path, optional
        Kept on the holder's disk; made if it does not exist. Without one, in this process alone.
    first_row : int, default=0
        Number of the first row among those of all parties; matters only to folds from a seed.

    Privacy
    -------
    The key of the coins is as secret as the rows. It is drawn once: other coins in another
    session would have a row in all fits. For the same reason rows must be those of the first
    session, and each session has one agreement: a second one would spend its part again.

    Examples
    --------
    >>> from dpboost.federated import FederatedBoostingClassifier, Party, cv_agreements
    >>> schema = {"bounds": {"age": (0, 100)}, "classes": [0, 1]}
    >>> model = FederatedBoostingClassifier(schema=schema)
    >>> first, second = cv_agreements(model, 2, ["age"], nfold=2)
    >>> book, rows = FoldBook(), ([[30], [60], [90]], [0, 1, 1])
    >>> parties = [Party(0, *rows, agreement=terms, folds=book) for terms in (first, second)]
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, first_row: int = 0) -> None:
        self._folder = None if folder is None else Path(folder)
        self._first_row = first_row
        self._records: list[dict[str, Any]] = []

    def folds(
        self, agreement: Agreement, units: NDArray[np.int64], cells: bytes
    ) -> NDArray[np.int32]:
        """Return the fold of each row, and take note of the terms of the session.

        Parameters
        ----------
        agreement : Agreement
            On a session of the cross-validation.
        units : ndarray of shape (n_rows,), int64
            As of `deal_folds`.
        cells : bytes
            Digest of the rows.

        Returns
        -------
        ndarray of shape (n_rows,), int32

        Raises
        ------
        InvalidParameterError
            For another cross-validation, other rows, and a session that has other terms already.
        """
        agreed = agreement.folds
        assert agreed is not None
        with self._opened() as log:
            if not self._records:
                self._note(log, _dealt(agreement, agreed, units, cells))
            known = self._records[0]
            self._check(known, agreed, units, cells)
            terms = agreement.digest.hex()
            sessions = {record["session"]: record["terms"] for record in self._records[1:]}
            if sessions.setdefault(agreed.session, terms) != terms:
                raise InvalidParameterError(
                    f"The session {agreed.session!r} of this cross-validation has other terms in "
                    f"{self._where}: its part of the budget is not given twice. Take the agreement "
                    "that was used first, or begin another cross-validation in a new folder."
                )
            if len(sessions) == len(self._records):
                self._note(log, {"session": agreed.session, "terms": terms})
        coins = RowCoins(bytes.fromhex(known["key"]))
        return deal_folds(coins, agreed.n_folds, units, self._first_row)

    @property
    def _where(self) -> str:
        return "this process" if self._folder is None else f"the folder {str(self._folder)!r}"

    def _check(
        self, known: dict[str, Any], agreed: AgreedFolds, units: NDArray[np.int64], cells: bytes
    ) -> None:
        if (known["name"], known["n_folds"]) != (agreed.name, agreed.n_folds):
            raise InvalidParameterError(
                f"Rows were dealt to folds for another cross-validation in {self._where}. Give a "
                "new folder."
            )
        if known["rows"] != _digest(units, cells):
            raise InvalidParameterError(
                "The rows are not those that were dealt to folds in the first session of this "
                "cross-validation: some would be in all fits. Give the same rows in the same order."
            )

    @contextmanager
    def _opened(self) -> Iterator[RecordLog | None]:
        """Read the records, with nobody else at them."""
        if self._folder is None:
            yield None
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_file(self._folder / "folds.lock"):
            log = RecordLog(self._folder / _LOG)
            self._records = [json.loads(record) for record in log.read()]
            yield log

    def _note(self, log: RecordLog | None, record: dict[str, Any]) -> None:
        if log is not None:
            log.append(json.dumps(record).encode())
        self._records.append(record)


def _dealt(
    agreement: Agreement, agreed: AgreedFolds, units: NDArray[np.int64], cells: bytes
) -> dict[str, Any]:
    """Draw the key of the coins."""
    entropy = agreement.entropy()
    if agreement.noise_seed is not None:
        # Seeds of the fits are those after that of the cross-validation.
        before = 0 if agreed.fold is None else agreed.fold + 1
        entropy = Entropy.seeded(agreement.noise_seed - before)
    return {
        "name": agreed.name,
        "n_folds": agreed.n_folds,
        "key": entropy.row_coins().key_for_workers().hex(),
        "rows": _digest(units, cells),
    }


def _digest(units: NDArray[np.int64], cells: bytes) -> str:
    return hashlib.sha256(units.tobytes() + cells).hexdigest()
