"""Brute force against the bounds of the questions, and refusals of questions that would lie."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import (
    MOST_WORTH,
    CellSizes,
    ClassCounts,
    ClassHistograms,
    FeatureCells,
    GroupedCells,
    NodeSizes,
    Together,
)
from dpboost.rows.site_queries import ImpurityBounds, SplitScores
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import CATEGORY, THRESHOLD, Candidates

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
N_FEATURES, N_CLASSES = 3, 2
LAYOUT = Candidates(
    n_bins=np.array([3, 2, 3], dtype=np.int32),
    is_categorical=np.array([0, 1, 0], dtype=np.uint8),
    kinds=np.array([THRESHOLD, CATEGORY, THRESHOLD], dtype=np.uint8),
)
CELLS = LAYOUT.cell_offsets


def splits(node, feature=0, split_bin=0):
    one = np.ones(1, dtype=np.int32)
    return Splits(
        node=one * node, feature=one * feature, split_bin=one * split_bin, n_branches=2 * one
    )


def position(bins, classes, made=()):
    """Rows of a table of bins, shape (n_rows, n_features), after some splits."""
    bins = np.asarray(bins, dtype=np.uint8).reshape(-1, N_FEATURES)
    classes = np.asarray(classes, dtype=np.uint8)
    rows = ClassRows(
        np.ascontiguousarray(bins.T),
        classes,
        np.ones(len(classes), dtype=bool),
        n_classes=N_CLASSES,
        candidates=LAYOUT,
        threads=Threads(1),
    )
    for one in made:
        rows.split(one)
    return rows


def table(n_rows, seed=0):
    random = np.random.default_rng(seed)
    bins = np.column_stack([random.integers(0, n + 1, n_rows) for n in LAYOUT.n_bins])
    return bins, random.integers(0, N_CLASSES, n_rows)


# The root by its first feature: bin 0 goes to node 1, all else to node 2, which is split again.
MADE = (splits(0), splits(2, feature=2, split_bin=1))
NODES = np.array([1, 3], dtype=np.int32)
TWO = np.array([1, 2], dtype=np.int32)

QUESTIONS = {
    "sizes": NodeSizes(nodes=NODES),
    "class counts": ClassCounts(nodes=NODES, n_classes=N_CLASSES),
    "histograms": ClassHistograms(nodes=NODES, cell_offsets=CELLS, n_classes=N_CLASSES),
    "cell sizes": CellSizes(
        nodes=NODES,
        cell_offsets=CELLS,
        n_classes=N_CLASSES,
        offered=np.array([[True, False, True], [False, True, True]]),
    ),
    "some features": FeatureCells(
        nodes=NODES,
        features=np.array([[1, 2], [0, 1]], dtype=np.int32),
        cell_offsets=CELLS,
        n_classes=N_CLASSES,
    ),
    "groups": GroupedCells(
        nodes=NODES,
        # Node 1 tells two features apart, node 3 one: what a row counts there is twice as much.
        groups=np.array([[0, 0, 1, 1, 2, 3, 3] + [-1] * 4, [-1] * 7 + [0, 1, 1, 1]], np.int32),
        cell_offsets=CELLS,
        n_groups=4,
        n_classes=N_CLASSES,
        unit_value=np.array([2, 4]),
    ),
    "bounds": ImpurityBounds(nodes=NODES, n_features=N_FEATURES),
    "scores": SplitScores(
        nodes=NODES,
        measure=int(Impurity.GINI),
        row_limits=np.array([64, 64]),
        n_candidates=LAYOUT.n_candidates,
    ),
}
EACH = pytest.mark.parametrize("name", list(QUESTIONS))
SUMS = [name for name in QUESTIONS if name not in ("bounds", "scores")]


@EACH
def test_answers_have_the_public_shape(name):
    query = QUESTIONS[name]
    for n_rows in (0, 1, 50):
        answer = query.evaluate(position(*table(n_rows), MADE))
        assert answer.shape == query.shape
        assert answer.dtype == np.int64


@pytest.mark.parametrize("name", SUMS)
def test_answers_of_disjoint_rows_add_up(name):
    query = QUESTIONS[name]
    bins, classes = table(200)
    whole = query.evaluate(position(bins, classes, MADE))
    parts = [query.evaluate(position(bins[i::3], classes[i::3], MADE)) for i in range(3)]
    assert np.array_equal(whole, sum(parts))
    assert whole.any()


def test_bounds_of_positions_together_are_below_the_bound_of_all_rows():
    """Theorem 7 of Gubler: sites split their own rows as well as any common split does."""
    query = QUESTIONS["bounds"]
    bins, classes = table(500)
    whole = query.evaluate(position(bins, classes, MADE))
    parts = sum(query.evaluate(position(bins[i::5], classes[i::5], MADE)) for i in range(5))
    # Each site rounds by less than two units.
    assert (parts <= whole + 5 * 2).all()
    assert (parts < whole).any()


def l1(query, before, after):
    return int(np.abs(query.evaluate(before) - query.evaluate(after)).sum())


def changes(query, relation):
    """The largest change of an answer that one row makes, over rows and small tables."""
    worst = 0
    for seed, n_rows in ((0, 0), (1, 1), (2, 6), (3, 40)):
        bins, classes = table(n_rows, seed)
        if seed == 3:
            # Rows of one class in one cell of each feature: a row of the other class joins them.
            bins[:20], bins[20:], classes[:] = [0, 1, 1], [1, 1, 1], 0
        news = [([*bins, row], [*classes, c]) for row in every_row() for c in range(N_CLASSES)]
        positions = [position(*new, MADE) for new in news]
        if relation is ADD:
            old = position(bins, classes, MADE)
            worst = max(worst, *(l1(query, old, new) for new in positions))
        else:
            answers = np.stack([query.evaluate(new).ravel() for new in positions])
            worst = max(worst, *(np.abs(answers - one).sum(axis=1).max() for one in answers))
    return worst


def every_row():
    return [(a, b, c) for a in range(4) for b in range(3) for c in range(4)]


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "scores"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_bounds_are_what_one_row_can_do(name, relation):
    (bound, *_) = QUESTIONS[name].bounds(relation)
    assert bound.kind == "l1"
    worst = changes(QUESTIONS[name], relation)
    assert worst <= bound.constant
    # Of impurity bounds a row among forty does a little less than one among very many.
    assert worst >= (0.93 if name == "bounds" else 1.0) * bound.constant


@EACH
def test_a_node_that_is_listed_twice_is_refused(name):
    twice = replace(QUESTIONS[name], nodes=np.array([1, 1], dtype=np.int32))
    with pytest.raises(InvalidParameterError, match="different"):
        twice.bounds(ADD)


@EACH
@pytest.mark.parametrize("nodes", [[0, 1], [2, 3], [4, 0], [1, 7], [-1, 2]])
def test_nodes_that_share_rows_or_do_not_exist_are_refused(name, nodes):
    asked = replace(QUESTIONS[name], nodes=np.array(nodes, dtype=np.int32))
    with pytest.raises(InvalidParameterError, match="nodes that"):
        asked.evaluate(position(*table(20), MADE))


@pytest.mark.parametrize("name", ["histograms", "cell sizes", "some features", "groups"])
def test_other_cells_or_classes_than_agreed_are_refused(name):
    rows = position(*table(20), MADE)
    other = CELLS.copy()
    other[1] -= 1
    for change in ({"cell_offsets": other}, {"n_classes": 3}):
        with pytest.raises(InvalidParameterError, match="agreed"):
            replace(QUESTIONS[name], **change).evaluate(rows)


LIES = [
    ("sizes", {"nodes": np.array([1.0, 3.0])}),
    ("class counts", {"nodes": np.array([[1], [3]], dtype=np.int32)}),
    # As numbers these would add up to one feature and offer three.
    ("cell sizes", {"offered": np.array([[3, -1, -1], [3, -1, -1]])}),
    ("cell sizes", {"offered": np.array([[True, False, False]])}),
    ("some features", {"features": np.array([1, 2], dtype=np.int32)}),
    ("some features", {"features": np.array([[1, 2]], dtype=np.int32)}),
    ("groups", {"unit_value": np.array([2])}),
    ("groups", {"groups": QUESTIONS["groups"].groups[:, :-1]}),
    ("scores", {"row_limits": np.array([64])}),
    # 3 * 6148914691236517206 is 2 in 64 bits.
    ("groups", {"unit_value": np.array([6148914691236517206, 1])}),
    ("groups", {"unit_value": np.array([MOST_WORTH + 1, 1])}),
    ("groups", {"unit_value": np.array([2, 4], dtype=np.int8)}),
    ("groups", {"unit_value": np.array([2, 4], dtype=np.uint64)}),
    ("groups", {"unit_value": np.array([2.5, 4.0])}),
    ("groups", {"unit_value": np.array([2, 4], dtype=object)}),
    ("groups", {"unit_value": [2, 4]}),
    ("groups", {"groups": QUESTIONS["groups"].groups.astype(np.int8)}),
    ("groups", {"groups": QUESTIONS["groups"].groups - 1}),
    ("groups", {"n_groups": 3}),
    ("groups", {"n_groups": 4.0}),
    ("groups", {"n_groups": True}),
    ("groups", {"n_classes": -2}),
    ("groups", {"cell_offsets": CELLS.astype(np.uint8)}),
    ("groups", {"cell_offsets": np.array([0, 7, 4, 11], dtype=np.int32)}),
    ("groups", {"cell_offsets": np.array([0, 4, 4, 11], dtype=np.int32)}),
    ("groups", {"cell_offsets": np.array([4, 7, 11], dtype=np.int32)}),
    ("histograms", {"cell_offsets": np.zeros(1, dtype=np.int32)}),
    ("histograms", {"cell_offsets": CELLS.astype(np.float64)}),
    ("histograms", {"n_classes": 2.0}),
    ("cell sizes", {"offered": QUESTIONS["cell sizes"].offered.view(np.uint8)}),
    ("some features", {"features": np.array([[1, 3], [0, 1]], dtype=np.int32)}),
    ("some features", {"features": np.array([[1, 2], [0, 1]], dtype=np.uint8)}),
    ("some features", {"features": np.zeros((2, 0), dtype=np.int32)}),
    ("sizes", {"nodes": NODES.astype(np.uint8)}),
    ("sizes", {"nodes": NODES.astype(object)}),
    ("sizes", {"nodes": [1, 3]}),
    ("sizes", {"nodes": np.array([-1, 3], dtype=np.int32)}),
    ("class counts", {"n_classes": np.array([2])}),
    ("bounds", {"n_features": 3.0}),
    ("bounds", {"n_features": 2**62}),
    ("scores", {"row_limits": np.array([64.0, 64.0])}),
    ("scores", {"measure": 1.0}),
    ("scores", {"measure": 9}),
    ("scores", {"n_candidates": -8}),
]


@pytest.mark.parametrize(("name", "change"), LIES)
def test_fields_that_do_not_fit_together_are_refused(name, change):
    """A party believes nothing but the fields, and kernels believe the party."""
    with pytest.raises(InvalidParameterError):
        replace(QUESTIONS[name], **change).bounds(ADD)


# -- brute force over all objects that may be built ------------------------------------------------

DISJOINT = [[0], [1], [2], [3], [4], [1, 2], [3, 4], [1, 3], [1, 4], [1, 3, 4]]
BRUTE = settings(deadline=None, derandomize=True, max_examples=50)
ALL_ROWS = [(row, c) for row in every_row() for c in range(N_CLASSES)]


@st.composite
def extreme(draw, kind):
    """A question of a kind with any valid fields, the largest and the smallest among them."""
    nodes = np.array(draw(st.permutations(draw(st.sampled_from(DISJOINT)))), dtype=np.int32)
    common = {"nodes": nodes, "n_classes": N_CLASSES}
    if kind is ClassCounts:
        return ClassCounts(**common)
    if kind is NodeSizes:
        return NodeSizes(nodes=nodes)
    if kind is ImpurityBounds:
        return ImpurityBounds(nodes=nodes, n_features=N_FEATURES)
    common["cell_offsets"] = CELLS
    some = st.sets(st.integers(0, N_FEATURES - 1), min_size=1)
    if kind in (ClassHistograms, CellSizes):
        number = len(draw(some))
        offered = np.zeros((len(nodes), N_FEATURES), dtype=bool)
        for node in range(len(nodes)):
            offered[node, draw(st.permutations(range(N_FEATURES)))[:number]] = True
        return kind(**common, offered=draw(st.sampled_from([offered, None])))
    if kind is FeatureCells:
        # A feature may be named twice.
        number = draw(st.integers(1, 5))
        named = st.lists(st.integers(0, N_FEATURES - 1), min_size=number, max_size=number)
        features = np.array([draw(named) for _ in nodes], dtype=np.int32)
        return FeatureCells(**common, features=features)
    n_groups = draw(st.sampled_from([1, 2, 4, 30]))
    groups = np.full((len(nodes), CELLS[-1]), -1, dtype=np.int32)
    for node in range(len(nodes)):
        for feature in draw(some):
            for cell in range(CELLS[feature], CELLS[feature + 1]):
                groups[node, cell] = draw(st.integers(-1, n_groups - 1))
            groups[node, CELLS[feature]] = n_groups - 1
    units = st.sampled_from([1, 2, MOST_WORTH - 1, MOST_WORTH])
    unit_value = np.array([draw(units) for _ in nodes], dtype=np.int64)
    return GroupedCells(**common, groups=groups, n_groups=n_groups, unit_value=unit_value)


@pytest.mark.parametrize(
    "kind",
    [
        NodeSizes,
        ClassCounts,
        ClassHistograms,
        CellSizes,
        FeatureCells,
        GroupedCells,
        ImpurityBounds,
    ],
)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_valid_question_moves_further_than_its_bounds(kind, relation, data):
    query = data.draw(extreme(kind))
    bounds = {bound.kind: bound for bound in query.bounds(relation)}
    rows = data.draw(st.lists(st.sampled_from(ALL_ROWS), max_size=6))
    news = data.draw(st.lists(st.sampled_from(ALL_ROWS), min_size=2, max_size=12, unique=True))

    def answer(own):
        bins, classes = [row for row, _ in own], [c for _, c in own]
        return query.evaluate(position(bins, classes, MADE)).astype(object).ravel()

    answers = [answer([*rows, new]) for new in news]
    others = [answer(rows)] if relation is ADD else answers
    for moved in (one - other for one in answers for other in others):
        assert sum(abs(moved)) <= bounds["l1"].constant
        assert np.count_nonzero(moved) <= bounds["l1"].coordinates
        if "l2" in bounds:
            assert sum(moved * moved) <= bounds["l2"].constant ** 2
    assert all(bound.constant < 2**62 for bound in bounds.values())


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@BRUTE
@given(data=st.data())
def test_no_valid_scores_move_further_than_their_range(relation, data):
    nodes = np.array(data.draw(st.sampled_from(DISJOINT)), dtype=np.int32)
    limits = st.sampled_from([64, 65, 2**20, 2**31 - 1, 2**31])
    query = SplitScores(
        nodes=nodes,
        measure=data.draw(st.integers(0, len(Impurity) - 1)),
        row_limits=np.array([data.draw(limits) for _ in nodes], dtype=np.int64),
        n_candidates=LAYOUT.n_candidates,
    )
    (bound,) = query.bounds(relation)
    rows = data.draw(st.lists(st.sampled_from(ALL_ROWS), max_size=40))
    news = data.draw(st.lists(st.sampled_from(ALL_ROWS), min_size=2, max_size=12, unique=True))

    def answer(own):
        return query.evaluate(position([row for row, _ in own], [c for _, c in own], MADE))

    answers = [answer([*rows, new]) for new in news]
    others = [answer(rows)] if relation is ADD else answers
    for moved in (one - other for one in answers for other in others):
        assert (moved.max(axis=1) - moved.min(axis=1)).sum() <= bound.constant


def test_features_that_share_a_group_are_counted_twice():
    groups = np.array([[0] * 11, [0] * 11], np.int32)
    query = replace(QUESTIONS["groups"], groups=groups, unit_value=np.array([2, 2]))
    bounds = {bound.kind: bound.constant for bound in query.bounds(ADD)}
    one = query.evaluate(position([[0, 0, 0]], [1], MADE))
    assert bounds["l1"] == bounds["l2"] == one.max() == 6


ODD_SPLITS = [
    {"feature": np.array([-1], dtype=np.int32)},
    {"feature": np.array([3], dtype=np.int32)},
    {"feature": np.array([], dtype=np.int32)},
    {"split_bin": np.array([0, 1], dtype=np.int32)},
    {"feature": np.array([0.0])},
    {"node": np.array([9], dtype=np.int32)},
    {"node": np.array([1, 1], dtype=np.int32)},
]


@pytest.mark.parametrize("change", ODD_SPLITS)
def test_splits_that_rows_cannot_follow_are_refused(change):
    with pytest.raises(InvalidParameterError):
        position(*table(20), MADE).split(replace(splits(1), **change))


def test_other_numbers_of_features_are_refused():
    with pytest.raises(InvalidParameterError, match="agreed"):
        ImpurityBounds(nodes=NODES, n_features=2).evaluate(position(*table(20), MADE))
    with pytest.raises(InvalidParameterError, match="agreed"):
        replace(QUESTIONS["scores"], n_candidates=1).evaluate(position(*table(20), MADE))
    with pytest.raises(InvalidParameterError, match="as many features"):
        replace(QUESTIONS["cell sizes"], offered=np.array([[True] * 3, [False] * 3])).bounds(ADD)
    with pytest.raises(InvalidParameterError, match="a unit"):
        replace(QUESTIONS["groups"], unit_value=np.array([2, 0])).bounds(ADD)
    negative = np.array([[1, 2], [0, -1]], dtype=np.int32)
    with pytest.raises(InvalidParameterError, match="do not have"):
        replace(QUESTIONS["some features"], features=negative).bounds(ADD)


BRANCHED = [
    ClassCounts(nodes=NODES, n_classes=N_CLASSES),
    QUESTIONS["bounds"],
    QUESTIONS["some features"],
]


@pytest.mark.parametrize("query", BRANCHED)
def test_a_branch_is_a_path_above_the_nodes(query):
    rows = position(*table(20), MADE)
    for nodes, branch in [([3, 4], ()), ([3, 4], ("2",)), ([1, 2], ())]:
        asked = replace(query, nodes=np.array(nodes, dtype=np.int32), branch=branch)
        asked.evaluate(rows)
    for nodes, branch in [
        ([3, 4], ("1",)),
        ([1, 3], ("2",)),
        ([3, 4], ("3",)),
        ([3, 4], ("9",)),
        ([3, 4], ("02",)),
        ([3, 4], (" 2",)),
        ([3, 4], "2"),
        ([3, 4], (2,)),
        ([3, 4], {"2": 0}),
    ]:
        asked = replace(query, nodes=np.array(nodes, dtype=np.int32), branch=branch)
        with pytest.raises(InvalidParameterError, match="names a part"):
            asked.evaluate(rows)
    # Node 3 is no child of the root.
    asked = replace(query, nodes=np.array([3, 4], dtype=np.int32), branch=("3",))
    with pytest.raises(InvalidParameterError, match="no path"):
        asked.evaluate(rows)


@pytest.mark.parametrize("query", BRANCHED)
def test_parts_that_are_read_at_once_answer_as_one_by_one(query):
    rows = position(*table(20), MADE)

    def about(nodes, branch):
        columns = {"nodes": np.array(nodes, dtype=np.int32)}
        if hasattr(query, "features"):
            columns["features"] = query.features[: len(nodes)]
        return replace(query, branch=branch, **columns)

    parts = [about([4], ("2",)), about([1], ("1",)), about([3], ("2", "3"))]
    together = Together(queries=parts)
    answers = [part.evaluate(rows) for part in parts]
    np.testing.assert_array_equal(together.evaluate(rows), np.concatenate(answers))
    assert together.shape == (3, *answers[0].shape[1:])
    with pytest.raises(InvalidParameterError, match="where its nodes are not"):
        Together(queries=[*parts[:2], about([3], ("1",))]).evaluate(rows)
    with pytest.raises(InvalidParameterError, match="share rows"):
        Together(queries=[*parts, about([2], ("2",))]).evaluate(rows)


def test_a_node_is_split_once():
    rows = position(*table(20), MADE)
    with pytest.raises(InvalidParameterError, match="once"):
        rows.split(splits(2))


@EACH
def test_questions_can_be_sent(name):
    rows = position(*table(30), MADE)
    sent = pickle.loads(pickle.dumps(QUESTIONS[name]))
    assert np.array_equal(sent.evaluate(rows), QUESTIONS[name].evaluate(rows))
