"""Every private name of LightGBM that is used here, in one place.

LightGBM may change these in any version, so the versions that the package allows end where they
were last tried: see ``lightgbm`` in the dependencies.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from lightgbm.basic import _LIB, _ConfigAliases, _safe_call
from lightgbm.sklearn import _EvalFunctionWrapper
from sklearn.preprocessing import LabelEncoder


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


class LoadedBooster(lightgbm.Booster):
    """A Booster that reads the parameters of its model by a buffer of their size.

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
        parameters: dict[str, Any] = json.loads(buffer.value)
        return parameters


class FittedModel:
    """What LightGBM's estimators look for in themselves; comes before them in the bases."""

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
