"""Test of the independence of the draws of a fit, at every lag of their layout.

A replay forces outcomes, so it cannot detect that two entries of a release share a draw: each has
the correct distribution, but both together have a larger privacy loss. This test uses real noise.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, poisson, rankdata

from dpboost.audit.run_trace import Recorder, TracedRelease, Violation
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.tree_estimators import DPTreeClassifier
from dpboost.privacy.mechanisms import DiscreteGaussian, Noise

#: Permitted probability of a false alarm of one look at the draws of all fits.
ERROR = 1e-9

#: Rows of each table, and fits on it: a release that comes once a fit comes so often.
N_ROWS, N_FITS, N_SHORT_FITS = 90, 3, 120

#: Lags looked at: so many releases back, and no more than that.
RELEASES_BACK = 3
MOST_LAGS = 4096

#: Fewer pairs are not looked at: the normal law of their correlation would not hold.
LEAST_PAIRS = 200


#: All draws of one law, whatever they were released as.
ALL = "all draws"


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """Draws that must be independent."""

    label: str
    #: Entries of a release.
    size: int
    #: In standard deviations, in the order of the draws.
    noise: NDArray[np.float64]
    #: What one unit of a release is worth in them.
    step: float
    #: What the noise was added to.
    value: NDArray[np.int64]

    @property
    def lags(self) -> NDArray[np.intp]:
        """Lags with enough pairs."""
        most = min(RELEASES_BACK * self.size, MOST_LAGS, len(self.noise) - LEAST_PAIRS)
        return np.arange(1, max(most, 0) + 1)


def dependent_noise(fits: Sequence[tuple[int, Callable[[], Any]]] | None = None) -> list[Violation]:
    """Return the strongest dependence between the draws of real fits, by kind of release.

    Each fit comes with how often it runs; by default releases have every layout that there is.
    """
    looks = looks_of(fits)
    n_tests = sum(2 * len(look.lags) for look in looks)
    found = []
    for look in looks:
        lag, deviations = _strongest(look)
        if deviations > norm.isf(ERROR / max(n_tests, 1) / 2):
            message = f"draws {lag} positions apart agree by {deviations:.0f} standard deviations"
            found.append(_violation(look, message))
        repeated, chance = _repeated(look)
        if repeated and poisson.sf(repeated - 1, chance) < ERROR / len(looks):
            message = f"{repeated} draws repeat another one, by chance about {chance:.1f} do"
            found.append(_violation(look, message))
    return found


def looks_of(fits: Sequence[tuple[int, Callable[[], Any]]] | None = None) -> list[Look]:
    """Return the draws of fits, by default of the ordinary ones."""
    return [look for times, fit in fits or ordinary_fits() for look in _looks(fit, times)]


def _violation(look: Look, message: str) -> Violation:
    where = f"{look.label}, {look.size} entries"
    return Violation("independent noise", where, message)


def _repeated(look: Look) -> tuple[int, float]:
    """Return how many magnitudes repeat another one, and at most how many would by chance.

    A draw that is used again in another place, or with the other sign, is the same number. That
    says something only where the law has many more numbers than are drawn: two draws agree with a
    probability of less than a step in deviations, for Gaussian and for Laplace noise.
    """
    chance = len(look.noise) ** 2 / 2 * look.step
    if chance > len(look.noise) / 20:
        return 0, chance
    return len(look.noise) - len(np.unique(np.abs(look.noise))), chance


def ordinary_fits() -> list[tuple[int, Callable[[], Any]]]:
    """Return fits whose vectors hold leaves, classes, sums of two kinds, features and cells."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.uniform(size=(N_ROWS, 3)), np.arange(N_ROWS) % 5])
    classes, halves = np.arange(N_ROWS) % 3, np.arange(N_ROWS) % 2
    known = {"bounds": dict.fromkeys(range(3), (0.0, 1.0)), "categories": {3: tuple(range(5))}}
    labels = {"label_bounds": (-1.0, 1.0)}
    options: dict[str, Any] = {"n_jobs": 1, "verbosity": 0, "n_estimators": 30, "max_depth": 4}

    def boosted(delta: float, **more: Any) -> Callable[[], Any]:
        settings = {**options, "schema": known | labels, "delta": delta, **more}
        return lambda: DPBoostRegressor(**settings).fit(X, np.linspace(-1, 1, N_ROWS))

    def classified(delta: float, **more: Any) -> Callable[[], Any]:
        settings = {**options, "schema": known | {"classes": [0, 1, 2]}, "delta": delta, **more}
        return lambda: DPBoostClassifier(**settings).fit(X, classes)

    def tree(recipe: str, depth: int) -> Callable[[], Any]:
        settings: dict[str, Any] = {"recipe": recipe, "max_depth": depth, "max_bin": 16}
        settings |= {"schema": known | {"classes": [0, 1]}, "n_jobs": 1}
        return lambda: DPTreeClassifier(**settings).fit(X, halves)

    edges = {"edges": dict.fromkeys(range(3), (0.5,)), "categories": known["categories"]}
    short = {"n_estimators": 1, "schema": edges | labels | {"classes": [0, 1, 2]}}
    makers = (boosted, classified)
    fits = [make(delta) for make in makers for delta in (1e-6, 0.0)]
    fits += [
        boosted(0.0, recipe="dpboost", trees_per_ensemble=20, max_depth=6),
        tree("best", 8),
        tree("sulq_id3", 3),
        tree("histograms", 4),
    ]
    often = [make(delta, **short) for make in makers for delta in (1e-6, 0.0)]
    return [(N_FITS, fit) for fit in fits] + [(N_SHORT_FITS, fit) for fit in often]


_Draws = tuple[NDArray[np.float64], float, NDArray[np.int64]]


def _looks(fit: Callable[[], Any], times: int) -> list[Look]:
    """Return the draws of each kind and size of release, and all those that have one law."""
    drawn: dict[tuple[str, int], list[_Draws]] = defaultdict(list)
    whole: list[_Draws] = []
    for _ in range(times):
        recorder = Recorder(np.arange(N_ROWS))
        with recorder.watching() as transcript, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit()
        for line in transcript.lines:
            if line.value is not None and line.outcome is not None:
                found = _noise(line)
                drawn[line.entry.label, len(found[0])].append(found)
                if isinstance(line.entry.mechanism, DiscreteGaussian):
                    whole.append(found)
    if whole:
        drawn[ALL, MOST_LAGS] = whole
    return [
        Look(
            label=label,
            size=size,
            noise=np.concatenate([noise for noise, _, _ in parts]),
            step=max(step for _, step, _ in parts),
            value=np.concatenate([value for _, _, value in parts]),
        )
        for (label, size), parts in drawn.items()
    ]


def _noise(line: TracedRelease) -> _Draws:
    """Return what was added, in deviations, with one step and the value.

    Of a selection the candidates that were chosen, which have no step.
    """
    assert line.outcome is not None
    mechanism = line.entry.mechanism
    if mechanism.needs == "range":
        chosen = line.outcome.ravel()
        return chosen.astype(np.float64), math.inf, np.zeros(len(chosen), dtype=np.int64)
    added = (line.outcome - line.value).ravel().astype(np.float64)
    step = 1 / cast("Noise", mechanism).noise_stddev(line.entry.bound)
    return added * step, step, line.value.ravel()


def _strongest(look: Look) -> tuple[int, float]:
    """Return the lag of the strongest dependence, in standard deviations.

    Draws become their ranks, and so do their magnitudes: a draw that is used again, scaled or with
    the other sign, agrees with itself in one of the two.
    """
    lags = look.lags
    best = (0, 0.0)
    if not len(lags):
        return best
    centered = look.noise - np.median(look.noise)
    for values in (centered, np.abs(centered)):
        ranks = rankdata(values)
        scores = (ranks - ranks.mean()) / max(ranks.std(), 1e-300)
        length = 2 ** math.ceil(math.log2(len(scores) + lags[-1] + 1))
        spectrum = np.fft.rfft(scores, length)
        products = np.fft.irfft(spectrum * np.conj(spectrum), length)[lags]
        deviations = np.abs(products) / np.sqrt(len(scores) - lags)
        position = int(deviations.argmax())
        best = max(
            best, (int(lags[position]), float(deviations[position])), key=lambda pair: pair[1]
        )
    return best
