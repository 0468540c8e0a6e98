"""The rows of a party: which of them take part, and in which form a fit or a metric finds them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.labels import check_same_length
from dpboost.data.users import earliest_rows, read_users, take_rows
from dpboost.evaluating.evaluated_rows import predicted_rows, scored_rows
from dpboost.evaluating.fold_coins import deal_folds
from dpboost.evaluating.saved_model import SavedClassifier, SavedRegressor
from dpboost.federated.party.party_rows import model_cells, read_labels, read_rows
from dpboost.federated.party.start_scores import start_scores
from dpboost.federated.protocol.agreed_evaluation import EVALUATION, AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.evaluation_queries import PredictedRows, ScoredRows
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.objective import read_weights


class OwnRows:
    """The rows of a party, read and checked before anything is sent.

    Parameters
    ----------
    X, y, sample_weight, user_ids
        As of `Party`.
    agreement : Agreement
    first_row : int, default=0
        Number of the first row among those of all parties; matters only to noise from a seed.
    n_threads : int, default=1

    Raises
    ------
    InvalidParameterError
        For rows, and what comes with them, that do not fit the agreement.

    Privacy
    -------
    Where persons are protected, the rows of each that come first take part.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        agreement: Agreement,
        *,
        sample_weight: Any = None,
        user_ids: Any = None,
        first_row: int = 0,
        n_threads: int = 1,
    ) -> None:
        _check_given("sample_weight", sample_weight, agreed=agreement.weighted)
        _check_given("user_ids", user_ids, agreed=agreement.rows_per_user is not None)
        table, labels = read_rows(X, agreement), read_labels(y, agreement)
        check_same_length(table.n_rows, labels)
        self._X = X if hasattr(X, "shape") else np.asarray(X)
        self._labels = labels
        self._extras = RowExtras(sample_weight=read_weights(sample_weight, table.n_rows))
        self._units = np.arange(table.n_rows)
        self._first_row = first_row
        self._threads = Threads(n_threads)
        self._whole = table
        self._all = np.arange(table.n_rows)
        if agreement.rows_per_user is not None:
            self._units = read_users(user_ids, table.n_rows)
            self._all = earliest_rows(self._units, agreement.rows_per_user)
        # What looks at rows and may refuse is done here, before anybody hears of this party.
        self._predicted: dict[bytes, RawRows | ScoredRows | PredictedRows] = {}
        if agreement.folds is None:
            own = self.judged(agreement) if agreement.recipe == EVALUATION else self.raw(agreement)
            self._predicted[agreement.digest] = own

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return len(self._all)

    @property
    def digest(self) -> str:
        """SHA-256 of all rows in their order, of labels, weights and ids."""
        found = hashlib.sha256(repr(self._whole.n_rows).encode())
        for feature in range(self._whole.n_features):
            column = np.ascontiguousarray(self._whole.column(feature), dtype=np.float64)
            found.update(column.tobytes())
        weights = self._extras.sample_weight
        for part in (self._labels, self._units, np.empty(0) if weights is None else weights):
            found.update(str(part.dtype).encode() + np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    def deal(self, coins: RowCoins, n_folds: int) -> NDArray[np.int32]:
        """Return the fold of each row that takes part, by secret coins of this party."""
        return deal_folds(coins, n_folds, self._units, self._first_row)[self._all]

    def raw(self, agreement: Agreement, kept: NDArray[np.bool_] | None = None) -> RawRows:
        """Return the rows that train.

        Parameters
        ----------
        agreement : Agreement
            On a fit.
        kept : ndarray of bool, optional
            Which of the rows that take part; all by default.
        """
        if agreement.digest in self._predicted:
            own = self._predicted.pop(agreement.digest)
            assert isinstance(own, RawRows)
            return own
        chosen = self._all if kept is None else self._all[kept]
        table = self._whole
        if len(chosen) < table.n_rows:
            table = read_rows(take_rows(self._X, chosen), agreement)
        scores = start_scores(table, agreement)
        return RawRows(
            table=table,
            labels=self._labels[chosen],
            extras=RowExtras(
                sample_weight=self._extras.take(chosen).sample_weight, init_scores=scores
            ),
            first_row=self._first_row,
            threads=self._threads,
        )

    def judged(
        self, agreement: Agreement, folds: NDArray[np.int32] | None = None
    ) -> ScoredRows | PredictedRows:
        """Return predictions and labels; rows of labels that are not agreed take no part.

        Parameters
        ----------
        agreement : Agreement
            On an evaluation.
        folds : ndarray of int32, optional
            Whose model judges each row that takes part, in a cross-validation.
        """
        if agreement.digest in self._predicted:
            own = self._predicted.pop(agreement.digest)
            assert not isinstance(own, RawRows)
            return own
        agreed = AgreedEvaluation.of(agreement)
        table, labels = self._whole, self._labels[self._all]
        if len(self._all) < table.n_rows:
            table = read_rows(take_rows(self._X, self._all), agreement)
        X = model_cells(table)
        groups, parts = agreed.group_codes(table, agreement.listed), [np.arange(table.n_rows)]
        if folds is not None:
            groups = folds.astype(np.int64)
            parts = [np.flatnonzero(groups == fold) for fold in range(len(agreed.models))]
        # A warning about an odd cell would tell that there is one.
        with np.errstate(all="ignore"):
            found = [
                _judged(model, X[own], labels[own], groups[own])
                for model, own in zip(agreed.models, parts, strict=True)
            ]
        kind = ScoredRows if isinstance(agreed.model, SavedClassifier) else PredictedRows
        return kind(**_joined(found, kind))


def _judged(
    model: SavedRegressor, X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[np.int64]
) -> ScoredRows | PredictedRows:
    """Return what a model says of some rows."""
    if isinstance(model, SavedClassifier):
        scored, known = scored_rows(model, X, y, len(y), groups)
        return scored.take(np.flatnonzero(known))
    return predicted_rows(model, X, y, len(y), groups)


def _joined(rows: Sequence[Any], kind: type[Any]) -> dict[str, Any]:
    """Put the rows of all models together: the last axis of each part is that of rows."""
    return {
        part.name: np.concatenate([getattr(each, part.name) for each in rows], axis=-1)
        for part in fields(kind)
    }


def _check_given(name: str, value: Any, *, agreed: bool) -> None:
    """Raise unless something is there where the agreement says so, and nowhere else."""
    if agreed != (value is not None):
        must = "an array with one entry for each row" if agreed else "None"
        raise InvalidParameterError(
            f"The {name!r} parameter of Party must be {must}: the agreement says so."
        )
