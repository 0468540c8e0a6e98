"""What one fit gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Result:
    """Predictions of one fitted model, and what the fit took.

    Attributes
    ----------
    prediction : ndarray of shape (n_test_rows,) or (n_test_rows, n_classes)
        Probability of class 1, or the predicted label of a regression; with several classes the
        probability of each; float64.
    fit_seconds : float
        Wall time of ``fit`` alone, from the table as loaded to the fitted model.
    n_trees : int
        Trees in the model; 0 where it has none.
    epsilon_spent : float or None
        What the library itself says that the fit has spent, or was reported to spend where it says
        nothing; ``None`` where there is no privacy.
    peak_mb : float or None
        Memory that the fit took at most, see `benchmarks.meter`; ``None`` where no one counted.
    """

    prediction: np.ndarray
    fit_seconds: float
    n_trees: int
    epsilon_spent: float | None = None
    peak_mb: float | None = None


def by_class(probability: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities with a column for every declared class.

    Parameters
    ----------
    probability : ndarray of shape (n_rows, n_known)
        As a classifier gives them.
    classes : ndarray of shape (n_known,)
        Class numbers of its columns; one that no training row had is missing.
    n_classes : int
        Number of declared classes, which are 0 to ``n_classes - 1``.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    complete = np.zeros((len(probability), n_classes))
    complete[:, np.asarray(classes, dtype=np.int64)] = probability
    return complete
