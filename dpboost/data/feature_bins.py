"""The map of one feature from raw values to bins, from public or released numbers only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import LARGEST_UNITS, to_integer_units
from dpboost._utils.validation import InvalidParameterError, check_integer, check_real, refuse
from dpboost.schema import MAX_VALUE_BINS

MAX_CELLS = 1 << 16
MAX_CODE = 65535

# A histogram of the fine cells of a feature has so many.
N_CELLS = 1024
# Bounds are brought in to this size, so that their difference is a finite double.
_LARGEST_BOUND = 2.0**1022
_LARGEST_SCALE = float(np.finfo(np.float64).max)
# Far more digits than a double has.
_EXACT = Context(prec=40)
# Sizes of the windows that may hold the rows, in cells, and what is added on either side of them.
WINDOWS, MARGIN = (4, 8, 16, 32, 64, 96), 0.25
# So much of the rows must be seen in a window, and around it not more than this, beyond doubt.
SEEN, AROUND, DOUBT = 0.8, 0.01, 1.5
# No cells beyond that stand out, alone or together, by so many deviations of their noise.
STANDS_OUT = 4.0
# The noise of a window is at most this part of the rows: with more, one of many windows shows all
# rows by chance.
MOST_NOISE = 0.25
# Bins outside, on either side: this part of all, each twice as wide as the one before.
PART_OUTSIDE = 1 / 10


@dataclass(frozen=True, kw_only=True)
class AffineBins:
    """Equal cells between two bounds, or runs of such cells.

    ``cell = trunc(clamp((x - lower) * (n_cells / (upper - lower)), 0, n_cells - 1))`` in
    doubles, so that values outside the bounds fall in the first or last cell.
    """

    #: Finite, ``lower <= upper``. Equal bounds make one cell.
    lower: float
    upper: float
    #: Number of cells, 1 to 65536.
    n_cells: int
    #: Bin of every cell: starts at 0 and goes up by 0 or 1 from cell to cell, to at most 254. By
    #: default each cell is a bin, and there may be 255.
    table: bytes | None = None

    def __post_init__(self) -> None:
        lower = check_real("lower", "AffineBins", self.lower)
        upper = check_real("upper", "AffineBins", self.upper)
        if lower > upper:
            raise refuse("upper", "AffineBins", f"at least lower = {lower}", upper)
        cells = check_integer("n_cells", "AffineBins", self.n_cells, low=1, high=MAX_CELLS)
        if lower == upper:
            cells = 1
        object.__setattr__(self, "lower", max(lower, -_LARGEST_BOUND))
        object.__setattr__(self, "upper", min(upper, _LARGEST_BOUND))
        object.__setattr__(self, "n_cells", cells)
        if self.table is not None and lower < upper:
            if isinstance(self.table, bytes):
                bins = np.frombuffer(self.table, dtype=np.uint8).astype(
                    np.int64, casting="same_kind"
                )
            else:
                bins = np.asarray(list(self.table), dtype=np.int64)
            steps = bins[1:] - bins[:-1]
            if len(bins) != cells or bins[0] != 0 or ((steps != 0) & (steps != 1)).any():
                raise refuse(
                    "table",
                    "AffineBins",
                    f"{cells} bins that start at 0 and go up by 0 or 1",
                    f"{len(bins)} numbers",
                )
            _check_n_bins("AffineBins", int(bins[-1]) + 1)
            object.__setattr__(self, "table", bytes(bins.astype(np.uint8)))
        else:
            object.__setattr__(self, "table", None)
            _check_n_bins("AffineBins", cells)

    @property
    def n_bins(self) -> int:
        """Number of value bins."""
        return self.n_cells if self.table is None else self.table[-1] + 1

    @property
    def scale(self) -> float:
        """Cells per unit of the feature."""
        width = self.upper - self.lower
        return 1.0 if width == 0.0 else min(self.n_cells / width, _LARGEST_SCALE)

    @property
    def feature_info(self) -> str:
        """LightGBM's token for the range of the feature."""
        return f"[{self.lower!r}:{self.upper!r}]"


@lru_cache(maxsize=8)
def _sinh_grid(n_bins: int) -> tuple[float, ...]:
    """Return borders of the hyperbolic sine up to 1e9, correctly rounded.

    NumPy's last bits depend on its version and on the processor.
    """
    step = _EXACT.divide(_EXACT.ln(Decimal(2 * 10**9)), n_bins)
    ratio = _EXACT.exp(_EXACT.multiply(step, 2))
    # Half a step is left on either side, so that the two open bins are like the others.
    power = _EXACT.exp(step) if n_bins % 2 else Decimal(1)
    upper = []
    for _ in range(n_bins // 2):
        upper.append(float(_EXACT.divide(_EXACT.subtract(power, _EXACT.divide(1, power)), 2)))
        power = _EXACT.multiply(power, ratio)
    return (*(-height for height in reversed(upper) if height), *upper)


@dataclass(frozen=True, kw_only=True)
class EdgeBins:
    """Bins between sorted borders: the bin of x is the number of borders below x."""

    #: Finite, strictly increasing, at most 254; none makes one bin.
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = tuple(check_real("edges", "EdgeBins", float(edge)) for edge in self.edges)
        if any(left >= right for left, right in zip(edges, edges[1:], strict=False)):
            raise refuse("edges", "EdgeBins", "strictly increasing", list(edges))
        _check_n_bins("EdgeBins", len(edges) + 1)
        object.__setattr__(self, "edges", edges)

    @classmethod
    def arcsinh(cls, n_bins: int, *, scale: float = 1.0) -> EdgeBins:
        """Return a fixed grid over the whole real line, for a feature without known bounds.

        The borders are ``scale * sinh(u)`` at equal steps of ``u`` and reach from about
        ``-1e9 * scale`` to ``1e9 * scale``: nearly linear up to ``scale``, then logarithmic. They
        are the same on every machine.

        Parameters
        ----------
        n_bins : int
            2 to 255.
        scale : float
            A typical size of the feature's values, positive.
        """
        n_bins = check_integer("n_bins", "EdgeBins.arcsinh", n_bins, low=2, high=MAX_VALUE_BINS)
        scale = check_real("scale", "EdgeBins.arcsinh", scale, low=0.0, low_open=True)
        return cls(edges=tuple(scale * height for height in _sinh_grid(n_bins)))

    @property
    def n_bins(self) -> int:
        """Number of value bins."""
        return len(self.edges) + 1

    @property
    def feature_info(self) -> str:
        """LightGBM's token for the range of the feature: unknown."""
        return "[-inf:inf]"


@dataclass(frozen=True, kw_only=True)
class CategoryBins:
    """A bin for every listed integer; anything else shares the missing bin.

    Values are truncated towards zero first, as LightGBM does.
    """

    #: Distinct integers in [0, 65535], 1 to 255 of them; bin b holds ``codes[b]``.
    codes: tuple[int, ...]

    def __post_init__(self) -> None:
        codes = tuple(
            check_integer("codes", "CategoryBins", code, low=0, high=MAX_CODE)
            for code in self.codes
        )
        if len(set(codes)) < len(codes):
            raise refuse("codes", "CategoryBins", "distinct integers", list(codes))
        _check_n_bins("CategoryBins", len(codes))
        object.__setattr__(self, "codes", codes)

    @property
    def n_bins(self) -> int:
        """Number of categories with a bin of their own."""
        return len(self.codes)

    @property
    def feature_info(self) -> str:
        """LightGBM's token for the categories: -1 for "other", then the codes."""
        return ":".join(str(code) for code in (-1, *self.codes))


FeatureBins: TypeAlias = AffineBins | EdgeBins | CategoryBins


def number_codes(values: Sequence[Any], name: str) -> tuple[int, ...]:
    """Return declared categories as the integers that stand in a column of numbers."""
    for value in values:
        if isinstance(value, str) or value != int(value) or not 0 <= value <= 65535:
            raise InvalidParameterError(
                f"The categories declared for column {name!r} must be integers from 0 to 65535, "
                "because X holds numbers in that column. Encode the column as 0, 1, 2, ... or "
                f"pass it as text in a DataFrame. Got {value!r} in the declared list instead."
            )
    return tuple(int(value) for value in values)


@lru_cache(maxsize=64, typed=True)
def uniform_bins(lower: float, upper: float, n_bins: int) -> AffineBins:
    """Return ``n_bins`` equal bins between two bounds; equal bounds make one bin."""
    n_bins = check_integer("n_bins", "uniform_bins", n_bins, low=1, high=MAX_VALUE_BINS)
    return AffineBins(lower=lower, upper=upper, n_cells=n_bins)


@lru_cache(maxsize=64, typed=True)
def whole_bins(lower: float, upper: float, n_bins: int) -> AffineBins:
    """Return bins that end half-way between whole numbers, for a feature that holds these alone.

    Parameters
    ----------
    lower, upper : float
        ``lower <= upper``; equal ones make one bin. Where no whole number lies between them, the
        nearest ones around them take their place.
    n_bins : int
        At most this many bins come out, and at most one for each value.

    Returns
    -------
    AffineBins
        Each of its cells, ``N_CELLS`` at most, holds as many whole numbers as the others.
    """
    if lower == upper:
        return uniform_bins(lower, upper, n_bins)
    low, high = max(lower, -_LARGEST_BOUND), min(upper, _LARGEST_BOUND)
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        first, last = last, first
    n_values = last - first + 1
    width = -(-n_values // N_CELLS)
    n_cells = -(-n_values // width)
    table = None
    if n_cells > n_bins:
        table = bytes(cell * n_bins // n_cells for cell in range(n_cells))
    start = first - 0.5
    return AffineBins(lower=start, upper=start + n_cells * width, n_cells=n_cells, table=table)


def fine_cells(bins: AffineBins, *, whole: bool) -> AffineBins:
    """Return ``N_CELLS`` cells over the bounds of a feature, all in one bin.

    Those of whole numbers are as wide as the cells of `whole_bins`, and may go on beyond them.
    """
    upper = bins.upper
    if whole:
        upper = bins.lower + N_CELLS * ((bins.upper - bins.lower) / bins.n_cells)
    return AffineBins(lower=bins.lower, upper=upper, n_cells=N_CELLS, table=bytes(N_CELLS))


def cells_together(bins: AffineBins, together: int) -> AffineBins:
    """Return cells of which each is so many of the given ones; the last may go on beyond them."""
    if together == 1:
        return bins
    n_cells = -(-bins.n_cells // together)
    width = (bins.upper - bins.lower) / bins.n_cells
    upper = bins.upper
    if bins.n_cells % together:
        upper = bins.lower + n_cells * together * width
    return AffineBins(lower=bins.lower, upper=upper, n_cells=n_cells, table=bytes(n_cells))


@dataclass(frozen=True, kw_only=True)
class Zoom:
    """Some cells of a feature, each divided into finer ones."""

    #: The cells between public bounds.
    bins: AffineBins
    #: The cells that are cut.
    first: int
    last: int
    #: Finer cells in each, 2 or more.
    parts: int

    @property
    def n_finer(self) -> int:
        """Number of the finer cells, fewer than ``N_CELLS``."""
        return (self.last + 1 - self.first) * self.parts

    def counted(self, together: int) -> AffineBins:
        """Return cells of a second histogram: what is below, the finer cells, what is above.

        Parameters
        ----------
        together : int
            Cells that are counted as one: the finer ones follow upon so many.

        Returns
        -------
        AffineBins
            Cells beyond what is above are there for the shape alone.
        """
        width = (self.bins.upper - self.bins.lower) / (self.bins.n_cells * self.parts)
        lower = self.bins.lower + (self.first * self.parts - together) * width
        upper = lower + N_CELLS * width
        return AffineBins(lower=lower, upper=upper, n_cells=N_CELLS, table=bytes(N_CELLS))

    def outside(self, n_bins: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the bins of the cells below and above, which become wider with the distance.

        Parameters
        ----------
        n_bins : int
            Bins of the feature.

        Returns
        -------
        below : ndarray of shape (first,)
            Starts at 0 and goes up by 0 or 1.
        above : ndarray of shape (n_cells - 1 - last,)
        """
        size = self.last + 1 - self.first
        most = int(PART_OUTSIDE * n_bins)

        def rings(n_cells: int) -> NDArray[np.intp]:
            distances = np.arange(n_cells) / size
            return np.minimum(np.log2(1 + distances).astype(np.intp), max(most - 1, 0))

        below = rings(self.first)
        return (below.max(initial=0) - below)[::-1], rings(self.bins.n_cells - 1 - self.last)

    def together(
        self, below: NDArray[np.intp], inside: NDArray[np.intp], above: NDArray[np.intp]
    ) -> AffineBins:
        """Return the map of the feature, whose cells are all as wide as the finer ones.

        Parameters
        ----------
        below, above : ndarray
            Bins of the cells outside, each from 0 on.
        inside : ndarray of shape (n_finer,)
            Bins of the finer cells, from 0 on.
        """
        n_below = below[-1] + 1 if below.size else 0
        parts = [
            np.repeat(below, self.parts),
            inside + n_below,
            np.repeat(above, self.parts) + n_below + inside[-1] + 1,
        ]
        return AffineBins(
            lower=self.bins.lower,
            upper=self.bins.upper,
            n_cells=self.bins.n_cells * self.parts,
            table=np.concatenate(parts).astype(np.uint8).tobytes(),
        )


def zoom_of(
    bins: AffineBins,
    noisy: NDArray[np.float64],
    *,
    noise_stddev: float,
    n_rows: float,
    whole: bool,
) -> Zoom | None:
    """Return where a feature has its rows, if that is a small part of its bounds.

    Parameters
    ----------
    noisy : ndarray of shape (n_counted,)
        Their released counts, and zeros.
    n_rows : float
        Released number of rows.
    whole : bool
        Whether the feature has whole numbers: no finer cells than one for each.

    Privacy
    -------
    Post-processing of released counts.
    """
    most = MAX_CELLS // bins.n_cells
    if whole:
        most = min(most, round((bins.upper - bins.lower) / bins.n_cells))
    if most < 2:
        return None
    up_to = np.concatenate([[0.0], np.cumsum(noisy[: bins.n_cells])])
    together = N_CELLS // len(noisy)
    for size in WINDOWS if together == 1 else (1, 2, *WINDOWS):
        if size > bins.n_cells / 8 or noise_stddev * math.sqrt(size) > MOST_NOISE * n_rows:
            return None
        first = int(np.argmax(up_to[size:] - up_to[:-size]))
        low, high = max(0, first - 2 * size), min(bins.n_cells, first + 3 * size)
        inside = up_to[first + size] - up_to[first]
        around = up_to[high] - up_to[low] - inside
        seen = inside - noise_stddev * math.sqrt(size) >= SEEN * n_rows
        doubt = DOUBT * noise_stddev * math.sqrt(high - low - size)
        if seen and around <= AROUND * n_rows + doubt:
            far = np.concatenate([noisy[:low], noisy[high : bins.n_cells]])
            if stands_out(far, noise_stddev, AROUND * n_rows):
                return None
            break
    else:
        return None
    margin = math.ceil(MARGIN * size)
    first, last = max(0, first - margin), min(bins.n_cells, first + size + margin) - 1
    size = last + 1 - first
    # What is below and above has cells as well, as many as will be counted together.
    parts = min(most, (N_CELLS - 2 * together) // size)
    if whole:
        # Edges half-way between whole numbers, where the width of a cell has such a divisor.
        width = round((bins.upper - bins.lower) / bins.n_cells)
        parts = next((part for part in range(parts, parts // 4, -1) if width % part == 0), parts)
    return Zoom(bins=bins, first=first, last=last, parts=parts)


def stands_out(noisy: NDArray[np.float64], noise_stddev: float, n_rows: float) -> bool:
    """Return whether so many rows show in a cell, or in as many together as a power of two."""
    while noisy.size:
        if noisy.max() > max(STANDS_OUT * noise_stddev, n_rows):
            return True
        noisy = noisy[: noisy.size // 2 * 2]
        noisy = noisy[0::2] + noisy[1::2]
        noise_stddev *= math.sqrt(2)
    return False


def _check_n_bins(owner: str, n_bins: int) -> None:
    if not 1 <= n_bins <= MAX_VALUE_BINS:
        raise refuse("number of bins", owner, f"1 to {MAX_VALUE_BINS}", n_bins)


def bins_to_dict(bins: FeatureBins) -> dict[str, Any]:
    """Return the map as plain lists, dicts, text and numbers, fit for JSON."""
    if isinstance(bins, EdgeBins):
        return {"kind": "edges", "edges": list(bins.edges)}
    if isinstance(bins, CategoryBins):
        return {"kind": "categories", "codes": list(bins.codes)}
    result: dict[str, Any] = {
        "kind": "affine",
        "lower": bins.lower,
        "upper": bins.upper,
        "n_cells": bins.n_cells,
    }
    if bins.table is not None:
        # The first cell of every bin says all: far shorter than a bin for every cell.
        table = np.frombuffer(bins.table, dtype=np.uint8)
        result["first_cells"] = np.searchsorted(table, np.arange(bins.n_bins)).tolist()
    return result


def bins_from_dict(mapping: Mapping[str, Any]) -> FeatureBins:
    """Return the map that `bins_to_dict` wrote."""
    kind = mapping.get("kind")
    if kind == "edges":
        return EdgeBins(edges=tuple(mapping["edges"]))
    if kind == "categories":
        return CategoryBins(codes=tuple(mapping["codes"]))
    if kind != "affine":
        raise refuse("kind", "a feature's bins", "one of 'affine', 'edges', 'categories'", kind)
    first_cells: Sequence[int] | None = mapping.get("first_cells")
    table = None
    if first_cells is not None:
        cells = np.arange(mapping["n_cells"])
        table = bytes((np.searchsorted(first_cells, cells, side="right") - 1).astype(np.uint8))
    return AffineBins(
        lower=mapping["lower"], upper=mapping["upper"], n_cells=mapping["n_cells"], table=table
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelMaps:
    """The arrays that `dpboost._kernels.binning` reads, one entry per feature."""

    search: NDArray[np.uint8]
    lower: NDArray[np.float64]
    scale: NDArray[np.float64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    missing_cell: NDArray[np.float64]
    zero: NDArray[np.float64]
    step: NDArray[np.int32]
    start: NDArray[np.intp]
    table: NDArray[np.uint8]
    borders: NDArray[np.float64]

    def arguments(self, first: int, last: int) -> dict[str, Any]:
        """Return the kernel's arguments for features ``first`` to ``last - 1``."""
        part = slice(first, last)
        return {
            "search": self.search[part],
            "lower": self.lower[part],
            "scale": self.scale[part],
            "first": self.first[part],
            "last": self.last[part],
            "missing_cell": self.missing_cell[part],
            "zero": self.zero[part],
            "step": self.step[part],
            "start": self.start[part],
            "table": self.table,
            "borders": self.borders,
        }


def kernel_maps(features: Sequence[FeatureBins], *, zero_as_missing: bool) -> KernelMaps:
    """Lay the maps of all features out for the kernels."""
    rows = np.zeros((len(features), 8))
    tables: list[bytes] = [b"\0"]
    borders: list[NDArray[np.float64]] = [np.array([np.inf])]
    cells = edges = 1
    for position, bins in enumerate(features):
        if isinstance(bins, AffineBins):
            last = bins.n_cells - 1.0
            rows[position] = 0, bins.lower, bins.scale, 0, last, bins.n_bins, 0, 0
            if bins.table is not None:
                rows[position, [0, 5, 7]] = 1, bins.n_cells, cells
                tables.append(bins.table + bytes([bins.n_bins]))
                cells += bins.n_cells + 1
        elif isinstance(bins, EdgeBins):
            step = 1 << (len(bins.edges).bit_length() - 1) if bins.edges else 1
            padded = np.full(2 * step - 1, np.inf)
            padded[: len(bins.edges)] = bins.edges
            rows[position] = 2, 0, 0, 0, 0, bins.n_bins, step, edges
            borders.append(padded)
            edges += len(padded)
        else:
            # One cell before code 0 for negative numbers and NaN, one after the largest code.
            size = max(bins.codes) + 1
            table = np.full(size + 2, bins.n_bins, dtype=np.uint8)
            table[np.asarray(bins.codes) + 1] = np.arange(bins.n_bins)
            rows[position] = 1, 0, 1, -1, size, -1, 0, cells + 1
            tables.append(table.tobytes())
            cells += size + 2
    search, lower, scale, first, last_cell, missing, step_column, start = rows.T
    # Category 0 is a category.
    numeric = [not isinstance(bins, CategoryBins) for bins in features]
    return KernelMaps(
        search=to_integer_units(search, 0, 2, dtype=np.uint8),
        lower=lower.copy(),
        scale=scale.copy(),
        first=first.copy(),
        last=last_cell.copy(),
        missing_cell=missing.copy(),
        zero=np.where(np.array(numeric) & zero_as_missing, np.nan, 0.0),
        step=to_integer_units(step_column, 0, MAX_VALUE_BINS, dtype=np.int32),
        start=to_integer_units(start, 0, LARGEST_UNITS, dtype=np.intp),
        table=np.frombuffer(b"".join(tables), dtype=np.uint8),
        borders=np.concatenate(borders),
    )
