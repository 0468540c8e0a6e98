"""Private estimators for Dask collections, with the interface of ``lightgbm.dask``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import dask
import numpy as np
from distributed import Client, default_client
from sklearn.exceptions import NotFittedError

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.cluster.partitioned_rows import FitFailedError
from dpboost.dask.dask_rows import fit_collections
from dpboost.dask.partitions import Pieces, example_of, is_array, is_collection, is_dataframe, split
from dpboost.dask.prediction import predict_collection
from dpboost.data.table import Reading, read
from dpboost.estimators import docs
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.fit_arguments import FitOptions
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest

__all__ = [
    "DaskDPBoostClassifier",
    "DaskDPBoostRegressor",
    "DaskDPTreeClassifier",
    "DaskDPTreeRegressor",
]

# What distributed calls a client that has, or waits for, its scheduler.
_OPEN = ("running", "connecting", "newly-created")

_CLIENT = """    client : distributed.Client or None, default=None
        None for ``distributed.default_client()``. It is not stored with a pickled model.
"""


class _DaskEstimator:
    """Shared code of the Dask estimators; a base before the estimator of one process."""

    client: Client | None
    _local: type
    _arguments: Callable[[], dict[str, Any]]
    _extra_params: Callable[[], dict[str, Any]]

    @property
    def client_(self) -> Client:
        """The Dask client, of a fitted model.

        Raises
        ------
        NotFittedError
        """
        if not getattr(self, "fitted_", False):
            raise NotFittedError("Cannot access property client_ before calling fit().")
        return self._find_client()

    def _find_client(self) -> Client:
        """Return the given client, or Dask's default."""
        if self.client is None:
            client = None
            with suppress(ValueError):
                client = default_client()
            if client is None:
                raise InvalidParameterError(
                    f"{type(self).__name__} finds no Dask client: create one with "
                    "distributed.Client(...), or pass it as client=..."
                )
            return client
        if not isinstance(self.client, Client):
            raise refuse("client", type(self).__name__, "a distributed.Client", self.client)
        return self.client

    def _open_client(self) -> Client:
        """Return the client, which must be connected."""
        client = self._find_client()
        if client.status not in _OPEN:
            raise InvalidParameterError(
                f"The Dask client of {type(self).__name__} is closed, or its cluster is: make a "
                "new one with distributed.Client(...), or give another as client=..."
            )
        return client

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the client, which is a connection."""
        parent: Any = super()
        return {**parent.__getstate__(), "client": None}

    def to_local(self) -> Any:
        """Return the model as an estimator of one process.

        Returns
        -------
        DPBoostRegressor, DPBoostClassifier, DPTreeRegressor or DPTreeClassifier
        """
        parameters = {**self._arguments(), **self._extra_params()}
        model = self._local(**parameters)
        for name, value in self.__dict__.items():
            if name not in parameters and name not in ("client", "_other_params"):
                setattr(model, name, value)
        return model

    def _train(self, rows: GivenRows, request: FitRequest) -> FittedModel:
        """Train on the cluster."""
        client = self._open_client()
        try:
            return fit_collections(client, rows, request)
        except Exception as error:
            # Whatever fails first is a consequence.
            if client.status in _OPEN or isinstance(error, InvalidParameterError | FitFailedError):
                raise
        raise FitFailedError(
            "The fit failed: its Dask client or cluster was closed in the meantime. What it has "
            "released stays charged; fit again with an open client."
        )

    def _like(self, X: Any) -> Any:
        """Return a table with the columns of the collection."""
        if is_array(X):
            return np.zeros((1, *X.shape[1:]))
        return example_of(X) if is_dataframe(X) else X

    def _earlier_scores(
        self, earlier: EarlierModel, X: Any, schema: Any, reading: Reading
    ) -> Pieces:
        """Return the predictions of a model to continue, by partition."""
        model = dask.delayed(earlier, pure=False, traverse=False)
        return Pieces(
            pieces=[
                dask.delayed(_raw_scores, pure=False)(model, part, schema, reading)
                for part in split(X, "X")
            ]
        )

    def _fit(self, rows: GivenRows, options: FitOptions) -> None:
        """Load the public evaluation collections into this process, and train."""
        if options.claim is not None and options.claim.holdout is not None:
            raise InvalidParameterError(
                f"The 'holdout' of {type(self).__name__}.fit needs rows in the memory of one "
                "process, not Dask collections."
            )
        names = ("evaluation", "eval_sample_weight", "eval_init_score")
        local = {name: self._public(getattr(options, name)) for name in names}
        super()._fit(rows, replace(options, **local))

    def _public(self, value: Any) -> Any:
        """Return a collection of public rows as rows of this process."""
        if is_collection(value):
            return self._open_client().compute(value).result()
        if isinstance(value, (list, tuple)):
            return type(value)(self._public(each) for each in value)
        return value

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> Any:
        """Predict collections.

        Parameters
        ----------
        X : Dask array or DataFrame of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the link.
        **options
            ``start_iteration``, ``num_iteration``, ``pred_leaf``, ``pred_contrib`` and
            ``validate_features``, as in LightGBM.

        Returns
        -------
        dask.array.Array of shape (n_rows,), or (n_rows, ...) for ``pred_leaf``, ``pred_contrib``
        """
        return self._lazily("predict", X, raw_score=raw_score, **options)

    def _lazily(self, method: str, X: Any, **options: Any) -> Any:
        model = self.to_local()
        return predict_collection(partial(getattr(model, method), **options), X)


class _DaskClassifier(_DaskEstimator):
    """Shared code of the two classifiers: probabilities."""

    def predict_proba(self, X: Any, raw_score: bool = False, **options: Any) -> Any:
        """Predict class probabilities of collections.

        Parameters
        ----------
        X, raw_score, options
            As in ``predict``.

        Returns
        -------
        dask.array.Array of shape (n_rows, n_classes)
        """
        return self._lazily("predict_proba", X, raw_score=raw_score, **options)


class DaskDPBoostRegressor(_DaskEstimator, DPBoostRegressor):
    """Differentially private gradient boosting for regression on a Dask cluster."""

    _local = DPBoostRegressor

    def __init__(self, *, client: Client | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client


class DaskDPBoostClassifier(_DaskClassifier, DPBoostClassifier):
    """Differentially private gradient boosting for classification on a Dask cluster."""

    _local = DPBoostClassifier

    def __init__(self, *, client: Client | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client


class DaskDPTreeRegressor(_DaskEstimator, DPTreeRegressor):
    """Differentially private regression tree on a Dask cluster."""

    _local = DPTreeRegressor

    def __init__(self, *, client: Client | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client


class DaskDPTreeClassifier(_DaskClassifier, DPTreeClassifier):
    """Differentially private classification tree on a Dask cluster."""

    _local = DPTreeClassifier

    def __init__(self, *, client: Client | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    def decision_function(self, X: Any) -> Any:
        """Return raw scores of collections, as :meth:`DPTreeClassifier.decision_function`.

        Parameters
        ----------
        X : Dask array or DataFrame of shape (n_rows, n_features)

        Returns
        -------
        dask.array.Array of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._lazily("decision_function", X)


def _complete(kind: type, local: type) -> None:
    """Set the signature and docstring of the local estimator, with a client."""
    init: Any = kind.__init__
    signature = inspect.signature(local.__init__)
    named = list(signature.parameters.values())
    own = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    rest = [each for each in named if each.kind is inspect.Parameter.VAR_KEYWORD]
    named = [each for each in named if each.kind is not inspect.Parameter.VAR_KEYWORD]
    init.__signature__ = signature.replace(parameters=[*named, own, *rest])
    text = docs.docstring_of(local)
    before, mark, after = text.partition("**kwargs" if rest else "\nAttributes\n")
    kind.__doc__ = f"{before}{textwrap.dedent(_CLIENT)}{mark}{after}".replace(
        "Differentially private gradient boosting", "Private gradient boosting on a Dask cluster", 1
    ).replace("Differentially private decision tree", "Private decision tree on a Dask cluster", 1)


_complete(DaskDPBoostRegressor, DPBoostRegressor)
_complete(DaskDPBoostClassifier, DPBoostClassifier)
_complete(DaskDPTreeRegressor, DPTreeRegressor)
_complete(DaskDPTreeClassifier, DPTreeClassifier)


def _raw_scores(earlier: EarlierModel, rows: Any, schema: Any, reading: Reading) -> Any:
    if not rows.shape[0]:
        return []
    return earlier.raw_scores(rows, read(rows, schema, reading))
