"""What a party checks by itself before a kernel sees it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.federated import Party
from dpboost.federated.party.admission import UnusableMessageError, admitted
from dpboost.federated.party.boosting_admission import sent
from dpboost.federated.party.partition_table import without_table
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.losses import LogisticLoss
from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.private_bounds import Magnitudes, RangeCounts
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.boosting_commands import (
    AddValues,
    AppendTrees,
    EnterNodes,
    SelectRound,
)
from dpboost.rows.encoded_rows import EncodeLabels
from dpboost.rows.gradient_queries import NodeTotals, SplitNodes
from dpboost.rows.row_attributes import Weighting
from dpboost.rows.start_queries import ClassSizes, MeanAndRows
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import PartitionGrid
from tests.unit.federated import engine_messages as e
from tests.unit.federated.channels import SCHEMA, agreement, tables

TERMS = agreement(schema=SCHEMA | {"classes": [0, 1]}, recipe="dpboost")
BINNER = Binner.from_schema(TERMS.declared.resolve(TERMS.features), n_bins=8)


def held():
    ((X, y),) = tables([30], n_classes=2)
    return Party(0, X, y, agreement=TERMS).held


def begun():
    return e.told(e.encode(TERMS), held())


REGRESSION = agreement(schema=SCHEMA | {"label_bounds": [-4, 4]}, task="regression")


def measured():
    """Rows of a regression."""
    ((X, y),) = tables([30])
    return Party(0, X, y, agreement=REGRESSION).held


def asked(low=-1.0, high=2.0, units=1, n_cells=64, rows=measured):
    return admitted(RangeCounts(low=low, high=high, units=units, n_cells=n_cells), rows())


def binned(start=(0,)):
    return e.told(e.bins(TERMS, BINNER, start), begun())


def bins(**wrong):
    """The command that puts rows into bins, with something else in it."""
    return replace(e.bins(TERMS, BINNER), **wrong)


def features(change):
    """The written bins, with another map of the first column."""
    plain = BINNER.to_dict()
    plain["features"][0] |= change
    return plain


def ranged(bounds):
    """Labels of a regression on the grid of a range, honest or not."""
    command = e.encode(REGRESSION)
    return replace(command, loss=replace(command.loss, bounds=bounds))


def encoding(terms=TERMS, classes=(0, 1), **wrong):
    """The command that puts labels on a grid, with other numbers in it."""
    command = e.encode(terms)
    return replace(command, classes=classes, loss=replace(command.loss, **wrong))


def starting(*start_units):
    """The numbers of the loss with a start."""
    return replace(e.encode(TERMS).loss, start_units=start_units)


def dealt(shares=(Fraction(1, 2), Fraction(1, 2))):
    return e.told(e.assign(shares), binned())


def taken(index=0):
    return e.told(SelectRound(index=index), dealt())


def entered():
    return e.told(e.ENTER, taken())


def nodes(depth=2):
    grid = PartitionGrid(n_bins=BINNER.n_bins, is_nominal=np.zeros(2, dtype=np.uint8))
    both = np.arange(2, dtype=np.int32)
    return without_table(grid.random(both, depth, np.random.default_rng(0)))


def tree(**wrong):
    return replace(e.tree_of(nodes(), np.zeros(4, dtype=np.int64)), **wrong)


def sums(partition=None, limit=0.5, share=0.1, **wrong):
    """A question about the leaves of a partition."""
    own = nodes() if partition is None else partition
    return e.leaf_sums(TERMS, own, limit, share, **wrong)


def level(**wrong):
    own = LevelSums(n_nodes=1, layout=Layout.of(BINNER), gradient_bound=1.0)
    return replace(own, **wrong)


def test_rounds_of_one_deal_are_parts_and_deals_are_stages():
    rows = dealt()
    assert (rows.stage, rows.branch) == ("ensemble 0", ())
    e.told(SelectRound(index=1), rows)
    assert (rows.stage, rows.branch) == ("ensemble 0", ("tree 1",))
    e.told(e.assign((Fraction(1),)), rows)
    assert (rows.stage, rows.branch) == ("ensemble 1", ())
    e.told(e.assign(None), rows)
    e.told(SelectRound(index=5), rows)
    assert (rows.stage, rows.branch) == ("ensemble 2", ())


def test_parties_deal_by_coins_of_their_own():
    first, second = (dealt().state._order for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    "order",
    [
        lambda: e.told(e.encode(TERMS), begun()),
        lambda: e.told(ranged((0.0, 1.0)), held()),
        *(
            lambda bounds=bounds: e.told(ranged(bounds), measured())
            for bounds in (
                (-5.0, 1.0),
                (0.0, 4.5),
                (1.0, 0.0),
                (1.0, 1.0),
                (3.0, 3.0 + 2.0**-40),
                (0, 1),
                (0.0, np.nan),
                (),
                None,
                [-1.0, 2.0],
            )
        ),
        lambda: e.told(e.encode(TERMS), measured()),
        lambda: e.told(encoding(classes=(1, 0)), held()),
        lambda: e.told(encoding(classes=(0, 2)), held()),
        lambda: e.told(encoding(classes=(False, True)), held()),
        lambda: e.told(encoding(start_units=(1,)), held()),
        lambda: e.told(encoding(start_units=(0, 0)), held()),
        lambda: e.told(encoding(start_units=0), held()),
        lambda: e.told(encoding(bounds=(0.0, 1.0)), held()),
        lambda: e.told(encoding(spread=0.5), held()),
        lambda: e.told(encoding(REGRESSION, (), spread=1), measured()),
        lambda: e.told(EncodeLabels(loss=LogisticLoss(), classes=(0, 1)), held()),
        lambda: e.told(EncodeLabels(loss=None, classes=(0, 1)), held()),
        lambda: e.told(bins(binner={}), begun()),
        lambda: e.told(bins(binner=features({"n_cells": 2**40})), begun()),
        lambda: e.told(bins(binner=features({"n_cells": 0})), begun()),
        lambda: e.told(bins(binner=BINNER.to_dict() | {"features": []}), begun()),
        lambda: e.told(bins(loss=starting(2**60)), begun()),
        lambda: e.told(bins(loss=starting(0.5)), begun()),
        lambda: e.told(bins(loss=starting(True)), begun()),
        lambda: e.told(bins(loss=starting(0, 0)), begun()),
        lambda: e.told(bins(loss=replace(starting(0), start_units=0)), begun()),
        lambda: e.told(bins(loss=replace(starting(0), bounds=(0.0, 1.0))), begun()),
        lambda: e.told(bins(loss=LogisticLoss()), begun()),
        lambda: e.told(bins(weighting=Weighting(max_weight=1.0)), begun()),
        lambda: e.told(bins(), held()),
        lambda: e.told(bins(), binned()),
        lambda: e.told(
            e.bins(TERMS, Binner(features=BINNER.features, feature_names=("other", "names"))),
            begun(),
        ),
        lambda: e.told(e.assign(None), begun()),
        lambda: e.told(replace(e.assign((Fraction(1),)), coins=RowCoins(bytes(32))), binned()),
        lambda: dealt(shares=(Fraction(2, 3), Fraction(2, 3))),
        lambda: e.told(e.TAKE, binned()),
        lambda: taken(2),
        lambda: taken(-1),
        lambda: taken(True),
        lambda: dealt(shares=()),
        lambda: dealt(shares=(0.5, 0.5)),
        lambda: dealt(shares=[Fraction(1)]),
        lambda: dealt(shares=(Fraction(1, 2**20),) * (2**16 + 1)),
        lambda: dealt(shares=tuple(Fraction(1, 3**9000 - k) for k in range(1, 9))),
        lambda: e.told(EnterNodes(gradient_bound=0.5), taken()),
        lambda: e.told(EnterNodes(gradient_bound=np.ones(1)), taken()),
        lambda: e.told(EnterNodes(gradient_bound=1.0, whole=True), taken()),
        lambda: e.told(
            EnterNodes(gradient_bound=1.0, features=np.zeros(1, dtype=np.int32)), taken()
        ),
        lambda: e.told(e.ENTER, dealt()),
        lambda: e.told(e.ENTER, dealt_again()),
        lambda: split([0, 0]),
        lambda: split([7]),
        lambda: split([-1]),
        lambda: split([0.0], dtype=np.float64),
        lambda: split([0], dtype=np.uint64),
        lambda: split([0], bins=np.int64),
        lambda: e.told(
            SplitNodes(feature=np.zeros(1, np.int32), split_bin=np.zeros(1, np.uint8)), dealt()
        ),
        lambda: add(np.zeros((1, 3), dtype=np.int64)),
        lambda: add(np.zeros((2, 4), dtype=np.int64)),
        lambda: add(np.full((1, 4), 2**50)),
        # The least int64 has no absolute value.
        lambda: add(np.full((1, 4), -(2**63))),
        lambda: append(tree(leaf_value=np.full(4, -(2**63)))),
        lambda: add(np.zeros((1, 4))),
        lambda: e.told(AddValues(values=np.zeros((1, 4), dtype=np.int64)), dealt()),
        lambda: append(),
        lambda: append(tree(), tree()),
        lambda: append(tree(feature=np.full(3, 9, dtype=np.int32))),
        lambda: append(tree(left=np.zeros(3, dtype=np.int32))),
        lambda: append(tree(leaf_value=np.zeros(9, dtype=np.int64))),
        lambda: append(tree(leaf_value=np.full(4, 2**50))),
        lambda: append("tree"),
        # A question, and an object that is no message.
        lambda: e.told(ClassSizes(n_classes=3), begun()),
        lambda: e.told(held(), held()),
    ],
)
def test_orders_that_do_not_fit_are_refused(order):
    with pytest.raises((UnusableMessageError, ValueError, KeyError)):
        order()


def split(features, dtype=np.int32, bins=np.uint8):
    feature = np.array(features, dtype=dtype)
    return e.told(SplitNodes(feature=feature, split_bin=np.zeros(len(features), bins)), entered())


def dealt_again():
    """Rows at hand are those of a round of the first deal."""
    rows = e.told(e.TAKE, dealt(shares=(Fraction(1, 10),)))
    return e.told(e.assign(None), rows)


def add(values):
    rows = taken()
    admitted(sums(), rows).evaluate(rows)
    return e.told(AddValues(values=values), rows)


def append(*trees):
    return e.told(AppendTrees(trees=trees), dealt())


def test_labels_are_counted_and_encoded_inside_a_released_range():
    for n_cells in (64, 1, None):
        query = asked(n_cells=n_cells, units=7)
        assert query.evaluate(measured()).sum() == 30 * 7
    loss, classes = e.loss_of(REGRESSION, (-1.0, 2.0))
    # The released spread is for rules of the coordinator.
    for spread in (None, 0.25):
        command = sent(EncodeLabels(loss=replace(loss, spread=spread), classes=classes))
        rows = e.told(command, measured())
        assert (rows.loss.lower, rows.loss.upper) == (-1.0, 2.0)


def test_orders_that_fit_are_carried_out():
    assert split([1]).n_nodes == 2
    add(np.zeros((1, 4), dtype=np.int64))
    assert append(tree()).state.n_trees == 1


def test_what_a_party_uses_is_its_own():
    command = admitted(e.encode(TERMS), held())
    assert isinstance(command.loss, LogisticLoss)
    rows = taken()
    given = sums()
    own = admitted(given, rows)
    assert own.scale is not given.scale
    assert len(given.partition.table) == 0 < len(own.partition.table)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (lambda: Magnitudes(columns=2, units=1), held),
        (lambda: Magnitudes(columns=-1, units=1), held),
        (lambda: Magnitudes(columns="age", units=1), held),
        (lambda: Magnitudes(columns=True, units=1), held),
        (lambda: Magnitudes(columns=0, units=0), held),
        (lambda: Magnitudes(columns=(0, 1.5), units=1), held),
        (lambda: Magnitudes(columns=(), units=1), held),
        (lambda: Magnitudes(columns=(0, 0), units=1), held),
        (lambda: Magnitudes(columns=0, units=2.0), held),
        (lambda: Magnitudes(columns=0, units=1), binned),
        (lambda: e.fine_counts({0: (0.0, 1.0)}, 1), held),
        (lambda: replace(e.fine_counts({0: (0.0, 1.0)}, 1), fine=((0, (0.0, 1.0)),)), begun),
        (lambda: replace(e.fine_counts({0: (0.0, 1.0)}, 1), fine={0: (0.0, 1.0)}), begun),
        (lambda: replace(e.fine_counts({0: (0.0, 1.0)}, 1), zero_as_missing=True), begun),
        (lambda: replace(e.fine_counts({0: (0.0, 1.0)}, 1), zero_as_missing=0), begun),
        (lambda: replace(e.fine_counts({}, 1), fine=dict(enumerate(BINNER.features))), begun),
        (lambda: e.fine_counts({}, 1), begun),
        (lambda: e.fine_counts({1: (0.0, 1.0), 0: (0.0, 1.0)}, 1), begun),
        (lambda: e.fine_counts({0: (0.0, 0.0)}, 1), begun),
        (lambda: e.fine_counts({5: (0.0, 1.0)}, 1), begun),
        (lambda: e.fine_counts({0: (0.0, 1.0)}, 2**40), begun),
        (lambda: e.fine_counts({0: (0.0, 1.0)}, 1), binned),
        (lambda: mean(), binned),
        (lambda: mean(), held),
        (lambda: mean(others=False), begun),
        (lambda: mean(others=1), begun),
        (lambda: mean(loss=starting(2**60)), begun),
        (lambda: mean(loss=starting(0, 0)), begun),
        (lambda: mean(loss=LogisticLoss()), begun),
        (lambda: mean(weighting=Weighting(max_weight=1.0)), begun),
        (lambda: ClassSizes(n_classes=1), begun),
        (lambda: ClassSizes(n_classes=3), begun),
        (lambda: ClassSizes(n_classes=2, weighting=Weighting(max_weight=1.0)), begun),
        (lambda: sums(limit=1), dealt),
        (lambda: sums(gradient_limit=np.ones(1), hessian_share=np.full(1, 0.1)), dealt),
        (lambda: sums(limit=9.0), dealt),
        (lambda: sums(share=0.1, hessian_share=1.0), dealt),
        (lambda: sums(gradient_reach=ContributionBound.single(1)), dealt),
        (lambda: sums(hessian_reach=ContributionBound.single(1)), dealt),
        (lambda: sums(hessian_reach=2), dealt),
        (lambda: sums(hessian_unit=1.0), dealt),
        (lambda: sums(norm="l2"), dealt),
        # The reach is that of another clip.
        (lambda: sums(gradient_limit=1.0), dealt),
        (lambda: replace(sums(), n_outputs=2), dealt),
        (lambda: replace(sums(), n_outputs=True), dealt),
        (lambda: replace(sums(), partition=tree()), dealt),
        (lambda: replace(sums(), scale=None), dealt),
        (lambda: sums(), binned),
        (lambda: sums(), begun),
        (lambda: level(), dealt),
        (lambda: level(n_nodes=2), entered),
        (lambda: level(gradient_bound=2.0**-16), entered),
        (lambda: level(gradient_bound=1), entered),
        (lambda: level(layout=Layout.of(BINNER).of_features(np.zeros(1, np.int32))), entered),
        (lambda: LeafTotals(n_nodes=1, gradient_bound=1.0), binned),
        (lambda: LeafTotals(n_nodes=1, gradient_bound=0.5), entered),
        (lambda: LeafTotals(n_nodes=2, gradient_bound=1.0), entered),
        # Exact totals of the engine are for one process alone.
        (lambda: NodeTotals(n_nodes=1), entered),
    ],
)
def test_questions_that_do_not_fit_are_refused(query, rows):
    with pytest.raises((UnusableMessageError, ValueError)):
        admitted(query(), rows())


def mean(**wrong):
    return replace(sent(MeanAndRows(loss=LogisticLoss(), others=True)), **wrong)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (lambda: Magnitudes(columns=0, units=1), held),
        (lambda: e.fine_counts({0: (0.0, 1.0)}, 1), begun),
        (mean, begun),
        # It is asked once more where there are few rows.
        (lambda: mean(loss=starting(1)), begun),
        # Where classes are to be balanced, two have sizes as well.
        (lambda: ClassSizes(n_classes=2), begun),
        (sums, taken),
        (level, entered),
        (lambda: LeafTotals(n_nodes=1, gradient_bound=1.0), entered),
    ],
)
def test_questions_that_fit_are_answered(query, rows):
    state = rows()
    own = admitted(e.over_the_wire(query()), state)
    assert own.evaluate(state).shape == own.shape == query().shape
    assert own.bounds(Neighbours.ADD_REMOVE) == query().bounds(Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": -5.0},
        {"low": 2.0},
        {"high": np.inf},
        {"units": 0},
        {"units": 2**40},
        {"n_cells": 65},
        {"n_cells": True},
        {"rows": held},
        {"rows": lambda: e.told(e.encode(REGRESSION), measured())},
    ],
)
def test_ranges_that_do_not_fit_are_refused(wrong):
    with pytest.raises(UnusableMessageError):
        asked(**wrong)


def test_what_parties_do_not_know_is_not_sent():
    with pytest.raises(TypeError, match="neither asked nor told NodeTotals"):
        sent(NodeTotals(n_nodes=1))
    coins = replace(e.assign((Fraction(1),)), coins=RowCoins(bytes(32)))
    assert sent(coins).coins is None


def test_a_partition_has_as_many_leaves_as_the_kernels_have_room_for():
    rows = taken()
    most = admitted(sums(e.chain(4096), 1.0), rows)
    assert most.evaluate(rows).shape == (2, 1, 4096)
    with pytest.raises(UnusableMessageError):
        admitted(sums(e.chain(4097), 1.0), rows)


@pytest.mark.parametrize("again", [lambda: dealt(), lambda: dealt_again()])
def test_leaves_are_asked_of_rows_that_were_taken(again):
    rows = again()
    query = admitted(sums(), rows)
    with pytest.raises(UnusableMessageError):
        query.evaluate(rows)


def test_values_are_added_to_the_leaves_that_rows_are_in():
    rows = e.told(e.TAKE, e.told(e.assign(None), binned()))
    admitted(sums(nodes(4)), rows).evaluate(rows)
    # Of a question that was meant and never answered the rows know no leaves.
    admitted(sums(nodes(1)), rows)
    with pytest.raises(UnusableMessageError):
        e.told(AddValues(values=np.zeros((1, 2), dtype=np.int64)), rows)
    e.told(AddValues(values=np.zeros((1, 16), dtype=np.int64)), rows)


def test_bounds_are_those_of_the_partys_own_loss():
    rows = taken()
    for limit in (0.25, 1.0):
        own = admitted(sums(limit=limit), rows)
        assert own.scale.gradient_reach == rows.loss.gradient_reach(limit)
    own = admitted(level(), entered())
    assert own.bounds(Neighbours.ADD_REMOVE)[0].constant == 2 * 2 * 2**16


WEIGHTED = agreement(
    schema=SCHEMA | {"classes": [0, 1]}, weighted=True, objective={"max_weight": 2.0}
)
BALANCED = agreement(schema=SCHEMA | {"classes": [0, 1]}, objective={"class_weight": "balanced"})
FACTORS = agreement(
    schema=SCHEMA | {"classes": [0, 1]}, objective={"class_weight": {0: 1.0, 1: 3.0}}
)


def encoded(terms):
    ((X, y),) = tables([30], n_classes=2)
    weights = np.linspace(0, 4, 30) if terms.weighted else None
    party = Party(0, X, y, agreement=terms, sample_weight=weights)
    return e.told(e.encode(terms), party.held)


@pytest.mark.parametrize(
    ("terms", "weighting"),
    [
        (WEIGHTED, Weighting(max_weight=2.0)),
        (FACTORS, Weighting(max_weight=3.0, factors=(1.0, 3.0))),
        # Sizes of classes are released: any factors may follow from them.
        (BALANCED, Weighting(max_weight=1.0, factors=(1.0, 0.25))),
    ],
)
def test_weights_are_those_of_the_agreement(terms, weighting):
    rows = e.told(replace(e.bins(terms, BINNER), weighting=weighting), encoded(terms))
    assert len(rows.state.weights) == 30
    others = [
        None,
        Weighting(max_weight=weighting.max_weight * 2, factors=weighting.factors),
        Weighting(max_weight=weighting.max_weight, factors=(1.0,)),
        Weighting(max_weight=weighting.max_weight, factors=(2.0, 1.0)),
        Weighting(max_weight=weighting.max_weight, factors=(1.0, -1.0)),
        Weighting(max_weight=weighting.max_weight, factors=(1.0, np.nan)),
        Weighting(max_weight=weighting.max_weight, factors=(1, 1)),
    ]
    for other in others:
        with pytest.raises((UnusableMessageError, ValueError)):
            e.told(replace(e.bins(terms, BINNER), weighting=other), encoded(terms))


def test_a_party_has_weights_where_the_agreement_says_so():
    ((X, y),) = tables([30], n_classes=2)
    for terms, weights in ((WEIGHTED, None), (BALANCED, np.ones(30))):
        with pytest.raises(InvalidParameterError, match="'sample_weight' parameter of Party"):
            Party(0, X, y, agreement=terms, sample_weight=weights)
    for wrong in (np.ones(29), -np.ones(30), np.full(30, np.nan)):
        with pytest.raises(InvalidParameterError):
            Party(0, X, y, agreement=WEIGHTED, sample_weight=wrong)
