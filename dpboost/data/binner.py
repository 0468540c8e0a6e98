"""The public map from raw values to bins, and from bins to thresholds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import binning
from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError, refuse, worded
from dpboost.data.feature_bins import (
    AffineBins,
    CategoryBins,
    EdgeBins,
    FeatureBins,
    KernelMaps,
    bins_from_dict,
    bins_to_dict,
    kernel_maps,
    number_codes,
    uniform_bins,
    whole_bins,
)
from dpboost.schema import MAX_VALUE_BINS, ResolvedSchema


@dataclass(frozen=True, kw_only=True, repr=False)
class Binner:
    """The bins of every feature.

    Feature ``f`` has ``n_bins[f]`` value bins, at most 255, and after them one bin for missing
    values, which a nominal feature also uses for categories without a bin. Values up to
    float32(1e-35) in size count as zero, as in LightGBM. Every feature has the missing bin, and
    every split a side for it, whether or not a value is missing.

    Attributes
    ----------
    n_features : int
    n_bins : ndarray of shape (n_features,), int32
        Number of value bins.
    is_categorical : ndarray of shape (n_features,), uint8
    cell_offsets : ndarray of shape (n_features + 1,), int32
        Where each feature's cells begin in a flat histogram: ``n_bins + 1`` cells a feature.
    candidate_offsets : ndarray of shape (n_features + 1,), int32
        Where each feature's split candidates begin: ``n_bins`` candidates a feature.

    Privacy
    -------
    A binner is published with the model, so it must be made from public or released numbers,
    never from the rows. The bin of a row depends on that row alone: the same bits wherever the
    row stands and whatever the number of threads.

    Examples
    --------
    >>> from dpboost.data.feature_bins import uniform_bins
    >>> binner = Binner(features=[uniform_bins(0.0, 8.0, 4)], feature_names=["age"])
    >>> binner.thresholds(0)[:2]
    array([2., 4.])
    """

    #: The map of each feature, from public or released numbers.
    features: tuple[FeatureBins, ...]
    #: As LightGBM writes them.
    feature_names: tuple[str, ...]
    #: Categories of the columns that are text or categorical in a DataFrame: the code of a cell is
    #: its position in this list.
    labels: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    #: Whether zeros of numeric features are missing, stored or not, as in LightGBM.
    zero_as_missing: bool = False
    n_bins: NDArray[np.int32] = field(init=False, compare=False)
    is_categorical: NDArray[np.uint8] = field(init=False, compare=False)
    cell_offsets: NDArray[np.int32] = field(init=False, compare=False)
    candidate_offsets: NDArray[np.int32] = field(init=False, compare=False)
    _maps: KernelMaps = field(init=False, compare=False)
    _thresholds: dict[int, NDArray[np.float64]] = field(
        init=False, compare=False, default_factory=dict
    )

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        features = tuple(self.features)
        names = tuple(str(name) for name in self.feature_names)
        if not features or len(features) != len(names):
            raise InvalidParameterError(
                "The 'features' and 'feature_names' of Binner must have the same length, at "
                f"least 1. Got {len(features)} and {len(names)} instead."
            )
        for bins in features:
            if not isinstance(bins, (AffineBins, EdgeBins, CategoryBins)):
                raise refuse("features", "Binner", "AffineBins, EdgeBins or CategoryBins", bins)
        n_bins = np.array([bins.n_bins for bins in features], dtype=np.int32)
        kinds = [isinstance(bins, CategoryBins) for bins in features]
        attributes = {
            "features": features,
            "feature_names": names,
            "labels": {int(key): tuple(value) for key, value in sorted(self.labels.items())},
            "n_bins": n_bins,
            "is_categorical": np.array(kinds, dtype=np.uint8),
            "cell_offsets": np.append(0, np.cumsum(n_bins + 1)).astype(
                np.int32, casting="same_kind"
            ),
            "candidate_offsets": np.append(0, np.cumsum(n_bins)).astype(
                np.int32, casting="same_kind"
            ),
            "zero_as_missing": bool(self.zero_as_missing),
            "_maps": kernel_maps(features, zero_as_missing=bool(self.zero_as_missing)),
        }
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Binner(n_features={self.n_features}, n_cells={self.cell_offsets[-1]})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Binner.from_dict, (self.to_dict(),)

    @classmethod
    def from_schema(
        cls,
        schema: ResolvedSchema,
        *,
        n_bins: int = 64,
        bounds: Mapping[int, tuple[float, float]] | None = None,
        categorical: Mapping[int, Sequence[Any]] | None = None,
        ordered: Set[int] = frozenset(),
        zero_as_missing: bool = False,
    ) -> Binner:
        """Return equal bins between known bounds, declared borders, and listed categories.

        Bins of integer columns end half-way between whole numbers. Features about which nothing is
        known get the grid of `EdgeBins.arcsinh`.

        Parameters
        ----------
        schema : ResolvedSchema
            Declared knowledge by position; created by ``Schema.resolve(feature_names)``.
        n_bins : int
            Value bins of a feature with bounds, or with nothing known; 2 to 255.
        bounds : dict of int to (lower, upper), optional
            Released bounds of features that the schema says nothing about.
        categorical : dict of int to sequence, optional
            ``Table.categorical``: lists that cells are looked up in.
        ordered : set of int
            ``Table.ordered``: features among them whose codes are compared as numbers.
        zero_as_missing : bool
            Whether zeros of numeric features are missing.

        Warns
        -----
        UserWarning
            Once, when a feature has more than 255 categories: the rest becomes "other".
        """
        labels: dict[int, tuple[Any, ...]] = {}
        features: list[FeatureBins] = []
        cut: list[str] = []
        known = {**(bounds or {}), **schema.bounds}
        for position, name in enumerate(schema.feature_names):
            listed = (categorical or {}).get(position)
            if listed is not None or position in schema.categories:
                if listed is not None:
                    labels[position] = tuple(listed)
                    codes: Sequence[int] = range(len(listed))
                else:
                    codes = number_codes(schema.categories[position], name)
                if listed is not None and position in ordered:
                    features.append(_ordinal(len(listed)))
                    continue
                if len(codes) > MAX_VALUE_BINS:
                    cut.append(name)
                    labels |= (
                        {position: labels[position][:MAX_VALUE_BINS]} if position in labels else {}
                    )
                features.append(CategoryBins(codes=tuple(codes[:MAX_VALUE_BINS]) or (0,)))
            elif position in schema.edges:
                features.append(EdgeBins(edges=schema.edges[position]))
            elif position in known:
                bins = whole_bins if position in schema.integer else uniform_bins
                features.append(bins(*known[position], n_bins))
            else:
                features.append(EdgeBins.arcsinh(n_bins))
        if cut:
            warnings.warn(
                f"More than {MAX_VALUE_BINS} categories in {', '.join(map(repr, cut))}: those "
                "after the 255th count as 'other'. Declare the most frequent ones first"
                + worded(", schema=Schema(categories=...).", " among the values in the schema."),
                UserWarning,
                stacklevel=2,
            )
        return cls(
            features=tuple(features),
            feature_names=schema.feature_names,
            labels=labels,
            zero_as_missing=zero_as_missing,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    def kernel_arguments(self, first: int, last: int) -> dict[str, Any]:
        """Return the arguments of the binning kernels for features ``first`` to ``last - 1``."""
        return self._maps.arguments(first, last)

    def bin_values(self, feature: int, values: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return the bins of some values of one feature, by the same kernel.

        Parameters
        ----------
        values : ndarray of shape (n,), float32 or float64

        Returns
        -------
        ndarray of shape (n,), uint8
        """
        out = np.empty((1, len(values)), dtype=np.uint8)
        maps = self._maps.arguments(feature, feature + 1)
        binning.bin_dense(
            np.asarray(values)[:, np.newaxis], **maps, out=out, first_row=0, n_threads=1
        )
        return out.reshape(-1)

    def thresholds(self, feature: int) -> NDArray[np.float64]:
        """Return the largest double in bin b or below, for every value bin b.

        For every double x that is not missing, ``x <= thresholds(f)[b]`` exactly when the bin
        of x is at most b. The last one is infinite. No threshold lies in
        ``[-float32(1e-35), float32(1e-35))``, where LightGBM's readers differ.

        Parameters
        ----------
        feature : int
            A numeric feature.

        Returns
        -------
        ndarray of shape (n_bins[feature],), float64
        """
        if self.is_categorical[feature]:
            raise refuse("feature", "Binner.thresholds", "a numeric feature", feature)
        if feature not in self._thresholds:
            self.find_thresholds([feature])
        return self._thresholds[feature]

    def find_thresholds(self, features: Sequence[int]) -> None:
        """Find the thresholds of many numeric features at once, for `thresholds` to return.

        Bisects over all doubles in their order, for every bin of every feature, asking the kernel.
        """
        new = [feature for feature in features if feature not in self._thresholds]
        found = find_thresholds(self._maps, self.n_bins, new)
        for feature, edges in zip(new, found, strict=True):
            self._thresholds[feature] = edges[: self.n_bins[feature]]

    def category_codes(self, feature: int) -> NDArray[np.int64]:
        """Return the integer that LightGBM sees for every value bin of a nominal feature.

        Returns
        -------
        ndarray of shape (n_bins[feature],), int64
        """
        bins = self.features[feature]
        if not isinstance(bins, CategoryBins):
            raise refuse("feature", "Binner.category_codes", "a nominal feature", feature)
        return np.array(bins.codes, dtype=np.int64)

    def feature_infos(self) -> list[str]:
        """Return LightGBM's tokens of ``feature_infos``, for instance ``[0.0:1.0]``."""
        return [bins.feature_info for bins in self.features]

    def pandas_categories(self) -> list[list[Any]] | None:
        """Return the lists for LightGBM's line ``pandas_categorical``; None if there are none.

        One list for every categorical column of a DataFrame that `conform` returns, in order.
        """
        return [list(values) for values in self.labels.values()] or None

    def to_dict(self) -> dict[str, Any]:
        """Return the binner as plain lists, dicts, text and numbers, fit for JSON."""
        return {
            "feature_names": list(self.feature_names),
            "features": [bins_to_dict(bins) for bins in self.features],
            "labels": [[position, list(values)] for position, values in self.labels.items()],
            "zero_as_missing": self.zero_as_missing,
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Binner:
        """Return the binner that `to_dict` wrote."""
        return cls(
            features=tuple(bins_from_dict(bins) for bins in mapping["features"]),
            feature_names=tuple(mapping["feature_names"]),
            labels={position: tuple(values) for position, values in mapping["labels"]},
            zero_as_missing=mapping.get("zero_as_missing", False),
        )


def _ordinal(n_categories: int) -> EdgeBins:
    """Return bins for the codes 0, 1, ... in their order; neighbors share one beyond 255."""
    borders = np.arange(max(n_categories - 1, 0))
    if len(borders) >= MAX_VALUE_BINS:
        positions = np.linspace(0, len(borders) - 1, MAX_VALUE_BINS - 1)
        borders = borders[to_integer_units(positions, 0, len(borders) - 1, toward_zero=True)]
    return EdgeBins(edges=tuple(borders.tolist()))


def find_thresholds(
    maps: KernelMaps, n_bins: NDArray[np.int32], features: Sequence[int]
) -> NDArray[np.float64]:
    """Return the largest double in bin b or below, by feature and bin; infinity from the last on.

    Zeros are taken as numbers here: where they count as missing they have a place in the order,
    and none among the bins.

    Parameters
    ----------
    n_bins : ndarray of shape (n_features,), int32
        Their value bins.
    features : sequence of int
        Numeric ones.

    Returns
    -------
    ndarray of shape (len(features), largest n_bins), float64
        Read-only.
    """
    positions = np.array(features, dtype=np.int32)
    arguments = maps.arguments(0, len(n_bins))
    del arguments["zero"]
    out = np.full((len(positions), n_bins[positions].max(initial=1)), np.inf)
    binning.find_ends(positions, n_bins, **arguments, out=out)
    out.setflags(write=False)
    return out
