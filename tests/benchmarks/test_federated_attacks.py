"""Rows come back out of trees that were grown on them, and not out of trees of other rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks.federated import attacks  # noqa: E402
from benchmarks.federated.client_trees import (  # noqa: E402
    SMALL_LEAVES,
    bagged_trees,
    whole_model,
)
from benchmarks.federated.reconstruction import (  # noqa: E402
    Grid,
    ReadTree,
    Reconstruction,
    Table,
    assign,
    found_share,
    read_trees,
    spans,
    start_of,
    tilt,
)
from benchmarks.federated.singling_out import claims, counted, inside  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.problems import PROBLEMS  # noqa: E402


def frame_of(n_rows, seed):
    """Return two numbers and a category, and labels that depend on all."""
    rng = np.random.default_rng(seed)
    kind = pd.Categorical(rng.choice(["a", "b", "c"], n_rows), categories=["a", "b", "c", "d"])
    X = pd.DataFrame({"x": rng.uniform(size=n_rows), "z": rng.normal(size=n_rows), "kind": kind})
    score = 4 * X["x"] + X["z"] + (kind == "b") - 2.5
    return X, (score + rng.logistic(size=n_rows) > 0).astype(int).to_numpy()


def test_a_table_is_numbers_and_positions():
    frame = pd.DataFrame({"x": [1.5, 2.0], "k": pd.Categorical(["b", None], categories=["a", "b"])})
    own = Table.of(frame)
    assert own.n_categories == (0, 3)
    assert own.values.tolist() == [[1.5, 1.0], [2.0, 2.0]]


def test_a_tree_is_read_as_its_model_says():
    X, y = frame_of(200, 0)
    trees = read_trees(whole_model(X, y, 0))
    first = trees[0]
    assert len(trees) == 100
    assert first.counts.sum() == 200
    share = y.mean()
    assert first.hessians == pytest.approx(first.counts * share * (1 - share))
    assert start_of(first) == pytest.approx(np.log(share / (1 - share)))
    # A path leads to those rows that the leaf counts.
    table = Table.of(X)
    grid = Grid(trees, table)
    inside = np.ones((len(X), len(first.values)), dtype=bool)
    for column, admitted in grid.leaves(first).items():
        inside &= admitted[grid.parts(table.values[:, column], column)]
    assert (inside.sum(axis=1) == 1).all()
    assert np.array_equal(inside.sum(axis=0), first.counts)


def test_a_tilt_has_the_stated_totals():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 60)
    facts = np.column_stack([np.ones(60), rng.normal(size=60)])
    totals = np.array([facts[truth == leaf].sum(axis=0) for leaf in range(4)])
    likely = tilt(np.full((60, 4), 0.25), facts, totals)
    assert likely.sum(axis=1) == pytest.approx(np.ones(60))
    assert likely.T @ facts == pytest.approx(totals, abs=0.05)


def test_every_leaf_gets_as_many_rows_as_it_counts():
    rng = np.random.default_rng(1)
    counts = np.array([5, 0, 12, 3])
    likely = rng.dirichlet(np.ones(4), 20)
    leaf = assign(likely, counts)
    assert np.array_equal(np.bincount(leaf, minlength=4), counts)
    sure = np.full((20, 4), 1e-6)
    truth = np.repeat(np.arange(4), counts)
    sure[np.arange(20), truth] = 1
    assert np.array_equal(assign(sure, counts), truth)


def test_found_cells_are_counted_whatever_the_order_of_the_rows():
    X, _ = frame_of(50, 2)
    table = Table.of(X)
    span = spans(table)
    assert np.isnan(span[2])
    order = np.random.default_rng(0).permutation(50)
    assert found_share(table, table.values[order], span) == (1.0, 1.0)
    wrong = table.values.copy()
    wrong[:, 2] = 3
    cells, rows = found_share(table, wrong, span)
    assert cells == pytest.approx(2 / 3)
    assert rows == 0
    near = table.values.copy()
    near[:, 0] += 0.049 * span[0]
    assert found_share(table, near, span)[0] == 1.0
    near[:, 0] += 100
    assert found_share(table, near, span)[0] == pytest.approx(2 / 3)


def rows_of_model(text, n_rows, public):
    return max(attacks.from_model(read_trees(text), n_rows, public, 0).items())[1]


def test_rows_come_back_from_the_model_that_was_trained_on_them():
    (X, y), (others, _), (known, _) = frame_of(200, 0), frame_of(200, 1), frame_of(500, 2)
    public = Table.of(known)
    span = spans(public)
    found = rows_of_model(whole_model(X, y, 0), 200, public)
    own = found_share(Table.of(X), found, span)[0]
    absent = found_share(Table.of(others), found, span)[0]
    grid = Grid([], public)
    nothing = grid.guess([np.ones((200, len(shares)), dtype=bool) for shares in grid.shares])
    assert own > found_share(Table.of(X), nothing, span)[0] + 0.1
    # Most of it is what the model tells of everybody.
    assert abs(own - absent) < 0.05


def test_rows_come_back_from_the_trees_of_a_round_each():
    tables = [frame_of(100, seed) for seed in (0, 1)]
    public = Table.of(frame_of(500, 2)[0])
    rounds = [[read_trees(text)[0] for text in own] for own in bagged_trees(tables, 12)]
    assert [len(own) for own in rounds] == [2] * 12
    found = attacks.from_bagging(rounds, 100, public, 0)
    assert set(found) == {1, 3, 10, 12}
    truth = Table.of(pd.concat([X for X, _ in tables], ignore_index=True))
    span = spans(public)
    shares = [found_share(truth, found[look], span)[0] for look in (1, 12)]
    assert shares[1] > shares[0]


def test_a_tree_of_other_rows_moves_the_scores_alone():
    X, y = frame_of(100, 0)
    text = bagged_trees([(X, y)], 1)[0][0]
    tree = read_trees(text)[0]
    public = Table.of(X)
    rows = Reconstruction(Grid([tree], public), 100, 0.0, 0)
    before = rows.rows
    rows.hear(tree)
    assert np.array_equal(before, rows.rows)
    # On average over the public rows, which are the tree's own.
    assert rows._scores.std() == pytest.approx(0.0)
    assert rows._scores[0] != 0


def test_exact_numbers_single_rows_out_for_certain():
    X, y = frame_of(100, 0)
    others = Table.of(frame_of(100, 1)[0])
    public = Table.of(frame_of(3000, 2)[0])
    trees = read_trees(whole_model(X, y, 0, **SMALL_LEAVES))
    found = counted(trees, public, {"own": Table.of(X), "others": others})
    assert found["claims"] > 5
    assert found["own"] == found["claims"]
    assert found["others"] < found["claims"]


def test_a_row_between_two_nodes_is_claimed():
    # Both trees cut x alone; 7 rows and 8 rows on the left: one is between 0.5 and 0.6.
    trees = [
        ReadTree(
            np.array([left, 20.0 - left]),
            np.ones(2),
            np.zeros(2),
            0.1,
            [[(0, True, cut)], [(0, False, cut)]],
        )
        for left, cut in ((7.0, 0.5), (8.0, 0.6))
    ]
    public = Table(np.linspace(0, 0.4, 50)[:, None], (0,))
    grid = Grid(trees, public)
    (box,) = claims(trees, grid, 20, public)
    assert inside(box, grid, Table(np.array([[0.5], [0.55], [0.6], [0.61]]), (0,))).tolist() == [
        False,
        True,
        True,
        False,
    ]
    # Where many are, a claim singles nobody out.
    crowd = Table(np.full((50, 1), 0.55), (0,))
    assert claims(trees, Grid(trees, crowd), 20, crowd) == []


def test_the_run_makes_its_page_and_its_picture(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    problem = PROBLEMS["adult"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.uniform(*ends, 400) for name, ends in problem.dictionary.bounds.items()}
    )
    for name, known in problem.dictionary.categories.items():
        frame[name] = pd.Categorical(rng.choice(known[:2], 400), categories=known)
    y = (frame["age"] > 50).astype(int).to_numpy()
    small = dataclasses.replace(problem, read=lambda paths: (frame, y), files=())
    monkeypatch.setitem(PROBLEMS, "adult", small)
    for name, value in (("N_ROWS", 15), ("N_PUBLIC", 200), ("N_ROUNDS", 2), ("EPSILONS", (1.0,))):
        monkeypatch.setattr(attacks, name, value)
    attacks._all_rows.cache_clear()
    text = carry_out(attacks.FEDERATED_ATTACKS, tmp_path, Request(quick=True), progress=False)
    attacks._all_rows.cache_clear()
    for line in ("bagging: trees of each party", "best, epsilon 1", "no trees: public marginals"):
        assert f"| {line} |" in text
    assert (tmp_path / "federated-attacks-quick.png").read_bytes().startswith(b"\x89PNG")
