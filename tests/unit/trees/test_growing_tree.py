import numpy as np

from dpboost.trees.growing_tree import GrowingTree, Splits


def grown(splits):
    growing = GrowingTree()
    assert growing.split(splits(0, n_branches=3, feature=2)).tolist() == [1, 2, 3]
    assert growing.split(splits([1, 3], n_branches=[2, 2], feature=[0, 1])).tolist() == [4, 5, 6, 7]
    return growing


def test_children_get_the_next_numbers(splits):
    growing = grown(splits)
    assert growing.n_nodes == 8
    assert growing.depth.tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    assert growing.parent.tolist() == [-1, 0, 0, 0, 1, 1, 3, 3]
    assert growing.first_child.tolist() == [1, 4, 6]
    assert growing.leaves.tolist() == [2, 4, 5, 6, 7]
    assert growing.splits.feature.tolist() == [2, 0, 1]


def test_features_on_the_way_to_a_node(splits):
    growing = grown(splits)
    above = growing.features_above(np.array([0, 2, 4, 7]), 3)
    assert above.tolist() == [
        [False, False, False],
        [False, False, True],
        [True, False, True],
        [False, True, True],
    ]


def test_a_root_alone():
    growing = GrowingTree()
    assert growing.split(Splits.none()).tolist() == []
    assert (growing.n_nodes, growing.leaves.tolist()) == (1, [0])
    assert len(growing.splits) == len(growing.first_child) == 0


def test_one_of_several_splits(splits):
    one = splits([4, 5], feature=[1, 2], split_bin=[3, 0], n_branches=[2, 6]).at(1)
    assert [one.node.tolist(), one.feature.tolist()] == [[5], [2]]
    assert [one.split_bin.tolist(), one.n_branches.tolist()] == [[0], [6]]
