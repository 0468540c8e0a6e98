"""Several sites whose sums one process may see."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.audit.pooled_rows import Sites
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import ClassCounts, NodeSizes
from dpboost.rows.site_queries import SplitScores
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import THRESHOLD, Candidates

ROOT = np.zeros(1, dtype=np.int32)


def rows(n_rows, seed):
    random = np.random.default_rng(seed)
    return ClassRows(
        random.integers(0, 3, (1, n_rows)).astype(np.uint8),
        random.integers(0, 2, n_rows).astype(np.uint8),
        np.ones(n_rows, dtype=bool),
        n_classes=2,
        candidates=Candidates(
            n_bins=np.array([2], dtype=np.int32),
            is_categorical=np.zeros(1, dtype=np.uint8),
            kinds=np.array([THRESHOLD], dtype=np.uint8),
        ),
        threads=Threads(1),
    )


def shown(sensitive):
    found = []
    sensitive.map(lambda value: found.append(value) or value, bounds=sensitive.bounds)
    return found[0]


def test_answers_add_up_and_a_row_moves_one_of_them():
    sites = Sites([rows(10, 0), rows(0, 1), rows(7, 2)])
    assert sites.exact(NodeSizes(nodes=ROOT)).tolist() == [17]
    value = sites.sensitive(ClassCounts(nodes=ROOT, n_classes=2), Neighbors.REPLACE)
    assert isinstance(value, Sensitive)
    assert value.bound("l1").constant == 2
    assert shown(value).sum() == 17


def test_orders_reach_every_position():
    sites = Sites([rows(10, 0), rows(7, 2)])
    splits = Splits(node=ROOT, feature=ROOT, split_bin=ROOT, n_branches=ROOT + 2)
    sites.apply("split", splits=splits)
    assert sites.exact(NodeSizes(nodes=ROOT + [1, 2])).sum() == 17


def test_each_position_answers_for_itself():
    held = [rows(10, 0), rows(5, 1), rows(7, 2)]
    query = SplitScores(nodes=ROOT, measure=1, row_limits=np.array([64]), n_candidates=2)
    value = Sites(held).each(query, Neighbors.ADD_REMOVE)
    assert value.bounds == query.bounds(Neighbors.ADD_REMOVE)
    assert shown(value).tolist() == [query.evaluate(one)[0].tolist() for one in held]


@pytest.mark.parametrize("n_sites", [1, 3])
def test_tallies_add_up(n_sites):
    class Letters:
        def count(self, text):
            return [Counter(text)]

    assert Sites(["aab"] * n_sites).tally(Letters()) == [Counter({"a": 2 * n_sites, "b": n_sites})]
