"""Brute force against the bounds that parties work out for what they are asked in boosting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.federated import Party
from dpboost.federated.party.boosting_state import VALUE_LIMIT
from dpboost.federated.protocol import boosting_messages as b
from dpboost.federated.protocol.partition_message import Nodes
from dpboost.privacy.neighbours import Neighbours
from dpboost.rows.boosting_state import INIT_LIMIT
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import Tree
from tests.unit.federated.channels import FEATURES, agreement

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BRUTE = settings(deadline=None, derandomize=True, max_examples=60)
BOUNDS = {"age": (-3, 3), "dose": (-3, 3)}
SCHEMAS = {
    "two classes": {"bounds": BOUNDS, "classes": [0, 1]},
    "three classes": {"bounds": BOUNDS, "classes": [0, 1, 2]},
    "regression": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
}
BUDGETS = {
    "best": {"recipe": "best", "delta": 1e-6, "accountant": "GDP"},
    "pure": {"recipe": "best"},
    "dpboost": {"recipe": "dpboost"},
}

CELLS = st.sampled_from([0.0, -3.0, 3.0, 0.4, -1.7, 1e308, -1e308, np.inf, -np.inf, np.nan])
LABELS = {
    "two classes": st.sampled_from([0, 1, 7]),
    "three classes": st.sampled_from([0, 1, 2, 7]),
    "regression": st.sampled_from([-2.0, 5.0, 0.3, 1e308, -1e308]),
}
STARTS = st.sampled_from([0, 1, -1, 12345, INIT_LIMIT, -INIT_LIMIT])
VALUES = st.sampled_from([0, 1, -1, 2**20, -(2**21), VALUE_LIMIT, -VALUE_LIMIT])
LIMITS = st.sampled_from([5e-324, 2.0**-17, 2.0**-16, 0.3, 0.5, float(np.nextafter(1, 0)), 1.0])
SHARES = st.sampled_from([1e-300, 2.0**-53, 0.01, 0.5, 0.999, 1 - 2.0**-53])
UNITS = st.sampled_from([1, 2**18, 2**20 - 1, 2**20])


def terms_of(task, budget):
    kind = "regression" if task == "regression" else "classification"
    # From a seed, so that the coins of a row are the same in both tables.
    return agreement(2, schema=SCHEMAS[task], task=kind, noise_seed=0, **BUDGETS[budget])


def rows_of(task):
    cells = st.tuples(CELLS, CELLS)
    return st.lists(st.tuples(cells, LABELS[task]), max_size=5), st.tuples(cells, LABELS[task])


def held(terms, rows):
    X = np.array([cells for cells, _ in rows], dtype=np.float64).reshape(-1, len(FEATURES))
    y = np.array([label for _, label in rows], dtype=np.float64)
    return Party(0, X, y, agreement=terms).held


def answers(terms, tables, orders, ask):
    """Return what is answered for each table, and what the party would book."""
    found = []
    for rows in tables:
        state = held(terms, rows)
        for order in orders:
            state = order(state)
        query = ask.at(state)
        bounds = query.bounds(terms.relation)
        found.append(query.evaluate(state).astype(object).ravel())
    return found, {bound.kind: bound for bound in bounds}


def check_bounds(data, task, budget, relation, orders, ask):
    terms = terms_of(task, budget)
    object.__setattr__(terms, "neighbours", relation.value)
    rows, row = rows_of(task)
    before = data.draw(rows)
    news = data.draw(st.lists(row, min_size=2, max_size=4))
    tables = [before, *([*before, new] for new in news)]
    try:
        (old, *new), bounds = answers(terms, tables, orders, ask)
    except InvalidParameterError:
        # No bound of it fits: nothing would be charged.
        return
    moved = [one - old for one in new]
    if relation is REPLACE:
        moved = [one - other for one in new for other in new]
    for change in moved:
        assert sum(abs(change)) <= bounds["l1"].constant
        assert np.count_nonzero(change) <= bounds["l1"].coordinates
        if "l2" in bounds:
            assert sum(change * change) <= bounds["l2"].constant ** 2
    assert all(bound.constant < 2**62 for bound in bounds.values())


def binned(data, task, budget):
    """Return orders up to the rounds: any bins, any start."""
    terms = terms_of(task, budget)
    wide = st.sampled_from([(-3.0, 3.0), (0.0, 5e-324), (-1e308, 1e308), (-1e300, 0.0)])
    resolved = terms.declared.resolve(terms.features)
    own = {position: data.draw(wide) for position in range(len(FEATURES))}
    object.__setattr__(resolved, "bounds", own)
    binner = Binner.from_schema(resolved, n_bins=data.draw(st.sampled_from([2, 8, 255])))
    n_outputs = 3 if task == "three classes" else 1
    start = tuple(data.draw(STARTS) for _ in range(n_outputs))
    deal = data.draw(st.sampled_from([None, (Fraction(1),), (Fraction(2, 3), Fraction(1, 4))]))
    orders = [
        b.Begin().execute,
        b.Bin(binner=binner.to_dict(), start_units=start).execute,
        b.AssignRows(shares=deal).execute,
        b.Take(index=0).execute,
    ]
    return binner, n_outputs, orders


def partition(data, binner, most_depth=3):
    grid = PartitionGrid(n_bins=binner.n_bins, is_nominal=np.zeros(2, dtype=np.uint8))
    features = np.arange(2, dtype=np.int32)
    seed = data.draw(st.integers(0, 3))
    depth = data.draw(st.integers(0, most_depth))
    return Nodes.of(grid.random(features, depth, np.random.default_rng(seed)))


def learned(data, binner, n_outputs):
    """Return the orders of a round whose leaf values are as large as they may be."""
    nodes = partition(data, binner)
    n_leaves = len(nodes.feature) + 1
    numbers = [data.draw(VALUES) for _ in range(n_outputs)]
    values = np.repeat(np.array(numbers, dtype=np.int64)[:, np.newaxis], n_leaves, axis=1)
    ask = b.AskLeafSums(nodes=nodes, gradient_limit=1.0, hessian_share=0.5)
    trees = tuple(
        Tree(
            feature=nodes.feature,
            left_bins=nodes.left_bins,
            left=nodes.left,
            right=nodes.right,
            leaf_value=own,
        )
        for own in values
    )

    def answered(rows):
        ask.at(rows).evaluate(rows)
        return rows

    add = [answered, b.Add(values=values).execute] if data.draw(st.booleans()) else []
    return [*add, b.Append(trees=trees).execute, b.Take(index=0).execute]


@pytest.mark.parametrize("task", list(SCHEMAS))
@pytest.mark.parametrize("budget", ["best", "pure"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_leaf_sums_move_further_than_their_bounds(task, budget, relation, data):
    binner, n_outputs, orders = binned(data, task, budget)
    for _ in range(data.draw(st.integers(0, 2))):
        orders += learned(data, binner, n_outputs)
    ask = b.AskLeafSums(
        nodes=partition(data, binner),
        gradient_limit=data.draw(LIMITS),
        hessian_share=data.draw(SHARES),
    )
    check_bounds(data, task, budget, relation, orders, ask)


@pytest.mark.parametrize("task", ["two classes", "regression"])
@pytest.mark.parametrize("ask", [b.AskLevelSums(), b.AskLeafTotals()])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_sums_of_a_level_move_further_than_their_bounds(task, ask, relation, data):
    binner, n_outputs, orders = binned(data, task, "dpboost")
    for _ in range(data.draw(st.integers(0, 2))):
        orders += learned(data, binner, n_outputs)
    orders.append(b.Enter(gradient_bound=1.0).execute)
    for level in range(data.draw(st.integers(0, 2))):
        feature = [data.draw(st.integers(0, 1)) for _ in range(2**level)]
        split_bin = [data.draw(st.sampled_from([0, 3, 255])) for _ in range(2**level)]
        orders.append(
            b.Split(
                feature=np.array(feature, dtype=np.int32),
                split_bin=np.array(split_bin, dtype=np.uint8),
            ).execute
        )
    check_bounds(data, task, "dpboost", relation, orders, ask)


@pytest.mark.parametrize("task", list(SCHEMAS))
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_nothing_asked_before_the_bins_moves_further_than_its_bounds(task, relation, data):
    bounds = st.tuples(st.sampled_from([-1e308, -3.0, 0.0]), st.sampled_from([5e-324, 3.0, 1e308]))
    positions = sorted(data.draw(st.sets(st.integers(0, 1), min_size=1)))
    ranges = st.builds(
        b.AskRange,
        low=st.sampled_from([-2.0, -1e-300, 0.0]),
        high=st.sampled_from([5e-324, 0.3, 5.0]),
        units=UNITS,
        n_cells=st.sampled_from([None, 1, 8, 64]),
    )
    ask = data.draw(
        st.one_of(
            st.just(b.AskStart()),
            st.builds(
                b.AskFineCounts,
                bounds=st.tuples(bounds, bounds).map(
                    lambda pair: dict(zip(positions, pair, strict=False))
                ),
                units=UNITS,
            ),
            st.builds(
                b.AskMagnitudes,
                columns=st.sampled_from([None, 0, 1, (0,), (1, 0)]),
                units=UNITS,
            ),
            *([ranges] if task == "regression" else []),
        )
    )
    raw = isinstance(ask, b.AskMagnitudes | b.AskRange)
    orders = [] if raw else [b.Begin().execute]
    check_bounds(data, task, "best", relation, orders, ask)
