import numpy as np
import pytest

from dpboost._kernels import gradient

ONE = 65536  # gradient 1 on the grid
HALF = 1 << 20  # half-width of the labels in score units
SCALE = ONE / HALF
SHIFT, RANGE = 13, 12 << 20
HUGE = 1 << 62


def pack(values):
    return (np.asarray(values, dtype=np.int64) << 32) + 1


def squared(scores, labels, rows=None, scale=SCALE, drop=-1, clip=ONE, n_threads=1):
    rows = np.arange(len(scores)) if rows is None else rows
    words = np.full(len(rows), 123, dtype=np.int64)
    gradient.squared(
        np.array(scores, dtype=np.int64),
        np.array(labels, dtype=np.int64),
        np.array(rows, dtype=np.int32),
        scale,
        drop,
        clip,
        words,
        n_threads,
    )
    return words


def squared_reference(score, label, scale=SCALE, drop=-1, clip=ONE):
    difference = int(score) - int(label)
    if 0 <= drop < abs(difference):
        return 0
    value = round(difference * scale)  # ties to even, one product of doubles
    return (max(-clip, min(clip, value)) << 32) + 1


def table():
    steps = np.arange((RANGE >> SHIFT) + 1, dtype=np.float64) * 2.0 ** (SHIFT - 20)
    values = np.rint(2.0**30 / (1 + np.exp(-steps))).astype(np.int64)
    return (values << 32) + np.diff(values, append=values[-1])


def logistic(scores, labels, rows=None, drop=-1, clip=ONE, n_threads=1):
    rows = np.arange(len(scores)) if rows is None else rows
    words = np.full(len(rows), 123, dtype=np.int64)
    gradient.logistic(
        np.array(scores, dtype=np.int64),
        np.array(labels, dtype=np.int64),
        np.array(rows, dtype=np.int32),
        table(),
        SHIFT,
        RANGE,
        drop,
        clip,
        words,
        n_threads,
    )
    return words


def logistic_reference(score, label, entries, drop=-1, clip=ONE):
    size = min(abs(int(score)), RANGE)
    entry = int(entries[size >> SHIFT])
    value = ((entry >> 32) << SHIFT) + (entry & 0xFFFFFFFF) * (size % (1 << SHIFT))
    value = (value + (1 << (SHIFT + 13))) >> (SHIFT + 14)
    value = (ONE - value if score < 0 else value) - int(label) * ONE
    if 0 <= drop < abs(value):
        return 0
    return (max(-clip, min(clip, value)) << 32) + 1


def examples(n_rows=5000):
    rng = np.random.default_rng(n_rows)
    scores = rng.integers(-3 * HALF, 3 * HALF, n_rows)
    scores[::17] = rng.integers(-HUGE, HUGE, len(scores[::17]))
    scores[:2] = -HUGE, HUGE
    return scores, rng.integers(-HALF, HALF + 1, n_rows), rng.integers(0, 2, n_rows)


@pytest.mark.parametrize("scale", [SCALE, ONE / 1_500_001, ONE / 1024.0, ONE / (2.0**31 - 1)])
@pytest.mark.parametrize(("drop", "clip"), [(-1, ONE), (HALF, ONE), (HALF // 3, 7000), (0, 1)])
def test_squared_agrees_with_python(scale, drop, clip):
    scores, labels, _ = examples()
    expected = [
        squared_reference(s, y, scale, drop, clip) for s, y in zip(scores, labels, strict=True)
    ]
    got = squared(scores, labels, scale=scale, drop=drop, clip=clip)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("drop", "clip"), [(-1, ONE), (ONE // 2, ONE), (ONE // 2, 7000), (0, 1)])
def test_logistic_agrees_with_python(drop, clip):
    scores, _, labels = examples()
    scores[2:6] = RANGE, RANGE - 1, -RANGE, 0
    entries = table()
    expected = [
        logistic_reference(s, y, entries, drop, clip) for s, y in zip(scores, labels, strict=True)
    ]
    np.testing.assert_array_equal(logistic(scores, labels, drop=drop, clip=clip), expected)


@pytest.mark.parametrize("sign", [-1, 1])
def test_squared_filter_keeps_its_border(sign):
    border = HALF  # gradient exactly 1
    scores = sign * np.array([border - 1, border, border + 1])
    got = squared(scores, np.zeros(3), drop=border)
    # One score unit is a sixteenth of a gradient unit here, so both kept rows round to 1.
    np.testing.assert_array_equal(got, [pack(sign * ONE), pack(sign * ONE), 0])


@pytest.mark.parametrize("sign", [-1, 1])
def test_logistic_filter_keeps_its_border(sign):
    score = sign * 300_000
    label = int(sign < 0)
    size = abs(int(logistic([score], [label])[0]) >> 32)
    assert 0 < size < ONE
    assert logistic([score], [label], drop=size)[0] == pack(sign * size)
    assert logistic([score], [label], drop=size - 1)[0] == 0


@pytest.mark.parametrize("score", [HUGE, -HUGE, 1 << 31, -(1 << 32), 1 << 52])
def test_huge_scores_saturate(score):
    sign = 1 if score > 0 else -1
    for label in (-(1 << 60), -(1 << 30), 0, 1 << 30, 1 << 60):
        if abs(score) > abs(label):
            assert squared([score], [label])[0] == pack(sign * ONE)
            assert squared([score], [label], drop=HALF)[0] == 0
            assert squared([score], [label], drop=(1 << 60) - 1)[0] == (
                0 if abs(score - label) >= 1 << 60 else pack(sign * ONE)
            )


@pytest.mark.parametrize("score", [HUGE, -HUGE, 2**63 - 1, -(2**63)])
def test_logistic_takes_any_score(score):
    sign = 1 if score > 0 else -1
    assert logistic([score], [int(sign < 0)])[0] == pack(sign * ONE)
    assert logistic([score], [int(sign > 0)])[0] == pack(0)


def test_no_rows():
    assert len(squared([1], [1], rows=[])) == 0
    assert len(logistic([1], [1], rows=[])) == 0
