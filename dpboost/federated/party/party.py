"""A data holder: its rows, its ledger, and its side of a session."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost._utils.version import __version__, build_hash
from dpboost.data.labels import check_same_length, read_class_labels, read_regression_labels
from dpboost.data.table import ColumnFacts, Table, read_table
from dpboost.data.users import earliest_rows, read_users, take_rows
from dpboost.evaluating.evaluated_rows import predicted_rows, scored_rows
from dpboost.evaluating.saved_model import SavedClassifier, SavedRegressor
from dpboost.federated.party.party_session import PartySession, SessionRecord, folder_of
from dpboost.federated.protocol.agreed_evaluation import EVALUATION, AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import Link
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.training.session_run import Result, check, run_session
from dpboost.model_selection.secret_folds import deal_folds
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.evaluation_queries import PredictedRows, ScoredRows
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import lightgbm_name
from dpboost.training.inputs import read_weights


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
        Whose row each one is; needed where the agreement protects individuals, and refused where it
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
    The party runs the fit itself, on its own rows: no one asks it anything. At each release its own
    ledger records the charge, and its part of the sum leaves with a share of the noise and a mask
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
        PartyLostError, PartyRefusedError
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
            return run_session(session, self._rows)


# -- the rows --------------------------------------------------------------------------------------


class OwnRows:
    """The rows of a party, read and checked before anything is sent.

    Privacy
    -------
    Where individuals are protected, the rows of each that come first take part.
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
        self._ready: dict[bytes, Any] = {}
        if agreement.folds is None:
            own = self.judged(agreement) if agreement.recipe == EVALUATION else self.raw(agreement)
            self._ready[agreement.digest] = own

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
        """Return the fold of each row that takes part, by this party's secret random assignment."""
        return deal_folds(coins, n_folds, self._units, self._first_row)[self._all]

    def raw(self, agreement: Agreement, kept: NDArray[np.bool_] | None = None) -> RawRows:
        """Return the rows that train: those that are kept of all that take part."""
        if agreement.digest in self._ready:
            ready: RawRows = self._ready.pop(agreement.digest)
            return ready
        chosen = self._all if kept is None else self._all[kept]
        table = self._taken(chosen, agreement)
        return RawRows(
            table=table,
            labels=self._labels[chosen],
            extras=RowExtras(
                sample_weight=self._extras.take(chosen).sample_weight,
                init_scores=start_scores(table, agreement),
            ),
            first_row=self._first_row,
            threads=self._threads,
        )

    def judged(
        self, agreement: Agreement, folds: NDArray[np.int32] | None = None
    ) -> ScoredRows | PredictedRows:
        """Return predictions and labels; rows of labels that are not agreed take no part.

        In a cross-validation ``folds`` says whose model evaluates each row that takes part.
        """
        if agreement.digest in self._ready:
            ready: ScoredRows | PredictedRows = self._ready.pop(agreement.digest)
            return ready
        agreed = AgreedEvaluation.of(agreement)
        table, labels = self._taken(self._all, agreement), self._labels[self._all]
        X = _model_cells(table)
        groups, parts = agreed.group_codes(table, agreement.listed), [np.arange(table.n_rows)]
        if folds is not None:
            groups = folds.astype(np.int64, casting="safe")
            parts = [np.flatnonzero(groups == fold) for fold in range(len(agreed.models))]
        # A warning about an odd cell would tell that there is one.
        with np.errstate(all="ignore"):
            found = [
                _judged(model, X[own], labels[own], groups[own])
                for model, own in zip(agreed.models, parts, strict=True)
            ]
        kind: type[Any] = PredictedRows
        if isinstance(agreed.model, SavedClassifier):
            kind = ScoredRows
        # The last axis of each part is that of rows.
        joined = {
            part.name: np.concatenate([getattr(each, part.name) for each in found], axis=-1)
            for part in fields(kind)
        }
        whole: ScoredRows | PredictedRows = kind(**joined)
        return whole

    def _taken(self, chosen: NDArray[np.intp], agreement: Agreement) -> Table:
        if len(chosen) == self._whole.n_rows:
            return self._whole
        return read_rows(take_rows(self._X, chosen), agreement)


class _NoRows(Table):
    """A table with the columns of a party and no rows."""

    def parts(self) -> Iterator[Table]:
        """Go through no tables."""
        return iter(())

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through no cells."""
        return iter(())


def read_rows(X: Any, agreement: Agreement) -> Table:
    """Read the rows of a party, of which there may be none."""
    schema, names = agreement.declared, agreement.features
    listed = agreement.listed
    if len(getattr(X, "shape", ())) == 2 and X.shape == (0, len(names)):
        nominal = frozenset(schema.resolve(names).categories)
        return _NoRows(
            ColumnFacts(feature_names=tuple(map(lightgbm_name, names))),
            n_rows=0,
            dense=np.empty((0, len(names))),
            categorical=listed,
            number_codes=nominal - set(listed),
        )
    table = read_table(X, schema=schema, feature_names=names)
    open_lists = sorted(set(table.categorical) - set(schema.resolve(names).categories))
    if open_lists:
        raise InvalidParameterError(
            f"The column {table.feature_names[open_lists[0]]!r} of X is categorical, and parties "
            "learn no lists of categories from their rows: declare them in the agreement's schema, "
            "Schema(categories=...)."
        )
    if {position: list(values) for position, values in table.categorical.items()} != listed:
        raise InvalidParameterError(
            "The columns of X that hold text or pandas categories must be those whose categories "
            "the agreement's schema lists as text."
        )
    return table


def read_labels(y: Any, agreement: Agreement) -> NDArray[Any]:
    """Read the labels of a party, of which there may be none."""
    if agreement.task == "regression":
        return read_regression_labels(y) if np.size(y) else np.empty(0)
    classes = agreement.declared.classes
    text = classes is not None and isinstance(classes[0], str)
    if not np.size(y):
        return np.empty(0, dtype="U1" if text else np.float64)
    labels = read_class_labels(y)
    if classes is not None and text != (labels.dtype.kind == "U"):
        raise InvalidParameterError(
            "The classes of the agreement's schema and the labels y must be of one kind: all "
            "text, or all numbers."
        )
    return labels


def start_scores(table: Table, agreement: Agreement) -> NDArray[np.float64] | None:
    """Predict rows by the model that the agreement continues; None if there is none.

    Privacy
    -------
    A map of each row by a public text, whatever that text says: sums that are not numbers count
    as zero, so that no row makes a party refuse.
    """
    earlier = agreement.continued
    if earlier is None:
        return None
    n_outputs = earlier.booster.num_model_per_iteration()
    if not table.n_rows:
        return np.empty((n_outputs, 0))
    scores = earlier.predict(_model_cells(table)).reshape(table.n_rows, n_outputs)
    return np.ascontiguousarray(np.nan_to_num(scores).T)


def _model_cells(table: Table) -> NDArray[np.float64]:
    """Return cells as a model text reads them: codes, which are the model's, for categories."""
    columns = [table.column(feature) for feature in range(table.n_features)]
    return np.column_stack(columns) if columns else np.empty((table.n_rows, 0))


def _judged(
    model: SavedRegressor, X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[np.int64]
) -> ScoredRows | PredictedRows:
    """Return what a model says of some rows."""
    if isinstance(model, SavedClassifier):
        scored, known = scored_rows(model, X, y, len(y), groups)
        return scored.take(np.flatnonzero(known))
    return predicted_rows(model, X, y, len(y), groups)


def _check_given(name: str, value: Any, *, agreed: bool) -> None:
    """Raise unless something is there where the agreement says so, and nowhere else."""
    if agreed != (value is not None):
        must = "an array with one entry for each row" if agreed else "None"
        raise InvalidParameterError(
            f"The {name!r} parameter of Party must be {must}: the agreement says so."
        )
