"""LPDT as printed, with its baselines PHIST, APHIST and DECONV.

Written from the text in plain NumPy, apart from the library. Noise is made of doubles: **not
private** to the last bit. Features are in the unit cube.
"""

from __future__ import annotations

import math

import numpy as np


def variance_left(y, left):
    """Return the sum of squares that a split leaves."""
    return sum(((own - own.mean()) ** 2).sum() for own in (y[left], y[~left]) if len(own))


def partition(X, y, depth, least, rule):
    """Return the boxes of a tree that is grown on public rows.

    Parameters
    ----------
    X, y : ndarray
        Public rows.
    depth : int
        p.
    least : int
        n_l: a split that leaves fewer public rows in a child is not made.
    rule : {"max_edge", "variance"}
        LPDT-M splits a longest edge at its middle, the one of least variance; LPDT-V splits where
        the variance is least.

    Returns
    -------
    low, high : ndarray of shape (n_boxes, n_features)
    """
    boxes = []

    def grow(low, high, rows, level):
        split = None if level == depth else chosen(low, high, rows)
        if split is None:
            boxes.append((low, high))
            return
        j, t = split
        left = X[rows, j] < t
        middle_high, middle_low = high.copy(), low.copy()
        middle_high[j] = middle_low[j] = t
        grow(low, middle_high, rows[left], level + 1)
        grow(middle_low, high, rows[~left], level + 1)

    def chosen(low, high, rows):
        if rule == "max_edge":
            edges = high - low
            longest = np.flatnonzero(edges >= edges.max() - 1e-12)
            options = [(int(j), float(low[j] + high[j]) / 2) for j in longest]
        else:
            options = []
            for j in range(X.shape[1]):
                values = np.unique(X[rows, j])
                options += [(j, float(t)) for t in (values[1:] + values[:-1]) / 2]
        best = None
        for j, t in options:
            left = X[rows, j] < t
            if rule == "variance" and min(left.sum(), (~left).sum()) < least:
                continue
            own = variance_left(y[rows], left)
            if best is None or own < best[0]:
                best = (own, j, t)
        if best is None:
            return None
        left = X[rows, best[1]] < best[2]
        return None if min(left.sum(), (~left).sum()) < least else best[1:]

    grow(np.zeros(X.shape[1]), np.ones(X.shape[1]), np.arange(len(y)), 0)
    return np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])


def cells(X, boxes):
    """Return the box of each row."""
    low, high = boxes
    inside = (X[:, np.newaxis] >= low) & ((X[:, np.newaxis] < high) | (high >= 1))
    return inside.all(axis=2).argmax(axis=1)


def lpdt(X, y, test, boxes, epsilon, limit, random):
    """Return the estimate of equation 5, of reports by equations 3 and 4.

    ``limit`` is M, the bound of the labels' size.
    """
    n_boxes = len(boxes[0])
    hot = np.eye(n_boxes)[cells(X, boxes)]
    odds = math.exp(epsilon / 4)
    kept = random.random(hot.shape) < odds / (1 + odds)
    reported = np.where(kept, hot, 1 - hot) - 1 / (1 + odds)
    labels = y + 4 * limit / epsilon * random.laplace(size=len(y))
    found = (labels @ reported) / reported.sum(axis=0)
    return found[cells(test, boxes)]


def histogram(X, y, test, sides, epsilon, limit, adjusted, random):
    """Return PHIST, or APHIST where ``adjusted``: Laplace noise of each user on every cell.

    PHIST is zero where the noisy count is below the standard deviation of its noise; APHIST adds
    that deviation to the count.
    """
    weights = sides ** np.arange(X.shape[1])
    of, where = (np.minimum((rows * sides).astype(int), sides - 1) @ weights for rows in (X, test))
    size = sides ** X.shape[1]
    scale = 4 / epsilon
    noise = random.laplace(scale=scale, size=(2, len(y), size))
    hot = np.eye(size)[of]
    counts = (hot + noise[0]).sum(axis=0)
    sums = (hot * y[:, np.newaxis] + limit * noise[1]).sum(axis=0)
    enough = math.sqrt(2 * len(y)) * scale
    if adjusted:
        means = sums / (np.maximum(counts, 0) + enough)
    else:
        means = np.where(counts >= enough, sums / np.where(counts >= enough, counts, 1), 0.0)
    return means[where]


def deconvolution(X, y, test, epsilon, limit, bandwidth, random):
    """Return DECONV: regression by a Gaussian kernel deconvolved from Laplace noise."""
    d = X.shape[1]
    scale = (d + 1) / epsilon
    noisy = X + random.laplace(scale=scale, size=X.shape)
    labels = y + random.laplace(scale=2 * limit * scale, size=len(y))
    u = (noisy[np.newaxis] - test[:, np.newaxis]) / bandwidth
    # The transform of Laplace noise of scale b is 1 / (1 + b^2 t^2): K - (b / h)^2 K''.
    kernel = np.exp(-0.5 * u**2)
    second = (u**2 - 1) * kernel
    weights = (kernel - (scale / bandwidth) ** 2 * second).prod(axis=2)
    return weights @ labels / weights.sum(axis=1)
