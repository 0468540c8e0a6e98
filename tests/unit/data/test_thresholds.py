"""Thresholds of many features at once."""

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import AffineBins, EdgeBins, uniform_bins

FEATURES = [
    uniform_bins(-4.0, 4.0, 64),
    uniform_bins(1e-20, 3e-20, 3),
    EdgeBins(edges=(-1e300, 0.0, 2.5)),
    EdgeBins(edges=()),
    AffineBins(lower=0.0, upper=8.0, n_cells=8, table=bytes([0, 0, 1, 1, 1, 2, 3, 3])),
]


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_a_threshold_is_the_last_double_of_its_bin(zero_as_missing):
    names = [f"f{position}" for position in range(len(FEATURES))]
    binner = Binner(features=FEATURES, feature_names=names, zero_as_missing=zero_as_missing)
    binner.find_thresholds(range(len(FEATURES)))
    plain = Binner(features=FEATURES, feature_names=names)
    for feature, n_bins in enumerate(binner.n_bins):
        edges = binner.thresholds(feature)
        assert len(edges) == n_bins
        assert edges[-1] == np.inf
        inner = edges[:-1]
        assert plain.bin_values(feature, inner).tolist() == list(range(n_bins - 1))
        above = plain.bin_values(feature, np.nextafter(inner, np.inf))
        assert (above > np.arange(n_bins - 1)).all()


@pytest.mark.parametrize("seed", range(3))
def test_ends_far_from_their_formula_are_found(seed):
    rng = np.random.default_rng(seed)
    # Beside such bounds a double near zero vanishes: many doubles of either side share a cell.
    lower, upper = sorted(rng.normal(size=2) * 10.0 ** rng.integers(-5, 20, 2))
    table = np.cumsum(rng.random(5000) < 0.03)
    features = [
        uniform_bins(lower, upper, 255),
        uniform_bins(-1.0, 1.0, 254),
        AffineBins(lower=lower, upper=upper, n_cells=5000, table=table - table[0]),
        AffineBins(lower=-(2.0**1022), upper=2.0**1022, n_cells=7),
        AffineBins(lower=5e-324, upper=1e-322, n_cells=3),
        EdgeBins(edges=tuple(np.unique(rng.normal(size=254) * 1e-34))),
    ]
    binner = Binner(features=features, feature_names=[*"abcdef"])
    for feature, n_bins in enumerate(binner.n_bins):
        inner = binner.thresholds(feature)[:-1]
        assert (binner.bin_values(feature, inner) <= np.arange(n_bins - 1)).all()
        above = binner.bin_values(feature, np.nextafter(inner, np.inf))
        assert (above > np.arange(n_bins - 1)).all()


def test_features_do_not_depend_on_their_company():
    names = [f"f{position}" for position in range(len(FEATURES))]
    together = Binner(features=FEATURES, feature_names=names)
    together.find_thresholds(range(len(FEATURES)))
    for position, bins in enumerate(FEATURES):
        alone = Binner(features=[bins], feature_names=["f"]).thresholds(0)
        np.testing.assert_array_equal(together.thresholds(position), alone)


def test_thresholds_cannot_be_written_to():
    binner = Binner(features=FEATURES[:1], feature_names=["f"])
    with pytest.raises(ValueError, match="read-only"):
        binner.thresholds(0)[0] = 1.0
