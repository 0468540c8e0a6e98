"""Numbers are spelled as Python spells them, blocks as their definition says."""

import numpy as np
import pytest

from dpboost._kernels import model_text

N_LEAVES = 257  # of the trees that hold the numbers of a test


def spell(leaf_value, node_value, node_count):
    """Return the spelled leaf values, node values, weights and counts of chains of nodes."""
    n_trees = len(leaf_value) // N_LEAVES
    n_nodes = n_trees * (N_LEAVES - 1)
    blocks = model_text.spell_trees(
        np.arange(n_trees + 1, dtype=np.int32) * (N_LEAVES - 1),
        np.arange(n_trees + 1, dtype=np.int32) * N_LEAVES,
        np.zeros(n_nodes, dtype=np.int32),
        np.tile(np.array([1, 0, 0, 0], dtype=np.uint64), (n_nodes, 1)),
        np.full(n_nodes, -(2**31), dtype=np.int32),
        np.full(n_nodes, 2**31 - 1, dtype=np.int32),
        leaf_value,
        np.full(len(leaf_value), -(2**63)),
        node_value,
        node_count,
        node_value,
        np.array([1], dtype=np.int32),
        np.zeros(1, dtype=np.uint8),
        np.zeros(1, dtype=np.int32),
        np.array([-1.2345678901234567e-308]),
        False,
        np.zeros(1, dtype=np.uint32),
        np.zeros(N_LEAVES, dtype=np.int32),
    )
    fields = [dict(line.split("=") for line in block.strip().split("\n")) for block in blocks]
    keys = ("leaf_value", "internal_value", "internal_weight", "internal_count", "split_gain")
    return tuple([w for block in fields for w in block[key].split(" ")] for key in keys), fields


def check(values, counts=None):
    """Compare with Python, whose digits do not depend on the locale either."""
    values = np.asarray(values, dtype=np.float64)
    values = np.resize(values, N_LEAVES * -(-len(values) // N_LEAVES))
    n_nodes = len(values) // N_LEAVES * (N_LEAVES - 1)
    counts = np.resize(np.asarray([1] if counts is None else counts, dtype=np.int64), n_nodes)
    (leaves, means, weights, whole, gains), _ = spell(values, values[-n_nodes:].copy(), counts)
    assert leaves == [f"{value:.17g}" for value in values.tolist()]
    assert means == gains == [f"{value:g}" for value in values[-n_nodes:].tolist()]
    assert weights == [f"{count:g}" for count in counts.tolist()]
    assert whole == [str(count) for count in counts.tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_doubles_of_any_bits(seed):
    check(np.random.default_rng(seed).integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64))


@pytest.mark.parametrize("seed", range(4))
def test_doubles_of_usual_size(seed):
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0], 50_000)
    check(sign * np.exp(rng.normal(size=50_000) * 10 ** (seed - 1)))


@pytest.mark.parametrize("digits", [10, 20, 34, 53])
def test_multiples_of_powers_of_two(digits):
    rng = np.random.default_rng(digits)
    check(rng.integers(-(2**digits), 2**digits, 50_000) * 2.0 ** -rng.integers(0, 90, 50_000))


def test_every_binade_and_every_power_of_ten():
    tens = np.array([float(f"1e{exponent}") for exponent in range(-323, 309)])
    twos = 2.0 ** np.arange(-1074, 1024)
    both = np.concatenate([tens, twos])
    check(np.concatenate([both, -both, np.nextafter(both, 0), np.nextafter(both, np.inf)]))


def test_ties_go_to_the_even_digit():
    halves = np.arange(-(10**6) - 50_000, -(10**6) + 50_000) / 2  # at 6 digits: x.5 of 7 digits
    check(halves)
    check(halves * 5 * 10.0)
    # 18 digits that end with 5: with 17 they lie in the middle.
    check(np.arange(2**53 - 20_001, 2**53, 2) * 2.0**-3)
    check([0.5, 1.5, 2.5, 100000.5, 100001.5, 999999.5, 9999995.0, 0.00001234565, 0.0001])


def test_values_that_are_no_ordinary_numbers():
    largest = float(np.finfo(np.float64).max)
    check([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.3e-308, largest, -largest])


@pytest.mark.parametrize("bits", [4, 20, 31, 62])
def test_counts(bits):
    counts = np.random.default_rng(bits).integers(0, 2**bits, 20_000)
    edges = [
        0,
        9,
        10,
        99,
        100,
        999_999,
        10**6,
        10**6 + 5,
        1_234_565,
        1_234_575,
        2**53 + 1,
        2**63 - 1,
    ]
    check(np.ones(20_000), [*counts.tolist(), *edges, -1, -(2**63)])


def test_the_longest_numbers_fit():
    longest = -2.2250738585072011e-308
    leaves = np.full(3 * N_LEAVES, longest)
    nodes = np.full(3 * (N_LEAVES - 1), longest)
    numbers, blocks = spell(leaves, nodes, np.full(len(nodes), -(2**63)))
    assert {len(numbers[0][0]), len(blocks[0]["threshold"].split(" ")[0])} == {24}
    for block in blocks:
        assert block["left_child"] == " ".join([str(-(2**31))] * (N_LEAVES - 1))
        assert block["right_child"] == " ".join([str(2**31 - 1)] * (N_LEAVES - 1))
        assert block["leaf_weight"] == block["leaf_count"] == " ".join([str(-(2**63))] * N_LEAVES)
    assert [block["Tree"] for block in blocks] == ["0", "1", "2"]
