"""The spelling of splits, at the borders of words and for any category codes."""

import math

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.model_text.trees import lay_out, split_values, tree_blocks
from dpboost.trees.tree import Tree, pack_sets


def chain(feature, flags):
    """Return a tree whose right children go on."""
    n = len(feature)
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        left_bins=pack_sets(np.array(flags, dtype=bool)),
        left=np.array([~node for node in range(n)], dtype=np.int32),
        right=np.array([*range(1, n), ~n], dtype=np.int32),
        leaf_value=np.zeros(n + 1, dtype=np.int64),
    )


@pytest.mark.parametrize(("zero", "types"), [(False, [8, 10]), (True, [4, 6])])
@pytest.mark.parametrize("n_bins", [1, 2, 63, 64, 65, 127, 128, 192, 254, 255])
def test_every_threshold_with_and_without_missing(tools, n_bins, zero, types):
    edges = np.sort(np.random.default_rng(n_bins).normal(size=n_bins - 1))
    bins = tools.Bins([{"edges": [0.5]}, {"edges": edges.tolist()}], zero_as_missing=zero)
    flags = np.zeros((2 * n_bins, 256), dtype=bool)
    for last in range(n_bins):
        flags[last, : last + 1] = flags[n_bins + last, : last + 1] = True
        flags[n_bins + last, n_bins] = True
    (block,) = spelled([chain([1] * len(flags), flags)], bins, tools)
    assert [float(edge) for edge in block["threshold"]] == [*edges, math.inf] * 2
    kinds = [str(types[0])] * n_bins + [str(types[1])] * n_bins
    assert block["decision_type"] == kinds
    assert block["num_cat"] == ["0"]
    assert "cat_boundaries" not in block
    assert "cat_threshold" not in block


@pytest.mark.parametrize(
    "codes",
    [
        [0],
        [31],
        [0, 32],
        [1, 0],
        [*range(32)],
        [*range(255)],
        [*range(254, -1, -1)],
        [7, 2_000_000, 0, 63, 64],
    ],
    ids=["one", "last bit", "two words", "swapped", "one word", "full", "falling", "large"],
)
def test_sets_hold_the_codes_of_their_bins(tools, codes):
    rng = np.random.default_rng(0)
    bins = tools.Bins([{"edges": [0.5]}, {"codes": codes}])
    flags = np.zeros((6, 256), dtype=bool)
    flags[:, : len(codes)] = rng.random((6, len(codes))) < 0.5
    flags[0, : len(codes)], flags[1] = True, False
    flags[3] = np.arange(256) == 0
    trees = [chain([1, 1], flags[:2]), chain([0, 1, 0, 1, 1, 1], flags[[3, 0, 3, 2, 3, 4]])]
    blocks = spelled(trees, bins, tools)
    assert [block["num_cat"] for block in blocks] == [["2"], ["4"]]
    assert [" ".join(block["threshold"]) for block in blocks] == ["0 1", "0.5 0 0.5 1 2 3"]
    assert [" ".join(block["decision_type"]) for block in blocks] == ["9 9", "8 9 8 9 9 9"]
    for block, used in zip(blocks, (flags[:2], flags[[0, 2, 3, 4]]), strict=True):
        ends, words = ([*map(int, block[key])] for key in ("cat_boundaries", "cat_threshold"))
        assert (ends[0], ends[-1]) == (0, len(words))
        for inside, low, high in zip(used, ends, ends[1:], strict=False):
            expected = sorted(np.array(codes)[inside[: len(codes)]].tolist())
            assert codes_of(words[low:high]) == expected
            assert high - low == (max(expected) // 32 + 1 if expected else 1)


def codes_of(words):
    """Return the codes whose bits are set, ascending."""
    return [
        32 * position + bit
        for position, word in enumerate(words)
        if word
        for bit in range(32)
        if word >> bit & 1
    ]


def spelled(trees, bins, tools):
    """Return the fields of each tree's block, each split at blanks."""
    blocks = tree_blocks(tools.ensemble(0, trees=tuple(trees), binner=bins))
    lines = [[line.split("=") for line in block.rstrip("\n").split("\n")] for block in blocks]
    return [{key: value.split(" ") for key, value in block} for block in lines]


def test_only_features_with_a_split_have_values(tools):
    bins = tools.Bins(
        [{"edges": [0.5]}, {"codes": [3, 64]}, {"edges": [1.0, 2.0]}, {"codes": [0, 31]}]
    )
    flags = np.zeros((2, 256), dtype=bool)
    flags[:, 0] = True
    found = split_values(lay_out([chain([2, 1], flags)]), bins)
    assert found.values.tolist() == [3.0, 64.0, 1.0, 2.0, math.inf]
    assert found.first.tolist() == [0, 0, 2, 0]
    assert found.n_words.tolist() == [0, 3, 0, 0]


def test_codes_matter_only_where_a_split_asks_for_them(tools):
    bins = tools.Bins([{"edges": [0.5]}, {"codes": [3, -1]}])
    flags = np.zeros((1, 256), dtype=bool)
    flags[0, 0] = True
    assert spelled([chain([0], flags)], bins, tools)[0]["threshold"] == ["0.5"]
    with pytest.raises(InvalidParameterError, match="-1"):
        spelled([chain([1], flags)], bins, tools)
