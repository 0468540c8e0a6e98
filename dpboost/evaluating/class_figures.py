"""Metrics of a classifier from released counts by group, score bin and label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpboost.evaluating.figures import DEVIATIONS, LEAST_ROWS, Estimate, Parts, ratio
from dpboost.evaluating.score_bins import InsideBins

Array = NDArray[np.float64]

#: What a classifier is judged by.
CLASS_METRICS = ("accuracy", "log_loss", "brier", "auc", "calibration_error")


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Points of a curve, not smoothed, so the noise is visible.

    Parameters
    ----------
    low, high : ndarray, optional
        Interval of 95 % of each ``y``.
    """

    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


class ScoredLabel:
    """Counts of one output by score bin: rows with its label, and others.

    ``counts``, of shape (n_bins, 2), are noisy numbers of other rows and of rows with the label;
    ``variance`` is that of the noise of each. ``inside`` is of all groups together. ``alike`` rows
    may be one and the same: the variance of the sample is so many times as large.
    """

    def __init__(
        self,
        edges: tuple[float, ...],
        counts: Array,
        variance: float,
        inside: InsideBins,
        *,
        alike: int = 1,
    ) -> None:
        self.edges = edges
        self.counts = counts
        self.variance = variance
        self.inside = inside
        self.alike = alike
        self.n_rows = max(float(counts.sum()), LEAST_ROWS)
        self.n_own = max(float(counts[:, 1].sum()), 1.0)
        self.n_others = max(float(counts[:, 0].sum()), 1.0)

    def seen_through(self, inside: InsideBins) -> ScoredLabel:
        """Return the same counts with other means inside the bins."""
        return ScoredLabel(self.edges, self.counts, self.variance, inside, alike=self.alike)

    def accuracy(self) -> Parts:
        """Return the share of rows on the right side of even odds, with its variances."""
        borders = np.array((-np.inf, *self.edges))
        above = borders >= 0
        weights = np.column_stack((~above, above)).astype(float)
        value, sampling, noise = ratio(weights, self.counts, self.n_rows, self.variance)
        return value, self.alike * sampling, noise

    def losses(self) -> Array:
        """Mean log loss of the rows of each cell."""
        z = self.inside.positions
        return np.column_stack(
            (
                self.inside.means(np.logaddexp(0, z))[:, 0],
                self.inside.means(np.logaddexp(0, -z))[:, 1],
            )
        )

    def squares(self) -> Array:
        """Mean squared distance of probability and label of the rows of each cell."""
        p = expit(self.inside.positions)
        return np.column_stack(
            (self.inside.means(p**2)[:, 0], self.inside.means((1 - p) ** 2)[:, 1])
        )

    def auc(self) -> Parts:
        """Return the area under the ROC curve, with its variances."""
        own, others = self.counts[:, 1], self.counts[:, 0]
        order = self.inside.order
        area = float(own @ order @ others) / (self.n_own * self.n_others)
        up = (order @ others / self.n_others - area) / self.n_own
        down = (own @ order / self.n_own - area) / self.n_others
        sampling = float(up**2 @ own + down**2 @ others)
        noise = self.variance * float(up @ up + down @ down)
        return area, self.alike * max(sampling, 0.0), noise

    def calibration_error(self) -> Parts:
        r"""Return the mean squared distance of predicted and observed shares of the bins.

        Notes
        -----
        A squared distance :math:`d_b^2` of a bin is too large by the variance :math:`v_b` of
        sample and noise, which is subtracted; the sum may then be negative, and counts as zero.
        """
        own, others = self.counts[:, 1], self.counts[:, 0]
        predicted = self.inside.means(expit(self.inside.positions))
        gap = own * (1 - predicted[:, 1]) - others * predicted[:, 0]
        slopes = (1 - predicted[:, 1], predicted[:, 0])
        noise = self.variance * (slopes[0] ** 2 + slopes[1] ** 2)
        sample = self.alike * np.maximum(slopes[0] ** 2 * own + slopes[1] ** 2 * others, 0.0)
        size = np.maximum(own + others, self.n_rows / (4 * len(own))) * self.n_rows
        value = float(((gap**2 - sample - noise) / size).sum())
        true = np.maximum(gap**2 - sample - noise, 0.0)
        both = 2 * (sample + noise) ** 2 + 4 * true * (sample + noise)
        alone = 2 * noise**2 + 4 * true * noise
        sampling, own_noise = (both - alone) / size**2, alone / size**2
        return value, float(sampling.sum()), float(own_noise.sum())

    def calibration(self) -> Curve:
        """Return the observed share of the label against the predicted one, bin by bin."""
        own, others = self.counts[:, 1], self.counts[:, 0]
        size = np.maximum(own + others, 1.0)
        shares = np.clip(own / size, 0.0, 1.0)
        predicted = self.inside.means(expit(self.inside.positions))
        mean = shares * predicted[:, 1] + (1 - shares) * predicted[:, 0]
        spread = shares * (1 - shares)
        variance = self.alike * spread * size + self.variance * (1 - 2 * spread)
        reach = DEVIATIONS * np.sqrt(variance) / size
        return Curve(
            x=mean,
            y=shares,
            low=np.clip(shares - reach, 0, 1),
            high=np.clip(shares + reach, 0, 1),
        )

    def roc(self) -> Curve:
        """Return true positives against false positives, from the highest scores down."""
        return Curve(x=_grown(self.counts[:, 0]), y=_grown(self.counts[:, 1]))

    def precision_recall(self) -> Curve:
        """Return precision against recall, from the highest scores down."""
        found = np.maximum(np.cumsum(self.counts[::-1, 1]), 0.0)
        wrong = np.maximum(np.cumsum(self.counts[::-1, 0]), 0.0)
        precision = found / np.maximum(found + wrong, 1.0)
        return Curve(x=np.clip(found / self.n_own, 0, 1), y=precision)


def class_figures(
    scored: Sequence[ScoredLabel],
    hits: Array | None,
    names: Sequence[str],
    nearby: Sequence[Sequence[InsideBins]],
) -> dict[str, Estimate]:
    """Return metrics of one group of rows.

    ``scored`` has one for each output. ``hits``, of shape (n_classes, 2), are noisy numbers of rows
    that are missed and hit, where there are more than two classes. ``nearby`` has for each output
    the means inside its bins, had the noise of one cell of the histogram of scores been a standard
    deviation higher: one for each cell.
    """
    found = {}
    for name in names:
        value, sampling, noise = _parts(scored, hits, name)
        if name != "accuracy":
            for position, others in enumerate(nearby):
                for inside in others:
                    changed = list(scored)
                    changed[position] = scored[position].seen_through(inside)
                    noise += (_parts(changed, hits, name)[0] - value) ** 2
        found[name] = Estimate.around(
            value,
            sampling=sampling,
            noise=noise,
            least=0.0,
            most=np.inf if name == "log_loss" else float(len(scored)) if name == "brier" else 1.0,
            root=name == "calibration_error",
        )
    return found


def _parts(scored: Sequence[ScoredLabel], hits: Array | None, name: str) -> Parts:
    """Return a metric, or its square, with its variances by sample and noise."""
    if name == "accuracy":
        return scored[0].accuracy() if hits is None else _hit_share(hits, scored[0])
    if name == "auc":
        return _mean([each.auc() for each in scored])
    if name == "calibration_error":
        return _mean([each.calibration_error() for each in scored])
    return _mean_loss(scored, name)


def _hit_share(hits: Array, like: ScoredLabel) -> Parts:
    weights = np.tile([0.0, 1.0], (len(hits), 1))
    n_rows = max(float(hits.sum()), LEAST_ROWS)
    value, sampling, noise = ratio(weights, hits, n_rows, like.variance)
    return value, like.alike * sampling, noise


def _mean(parts: Sequence[Parts]) -> Parts:
    """Return the mean over outputs, which may vary together as far as sampling goes."""
    return (
        float(np.mean([value for value, _, _ in parts])),
        float(np.mean([np.sqrt(sampling) for _, sampling, _ in parts])) ** 2,
        sum(noise for _, _, noise in parts) / len(parts) ** 2,
    )


def _mean_loss(scored: Sequence[ScoredLabel], name: str) -> Parts:
    """Mean over rows: of the log loss of the own label, or of the squares of all outputs."""
    several = len(scored) > 1
    n_rows = float(np.mean([each.n_rows for each in scored]))
    variance = scored[0].variance
    weights = [each.losses() if name == "log_loss" else each.squares() for each in scored]
    if several and name == "log_loss":
        weights = [np.column_stack((np.zeros(len(each)), each[:, 1])) for each in weights]
    value = sum(
        float((weight * each.counts).sum()) for weight, each in zip(weights, scored, strict=True)
    )
    value /= n_rows
    # A row is counted once by each output, and takes its share of the mean off in each of them.
    slopes = [(weight - value / len(scored)) / n_rows for weight in weights]
    noise = variance * sum(float((slope**2).sum()) for slope in slopes)
    if several and name == "log_loss":
        # Rows with the label of an output are all rows, each once.
        sampling = sum(
            float((((weight[:, 1] - value) / n_rows) ** 2 * each.counts[:, 1]).sum())
            for weight, each in zip(weights, scored, strict=True)
        )
    else:
        own = [
            max(float((slope**2 * each.counts).sum()), 0.0)
            for slope, each in zip(slopes, scored, strict=True)
        ]
        # Squares of several outputs vary together.
        sampling = float(np.sum(np.sqrt(own))) ** 2
    return value, scored[0].alike * max(sampling, 0.0), noise


def _grown(counts: Array) -> Array:
    grown = np.concatenate(([0.0], np.cumsum(counts[::-1])))
    return np.clip(grown / max(float(counts.sum()), 1.0), 0.0, 1.0)
