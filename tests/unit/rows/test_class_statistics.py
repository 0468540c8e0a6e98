import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost.privacy.mechanisms import DiscreteLaplace, ExponentialMechanism
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_queries import ClassCounts
from dpboost.rows.class_scores import NOT_OFFERED
from dpboost.trees.growing_tree import GrowingTree
from dpboost.trees.split_candidates import MULTIWAY

N_CLASSES = 3


def show(ledger, sensitive):
    """The numbers behind a value, by a release without noise."""
    return ledger.release(DiscreteLaplace(epsilon=math.inf), sensitive, label="test")


def show_scores(ledger, sensitive):
    """Scores one by one: without noise the best of a pair tells which is larger."""
    found = []

    def keep(values):
        found.append(values.copy())
        return values

    sensitive.map(keep, bounds=sensitive.bounds)
    best = ledger.release(ExponentialMechanism(epsilon=math.inf), sensitive, label="test")
    assert np.array_equal(best, found[0].argmax(axis=1))
    return found[0]


def limits(nodes, rows=1000):
    return np.full(len(nodes), rows, dtype=np.int64)


@pytest.fixture
def grown(class_rows, class_statistics, splits):
    """Statistics two splits deep, and the rows of every node."""
    bins, classes, present = class_rows()
    statistics = class_statistics(bins, classes, present)
    growing = GrowingTree()
    members = {0: np.flatnonzero(present)}
    for chosen in (
        splits(0, feature=2, n_branches=3),
        splits([1, 3], feature=[0, 1], split_bin=[1, 2]),
    ):
        statistics.split(chosen)
        children = iter(growing.split(chosen).tolist())
        candidates = statistics.candidates
        branches = candidates.branches(chosen.feature, chosen.split_bin)
        for position, node in enumerate(chosen.node.tolist()):
            own = members[node]
            to = branches[position][bins[chosen.feature[position], own]]
            for branch in range(chosen.n_branches[position]):
                members[next(children)] = own[to == branch]
    return statistics, growing, members, bins, classes


def test_counts_of_nodes_are_those_of_their_rows(grown, open_ledger):
    statistics, growing, members, _, classes = grown
    nodes = np.arange(growing.n_nodes, dtype=np.int32)
    levels = [nodes[growing.depth == depth] for depth in range(3)]
    sizes = np.concatenate([show(open_ledger(), statistics.sizes(level)) for level in levels])
    counts = np.concatenate(
        [show(open_ledger(), statistics.class_counts(level)) for level in levels]
    )
    assert sizes.tolist() == [len(members[node]) for node in nodes.tolist()]
    expected = [np.bincount(classes[members[n]], minlength=N_CLASSES) for n in nodes.tolist()]
    assert np.array_equal(counts, expected)


def test_histograms_hold_the_offered_features_alone(grown, open_ledger):
    statistics, _, members, bins, classes = grown
    nodes = np.array([2, 5], dtype=np.int32)
    offered = np.array([[True, False, True], [False, True, True]])
    counts = show(open_ledger(), statistics.histograms(nodes, offered))
    sizes = show(open_ledger(), statistics.cell_sizes(nodes, offered))
    assert np.array_equal(sizes, counts.sum(axis=2))
    cells = statistics.candidates.cell_offsets
    for position, node in enumerate(nodes.tolist()):
        for f in range(3):
            own = members[node]
            expected = np.zeros((cells[f + 1] - cells[f], N_CLASSES), dtype=np.int64)
            if offered[position, f]:
                np.add.at(expected, (bins[f, own], classes[own]), 1)
            assert np.array_equal(counts[position, cells[f] : cells[f + 1]], expected)


@pytest.mark.parametrize("measure", list(Impurity))
def test_scores_and_gains_agree_with_a_split_made(grown, open_ledger, splits, measure):
    statistics, growing, _, _, _ = grown
    nodes = np.array([2], dtype=np.int32)
    scores = statistics.scores(nodes, measure, limits(nodes))
    values = show_scores(open_ledger(), scores)
    chosen = values.argmax(axis=1).astype(np.int32)
    gain = show(open_ledger(), statistics.gains(scores, chosen, nodes, measure, limits(nodes)))
    candidates = statistics.candidates
    feature = candidates.features_of(chosen)
    made = splits(
        nodes,
        feature=feature,
        split_bin=candidates.split_bins(chosen),
        n_branches=candidates.n_branches(feature),
    )
    statistics.split(made)
    children = growing.split(made)
    counts = np.concatenate(
        [show(open_ledger(), statistics.class_counts(part)) for part in (nodes, children)]
    )
    scale = impurities.scale(measure, 1000, N_CLASSES)

    def impurity(table):
        from dpboost._kernels import impurity as kernel

        out = np.empty(len(table), dtype=np.int64)
        caps = np.full(len(table), impurities.cap(measure, 1000))
        kernel.node_scores(table, int(measure), caps, np.full(len(table), scale), out)
        return out

    own = impurity(counts)
    assert values.max() == own[1:].sum()
    assert gain[0] == own[1:].sum() - own[0] >= -len(children)


def test_candidates_that_are_not_offered_score_below_all_others(grown, open_ledger):
    statistics, _, _, _, _ = grown
    nodes = np.array([2, 4], dtype=np.int32)
    offered = np.array([[True, False, True], [True, True, False]])
    values = show_scores(
        open_ledger(), statistics.scores(nodes, Impurity.GINI, limits(nodes), offered)
    )
    allowed = statistics.candidates.spread(offered)
    assert (values[~allowed] == NOT_OFFERED).all()
    assert values[allowed].min() > NOT_OFFERED


def test_scores_do_not_depend_on_how_many_nodes_are_held_at_once(grown, open_ledger, monkeypatch):
    statistics, growing, _, _, _ = grown
    nodes = growing.leaves
    whole = show_scores(open_ledger(), statistics.scores(nodes, Impurity.GINI, limits(nodes)))
    monkeypatch.setattr("dpboost.rows.class_scores.MOST_COUNTS", 1)
    parts = show_scores(open_ledger(), statistics.scores(nodes, Impurity.GINI, limits(nodes)))
    assert np.array_equal(whole, parts)


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_bounds_go_with_the_relation(class_rows, class_statistics, neighbors):
    statistics = class_statistics(*class_rows(), neighbors=neighbors)
    root = np.zeros(1, dtype=np.int32)
    offered = np.ones((1, 3), dtype=bool)
    rows = neighbors.rows
    for value, kind, constant in [
        (statistics.sizes(root), "l1", rows),
        (statistics.class_counts(root), "l1", rows),
        (statistics.histograms(root, offered), "l1", 3 * rows),
        (statistics.cell_sizes(root, offered), "l1", 3 * rows),
        (statistics.scores(root, Impurity.GINI, limits(root)), "range", 1026 * rows),
    ]:
        assert isinstance(value, Sensitive)
        assert value.bound(kind).constant == constant


def test_rows_of_unknown_classes_take_no_part(class_rows, class_statistics, open_ledger):
    bins, classes, present = class_rows()
    nobody = class_statistics(bins, classes, np.zeros_like(present), kinds=[MULTIWAY] * 3)
    root = np.zeros(1, dtype=np.int32)
    assert show(open_ledger(), nobody.sizes(root)).tolist() == [0]
    assert show(open_ledger(), nobody.class_counts(root)).tolist() == [[0, 0, 0]]


def test_noise_is_told_without_asking_rows(class_rows, class_statistics):
    statistics = class_statistics(*class_rows())
    query = ClassCounts(nodes=np.zeros(1, dtype=np.int32), n_classes=statistics.n_classes)
    noise = DiscreteLaplace(epsilon=1)
    asked = statistics.ask(query).noise_stddev(noise)
    statistics._row_store = None
    assert statistics.noise_stddev(noise, query) == asked
    statistics._row_store = SimpleNamespace(noise_variance_ratio=4.0)
    assert statistics.noise_stddev(noise, query) == 2 * asked
