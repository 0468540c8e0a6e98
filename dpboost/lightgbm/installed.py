"""All private names of LightGBM that this library uses.

LightGBM may change these in any version, so the dependency on ``lightgbm`` ends at the last tested
version.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any, NoReturn

import lightgbm
import numpy as np
from lightgbm.basic import _LIB, LightGBMError, _ConfigAliases, _safe_call
from lightgbm.sklearn import _EvalFunctionWrapper
from sklearn.preprocessing import LabelEncoder

from dpboost._utils.validation import RefusedError
from dpboost.data.containers import unpack
from dpboost.lightgbm.model_text.syntax import ModelTextError


def parameter_aliases() -> dict[str, list[str]]:
    """Return the aliases of every parameter that the installed LightGBM knows."""
    aliases: dict[str, list[str]] = _ConfigAliases._get_all_param_aliases()
    return aliases


def metric_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric as ``fit`` takes it in the form that ``train`` takes."""
    wrapped: Callable[..., Any] = _EvalFunctionWrapper(function)
    return wrapped


def use_one_thread() -> None:
    """Keep LightGBM's parser and predictor from entering OpenMP regions."""
    limit = getattr(_LIB, "LGBM_SetMaxThreads", None)
    if limit is not None:
        limit(ctypes.c_int(1))


class _NoHandle:
    """Placeholder for the bins that a constructed Dataset does not have.

    LightGBM's library would follow a null pointer; with this object ctypes raises an error.
    """

    @property
    def _as_parameter_(self) -> NoReturn:
        raise RefusedError(
            "a dpboost.Dataset is never binned, and is for dpboost.train and dpboost.cv. Give a "
            "lightgbm.Dataset of the same rows to train on them without privacy."
        )


class UnbinnedDataset(lightgbm.Dataset):
    """A Dataset that stores labels, weights and scores like LightGBM, but not its rows.

    Once constructed, it has a Dataset of one constant column, whose fields LightGBM checks: types,
    lengths and missing fields are LightGBM's. Raw rows and labels stay as given.
    """

    _held: lightgbm.Dataset | None = None

    def construct(self) -> UnbinnedDataset:
        """Hand labels, weights and initial scores to LightGBM; rows are not binned.

        Returns
        -------
        UnbinnedDataset
            This one.

        Raises
        ------
        LightGBMError
            If a field has another length than the table.
        """
        if self._held is not None:
            return self
        if self.reference is not None:
            self._update_params(self.reference.get_params())
        held = lightgbm.Dataset(
            np.zeros((self.num_data(), 1)), params={"verbosity": -1, "feature_pre_filter": False}
        ).construct()
        for name in ("label", "weight", "init_score"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str):
                getattr(held, f"set_{name}")(given)
        self._held = held
        self._handle = _NoHandle()  # type: ignore[assignment]
        self.set_feature_name(self.get_feature_name())
        return self

    def _free_handle(self) -> UnbinnedDataset:
        """Forget what was constructed; there is no memory of LightGBM to be freed."""
        self._held = self._handle = None
        return self

    def get_feature_name(self) -> list[str]:
        """Return the names of the columns, as LightGBM gives them.

        Raises
        ------
        LightGBMError
            Before ``construct``.
        """
        if self._held is None:
            raise LightGBMError("Cannot get feature_name before construct dataset")
        if not isinstance(self.feature_name, str):
            return [str(name).replace(" ", "_") for name in self.feature_name]
        columns = getattr(unpack(self.data), "columns", None)
        if columns is None:
            return [f"Column_{position}" for position in range(self.num_feature())]
        return [str(name).replace(" ", "_") for name in columns]

    def set_feature_name(self, feature_name: Any) -> UnbinnedDataset:
        """Name the columns.

        Parameters
        ----------
        feature_name : list of str or "auto"

        Raises
        ------
        ValueError
            On a constructed Dataset, for another number of names than of columns.
        """
        if isinstance(feature_name, str) or feature_name is None:
            return self
        n_features = self.num_feature() if self._held is not None else len(feature_name)
        if len(feature_name) != n_features:
            raise ValueError(
                f"Length of feature_name({len(feature_name)}) and num_feature({n_features}) "
                "don't match"
            )
        self.feature_name = list(feature_name)
        return self

    def get_field(self, field_name: str) -> Any:
        """Return a field as LightGBM holds it.

        Parameters
        ----------
        field_name : {"label", "weight", "init_score", "group", "position"}

        Returns
        -------
        ndarray or None
            float32 labels and weights, float64 initial scores.

        Raises
        ------
        LightGBMError
            Before ``construct``.
        """
        if self._held is None:
            raise LightGBMError(f"Cannot get {field_name} before construct Dataset")
        return self._held.get_field(field_name)

    def set_field(self, field_name: str, data: Any) -> UnbinnedDataset:
        """Set a field, which training reads.

        Parameters
        ----------
        field_name : {"label", "weight", "init_score"}
        data : array-like or None

        Raises
        ------
        LightGBMError
            Before ``construct``, and for another length than that of the table.
        InvalidParameterError
            For fields of rankings.
        """
        if field_name in ("group", "query", "position"):
            raise RefusedError(
                f"The field {field_name!r} is for ranking, whose gradients mix rows: it is not "
                "available."
            )
        if self._held is None:
            raise LightGBMError(f"Cannot set {field_name} before construct dataset")
        self._held.set_field(field_name, data)
        setattr(self, field_name, self._held.get_field(field_name))
        return self

    def set_group(self, group: Any) -> UnbinnedDataset:
        """Raise: groups are for ranking."""
        return self.set_field("group", group) if group is not None else self

    def set_position(self, position: Any) -> UnbinnedDataset:
        """Raise: positions are for ranking."""
        return self.set_field("position", position) if position is not None else self

    def _dump_text(self, filename: Any) -> NoReturn:
        raise RefusedError("A dpboost.Dataset is never binned: there is nothing to dump.")


class LoadedBooster(lightgbm.Booster):
    """A Booster that reads the parameters of its model with a buffer of their size.

    LightGBM's is 1 MB, and LightGBM 4.6 reads the parameters of a file, but not those of a string.
    """

    def __init__(self, params: dict[str, Any] | None, model_str: str | None) -> None:
        super().__init__(params=params, model_str=model_str)
        self.params = self._get_loaded_param()

    def _get_loaded_param(self) -> dict[str, Any]:
        read, size = _LIB.LGBM_BoosterGetLoadedParam, ctypes.c_int64(0)
        buffer = ctypes.create_string_buffer(1)
        _safe_call(read(self._handle, ctypes.c_int64(1), ctypes.byref(size), buffer))
        buffer = ctypes.create_string_buffer(size.value)
        _safe_call(read(self._handle, size, ctypes.byref(size), buffer))
        try:
            parameters: dict[str, Any] = json.loads(buffer.value)
        except ValueError as error:
            raise ModelTextError(
                "The parameters of the model text hold a value of another type than LightGBM's."
            ) from error
        return parameters


class LightGBMAttributes:
    """Private attributes of LightGBM's estimators; a base before LightGBM's class."""

    _other_params: dict[str, Any]
    _objective: Any

    def _extra_params(self) -> dict[str, Any]:
        """Return the parameters that are no arguments of the constructor."""
        return self._other_params

    def _set_fitted(
        self,
        booster: lightgbm.Booster,
        *,
        n_features: int,
        objective: Any,
        evals_result: dict[str, Any],
        best_iteration: int,
        best_score: dict[str, Any],
        has_names: bool,
    ) -> None:
        """Set what LightGBM's ``fit`` sets."""
        self._Booster = booster
        self._n_features = self._n_features_in = n_features
        self._objective = objective
        self._evals_result = evals_result
        self._best_iteration = booster.best_iteration = best_iteration
        self._best_score = booster.best_score = best_score
        self._fitted_with_feature_names = has_names
        self.fitted_ = True

    def _set_objective(self, objective: Any) -> None:
        """Set the objective that was fitted, a name or a function."""
        self._objective = objective

    def _set_classes(self, classes: np.ndarray) -> None:
        """Set what the ``fit`` of a classifier sets, without a look into tables of any kind."""
        self._le = LabelEncoder()
        self._le.classes_ = self._classes = np.unique(classes)
        self._class_map = {label: index for index, label in enumerate(self._classes)}
        self._n_classes = len(classes)

    def _process_params(self, stage: str) -> dict[str, Any]:
        """Return what LightGBM's predictor may know: none of our parameters is one of its own."""
        return {"verbosity": -1}


# What LightGBM's own ``fit`` sets, and its methods read.
_FITTED = (
    "_n_features",
    "_n_features_in",
    "_objective",
    "_evals_result",
    "_best_iteration",
    "_best_score",
    "_fitted_with_feature_names",
    "_le",
    "_classes",
    "_class_map",
    "_n_classes",
    "fitted_",
)


def with_fit_of(stock: Any, model: Any, booster: lightgbm.Booster) -> Any:
    """Return an estimator of LightGBM's with the fit of one of ours.

    ``stock``, an LGBMRegressor or LGBMClassifier that is not fitted, is changed in place; it is to
    predict with ``booster``.
    """
    vars(stock).update({name: value for name, value in vars(model).items() if name in _FITTED})
    stock._Booster = booster
    return stock
