"""The tree blocks: sums up to the root, exact values, and the blocks of odd ensembles."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm import Booster
from dpboost.lightgbm.model_text.trees import tree_blocks


def fields(block):
    """Return the fields of a block, each split at blanks."""
    lines = block.rstrip("\n").split("\n")
    return {key: value.split(" ") for key, _, value in (line.partition("=") for line in lines)}


def sums_below(tree, counts, values, child):
    """Return count and mean of the leaves below a child, added up one by one."""
    if child < 0:
        return counts[~child], values[~child]
    (n, mean), (m, other) = (
        sums_below(tree, counts, values, int(side[child])) for side in (tree.left, tree.right)
    )
    return n + m, (n * mean + m * other) / (n + m)


@pytest.mark.parametrize("seed", range(3))
def test_node_sums_are_those_of_plain_arithmetic(tools, seed):
    ensemble = tools.ensemble(seed, n_leaves=40)
    for number, (tree, block) in enumerate(zip(ensemble.trees, tree_blocks(ensemble), strict=True)):
        units = tree.leaf_value + (12345 if number == 0 else 0)
        values = [int(value) * ensemble.unit for value in units]
        counts = [max(1, int(count)) for count in tree.leaf_count]
        found = fields(block)
        assert found["Tree"] == [str(number)]
        assert found["leaf_value"] == [f"{value:.17g}" for value in values]
        assert found["leaf_count"] == [str(count) for count in counts]
        if tree.n_nodes == 0:
            continue
        sums = [sums_below(tree, counts, values, node) for node in range(tree.n_nodes)]
        assert found["internal_count"] == [str(count) for count, _ in sums]
        assert found["internal_weight"] == [f"{count:g}" for count, _ in sums]
        assert found["internal_value"] == [f"{mean:g}" for _, mean in sums]
        assert found["leaf_weight"] == found["leaf_count"]
        assert found["split_gain"] == ["1"] * tree.n_nodes


def test_start_values_belong_to_the_first_round(tools):
    ensemble = tools.ensemble(1, n_trees=6, unit=1.0)
    plain = tree_blocks(replace(ensemble, start=(0.0, 0.0)))
    moved = tree_blocks(replace(ensemble, start=(5.0, -7.0)))
    assert moved[2:] == plain[2:]
    for number, start in ((0, 5), (1, -7)):
        before, after = (fields(blocks[number])["leaf_value"] for blocks in (plain, moved))
        assert [int(value) + start for value in before] == [int(value) for value in after]


def test_without_trees_every_output_is_one_leaf(tools):
    blocks = tree_blocks(tools.ensemble(0, trees=(), unit=0.5, start=(0.5, 3.0, -4.5)))
    assert [fields(block)["Tree"] for block in blocks] == [["0"], ["1"], ["2"]]
    assert [fields(block)["leaf_value"] for block in blocks] == [["0.5"], ["3"], ["-4.5"]]


def test_the_ensemble_is_not_changed(tools):
    ensemble = tools.ensemble(3, n_trees=1)
    before = ensemble.trees[0].leaf_value.copy()
    assert tree_blocks(ensemble) == tree_blocks(ensemble)
    np.testing.assert_array_equal(ensemble.trees[0].leaf_value, before)


def test_values_that_are_infinite_are_refused(tools):
    ensemble = tools.ensemble(2, unit=2.0**1010, start=0.0)
    with pytest.raises(InvalidParameterError, match="unit"):
        tree_blocks(ensemble)


@pytest.mark.parametrize("exponent", [-1074, 1000])
def test_sums_may_overflow_where_values_do_not(tools, exponent):
    ensemble = tools.ensemble(2, unit=2.0**exponent, start=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks = tree_blocks(ensemble)
    means = {mean for block in blocks for mean in fields(block)["internal_value"]}
    assert ("inf" in means) == (exponent > 0)
    assert Booster.of_ensemble(ensemble).num_trees() == len(ensemble.trees)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_values_beyond_exact_doubles_are_refused(tools, value):
    ensemble = tools.ensemble(2, n_trees=3, unit=1.0, start=0.0)
    tree = ensemble.trees[1]
    units = np.where(np.arange(tree.n_leaves) == 1, value, tree.leaf_value)
    wrong = (ensemble.trees[0], replace(tree, leaf_value=units))
    with pytest.raises(InvalidParameterError, match="2\\^53"):
        tree_blocks(replace(ensemble, trees=wrong))
