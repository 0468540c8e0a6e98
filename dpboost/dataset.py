"""Rows and all that belongs to them, as ``train`` and ``cv`` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import lightgbm
import numpy as np

from dpboost._validation import InvalidParameterError
from dpboost.data.containers import unpack
from dpboost.users import take_rows


class Dataset(lightgbm.Dataset):
    """Rows with labels, weights and names: a ``lightgbm.Dataset`` that is never binned.

    Parameters
    ----------
    data : table of shape (n_rows, n_features)
        All that ``fit`` takes.
    label : array-like of shape (n_rows,), optional
    reference : Dataset, optional
        Kept; evaluation sets use the bins of the model in any case.
    weight : array-like of shape (n_rows,), optional
    group : None
        Refused: it is for ranking.
    init_score : array-like, optional
    feature_name : list of str or "auto"
    categorical_feature : list of str or int, or "auto"
    params : dict, optional
        Parameters of ``train``, which its own override.
    free_raw_data : bool
        No effect: raw data stay, since private training reads them.
    position : None
        Refused: it is for ranking.
    user_ids : array-like of shape (n_rows,), optional
        Whose row each one is, where ``rows_per_user`` protects users.

    Raises
    ------
    InvalidParameterError
        For arguments of ranking.

    Privacy
    -------
    Holds raw rows and releases nothing. What counts rows, such as ``num_data``, is the owner's
    to keep.
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
            raise InvalidParameterError(
                "The 'group' and 'position' arguments of Dataset are for ranking, whose "
                "gradients mix rows: it is not available."
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

    def construct(self) -> Dataset:
        """Return this Dataset: bins are released by training and not made from rows."""
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
        """Return some of the rows as a Dataset of their own."""
        rows = np.asarray(used_indices, dtype=np.intp)
        parts: dict[str, Any] = {
            name: None if value is None else take_rows(np.asarray(value), rows)
            for name, value in (
                ("label", self.label),
                ("weight", self.weight),
                ("init_score", self.init_score),
                ("user_ids", self.user_ids),
            )
        }
        return Dataset(
            take_rows(self.data, rows),
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
        """Return the labels."""
        return self.label

    def get_weight(self) -> Any:
        """Return the weights."""
        return self.weight

    def get_init_score(self) -> Any:
        """Return the offsets of raw scores."""
        return self.init_score

    def get_group(self) -> None:
        """Return None: there is no ranking."""

    def num_data(self) -> int:
        """Return the number of rows, which is private."""
        table = unpack(self.data)
        return int(table.shape[0]) if hasattr(table, "shape") else len(table)

    def num_feature(self) -> int:
        """Return the number of columns."""
        table = unpack(self.data)
        return int(table.shape[1]) if hasattr(table, "shape") else len(table[0])

    def feature_num_bin(self, feature: Any) -> NoReturn:
        """Raise: bins belong to a model, not to rows."""
        raise InvalidParameterError("A dpboost.Dataset has no bins: they are part of a model.")

    def save_binary(self, filename: Any) -> NoReturn:
        """Raise: LightGBM's binary files hold binned rows."""
        raise InvalidParameterError("A dpboost.Dataset is not binned and has no binary file.")
