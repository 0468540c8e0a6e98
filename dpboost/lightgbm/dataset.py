"""The Dataset for ``train`` and ``cv``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn, cast

import lightgbm
import numpy as np
import scipy.sparse

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost.budgeting.open_budgets import BudgetCarrier
from dpboost.data.batches import Batches
from dpboost.data.containers import as_array, is_batched, unpack
from dpboost.data.users import take_rows
from dpboost.lightgbm.installed import UnbinnedDataset


class Dataset(BudgetCarrier, UnbinnedDataset):
    """Rows with labels, weights and names: a ``lightgbm.Dataset`` that is never binned.

    Parameters
    ----------
    data : table of shape (n_rows, n_features), or batches of one
        Any input of ``fit``. Batches are read when a model is trained, and only the bins of their
        rows are kept. They are a ``lightgbm.Sequence`` or a list of them; a list of arrays,
        DataFrames or Arrow tables; a ``pyarrow.dataset.Dataset``, a ``ParquetFile`` or a
        ``RecordBatchReader``; or any iterable of tables or of tuples ``(X, y)`` and
        ``(X, y, weight)``. A source that is read again must return the same rows in the same
        order, or the fit is refused. A source that can be read only once, such as an iterator,
        supports one fit with public bins: bounds or edges of all numeric columns must be declared,
        and edges for recipes that estimate bins.
    label : array-like of shape (n_rows,), or str, optional
        For batches also the name of the label column.
    reference : Dataset, optional
        Stored; evaluation sets always use the bins of the model.
    weight : array-like of shape (n_rows,), or str, optional
        For batches also the name of the weight column.
    group : None
        Refused: it is for ranking.
    init_score : array-like, optional
    feature_name : list of str or "auto"
    categorical_feature : list of str or int, or "auto"
    params : dict, optional
        Parameters of ``train``; its ``params`` override them.
    free_raw_data : bool
        No effect: raw data are kept, because private training reads them.
    position : None
        Refused: it is for ranking.
    user_ids : array-like of shape (n_rows,), optional
        User of each row; needed with ``rows_per_user``.

    Raises
    ------
    InvalidParameterError
        If arguments are for ranking, or data is the path of a file.

    Privacy
    -------
    Contains raw rows and releases nothing. Counts of rows, such as ``num_data``, are private.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> rows = dpboost.Dataset(X, y, feature_name=["age", "dose"])
    >>> schema = {"bounds": {"age": (0, 1), "dose": (0, 1)}}
    >>> params = {"objective": "binary", "epsilon": 2.0, "schema": schema, "verbosity": -1}
    >>> dpboost.train(params, rows, num_boost_round=5).feature_name()
    ['age', 'dose']
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        reference: Any = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        params: dict[str, Any] | None = None,
        free_raw_data: bool = False,
        position: Any = None,
        *,
        user_ids: Any = None,
    ) -> None:
        if group is not None or position is not None:
            raise RefusedError(
                "The 'group' and 'position' arguments of Dataset are for ranking, whose "
                "gradients mix rows: it is not available."
            )
        if isinstance(data, (str, bytes, os.PathLike)):
            raise InvalidParameterError(
                f"The 'data' argument of Dataset is the path {os.fspath(data)!r}, and a Dataset "
                "reads no file: read it first, for instance by pandas.read_csv(path, dtype=...) or "
                "pyarrow.dataset.dataset(path), and pass the table. A binary file of LightGBM has "
                "no rows, but bins that were made of them without privacy: keep the table itself."
            )
        super().__init__(
            data,
            label,
            reference=reference,
            weight=weight,
            init_score=init_score,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            params=params,
            free_raw_data=False,
        )
        self.user_ids = user_ids
        self._batches: Batches | None = None
        columns = {"label": label, "weight": weight}
        named = {name: each for name, each in columns.items() if isinstance(each, str)}
        if is_batched(data):
            self._batches = Batches(data, **named)
        elif named:
            raise InvalidParameterError(
                f"The {next(iter(named))!r} of a Dataset is the name of a column only where the "
                "rows come in batches: pass an array."
            )

    def construct(self) -> Dataset:
        """Hand labels, weights and initial scores to LightGBM, for ``get_field`` and its like.

        Rows are not binned: bins are released by training. Nothing happens where the rows are
        given once, since they are for the fit.

        Returns
        -------
        Dataset
            This one.

        Raises
        ------
        LightGBMError
            If a field has another length than the table.
        """
        if self._batches is None or not self._batches.once:
            super().construct()
        if self._held is not None and self.init_score is not None:
            self.init_score = self._held.get_field("init_score")
        return self

    def create_valid(
        self,
        data: Any,
        label: Any = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        params: dict[str, Any] | None = None,
        position: Any = None,
    ) -> Dataset:
        """Return a Dataset for evaluation, whose rows are taken as public."""
        return Dataset(
            data,
            label,
            reference=self,
            weight=weight,
            group=group,
            init_score=init_score,
            params=params,
            position=position,
        )

    def set_reference(self, reference: lightgbm.Dataset) -> Dataset:
        """Keep a reference."""
        self.reference = reference
        return self

    def subset(self, used_indices: Sequence[int], params: dict[str, Any] | None = None) -> Dataset:
        """Return some of the rows as a Dataset of their own, sorted by index as LightGBM does."""
        rows = np.sort(np.asarray(used_indices, dtype=np.intp))
        label, weight = self.label, self.weight
        if self._batches is not None and self._batches.labeled:
            label, weight = self._batches.labels()
        parts: dict[str, Any] = {
            name: None if value is None else take_rows(np.asarray(value), rows)
            for name, value in (
                ("label", label),
                ("weight", weight),
                ("init_score", self.init_score),
                ("user_ids", self.user_ids),
            )
        }
        return Dataset(
            take_rows(rows_of(self), rows),
            feature_name=self.feature_name,
            categorical_feature=self.categorical_feature,
            params=self.params if params is None else params,
            reference=self,
            **parts,
        )

    def get_data(self) -> Any:
        """Return the raw rows."""
        return self.data

    def get_label(self) -> Any:
        """Return the labels, of a constructed Dataset as LightGBM holds them."""
        return self._field("label")

    def get_weight(self) -> Any:
        """Return the weights, of a constructed Dataset as LightGBM holds them."""
        return self._field("weight")

    def get_init_score(self) -> Any:
        """Return the offsets of raw scores, of a constructed Dataset as LightGBM holds them."""
        return self._field("init_score")

    def _field(self, name: str) -> Any:
        given = getattr(self, name)
        return given if self._held is None or isinstance(given, str) else self.get_field(name)

    def add_features_from(self, other: lightgbm.Dataset) -> Dataset:
        """Add the columns of another Dataset, behind those of this one.

        Parameters
        ----------
        other : Dataset
            With as many rows; constructed, as this one.

        Returns
        -------
        Dataset
            This one. Which columns hold categories has to be said again, as in LightGBM.

        Raises
        ------
        ValueError
            If one of the two is not constructed.
        InvalidParameterError
            For batches, and for tables of other types or lengths.
        """
        added: Dataset = cast("Dataset", other)
        if self._held is None or not isinstance(added, Dataset) or added._held is None:
            raise ValueError(
                "Both source and target Datasets must be constructed before adding features"
            )
        if self._batches is not None or added._batches is not None:
            raise InvalidParameterError("Columns of batches cannot be added: join the batches.")
        names = _different_names(self.get_feature_name(), added.get_feature_name())
        self.data = _side_by_side(self.data, added.data)
        self.feature_name, self.categorical_feature = names, "auto"
        return self

    def get_group(self) -> None:
        """Return None: there is no ranking."""

    def num_data(self) -> int:
        """Return the number of rows, which is private."""
        if self._batches is not None:
            return self._batches.n_rows
        table = self._table()
        return int(table.shape[0]) if hasattr(table, "shape") else len(table)

    def num_feature(self) -> int:
        """Return the number of columns."""
        table = self._table() if self._batches is None else self._batches.first.X
        return int(table.shape[1]) if hasattr(table, "shape") else len(table[0])

    def _table(self) -> Any:
        """Return the rows, or raise for an input that is not a table."""
        table = unpack(self.data)
        rows = isinstance(table, (list, tuple)) and len(table) and np.ndim(table[0]) == 1
        return table if rows or len(getattr(table, "shape", ())) == 2 else as_array(table)

    def feature_num_bin(self, feature: Any) -> NoReturn:
        """Raise: bins belong to a model, not to rows."""
        raise RefusedError("A dpboost.Dataset has no bins: they are part of a model.")

    def save_binary(self, filename: Any) -> NoReturn:
        """Raise: LightGBM's binary files hold binned rows."""
        raise RefusedError(
            f"Dataset.save_binary cannot write {os.fspath(filename)!r}: a dpboost.Dataset is not "
            "binned, as bins are released by each fit. Keep the table itself, for instance by "
            "DataFrame.to_parquet or numpy.savez, and make the Dataset of it again."
        )


def _different_names(own: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return the names of both, those that come twice with LightGBM's prefix ``D2_``, ``D3_``."""
    names = list(own)
    for name in added:
        free, number = name, 2
        while free in names:
            free, number = f"D{number}_{name}", number + 1
        names.append(free)
    return names


def _side_by_side(left: Any, right: Any) -> Any:
    """Return the columns of two tables in one of the type of the first."""
    shapes = [getattr(each, "shape", (None,)) for each in (left, right)]
    if shapes[0][0] != shapes[1][0]:
        raise InvalidParameterError("Datasets whose columns are added must have equally many rows.")
    if scipy.sparse.issparse(left):
        return scipy.sparse.hstack([left, right], format=left.format)
    dense = right.toarray() if scipy.sparse.issparse(right) else np.asarray(right)
    if isinstance(left, np.ndarray):
        return np.hstack([left, dense])
    if hasattr(left, "iloc"):
        added = right if hasattr(right, "iloc") else type(left)(dense)
        columns = [each.iloc[:, k] for each in (left, added) for k in range(each.shape[1])]
        return type(left)({position: column.array for position, column in enumerate(columns)})
    raise InvalidParameterError(
        f"Columns cannot be added to a {type(left).__name__}: give arrays, sparse matrices or "
        "pandas DataFrames."
    )


def rows_of(dataset: lightgbm.Dataset) -> Any:
    """Return the raw rows of a Dataset of ours or of LightGBM as ``fit`` takes them."""
    batches = getattr(dataset, "_batches", None)
    if batches is None and is_batched(dataset.data):
        # Kept, for what gives its rows once has already given its first batch to this one.
        batches = Batches(dataset.data)
        dataset.__dict__["_batches"] = batches
    return unpack(dataset) if batches is None else batches
