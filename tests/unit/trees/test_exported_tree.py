import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.trees.exported_tree import ReleasedTree
from dpboost.trees.growing_tree import GrowingTree
from dpboost.trees.split_candidates import CATEGORY, MULTIWAY, THRESHOLD

BINNER = Binner(
    features=[uniform_bins(0.0, 8.0, 4), CategoryBins(codes=(0, 1))],
    feature_names=["age", "job"],
    labels={1: ("clerk", "smith")},
)


@pytest.fixture
def released(splits):
    def build(kinds, *made):
        growing = GrowingTree()
        for chosen in made:
            growing.split(splits(*chosen))
        counts = np.arange(2 * growing.n_nodes, dtype=float).reshape(-1, 2)
        return ReleasedTree(
            splits=growing.splits,
            first_child=growing.first_child,
            kinds=np.array(kinds, dtype=np.uint8),
            counts=counts,
            probability=np.tile([0.25, 0.75], (growing.n_nodes, 1)),
            noise_stddev=1.0,
        )

    return build


def test_a_binary_tree_as_text(released):
    # Splits are (nodes, branches, feature, bin).
    tree = released([THRESHOLD, CATEGORY], (0, 2, 0, 1), (2, 2, 1, 0))
    assert tree.text(BINNER, ["no", "yes"]) == (
        "|--- age <= 4.00\n"
        "|   |--- class: yes  counts: [2, 3]\n"
        "|--- age >  4.00 or missing\n"
        "|   |--- job = clerk\n"
        "|   |   |--- class: yes  counts: [6, 7]\n"
        "|   |--- job != clerk\n"
        "|   |   |--- class: yes  counts: [8, 9]\n"
    )
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (5, 3, 2)


def test_branches_for_every_bin_as_text(released):
    tree = released([MULTIWAY, MULTIWAY], (0, 5, 0), (1, 3, 1))
    lines = tree.text(BINNER, ["no", "yes"], show_counts=False, decimals=0).splitlines()
    assert [line for line in lines if "class" not in line] == [
        "|--- age <= 2",
        "|   |--- job = clerk",
        "|   |--- job = smith",
        "|   |--- job = other or missing",
        "|--- 2 < age <= 4",
        "|--- 4 < age <= 6",
        "|--- age >  6",
        "|--- age missing",
    ]
    assert "counts" not in "".join(lines)


def test_the_last_threshold_asks_whether_a_value_is_missing(released):
    tree = released([THRESHOLD, CATEGORY], (0, 2, 0, 3))
    lines = tree.text(BINNER, ["no", "yes"]).splitlines()
    assert lines[0] == "|--- age known"
    assert lines[2] == "|--- age missing"


def test_names_and_depth_may_be_given(released):
    tree = released([THRESHOLD, CATEGORY], (0, 2, 0, 1), (2, 2, 1, 0))
    text = tree.text(BINNER, ["no", "yes"], feature_names=["A", "B"], max_depth=1)
    assert "A <= 4.00" in text
    assert text.endswith("|--- A >  4.00 or missing\n|   |--- ...\n")


def test_a_root_alone_is_a_leaf(released):
    tree = released([THRESHOLD, CATEGORY])
    assert tree.text(BINNER, ["no", "yes"]) == "|--- class: yes  counts: [0, 1]\n"
    assert (tree.n_leaves, tree.depth) == (1, 0)
