import numpy as np
import pytest

from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Sensitive, SensitiveValueError
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.trees.gain import GradientGain

ONE = 65536
SPLITS = [([0], [1]), ([1, 2], [0, 1]), ([2, 0, 1, 1], [0, 3, 2, 1])]


def leaf():
    return ClippedLeaf(hessian=1.0, reg_lambda=0.5, gradient_bound=1.0, clip=1.0)


class Recorder(GradientGain):
    """A criterion that keeps the histograms it is shown."""

    def scores(self, sums, counts, layout, workspace=None):
        seen.append((sums.copy(), counts.copy()))
        return super().scores(sums, counts, layout, workspace)


seen: list = []


@pytest.fixture
def recorder():
    seen.clear()
    return Recorder(hessian=1.0, reg_lambda=0.1, gradient_limit=ONE)


def children(bins, nodes, feature, split_bin, is_categorical):
    for members, f, b in zip(nodes, feature, split_bin, strict=True):
        column = bins[f, members]
        left = column == b if is_categorical[f] else column <= b
        yield members[left]
        yield members[~left]


def expected(bins, gradients, kept, nodes, layout):
    sums = np.zeros((len(nodes), layout.n_cells), dtype=np.int64)
    counts = np.zeros_like(sums)
    for node, members in enumerate(nodes):
        for row in members[kept[members]]:
            for feature in range(len(bins)):
                cell = layout.cell_offsets[feature] + bins[feature, row]
                sums[node, cell] += gradients[row]
                counts[node, cell] += 1
    return sums, counts


@pytest.mark.parametrize("n_rows", [0, 1, 500])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_histograms_of_every_level_equal_a_plain_count(
    rows, statistics, layout, recorder, n_rows, n_threads
):
    bins, gradients, kept = rows(n_rows)
    data = statistics(bins, gradients, kept, n_threads=n_threads)
    nodes = [np.arange(n_rows)]
    for feature, split_bin in [*SPLITS, ([], [])]:
        data.split_scores(recorder)
        sums, counts = expected(bins, gradients, kept, nodes, layout)
        assert np.array_equal(seen[-1][0], sums)
        assert np.array_equal(seen[-1][1], counts)
        if len(nodes) == 8:
            break
        data.split(np.array(feature, np.int32), np.array(split_bin, np.uint8))
        nodes = list(children(bins, nodes, feature, split_bin, layout.is_categorical))
        assert data.n_nodes == len(nodes)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_leaf_values_are_those_of_the_rows_in_each_node(rows, statistics, layout, n_threads):
    bins, gradients, kept = rows()
    data = statistics(bins, gradients, kept, n_threads=n_threads)
    nodes = [np.arange(500)]
    for feature, split_bin in SPLITS:
        data.split(np.array(feature, np.int32), np.array(split_bin, np.uint8))
        nodes = list(children(bins, nodes, feature, split_bin, layout.is_categorical))
    members = [node[kept[node]] for node in nodes]
    sums = np.array([gradients[node].sum() for node in members])
    counts = np.array([len(node) for node in members])
    shown = []
    data.leaf_values(leaf()).map(
        lambda value: shown.append(value) or value, bounds=(leaf().bound(Neighbors.REPLACE),)
    )
    assert np.array_equal(shown[0], leaf().values(sums, counts))


def test_levels_may_be_skipped(rows, statistics, layout, recorder):
    """Siblings are subtracted only from histograms of the level right above."""
    bins, gradients, kept = rows()
    data = statistics(bins, gradients, kept)
    data.split_scores(recorder)
    nodes = [np.arange(500)]
    for feature, split_bin in SPLITS[:2]:
        data.split(np.array(feature, np.int32), np.array(split_bin, np.uint8))
        nodes = list(children(bins, nodes, feature, split_bin, layout.is_categorical))
    data.split_scores(recorder)
    sums, counts = expected(bins, gradients, kept, nodes, layout)
    assert np.array_equal(seen[-1][0], sums)
    assert np.array_equal(seen[-1][1], counts)


@pytest.mark.parametrize("neighbors", Neighbors)
def test_what_comes_out_is_sensitive_with_the_bound_of_the_relation(
    rows, statistics, recorder, neighbors
):
    data = statistics(*rows(), neighbors=neighbors)
    scores, values = data.split_scores(recorder), data.leaf_values(leaf())
    assert scores.bounds == (recorder.bound(neighbors),)
    assert values.bounds == (leaf().bound(neighbors),)
    assert values.unit == leaf().unit
    for value in (scores, values):
        assert isinstance(value, Sensitive)
        with pytest.raises(SensitiveValueError):
            np.asarray(value)


def test_an_object_with_rows_shows_none_of_them(rows, statistics):
    data = statistics(*rows())
    assert not hasattr(data, "__dict__")
    public = {name for name in dir(data) if not name.startswith("_")}
    assert public == {"n_nodes", "layout", "split_scores", "leaf_values", "split"}
    assert Ledger.__name__ not in repr(data)
