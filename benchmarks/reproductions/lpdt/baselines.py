"""What LPDT is measured against: two private histograms, deconvolution, and plain trees.

Features are scaled to [0, 1] and labels to [-1, 1] by the ranges of the public rows, and clipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

#: Chosen by five-fold cross-validation, as in the paper.
_TREES = {"min_samples_leaf": [1, 5, 10, 20, 40]}

_DECONVOLUTION_TEST_ROWS = 200


def tree_predictions(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Return what a decision tree without privacy predicts."""
    folds = min(5, len(y))
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), _TREES, cv=folds)
    return np.asarray(search.fit(X, y).predict(X_test))


@dataclass(frozen=True)
class Scale:
    """Public ranges of features and labels.

    Attributes
    ----------
    low, width : ndarray of shape (n_features,)
        Smallest value and range of each feature; a constant one has range 1.
    middle, half : float
        Of the range of the labels.
    """

    low: np.ndarray
    width: np.ndarray
    middle: float
    half: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> Scale:
        """Return the ranges of public rows."""
        width = np.ptp(X, axis=0)
        return cls(
            X.min(axis=0),
            np.where(width > 0, width, 1.0),
            float(y.min() + y.max()) / 2,
            float(np.ptp(y)) / 2,
        )

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return features in [0, 1]."""
        return np.clip((X - self.low) / self.width, 0.0, 1.0)

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels in [-1, 1]."""
        return np.clip((y - self.middle) / self.half, -1.0, 1.0)

    def back(self, scaled: np.ndarray) -> np.ndarray:
        """Return labels in their own scale."""
        return np.asarray(self.middle + self.half * scaled)


def _laplace_sums(random: np.random.Generator, n: int, scale: float, size: int) -> np.ndarray:
    """Return sums of n Laplace variables each: differences of two gamma variables."""
    return scale * (random.gamma(n, size=size) - random.gamma(n, size=size))


def histogram_predictions(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    scale: Scale,
    *,
    epsilon: float,
    n_sides: int,
    adjusted: bool,
    random: np.random.Generator,
) -> np.ndarray:
    """Return what a private histogram on a cube grid predicts.

    Every user adds Laplace noise to the one-hot cell and to the label at its position, with half of
    epsilon each. PHIST (Berrett, Gyoerfi, Walk, 2021) divides where the noisy share of a cell is
    large enough; APHIST (Gyoerfi, Kroll, 2022) adds to the denominator instead. Both take the
    standard deviation of the noisy count for "enough", and predict the middle of the label range
    where there is nothing to divide, which is kinder than the zero of the definitions.

    Noise is drawn for the cells of test rows only: other cells do not matter.
    """
    sides = n_sides ** np.arange(X.shape[1], dtype=object)

    def cells(rows: np.ndarray) -> list[int]:
        bins = np.minimum((scale.features(rows) * n_sides).astype(int), n_sides - 1)
        return [int(cell) for cell in bins.astype(object) @ sides]

    wanted = cells(X_test)
    number = {cell: position for position, cell in enumerate(dict.fromkeys(wanted))}
    counts, sums = np.zeros((2, len(number)))
    for cell, label in zip(cells(X), scale.labels(y).tolist(), strict=True):
        position = number.get(cell)
        if position is not None:
            counts[position] += 1
            sums[position] += label
    noise_scale = 4 / epsilon  # the vectors of two users differ by 2 in the first norm
    counts += _laplace_sums(random, len(y), noise_scale, len(number))
    sums += _laplace_sums(random, len(y), noise_scale, len(number))
    enough = np.sqrt(2 * len(y)) * noise_scale
    if adjusted:
        means = sums / (np.maximum(counts, 0.0) + enough)
    else:
        means = np.where(counts >= enough, sums / np.maximum(counts, enough), 0.0)
    return scale.back(means[[number[cell] for cell in wanted]])


def deconvolution_predictions(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    scale: Scale,
    *,
    epsilon: float,
    bandwidth: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Return what kernel regression on noisy rows predicts (Farokhi, 2020).

    Every user adds Laplace noise to all features and to the label, epsilon in equal parts. The
    Gaussian kernel is corrected for the noise: a Laplace variable of scale b turns K(u) into
    K(u) (1 - (b / h)^2 (u^2 - 1)).
    """
    noise = (X.shape[1] + 1) / epsilon  # a scaled feature moves by at most 1, a label by 2
    noisy = scale.features(X) + random.laplace(scale=noise, size=X.shape)
    labels = scale.labels(y) + random.laplace(scale=2 * noise, size=len(y))
    points = scale.features(X_test)
    predicted = np.empty(len(points))
    for position, point in enumerate(points):
        u = (noisy - point) / bandwidth
        corrected = 1 - (noise / bandwidth) ** 2 * (u**2 - 1)
        weights = np.exp(-0.5 * (u**2).sum(axis=1)) * corrected.prod(axis=1)
        total = weights.sum()
        predicted[position] = weights @ labels / total if total else 0.0
    return scale.back(predicted)


def deconvolution_rows(n_test: int) -> slice:
    """Return the test rows that deconvolution predicts: it reads all private rows for each."""
    return slice(0, min(n_test, _DECONVOLUTION_TEST_ROWS))
