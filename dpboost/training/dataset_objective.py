"""Custom objectives in the form of ``lightgbm.train``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class DatasetObjective:
    """A custom objective of ``lightgbm.train``, ``function(preds, train_data)``, as ours.

    Parameters
    ----------
    function : callable
        Reads labels by ``train_data.get_label()``.

    Privacy
    -------
    The function gets labels and scores as any custom objective does; there is no other attribute
    of a training set to be read.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> Any:
        """Return gradients and hessians."""
        return self.function(y_pred, _Labels(y_true))


class _Labels:
    """What a custom objective sees of a training set: the rows of this call."""

    def __init__(self, labels: NDArray[np.float64]) -> None:
        self._labels = labels

    def get_label(self) -> NDArray[np.float64]:
        """Return the labels."""
        return self._labels

    def num_data(self) -> int:
        """Return their number."""
        return len(self._labels)

    def get_weight(self) -> None:
        """Return no weights: they are multiplied after the function was called."""
