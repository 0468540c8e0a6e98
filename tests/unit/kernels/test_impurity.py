import numpy as np
import pytest

from dpboost._kernels import impurity

CELLS = np.array([0, 4, 7, 12], dtype=np.int32)
KINDS = np.array([0, 1, 2], dtype=np.uint8)
POSITIONS = np.array([0, 3, 5, 6], dtype=np.int32)
N_CLASSES = 3


def branch(counts, criterion, cap, scale):
    """One branch, by the kernel's other function."""
    out = np.empty(1, dtype=np.int64)
    impurity.node_scores(
        np.ascontiguousarray(counts, dtype=np.int64)[np.newaxis],
        criterion,
        np.array([cap]),
        np.array([scale]),
        out,
    )
    return int(out[0])


def expected(counts, criterion, cap, scale):
    """Scores of one node from its cells, split by split."""

    def total(*groups):
        return sum(branch(group, criterion, cap, scale) for group in groups)

    first, second, third = (counts[CELLS[f] : CELLS[f + 1]] for f in range(3))
    scores = [total(first[: b + 1].sum(axis=0), first[b + 1 :].sum(axis=0)) for b in range(3)]
    scores += [total(second[b], second.sum(axis=0) - second[b]) for b in range(2)]
    return [*scores, total(*third)]


@pytest.mark.parametrize("criterion", range(4))
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_score_is_the_sum_over_its_branches(criterion, n_threads):
    random = np.random.default_rng(criterion)
    n_nodes = 900
    counts = random.integers(0, 50, (n_nodes, CELLS[-1], N_CLASSES))
    counts[random.random(counts.shape) < 0.5] = 0
    counts[0] = 0
    caps, scales = random.uniform(2, 9, n_nodes), random.uniform(1, 100, n_nodes)
    out = np.empty((n_nodes, 6), dtype=np.int64)
    impurity.scores(
        counts.reshape(n_nodes, -1), CELLS, POSITIONS, KINDS, N_CLASSES, criterion, caps, scales,
        out, n_threads,
    )  # fmt: skip
    for node in range(0, n_nodes, 30):
        assert out[node].tolist() == expected(counts[node], criterion, caps[node], scales[node])
    assert (out <= 0).all()
    assert out[0].tolist() == [0] * 6


def test_an_impurity_of_each_kind():
    counts = [1, 3, 0]
    assert branch(counts, 0, 99.0, 1e6) == int(np.floor(-1e6 * (2 + 3 * np.log2(4 / 3))))
    assert branch(counts, 1, 99.0, 1000.0) == -1500
    assert branch(counts, 2, 99.0, 1000.0) == -1000
    assert branch(counts, 3, 99.0, 1e6) == int(np.floor(-2e6 * np.sqrt(3)))


def test_caps_hold_for_rare_classes_alone():
    assert branch([1, 1023], 0, 4.0, 1000.0) == int(
        np.floor(-1000 * (4 + 1023 * np.log2(1024 / 1023)))
    )
    assert branch([1, 1023], 3, 4.0, 1000.0) == -8000
    assert branch([512, 512], 3, 4.0, 1000.0) == -1_024_000
