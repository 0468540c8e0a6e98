"""Rows that are read and binned once, for all the trees that are fitted to them.

A figure has many trees on the same rows, and most of the time of one goes into reading the table.
The fits are those of `dpboost.DPTreeClassifier`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpboost
from dpboost.data.binner import Binner
from dpboost.data.labels import read_class_labels
from dpboost.data.table import Table, read_table
from dpboost.privacy.queries import LocalRows, RowHandle
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Recipe
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel
from dpboost.training.objective import Objective
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT
from dpboost.training.request import FitRequest, Inputs

Rows = tuple[Any, Any]


class Remembered(Table):
    """A table that remembers the bins it was asked for.

    Parameters
    ----------
    table : Table
    """

    __slots__ = ("_known", "_table")

    def __init__(self, table: Table) -> None:
        super().__init__(
            table.columns,
            n_rows=table.n_rows,
            categorical=table.categorical,
            kept_bins=self._bins,
        )
        self._table = table
        self._known: list[tuple[Binner, NDArray[np.uint8]]] = []

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return a column of the table."""
        return self._table.column(feature)

    def _bins(self, binner: Binner) -> NDArray[np.uint8]:
        """Return a copy of the bins, which a fit may put into another order."""
        for known, bins in self._known:
            if known == binner:
                return bins.copy()
        self._known.append((binner, self._table.bins(binner)))
        return self._known[-1][1].copy()


def tree_request(
    owner: str,
    *,
    recipe: str | Recipe,
    epsilon: float,
    schema: Any,
    assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
    **settings: Any,
) -> FitRequest:
    """Return what is asked of a tree of classes under a pure epsilon.

    Parameters
    ----------
    owner : str
        Name in error messages.
    recipe : str or Recipe
    epsilon : float
    schema : Schema or dict
    assume_public : tuple of str
        What is not declared and public all the same.
    **settings
        Parameters of the recipe.
    """
    return FitRequest(
        task="classification",
        recipe=TREE_ALGORITHMS.find(recipe, owner),
        given=settings,
        privacy=PrivacyRequest.validated(
            owner,
            epsilon=epsilon,
            delta=0.0,
            neighbors=Neighbors.ADD_REMOVE.value,
            schema=schema,
            assume_public=assume_public,
            noise_seed=None,
        ),
        objective=Objective(task="classification"),
        public_seed=0,
        owner=owner,
        n_jobs=1,
    )


class Divided:
    """Training and held-out rows of one repeat.

    Parameters
    ----------
    train, held_out : (X, y)
        Tables with labels.
    schema : Schema or dict
        What is declared of them.
    """

    def __init__(self, train: Rows, held_out: Rows, *, schema: Any) -> None:
        self._schema = schema
        self._train, self._held_out = (
            (Remembered(read_table(X, schema=dpboost.Schema.coerce(schema))), np.asarray(y))
            for X, y in (train, held_out)
        )

    def fit(self, *, recipe: str | Recipe = "best", epsilon: float, **settings: Any) -> FittedModel:
        """Fit a tree to the training rows.

        Parameters
        ----------
        recipe : str or Recipe
        epsilon : float
        **settings
            Parameters of the recipe.
        """
        table, y = self._train
        request = tree_request(
            "Divided.fit", recipe=recipe, epsilon=epsilon, schema=self._schema, **settings
        ).checked()
        labels, extras = read_class_labels(y), RowExtras()
        with warnings.catch_warnings():
            # Epsilons too small for a data set are what these figures are about.
            warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
            warnings.simplefilter("ignore", dpboost.ParameterWarning)
            inputs = Inputs.of(table.columns, labels, table.categorical, extras, request)
            ledger = request.open_ledger(inputs)
            rows = RawRows(table=table, labels=labels, extras=extras)
            return fit(RowHandle(LocalRows(rows)), inputs, request, ledger)

    def accuracy(self, fitted: FittedModel, *, training: bool = False) -> float:
        """Return the share of held-out rows, or of training rows, whose class a tree predicts."""
        table, y = self._train if training else self._held_out
        classes = np.asarray(sorted(fitted.completed.schema.classes or ()))
        raw = fitted.ensemble.predict_raw(table)
        best = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return float(np.mean(classes[best] == y))

    def measured(self, **settings: Any) -> float:
        """Fit a tree and return its accuracy on held-out rows; see `fit`."""
        return self.accuracy(self.fit(**settings))
