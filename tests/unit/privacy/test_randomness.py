import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from scipy import stats

from dpboost._kernels.entropy import SystemEntropy
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.randomness import ROWS_AT_ONCE, Entropy, RowCoins, block_thresholds

ALARM = 1e-6
KEY = bytes(range(32))
COUNTER_WRAP = 8 << 32  # the first row beyond the 32-bit block counter


def test_secure_entropy_is_private_and_differs():
    first, second = Entropy.secure(), Entropy.secure()
    assert first.private
    assert isinstance(first.bit_generator, SystemEntropy)
    assert set(first.bit_generator.random_raw(100)).isdisjoint(second.bit_generator.random_raw(100))
    assert set(first.row_coins().words(0, 100)).isdisjoint(second.row_coins().words(0, 100))


def test_seeded_entropy_repeats_and_is_not_private():
    first, second, other = Entropy.seeded(7), Entropy.seeded(7), Entropy.seeded(8)
    assert not first.private
    for _ in range(2):
        drawn = first.bit_generator.random_raw(3)
        np.testing.assert_array_equal(drawn, second.bit_generator.random_raw(3))
        words = first.row_coins().words(5, 50)
        np.testing.assert_array_equal(words, second.row_coins().words(5, 50))
        assert set(words).isdisjoint(other.row_coins().words(5, 50))


def test_each_call_makes_new_row_coins():
    entropy = Entropy.seeded(1)
    assert set(entropy.row_coins().words(0, 100)).isdisjoint(entropy.row_coins().words(0, 100))


@pytest.mark.parametrize("bad", [None, -1, 1.5, True, "1"])
def test_noise_seeds_are_checked(bad):
    with pytest.raises(InvalidParameterError, match="noise_seed"):
        Entropy.seeded(bad)


def test_private_cannot_be_set():
    with pytest.raises(AttributeError):
        Entropy.seeded(1).private = True


@pytest.mark.parametrize("make", [Entropy.secure, lambda: Entropy.seeded(1), lambda: RowCoins(KEY)])
def test_secrets_refuse_everything(make):
    secret = make()
    for forbidden in (
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        bool,
        len,
        hash,
        iter,
        format,
        lambda secret: f"{secret}",
        lambda secret: secret == secret,  # noqa: PLR0124
        lambda secret: secret != 1,
        lambda secret: secret < secret,  # noqa: PLR0124
        lambda secret: secret.__getstate__(),
        lambda secret: secret.__setstate__({}),
        lambda secret: {secret},
    ):
        with pytest.raises(TypeError, match="secret random bits"):
            forbidden(secret)
    assert repr(KEY) not in repr(secret)


def test_words_are_the_chacha20_key_stream():
    # RFC 8439, section 2.3.2, gives its block for counter 1; the same here with our nonce.
    stream = Cipher(ChaCha20(KEY, bytes(16)), mode=None).encryptor().update(bytes(8 * 1000))
    words = RowCoins(KEY).words(0, 1000)
    assert words.dtype == np.uint64
    np.testing.assert_array_equal(words, np.frombuffer(stream, "<u8"))


@pytest.mark.parametrize("start", [0, 1, 7, 8, 1001, COUNTER_WRAP - 37, (1 << 63) - 100])
def test_whole_and_pieces_agree(start):
    row_coins = RowCoins(KEY)
    whole = row_coins.words(start, 100)
    assert len(set(whole.tolist())) == 100
    for length in (1, 3, 8, 11, 64):
        pieces = [
            row_coins.words(start + row, min(length, 100 - row)) for row in range(0, 100, length)
        ]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_pieces_longer_than_a_chunk_agree():
    row_coins = RowCoins(KEY)
    whole = row_coins.words(3, 300_000)
    np.testing.assert_array_equal(whole[200_000:], row_coins.words(200_003, 100_000))


def test_no_word_comes_back_beyond_the_counter():
    row_coins = RowCoins(KEY)
    starts = [0, COUNTER_WRAP, 2 * COUNTER_WRAP, COUNTER_WRAP << 10]
    words = np.concatenate([row_coins.words(start, 64) for start in starts])
    assert len(np.unique(words)) == len(words)


def test_words_are_uniform():
    drawn = RowCoins(KEY).words(11, 200_000).view(np.uint8)
    assert stats.chisquare(np.bincount(drawn, minlength=256)).pvalue > ALARM


def test_rows_are_checked():
    row_coins = RowCoins(KEY)
    assert len(row_coins.words(1 << 63, 0)) == 0
    for first_row, n_rows in ((-1, 1), (0, -1), (1 << 63, 1), (1.0, 1), (0, None)):
        with pytest.raises(InvalidParameterError):
            row_coins.words(first_row, n_rows)
        with pytest.raises(InvalidParameterError):
            row_coins.blocks([Fraction(1)], n_rows, first_row)


PROBABILITIES = [
    [Fraction(1, 50)] * 50,
    [Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)],
    [Fraction(1, 10)] * 3,
    [Fraction(1, 10**6), Fraction(0), Fraction(1, 2)],
    [Fraction(1)],
    [],
]


@pytest.mark.parametrize("probabilities", PROBABILITIES)
def test_block_frequencies(probabilities):
    n_rows = 200_000
    blocks = RowCoins(KEY).blocks(probabilities, n_rows)
    expected = np.array([*probabilities, 1 - sum(probabilities)], dtype=float) * n_rows
    observed = np.bincount(blocks, minlength=len(expected))
    assert blocks.dtype == np.int32
    assert len(observed) == len(expected)
    assert not observed[expected == 0].any()
    common = expected >= 10
    rare = observed[~common].sum()
    assert stats.poisson.sf(rare - 1, max(expected[~common].sum(), 1e-9)) > ALARM
    scaled = expected[common] * observed[common].sum() / expected[common].sum()
    if common.sum() > 1:
        assert stats.chisquare(observed[common], scaled).pvalue > ALARM


def test_blocks_of_many_rows_are_those_of_their_words():
    row_coins, probabilities = RowCoins(KEY), [Fraction(1, 7)] * 5
    n_rows = 2 * ROWS_AT_ONCE + 3
    words = row_coins.words(5, n_rows)
    expected = np.searchsorted(block_thresholds(probabilities), words, side="right")
    found = row_coins.blocks(probabilities, n_rows, 5, n_threads=2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("probabilities", PROBABILITIES)
def test_blocks_depend_on_the_row_alone(probabilities):
    row_coins = RowCoins(KEY)
    whole = row_coins.blocks(probabilities, 20_000)
    for n_threads in (1, 2, 3):
        part = row_coins.blocks(probabilities, 5001, 777, n_threads=n_threads)
        np.testing.assert_array_equal(part, whole[777 : 777 + 5001])


@pytest.mark.parametrize(
    ("probabilities", "thresholds"),
    [
        ([], []),
        ([Fraction(1)], []),
        ([Fraction(1), Fraction(0)], []),
        ([Fraction(0), Fraction(1)], [0]),
        ([Fraction(1, 2)], [1 << 63]),
        ([Fraction(1, 2), Fraction(1, 2)], [1 << 63]),
        ([Fraction(1, 3)] * 3, [(1 << 64) // 3, (1 << 65) // 3]),
        ([1 - Fraction(1, 1 << 64)], [(1 << 64) - 1]),
        ([1 - Fraction(1, 1 << 70)], [(1 << 64) - 1]),
        ([Fraction(1, 1 << 70)], [0]),
    ],
)
def test_thresholds(probabilities, thresholds):
    computed = block_thresholds(probabilities)
    assert computed.dtype == np.uint64
    assert computed.tolist() == thresholds


@pytest.mark.parametrize(
    "probabilities",
    [
        [Fraction(-1, 2), Fraction(1)],
        [Fraction(2, 3), Fraction(1, 2)],
        [Fraction(1), Fraction(1, 1 << 200)],
        [0.5, 0.5],
    ],
)
def test_probabilities_are_checked(probabilities):
    with pytest.raises(InvalidParameterError, match="probabilities"):
        RowCoins(KEY).blocks(probabilities, 10)
