"""What planted bugs call."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from dpboost.privacy.queries import Sensitive
from dpboost.privacy.stability_histogram import NameCounts


def module(_: Any) -> Any:
    """Return this module, as a place to find its functions."""
    return sys.modules[__name__]


def halved(sensitivity: Any) -> Any:
    """Return a bound of half the size, rounded down, at least 1."""
    return replace(sensitivity, constant=max(1, sensitivity.constant // 2))


def unchecked_units(values: Any, low: int, high: int, **options: Any) -> Any:
    """Round without a clip, as a plain cast does."""
    dtype = options.get("dtype", np.int64)
    with np.errstate(all="ignore"):
        return np.rint(np.asarray(values, dtype=np.float64)).astype(dtype)


def exact(released: Any, sensitive: Any) -> Any:
    """Return the exact value where a noisy one was released, and the best candidates for chosen."""
    if not isinstance(sensitive, Sensitive):
        return released
    value = sensitive._value
    if isinstance(value, NameCounts):
        return tuple(value.names)
    if not isinstance(value, np.ndarray):
        return released
    if value.ndim == 2 and np.shape(released) == value.shape[:1]:
        return value.argmax(axis=1).astype(released.dtype)
    return value.copy() if np.shape(released) == value.shape else released


def all_rows(users: Any) -> Any:
    """Return the positions of all rows."""
    return np.arange(len(users))
