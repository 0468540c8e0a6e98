"""What one fit gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Result:
    """Predictions of one fitted model, and what the fit took.

    Attributes
    ----------
    prediction : ndarray of shape (n_test_rows,)
        Probability of class 1, or the predicted label of a regression; float64.
    fit_seconds : float
        Wall time of ``fit`` alone, from the table as loaded to the fitted model.
    n_trees : int
        Trees in the model.
    epsilon_spent : float or None
        What the library itself says that the fit has spent; ``None`` where there is no privacy.
    """

    prediction: np.ndarray
    fit_seconds: float
    n_trees: int
    epsilon_spent: float | None = None
