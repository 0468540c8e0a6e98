"""Calls of custom objectives in LightGBM's forms."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError

Objective = Callable[[NDArray[np.float64], NDArray[np.float64]], Any]
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

NOT_ALONE = (
    "The 'objective' parameter must be a function of each row alone: it returned "
    "other values for the same labels and scores among others."
)


def call(function: Objective, labels: NDArray[np.float64], scores: NDArray[np.float64]) -> Pair:
    """Return gradients and hessians of public rows, of the shape of ``scores``, or raise.

    Parameters
    ----------
    function : callable
        ``function(y_true, y_pred) -> grad, hess``; LightGBM's forms with weights and groups get
        weights of one, for those of rows are multiplied later, and no groups.
    labels : ndarray of shape (n,), float64
    scores : ndarray of shape (n,) or (n, n_classes), float64

    Raises
    ------
    InvalidParameterError
        If the function raises an error, does not return two arrays of that shape, or has missing
        values in them.
    """
    try:
        result = function(labels.copy(), scores.copy(), *_further(function, len(labels)))
    except Exception as error:
        raise InvalidParameterError(
            f"The 'objective' function raised {type(error).__name__} for public labels of shape "
            f"{labels.shape} and raw scores of shape {scores.shape}: {error}. With three and more "
            "declared classes scores have the shape (n, n_classes), and else (n,)."
        ) from error
    problem = ""
    values: list[NDArray[np.float64]] = []
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        problem = "something else"
    else:
        values = [_shaped(part, scores.shape) for part in result]
        if any(part.shape != scores.shape for part in values):
            problem = f"arrays of shapes {values[0].shape} and {values[1].shape}"
        elif any(np.isnan(part).any() for part in values):
            problem = "missing values"
    if problem:
        what = "one number each for each of" if scores.ndim == 1 else "a row of numbers each for"
        wanted = f"{what} {len(labels)} public pairs"
        if scores.ndim == 2:
            wanted += f", a number for each of {scores.shape[1]} classes"
        raise InvalidParameterError(
            "The 'objective' parameter must be a function (y_true, y_pred) -> (grad, hess) with "
            f"{wanted}. It returned {problem}."
        )
    return values[0], values[1]


def _shaped(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an array; LightGBM's flat form of several classes has one behind the other."""
    found = np.asarray(values, dtype=np.float64)
    if len(shape) == 2 and found.shape == (shape[0] * shape[1],):
        return found.reshape(shape, order="F")
    return found


def _further(function: Objective, n_rows: int) -> tuple[NDArray[np.float64] | None, ...]:
    """Return what a function asks for beyond labels and scores: weights, groups."""
    try:
        parameters = signature(function).parameters.values()
    except ValueError:  # compiled functions may have none
        return ()
    required = [
        each
        for each in parameters
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return (np.ones(n_rows), None)[: max(len(required) - 2, 0)]
