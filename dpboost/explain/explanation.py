"""A model as a sum of feature effects, each with its error from the known noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.displays import data_frame, html_table, text_table
from dpboost._utils.validation import check_integer, refuse
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import AffineBins
from dpboost.explain.effects import EffectSums
from dpboost.explain.masses import feature_shares
from dpboost.explain.noise_paths import N_PATHS, draw_bins, noise_paths
from dpboost.trees.ensemble import Ensemble

_READING = (
    "effect: mean absolute effect on the raw score; error: its standard error from the noise. "
    "plot() draws the shapes."
)
# Courses of the noise that the errors of pairs are computed from: a table has very many cells.
_PATHS_OF_PAIRS = 30


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Shape:
    """The effect of one feature on the raw score.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,), float64
        Borders of bins of a numeric feature; the first and the last bin are unbounded. Empty for
        categories.
    labels : tuple of str
        Of categories; empty for numbers.
    share : ndarray of shape (n_bins + 1,)
        Released fraction of the rows in each bin; missing values and other categories are last.
    effect : ndarray of shape (n_outputs, n_bins + 1)
        Mean zero over the shares.
    error : ndarray of shape (n_outputs, n_bins + 1)
        Standard errors; NaN if the recipe does not provide the noise of leaves.
    importance, importance_error : ndarray of shape (n_outputs,)
        Mean absolute effect, weighted by the shares, and its standard error.
    """

    feature: int
    name: str
    is_categorical: bool
    edges: NDArray[np.float64]
    labels: tuple[str, ...]
    share: NDArray[np.float64]
    effect: NDArray[np.float64]
    error: NDArray[np.float64]
    importance: NDArray[np.float64]
    importance_error: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<Shape of {self.name!r}: {len(self.share)} bins, to_frame() has them>"

    def to_frame(self) -> Any:
        """Return the bins as a data frame.

        Returns
        -------
        DataFrame
            One row for each bin and output, with ``output``, ``lower`` and ``upper`` (NaN for
            categories and missing values), ``label``, ``share``, ``effect`` and ``error``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        numbers = [(math.nan, math.nan, label) for label in self.labels]
        if not self.is_categorical:
            ends = self.edges.tolist()
            numbers = [(low, high, "") for low, high in zip(ends, ends[1:], strict=False)]
        last = "missing or other" if self.is_categorical else "missing"
        numbers.append((math.nan, math.nan, last))
        lines = [
            (output, *bin_, float(share), float(effect), float(error))
            for output in range(len(self.effect))
            for bin_, share, effect, error in zip(
                numbers, self.share, self.effect[output], self.error[output], strict=True
            )
        ]
        head = ("output", "lower", "upper", "label", "share", "effect", "error")
        return data_frame("Shape", head, lines)

    def band(
        self, level: float = 0.9, output: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper ends of a band that covers each bin at this level."""
        width = NormalDist().inv_cdf((1 + level) / 2) * self.error[output]
        return self.effect[output] - width, self.effect[output] + width


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PairShape:
    """The interaction effect of two features on the raw score.

    Parameters
    ----------
    effect, error : ndarray of shape (n_outputs, n_bins_first + 1, n_bins_second + 1)
        Mean zero along both axes over the products of the shares.
    importance : ndarray of shape (n_outputs,)
        Mean absolute effect.
    """

    first: Shape
    second: Shape
    effect: NDArray[np.float64]
    error: NDArray[np.float64]
    importance: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<PairShape of {self.first.name!r} and {self.second.name!r}>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
    """A model as intercept, shapes and pairs, by decreasing importance; triples are the remainder.

    Parameters
    ----------
    intercept : ndarray of shape (n_outputs,)
        Mean raw score over the shares.
    shapes : tuple of Shape
        One for every feature that some tree splits on.
    pairs : tuple of PairShape
        The most important ones.

    Notes
    -----
    Effects are those of a functional analysis of variance with independent features: frequencies
    of pairs are products of the released shares of the bins. Standard errors are those of
    :func:`dpboost.explain.noise_paths.noise_paths`, which states their limitations: above all,
    they do not include the error of a model without noise.

    Privacy
    -------
    Post-processing of the releases of the fit.
    """

    intercept: NDArray[np.float64]
    shapes: tuple[Shape, ...]
    pairs: tuple[PairShape, ...]
    binner: Binner
    _shares: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, ensemble: Ensemble, *, pairs: int = 10, n_paths: int = N_PATHS) -> Explanation:
        """Explain an ensemble.

        ``pairs`` is the maximum number of pairs, ``n_paths`` the number of noise simulations.
        """
        shares = feature_shares(ensemble)
        paths = noise_paths(ensemble, n_paths)
        outputs = range(ensemble.n_outputs)
        unit, binner = ensemble.unit, ensemble.binner
        step = ensemble.n_outputs
        values = [_values(ensemble, output, shares) for output in outputs]
        noise: list[EffectSums] = []
        if paths is not None and paths.trees is ensemble.trees:
            noise = [values[k].of(paths.deviations[k::step]) for k in outputs]
        elif paths is not None:
            noise = [
                EffectSums(paths.trees[k::step], paths.deviations[k::step], shares, binner.n_bins)
                for k in outputs
            ]
        mains = [own.mains() for own in values]
        errors = [own.mains() for own in noise]
        shapes = {
            feature: _shape(
                feature,
                binner,
                shares[feature],
                unit * np.stack([own[feature][:, 0] for own in mains]),
                [unit * own[feature] for own in errors] if errors else None,
            )
            for feature in (values[0].features if ensemble.trees else [])
        }
        start = np.asarray(ensemble.start, dtype=np.float64)
        ordered = sorted(shapes.values(), key=lambda shape: -float(shape.importance.max()))
        return cls(
            intercept=start + unit * np.array([own.mean()[0] for own in values]),
            shapes=tuple(ordered),
            pairs=_pairs(values, noise, shapes, unit, pairs),
            binner=binner,
            _shares=tuple(shares),
        )

    def shape(self, feature: int | str) -> Shape:
        """Return the shape of a feature by its name or position.

        Raises
        ------
        InvalidParameterError
            If the model does not split on it.
        """
        for shape in self.shapes:
            if feature in (shape.name, shape.feature):
                return shape
        names = ", ".join(repr(shape.name) for shape in self.shapes)
        raise refuse("feature", "shape", f"one that the model splits: {names}", feature)

    def importances(self, output: int = 0) -> tuple[tuple[str, float, float], ...]:
        """Return name, mean absolute effect and its standard error, most important first."""
        found = [
            (s.name, float(s.importance[output]), float(s.importance_error[output]))
            for s in self.shapes
        ]
        return tuple(sorted(found, key=lambda row: -row[1]))

    def __str__(self) -> str:
        head, rows, numbers = self._shown()
        return "\n".join([*text_table(head, rows, numbers), "", _READING])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for notebooks: features and pairs by decreasing effect."""
        head, rows, numbers = self._shown()
        return html_table(head, rows, numbers=numbers, notes=[_READING])

    def to_frame(self) -> Any:
        """Return features and pairs as a data frame, by decreasing effect.

        Returns
        -------
        DataFrame
            One row for each of them and each output, with ``feature``, ``output``, ``effect`` (the
            mean absolute effect on the raw score) and ``error`` (its standard error; NaN for pairs
            and if the recipe does not provide the noise of leaves).

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return data_frame("Explanation", ("feature", "output", "effect", "error"), self._effects())

    def plot(self, features: Any = None, **options: Any) -> Any:
        """Plot the effects of features with their error bands.

        Parameters
        ----------
        features, **options
            As in :func:`dpboost.plot_shapes`.

        Returns
        -------
        ndarray of matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from dpboost.explain.plots import plot_shapes

        return plot_shapes(self, features, **options)

    def _effects(self) -> list[tuple[str, int, float, float]]:
        found = [
            (shape.name, output, float(effect), float(error))
            for shape in self.shapes
            for output, (effect, error) in enumerate(
                zip(shape.importance, shape.importance_error, strict=True)
            )
        ]
        found += [
            (f"{pair.first.name} x {pair.second.name}", output, float(effect), math.nan)
            for pair in self.pairs
            for output, effect in enumerate(pair.importance)
        ]
        return sorted(found, key=lambda row: -row[2])

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[str, ...]], frozenset[int]]:
        rows: list[tuple[str, ...]] = [
            (name, str(output), f"{effect:.3g}", "" if math.isnan(error) else f"{error:.1g}")
            for name, output, effect, error in self._effects()
        ]
        head = ("feature", "output", "effect", "error")
        if len(self.intercept) == 1:
            return (
                (head[0], *head[2:]),
                [(row[0], *row[2:]) for row in rows],
                frozenset({1, 2}),
            )
        return head, rows, frozenset({1, 2, 3})

    def background(self, n_rows: int = 100, random_state: int = 0) -> NDArray[np.float64]:
        """Sample rows from the released shares of each feature, as a background for SHAP.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Midpoints of bins, codes of categories, NaN for missing values.
        """
        check_integer("n_rows", "background", n_rows, low=1)
        check_integer("random_state", "background", random_state, low=0)
        rng = np.random.default_rng(random_state)
        bins = draw_bins(list(self._shares), n_rows, rng)
        columns = []
        for feature, own in enumerate(bins):
            if self.binner.is_categorical[feature]:
                middle = self.binner.category_codes(feature).astype(np.float64)
            else:
                edges = bin_edges(self.binner, feature)
                middle = (edges[:-1] + edges[1:]) / 2
            columns.append(np.append(middle, np.nan)[own])
        return np.column_stack(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text, for JSON."""
        return {
            "intercept": self.intercept.tolist(),
            "shapes": [
                {
                    "name": shape.name,
                    "edges": shape.edges.tolist(),
                    "labels": list(shape.labels),
                    "share": shape.share.tolist(),
                    "effect": shape.effect.tolist(),
                    "error": shape.error.tolist(),
                }
                for shape in self.shapes
            ],
            "pairs": [
                {
                    "names": [pair.first.name, pair.second.name],
                    "effect": pair.effect.tolist(),
                    "error": pair.error.tolist(),
                }
                for pair in self.pairs
            ],
        }


def bin_edges(binner: Binner, feature: int) -> NDArray[np.float64]:
    """Return where the bins of a numeric feature begin and end; shape (n_bins + 1,)."""
    bins = binner.features[feature]
    inner = np.asarray(binner.thresholds(feature), dtype=np.float64)[:-1]
    if isinstance(bins, AffineBins):
        return np.concatenate([[bins.lower], inner, [bins.upper]])
    if not len(inner):
        return np.array([0.0, 1.0])
    wide = float(np.median(np.diff(inner))) if len(inner) > 1 else 1.0
    return np.concatenate([[inner[0] - wide], inner, [inner[-1] + wide]])


def _values(ensemble: Ensemble, output: int, shares: list[NDArray[np.float64]]) -> EffectSums:
    trees = ensemble.trees[output :: ensemble.n_outputs]
    vectors = [tree.leaf_value[:, np.newaxis].astype(np.float64) for tree in trees]
    return EffectSums(trees, vectors, shares, ensemble.binner.n_bins)


def _shape(
    feature: int,
    binner: Binner,
    share: NDArray[np.float64],
    effect: NDArray[np.float64],
    noise: list[NDArray[np.float64]] | None,
) -> Shape:
    """Put the shape of one feature together."""
    categorical = bool(binner.is_categorical[feature])
    known = binner.labels.get(feature, ())
    if categorical and not len(known):
        known = tuple(binner.category_codes(feature).tolist())
    importance = np.abs(effect) @ share
    error, importance_error = np.full(effect.shape, np.nan), np.full(len(effect), np.nan)
    if noise is not None:
        error = np.stack([own.std(axis=1) for own in noise])
        importance_error = np.array(
            [
                (share @ np.abs(one[:, np.newaxis] + own)).std()
                for one, own in zip(effect, noise, strict=True)
            ]
        )
    return Shape(
        feature=feature,
        name=binner.feature_names[feature],
        is_categorical=categorical,
        edges=np.empty(0) if categorical else bin_edges(binner, feature),
        labels=tuple(map(str, known)) if categorical else (),
        share=share,
        effect=effect,
        error=error,
        importance=importance,
        importance_error=importance_error,
    )


def _pairs(
    values: list[EffectSums],
    noise: list[EffectSums],
    shapes: dict[int, Shape],
    unit: float,
    most: int,
) -> tuple[PairShape, ...]:
    """Return the most important pairs, with errors of these alone."""
    if not shapes or not most:
        return ()
    found = []
    for first, second in values[0].pairs:
        effect = unit * np.stack([own.pair(first, second)[0] for own in values])
        mass = np.multiply.outer(shapes[first].share, shapes[second].share)
        found.append((first, second, effect, np.einsum("kij,ij->k", np.abs(effect), mass)))
    found.sort(key=lambda pair: -float(pair[3].max()))
    result = []
    for first, second, effect, importance in found[:most]:
        error = np.full(effect.shape, np.nan)
        if noise:
            paths = [own.pair(first, second, _PATHS_OF_PAIRS) for own in noise]
            error = unit * np.stack([own.std(axis=0) for own in paths])
        result.append(
            PairShape(
                first=shapes[first],
                second=shapes[second],
                effect=effect,
                error=error,
                importance=importance,
            )
        )
    return tuple(result)
