import copy
import ctypes
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from dpboost._kernels import coins, noise, selection
from dpboost._kernels.entropy import SystemEntropy

pytestmark = pytest.mark.filterwarnings("ignore")

BUFFER_BYTES = 1 << 16
BUFFER_WORDS = BUFFER_BYTES // 8
ALARM = 1e-6


class Reader:
    """Hands out given blocks of bytes, then fails."""

    def __init__(self, *blocks):
        self.blocks = list(blocks)

    def __call__(self, n_bytes):
        assert n_bytes == BUFFER_BYTES
        if not self.blocks:
            raise OSError("no more")
        return self.blocks.pop(0)


def block_of(first_word):
    return np.arange(first_word, first_word + BUFFER_WORDS, dtype=np.uint64).tobytes()


def buffer_of(source):
    address = source.ctypes.state_address
    return np.frombuffer(ctypes.string_at(address, BUFFER_BYTES), dtype=np.uint64)


def test_bytes_are_uniform():
    drawn = SystemEntropy().random_raw(200_000).view(np.uint8)
    assert stats.chisquare(np.bincount(drawn, minlength=256)).pvalue > ALARM


def test_halves_and_doubles_are_uniform():
    generator = Generator(SystemEntropy())
    halves = generator.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    assert stats.chisquare(np.bincount(halves >> 24, minlength=256)).pvalue > ALARM
    assert stats.chisquare(np.bincount(halves & 255, minlength=256)).pvalue > ALARM
    assert stats.kstest(generator.random(100_000), "uniform").pvalue > ALARM


def test_two_sources_differ_and_no_word_comes_twice():
    words = np.concatenate([SystemEntropy().random_raw(3 * BUFFER_WORDS) for _ in range(3)])
    assert len(np.unique(words)) == len(words)


def test_works_with_numpy_generator():
    generator = Generator(SystemEntropy())
    assert abs(generator.standard_normal(100_000).mean()) < 0.05
    assert sorted(generator.permutation(10)) == list(range(10))


def test_words_are_handed_out_once_in_order_and_wiped():
    source = SystemEntropy(read=Reader(block_of(1), block_of(1 + BUFFER_WORDS)))
    np.testing.assert_array_equal(source.random_raw(100), np.arange(1, 101))
    assert not buffer_of(source)[:100].any()
    assert buffer_of(source)[100:].all()
    drawn = source.random_raw(2 * BUFFER_WORDS - 100)
    np.testing.assert_array_equal(drawn, np.arange(101, 2 * BUFFER_WORDS + 1))
    assert not buffer_of(source).any()


def test_two_halves_make_a_word():
    word = 0x0123456789ABCDEF
    source = SystemEntropy(read=Reader(np.full(BUFFER_WORDS, word, np.uint64).tobytes()))
    halves = Generator(source).integers(0, 1 << 32, 4, dtype=np.uint32)
    assert [hex(half) for half in halves] == ["0x89abcdef", "0x1234567"] * 2


@pytest.mark.parametrize("block", [b"", bytes(BUFFER_BYTES - 1), bytes(BUFFER_BYTES + 1), None])
def test_construction_fails_without_bytes(block):
    with pytest.raises(OSError, match="no random bytes"):
        SystemEntropy(read=Reader(block))


DRAWS = {
    "laplace": lambda source, out: noise.discrete_laplace(source, out, 1, 1000, out),
    "gaussian": lambda source, out: noise.discrete_gaussian(source, out, 1000, out),
    "geometric": lambda source, out: noise.geometric(source, 1, 1000, out),
    "bernoulli_exp": lambda source, out: noise.bernoulli_exp(source, 1, 3, out.view(np.uint8)),
    "exponential": lambda source, out: selection.exponential(
        source, np.zeros((2 * len(out), 50), np.int64), 1, 1, out.view(np.int32)
    ),
    "permute_and_flip": lambda source, out: selection.permute_and_flip(
        source, np.zeros((2 * len(out), 50), np.int64), 1, 1, out.view(np.int32)
    ),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_a_kernel_raises_when_the_source_dries_up(draw):
    source = SystemEntropy(read=Reader(os.urandom(BUFFER_BYTES)))
    out = np.ones(100_000, np.int64)
    with pytest.raises(OSError, match="no random bytes"):
        draw(source, out)
    assert not out.any()
    assert source.lock.acquire(blocking=False)
    source.lock.release()
    with pytest.raises(OSError, match="no random bytes"):  # it stays closed
        draw(source, out[:1])


def test_numpy_raises_when_the_source_dries_up():
    source = SystemEntropy(read=Reader(os.urandom(BUFFER_BYTES), b"short", block_of(0)))
    for draw in (source.random_raw, Generator(source).standard_normal, Generator(source).random):
        with pytest.raises((OSError, SystemError)) as caught:
            draw(2 * BUFFER_WORDS)
        assert "no random bytes" in f"{caught.value} {caught.value.__cause__}"


def in_child(draw):
    """Words that a forked child draws."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, draw().tobytes())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        words = pipe.read()
    os.waitpid(child, 0)
    return words


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_throws_the_buffer_away():
    source = SystemEntropy()
    source.random_raw(3)
    children = [in_child(lambda: source.random_raw(100)) for _ in range(2)]
    words = [np.frombuffer(words, np.uint64) for words in children]
    words.append(source.random_raw(BUFFER_WORDS))
    assert [len(drawn) for drawn in words] == [100, 100, BUFFER_WORDS]
    together = np.concatenate(words)
    assert len(np.unique(together)) == len(together)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_throws_the_other_half_of_a_word_away():
    source = SystemEntropy(read=Reader(*[block_of(1 << 40)] * 2))
    generator = Generator(source)

    def draw():
        return generator.integers(0, 1 << 32, 1, dtype=np.uint32)

    assert draw() == 0
    assert np.frombuffer(in_child(draw), np.uint32) == 0
    assert draw() == 1 << 8


def test_threads_share_a_source():
    source = SystemEntropy()
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(source.random_raw, [20_000] * 8))
    assert len(np.unique(np.concatenate(drawn))) == 160_000


def test_refuses_to_be_kept_or_read():
    source = SystemEntropy()
    for forbidden in (
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        lambda source: pickle.dumps(Generator(source)),
        lambda source: source.state,
        lambda source: setattr(source, "state", {}),
        lambda source: source.__getstate__(),
        lambda source: source.__setstate__({}),
        lambda source: source.__reduce__(),
    ):
        with pytest.raises(TypeError, match="SystemEntropy"):
            forbidden(source)


def test_spawn_gives_new_sources():
    first, second = SystemEntropy().spawn(2)
    assert set(first.random_raw(10)).isdisjoint(second.random_raw(10))


def test_seeds_are_refused():
    with pytest.raises(TypeError):
        SystemEntropy(42)


def test_coin_kernel_needs_no_source():
    blocks = np.empty(1, np.int32)
    coins.assign_blocks(np.array([5], np.uint64), np.array([5], np.uint64), blocks, 1)
    assert blocks[0] == 1
