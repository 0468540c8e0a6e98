"""Thresholds of many features at once."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.bins import AffineBins, EdgeBins, uniform_bins
from dpboost.data.thresholds import bisect_bins

FEATURES = [
    uniform_bins(-4.0, 4.0, 64),
    uniform_bins(1e-20, 3e-20, 3),
    EdgeBins(edges=(-1e300, 0.0, 2.5)),
    EdgeBins(edges=()),
    AffineBins(lower=0.0, upper=8.0, n_cells=8, table=bytes([0, 0, 1, 1, 1, 2, 3, 3])),
]


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_a_threshold_is_the_last_double_of_its_bin(zero_as_missing):
    names = [f"f{place}" for place in range(len(FEATURES))]
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


def test_features_do_not_depend_on_their_company():
    together = bisect_bins(FEATURES)
    for place, bins in enumerate(FEATURES):
        alone = bisect_bins([bins])[0]
        np.testing.assert_array_equal(together[place, : bins.n_bins - 1], alone)
        assert (together[place, bins.n_bins - 1 :] == np.finfo(np.float64).max).all()
