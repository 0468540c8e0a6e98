"""Brute force against the bounds that parties work out for what they are asked in boosting."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.federated import Party
from dpboost.federated.party.admission import UnusableMessageError, admitted
from dpboost.federated.party.partition_table import without_table
from dpboost.federated.party.tree_structure import VALUE_LIMIT
from dpboost.federated.protocol import wire
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.private_bounds import Magnitudes, RangeCounts
from dpboost.rows.boosting_commands import AddValues, AppendTrees
from dpboost.rows.boosting_state import INIT_LIMIT
from dpboost.rows.gradient_queries import SplitNodes
from dpboost.rows.row_attributes import Weighting
from dpboost.rows.start_queries import ClassSizes, MeanAndRows, RowCount
from dpboost.training.loss_choice import weighting_of
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import PartitionGrid
from tests.unit.federated import engine_messages as e
from tests.unit.federated.channels import FEATURES, agreement
from tests.unit.federated.evaluated import model_of

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BRUTE = settings(deadline=None, derandomize=True, max_examples=60)
SHORT = settings(BRUTE, max_examples=12)
BOUNDS = {"age": (-3, 3), "dose": (-3, 3)}
SCHEMAS = {
    "two classes": {"bounds": BOUNDS, "classes": [0, 1]},
    "three classes": {"bounds": BOUNDS, "classes": [0, 1, 2]},
    "regression": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
    "quantiles": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
    "absolute": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
    "counts": {"bounds": BOUNDS, "label_bounds": (0.0, 5.0)},
    "shares": {"bounds": BOUNDS},
    "each against the rest": {"bounds": BOUNDS, "classes": [0, 1, 2]},
    "weighted classes": {"bounds": BOUNDS, "classes": [0, 1]},
    "weighted numbers": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
    "continued classes": {"bounds": BOUNDS, "classes": [0, 1]},
    "continued numbers": {"bounds": BOUNDS, "label_bounds": (-2.0, 5.0)},
}


def large(number):
    """Return a number in as many characters whose sums are infinite, or none at all."""
    sign, digits = number.group(1), number.group(2)
    return f"{sign}1.{'0' * (len(digits) - 6)}e308"[: len(number.group())]


OBJECTIVES = {
    "quantiles": {"objective": {"objective": "quantile", "alpha": [0.1, 0.5, 0.95]}},
    "absolute": {"objective": {"objective": "regression_l1"}},
    "counts": {"objective": {"objective": "poisson"}},
    "shares": {"objective": {"objective": "cross_entropy"}},
    "each against the rest": {"objective": {"objective": "multiclassova"}},
    "weighted classes": {
        "objective": {"class_weight": {0: 0.5, 1: 3.0}, "max_weight": 4.0},
        "weighted": True,
    },
    "weighted numbers": {"objective": {"max_weight": 4.0}, "weighted": True},
}
# A model that is continued; its leaf values are as large as a text may have them.
CONTINUED = {"continued classes": "two classes", "continued numbers": "numbers"}
OBJECTIVES |= {
    name: {
        "init_model": re.sub(
            r"(?m)^leaf_value=.*$",
            lambda line: re.sub(r"(-?)(\d\.\d{6}[-\d.e]*)", large, line.group()),
            model_of(kind).booster_.model_to_string(),
        )
    }
    for name, kind in CONTINUED.items()
}
OF_CLASSES = [name for name, schema in SCHEMAS.items() if "classes" in schema]
PLAIN = [name for name in SCHEMAS if name not in OBJECTIVES]
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
    "each against the rest": st.sampled_from([0, 1, 2, 7]),
    "weighted classes": st.sampled_from([0, 1, 7]),
    "continued classes": st.sampled_from([0, 1, 7]),
}
LABELS |= {name: LABELS["regression"] for name in SCHEMAS if name not in LABELS}
STARTS = st.sampled_from([0, 1, -1, 12345, INIT_LIMIT, -INIT_LIMIT])
VALUES = st.sampled_from([0, 1, -1, 2**20, -(2**21), VALUE_LIMIT, -VALUE_LIMIT])
ONE_UNIT = 2.0**-16
LIMITS = st.sampled_from([5e-324, 2.0**-17, ONE_UNIT, 0.3, 0.5, float(np.nextafter(1, 0)), 1.0])
SHARES = st.sampled_from([1e-300, 2.0**-53, 0.01, 0.5, 0.999, 1 - 2.0**-53])
# What a coordinator may claim of the rows of a party; most often nothing that is wrong.
WRONG_SCALES = st.one_of(
    st.just({}),
    st.just({}),
    st.fixed_dictionaries({"gradient_reach": st.just(ContributionBound.single(1))}),
    st.fixed_dictionaries({"hessian_reach": st.just(ContributionBound.single(1))}),
    st.fixed_dictionaries({"hessian_unit": st.just(1.0)}),
    st.fixed_dictionaries({"norm": st.sampled_from(["l1", "l2", "none"])}),
)
UNITS = st.sampled_from([1, 2**18, 2**20 - 1, 2**20])


def terms_of(task, budget):
    kind = "classification" if task in OF_CLASSES else "regression"
    # From a seed, so that the coins of a row are the same in both tables.
    more = OBJECTIVES.get(task, {}) | BUDGETS[budget]
    return agreement(2, schema=SCHEMAS[task], task=kind, noise_seed=0, **more)


def rows_of(task):
    cells = st.tuples(CELLS, CELLS)
    return st.lists(st.tuples(cells, LABELS[task]), max_size=5), st.tuples(cells, LABELS[task])


def held(terms, rows):
    X = np.array([cells for cells, _ in rows], dtype=np.float64).reshape(-1, len(FEATURES))
    y = np.array([label for _, label in rows], dtype=np.float64)
    # A function of the row.
    weights = np.where(X[:, 0] > 0, 0.3, 7.0) if terms.weighted else None
    return Party(0, X, y, agreement=terms, sample_weight=weights).held


def answers(terms, tables, orders, ask):
    """Return what is answered for each table, and what the party would book."""
    found = []
    for rows in tables:
        state = held(terms, rows)
        for order in orders:
            state = order(state)
        query = admitted(e.over_the_wire(ask), state)
        bounds = query.bounds(terms.relation)
        found.append(query.evaluate(state).astype(object).ravel())
    return found, {bound.kind: bound for bound in bounds}


def check_bounds(data, task, budget, relation, orders, ask, honest=True):
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
    except UnusableMessageError:
        assert not honest
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
    n_outputs = e.loss_of(terms)[0].n_outputs
    start = tuple(data.draw(STARTS) for _ in range(n_outputs))
    if terms.init_model is not None:
        start = (0,) * n_outputs
    deal = data.draw(st.sampled_from([None, (Fraction(1),), (Fraction(2, 3), Fraction(1, 4))]))
    return (
        binner,
        n_outputs,
        [
            carried_out(order)
            for order in (e.encode(terms), e.bins(terms, binner, start), e.assign(deal), e.TAKE)
        ],
    )


def carried_out(order):
    """Return what makes of rows what they are after an order that came over the wire."""
    read = wire.decode(wire.encode(order), object)
    return lambda rows: e.told(read, rows)


def partition(data, binner, most_depth=3):
    grid = PartitionGrid(n_bins=binner.n_bins, is_nominal=np.zeros(2, dtype=np.uint8))
    features = np.arange(2, dtype=np.int32)
    seed = data.draw(st.integers(0, 3))
    depth = data.draw(st.integers(0, most_depth))
    return without_table(grid.random(features, depth, np.random.default_rng(seed)))


def learned(data, terms, binner, n_outputs):
    """Return the orders of a round whose leaf values are as large as they may be."""
    nodes = partition(data, binner)
    numbers = [data.draw(VALUES) for _ in range(n_outputs)]
    values = np.repeat(np.array(numbers, dtype=np.int64)[:, np.newaxis], nodes.n_leaves, axis=1)
    ask = e.leaf_sums(terms, nodes, 1.0, 0.5)
    trees = tuple(e.tree_of(nodes, own) for own in values)

    def answered(rows):
        admitted(ask, rows).evaluate(rows)
        return rows

    add = [answered, carried_out(AddValues(values=values))] if data.draw(st.booleans()) else []
    return [*add, carried_out(AppendTrees(trees=trees)), carried_out(e.TAKE)]


@pytest.mark.parametrize("task", PLAIN)
@pytest.mark.parametrize("budget", ["best", "pure"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_leaf_sums_move_further_than_their_bounds(task, budget, relation, data):
    check_leaf_sums(task, budget, relation, data)


@pytest.mark.parametrize("task", list(OBJECTIVES))
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@SHORT
@given(data=st.data())
def test_no_leaf_sums_of_an_objective_move_further_than_their_bounds(task, relation, data):
    check_leaf_sums(task, data.draw(st.sampled_from(["best", "pure"])), relation, data)


def check_leaf_sums(task, budget, relation, data):
    terms = terms_of(task, budget)
    binner, n_outputs, orders = binned(data, task, budget)
    for _ in range(data.draw(st.integers(0, 2))):
        orders += learned(data, terms, binner, n_outputs)
    nodes, limit, share = partition(data, binner), data.draw(LIMITS), data.draw(SHARES)
    wrong = data.draw(WRONG_SCALES)
    if limit < ONE_UNIT:
        # No row reaches a unit of the grid: nobody has a bound to send.
        ask = e.leaf_sums(terms, nodes, 1.0, share, gradient_limit=limit)
    else:
        ask = e.leaf_sums(terms, nodes, limit, share, **wrong)
    check_bounds(data, task, budget, relation, orders, ask, honest=not wrong)


@pytest.mark.parametrize("task", ["two classes", "regression"])
@pytest.mark.parametrize("kind", [LevelSums, LeafTotals])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_sums_of_a_level_move_further_than_their_bounds(task, kind, relation, data):
    terms = terms_of(task, "dpboost")
    binner, n_outputs, orders = binned(data, task, "dpboost")
    for _ in range(data.draw(st.integers(0, 2))):
        orders += learned(data, terms, binner, n_outputs)
    orders.append(carried_out(e.ENTER))
    n_levels = data.draw(st.integers(0, 2))
    for level in range(n_levels):
        feature = [data.draw(st.integers(0, 1)) for _ in range(2**level)]
        split_bin = [data.draw(st.sampled_from([0, 3, 255])) for _ in range(2**level)]
        split = SplitNodes(
            feature=np.array(feature, dtype=np.int32),
            split_bin=np.array(split_bin, dtype=np.uint8),
        )
        orders.append(carried_out(split))
    parts = {"n_nodes": 2**n_levels, "gradient_bound": 1.0}
    if kind is LevelSums:
        parts["layout"] = Layout.of(binner)
    wrong = data.draw(st.sampled_from([{}, {}, {"gradient_bound": 2.0**-16}, {"n_nodes": 1}]))
    ask = kind(**parts | wrong)
    check_bounds(data, task, "dpboost", relation, orders, ask, honest=not wrong)


@pytest.mark.parametrize("task", PLAIN)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_nothing_asked_before_the_bins_moves_further_than_its_bounds(task, relation, data):
    check_before_the_bins(task, relation, data)


@pytest.mark.parametrize("task", list(OBJECTIVES))
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@SHORT
@given(data=st.data())
def test_nothing_asked_for_an_objective_moves_further_than_its_bounds(task, relation, data):
    check_before_the_bins(task, relation, data)


def check_before_the_bins(task, relation, data):
    terms = terms_of(task, "best")
    loss, classes = e.loss_of(terms)
    weighting = weighting_of(terms.learns, classes)
    bounds = st.tuples(st.sampled_from([-1e308, -3.0, 0.0]), st.sampled_from([5e-324, 3.0, 1e308]))
    positions = sorted(data.draw(st.sets(st.integers(0, 1), min_size=1)))
    start = ClassSizes(n_classes=3)
    if len(classes) < 3:
        # It is asked once more where there are few rows, at a start that was released.
        begun = loss.starting_from((data.draw(STARTS),) * loss.n_outputs)
        start = MeanAndRows(loss=begun, weighting=weighting, others=bool(classes))
    if terms.init_model is not None:
        start = RowCount(weighting=weighting, others=bool(classes))
    ranges = st.builds(
        RangeCounts,
        low=st.sampled_from([-2.0, -1e-300, 0.0]),
        high=st.sampled_from([5e-324, 0.3, 5.0]),
        units=UNITS,
        n_cells=st.sampled_from([None, 1, 8, 64]),
    )
    ask = data.draw(
        st.one_of(
            st.just(start),
            st.builds(
                e.fine_counts,
                bounds=st.tuples(bounds, bounds).map(
                    lambda pair: dict(zip(positions, pair, strict=False))
                ),
                units=UNITS,
            ),
            st.builds(
                Magnitudes,
                columns=st.sampled_from([None, 0, 1, (0,), (1, 0)]),
                units=UNITS,
            ),
            *([ranges] if terms.declared.label_bounds == (-2.0, 5.0) else []),
        )
    )
    raw = isinstance(ask, Magnitudes | RangeCounts)
    orders = [] if raw else [carried_out(e.encode(terms))]
    check_bounds(data, task, "best", relation, orders, ask)


@pytest.mark.parametrize("task", CONTINUED)
def test_scores_of_a_continued_model_start_where_it_ends_and_nowhere_else(task):
    terms = terms_of(task, "best")
    binner = Binner.from_schema(terms.declared.resolve(terms.features), n_bins=8)
    rows = [((0.4, -1.7), 1), ((np.inf, np.nan), 0)]
    encoded = e.told(e.encode(terms), held(terms, rows))
    binned = e.told(e.bins(terms, binner, (0,)), encoded)
    assert np.abs(binned.state.scores).max() <= INIT_LIMIT
    assert np.isfinite(encoded.extras.init_scores).all()
    with pytest.raises(UnusableMessageError):
        e.told(e.bins(terms, binner, (1,)), encoded)


def test_rows_are_counted_alone_where_a_model_is_continued_and_by_the_agreed_weights():
    plain, continued = (terms_of(task, "best") for task in ("two classes", "continued classes"))
    for terms, query in [
        (plain, RowCount(others=True)),
        (continued, RowCount()),
        (continued, RowCount(others=True, weighting=Weighting(max_weight=1.0))),
    ]:
        rows = e.told(e.encode(terms), held(terms, []))
        with pytest.raises(UnusableMessageError):
            admitted(query, rows)
