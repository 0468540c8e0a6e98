"""What a party checks by itself before a kernel sees it."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.federated import Party
from dpboost.federated.party.boosting_state import UnusableMessageError
from dpboost.federated.protocol import boosting_messages as b
from dpboost.federated.protocol.partition_message import Nodes
from dpboost.privacy.neighbours import Neighbours
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import Tree
from tests.unit.federated.channels import SCHEMA, agreement, tables

TERMS = agreement(schema=SCHEMA | {"classes": [0, 1]}, recipe="dpboost")
BINNER = Binner.from_schema(TERMS.declared.resolve(TERMS.features), n_bins=8)


def held():
    ((X, y),) = tables([30], n_classes=2)
    return Party(0, X, y, agreement=TERMS).held


def begun():
    return b.Begin().execute(held())


REGRESSION = agreement(schema=SCHEMA | {"label_bounds": [-4, 4]}, task="regression")


def measured():
    """Rows of a regression."""
    ((X, y),) = tables([30])
    return Party(0, X, y, agreement=REGRESSION).held


def asked(low=-1.0, high=2.0, units=1, n_cells=64, rows=measured):
    return b.AskRange(low=low, high=high, units=units, n_cells=n_cells).at(rows())


def binned(start=(0,)):
    return b.Bin(binner=BINNER.to_dict(), start_units=start).execute(begun())


def with_cells(n_cells):
    plain = BINNER.to_dict()
    plain["features"][0]["n_cells"] = n_cells
    return plain


def dealt(shares=(Fraction(1, 2), Fraction(1, 2))):
    return b.AssignRows(shares=shares).execute(binned())


def entered():
    return b.Enter(gradient_bound=1.0).execute(b.Take(index=0).execute(dealt()))


def nodes(depth=2):
    grid = PartitionGrid(n_bins=BINNER.n_bins, is_nominal=np.zeros(2, dtype=np.uint8))
    both = np.arange(2, dtype=np.int32)
    return Nodes.of(grid.random(both, depth, np.random.default_rng(0)))


def tree(**wrong):
    own = nodes()
    parts = {
        "feature": own.feature,
        "left_bins": own.left_bins,
        "left": own.left,
        "right": own.right,
        "leaf_value": np.zeros(len(own.feature) + 1, dtype=np.int64),
    }
    return Tree(**(parts | wrong))


def test_rounds_of_one_deal_are_parts_and_deals_are_stages():
    rows = dealt()
    assert (rows.stage, rows.branch) == ("ensemble 0", ())
    b.Take(index=1).execute(rows)
    assert (rows.stage, rows.branch) == ("ensemble 0", ("tree 1",))
    b.AssignRows(shares=(Fraction(1),)).execute(rows)
    assert (rows.stage, rows.branch) == ("ensemble 1", ())
    b.AssignRows(shares=None).execute(rows)
    b.Take(index=5).execute(rows)
    assert (rows.stage, rows.branch) == ("ensemble 2", ())


def test_parties_deal_by_coins_of_their_own():
    first, second = (dealt().boosting._order for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    "order",
    [
        lambda: b.Begin().execute(begun()),
        lambda: b.Begin(label_bounds=(0.0, 1.0)).execute(held()),
        *(
            lambda bounds=bounds: b.Begin(label_bounds=bounds).execute(measured())
            for bounds in (
                (-5.0, 1.0),
                (0.0, 4.5),
                (1.0, 0.0),
                (1.0, 1.0),
                (3.0, 3.0 + 2.0**-40),
                (0, 1),
                [0.0, 1.0],
                (0.0, np.nan),
                (0.0, 1.0, 2.0),
            )
        ),
        lambda: b.Bin(binner={}, start_units=(0,)).execute(begun()),
        lambda: b.Bin(binner=with_cells(2**40), start_units=(0,)).execute(begun()),
        lambda: b.Bin(binner=with_cells(0), start_units=(0,)).execute(begun()),
        lambda: binned(start=(0, 0)),
        lambda: binned(start=(2**60,)),
        lambda: binned(start=(0.5,)),
        lambda: b.Bin(
            binner=Binner(features=BINNER.features, feature_names=("other", "names")).to_dict(),
            start_units=(0,),
        ).execute(begun()),
        lambda: b.AssignRows(shares=None).execute(begun()),
        lambda: dealt(shares=(Fraction(2, 3), Fraction(2, 3))),
        lambda: b.Take(index=0).execute(binned()),
        lambda: b.Take(index=2).execute(dealt()),
        lambda: b.Take(index=-1).execute(dealt()),
        lambda: dealt(shares=()),
        lambda: dealt(shares=(0.5, 0.5)),
        lambda: dealt(shares=[Fraction(1)]),
        lambda: dealt(shares=(Fraction(1, 2**20),) * (2**16 + 1)),
        lambda: dealt(shares=tuple(Fraction(1, 3**9000 - k) for k in range(1, 9))),
        lambda: b.Enter(gradient_bound=0.5).execute(b.Take(index=0).execute(dealt())),
        lambda: b.Enter(gradient_bound=np.ones(1)).execute(b.Take(index=0).execute(dealt())),
        lambda: b.Enter(gradient_bound=1.0).execute(dealt()),
        lambda: b.Enter(gradient_bound=1.0).execute(dealt_again()),
        lambda: split([0, 0]),
        lambda: split([7]),
        lambda: split([-1]),
        lambda: split([0.0], dtype=np.float64),
        lambda: split([0], dtype=np.uint64),
        lambda: split([0], bins=np.int64),
        lambda: b.Split(feature=np.zeros(1, np.int32), split_bin=np.zeros(1, np.uint8)).execute(
            dealt()
        ),
        lambda: add(np.zeros((1, 3), dtype=np.int64)),
        lambda: add(np.zeros((2, 4), dtype=np.int64)),
        lambda: add(np.full((1, 4), 2**50)),
        # The least int64 has no absolute value.
        lambda: add(np.full((1, 4), -(2**63))),
        lambda: append(tree(leaf_value=np.full(4, -(2**63)))),
        lambda: add(np.zeros((1, 4))),
        lambda: b.Add(values=np.zeros((1, 4), dtype=np.int64)).execute(dealt()),
        lambda: append(),
        lambda: append(tree(), tree()),
        lambda: append(tree(feature=np.full(3, 9, dtype=np.int32))),
        lambda: append(tree(left=np.zeros(3, dtype=np.int32))),
        lambda: append(tree(leaf_value=np.zeros(9, dtype=np.int64))),
        lambda: append(tree(leaf_value=np.full(4, 2**50))),
        lambda: append("tree"),
    ],
)
def test_orders_that_do_not_fit_are_refused(order):
    with pytest.raises((UnusableMessageError, ValueError, KeyError)):
        order()


def split(features, dtype=np.int32, bins=np.uint8):
    feature = np.array(features, dtype=dtype)
    return b.Split(feature=feature, split_bin=np.zeros(len(features), bins)).execute(entered())


def dealt_again():
    """Rows at hand are those of a round of the first deal."""
    rows = b.Take(index=0).execute(dealt(shares=(Fraction(1, 10),)))
    return b.AssignRows(shares=None).execute(rows)


def add(values):
    rows = b.Take(index=0).execute(dealt())
    b.AskLeafSums(nodes=nodes(), gradient_limit=0.5, hessian_share=0.1).at(rows).evaluate(rows)
    return b.Add(values=values).execute(rows)


def append(*trees):
    return b.Append(trees=trees).execute(dealt())


def test_labels_are_counted_and_taught_inside_a_released_range():
    for n_cells in (64, 1, None):
        query = asked(n_cells=n_cells, units=7)
        assert query.evaluate(measured()).sum() == 30 * 7
    taught = b.Begin(label_bounds=(-1.0, 2.0)).execute(measured())
    assert (taught.loss.lower, taught.loss.upper) == (-1.0, 2.0)


def test_orders_that_fit_are_carried_out():
    assert split([1]).n_nodes == 2
    add(np.zeros((1, 4), dtype=np.int64))
    assert append(tree()).boosting.n_trees == 1


@pytest.mark.parametrize(
    "query",
    [
        lambda: b.AskMagnitudes(columns=2, units=1).at(held()),
        lambda: b.AskMagnitudes(columns=-1, units=1).at(held()),
        lambda: b.AskMagnitudes(columns="age", units=1).at(held()),
        lambda: b.AskMagnitudes(columns=0, units=0).at(held()),
        lambda: b.AskMagnitudes(columns=(0, 1.5), units=1).at(held()),
        lambda: b.AskMagnitudes(columns=(), units=1).at(held()),
        lambda: b.AskMagnitudes(columns=(0, 0), units=1).at(held()),
        lambda: b.AskMagnitudes(columns=0, units=2.0).at(held()),
        lambda: asked(low=-5.0),
        lambda: asked(low=2.0),
        lambda: asked(high=np.inf),
        lambda: asked(units=0),
        lambda: asked(units=2**40),
        lambda: asked(n_cells=65),
        lambda: asked(n_cells=True),
        lambda: asked(rows=held),
        lambda: asked(rows=lambda: b.Begin().execute(measured())),
        lambda: b.AskFineCounts(bounds=((0, (0.0, 1.0)),), units=1).at(begun()),
        lambda: b.AskLeafSums(nodes=nodes(), gradient_limit=1, hessian_share=0.1).at(dealt()),
        lambda: b.AskLeafSums(
            nodes=nodes(), gradient_limit=np.ones(1), hessian_share=np.full(1, 0.1)
        ).at(dealt()),
        lambda: b.AskLeafSums(nodes=tree(), gradient_limit=0.5, hessian_share=0.1).at(dealt()),
        lambda: b.AskStart().at(binned()),
        lambda: b.AskFineCounts(bounds={}, units=1).at(begun()),
        lambda: b.AskFineCounts(bounds={1: (0.0, 1.0), 0: (0.0, 1.0)}, units=1).at(begun()),
        lambda: b.AskFineCounts(bounds={0: (0.0, 0.0)}, units=1).at(begun()),
        lambda: b.AskFineCounts(bounds={5: (0.0, 1.0)}, units=1).at(begun()),
        lambda: b.AskFineCounts(bounds={0: (0.0, 1.0)}, units=2**40).at(begun()),
        lambda: b.AskFineCounts(bounds={0: (0.0, 1.0)}, units=1).at(binned()),
        lambda: b.AskLeafSums(nodes=nodes(), gradient_limit=9.0, hessian_share=0.1).at(dealt()),
        lambda: b.AskLeafSums(nodes=nodes(), gradient_limit=0.5, hessian_share=1.0).at(dealt()),
        lambda: b.AskLeafSums(nodes=nodes(), gradient_limit=0.5, hessian_share=0.1).at(binned()),
        lambda: b.AskLevelSums().at(dealt()),
        lambda: b.AskLeafTotals().at(binned()),
    ],
)
def test_questions_that_do_not_fit_are_refused(query):
    with pytest.raises((UnusableMessageError, ValueError)):
        query()


def chain(n_leaves):
    """A partition by one feature with a leaf at every node."""
    right = np.arange(1, n_leaves, dtype=np.int32)
    right[-1] = ~(n_leaves - 1)
    return Nodes(
        features=np.zeros(1, dtype=np.int32),
        feature=np.zeros(n_leaves - 1, dtype=np.int32),
        left_bins=np.zeros((n_leaves - 1, 4), dtype=np.uint64),
        left=~np.arange(n_leaves - 1, dtype=np.int32),
        right=right,
    )


def test_a_partition_has_as_many_leaves_as_the_kernels_have_room_for():
    rows = b.Take(index=0).execute(dealt())
    most = b.AskLeafSums(nodes=chain(4096), gradient_limit=1.0, hessian_share=0.1)
    assert most.at(rows).evaluate(rows).shape == (2, 1, 4096)
    with pytest.raises(UnusableMessageError):
        b.AskLeafSums(nodes=chain(4097), gradient_limit=1.0, hessian_share=0.1).at(rows)


@pytest.mark.parametrize("again", [lambda: dealt(), lambda: dealt_again()])
def test_leaves_are_asked_of_rows_that_were_taken(again):
    rows = again()
    query = b.AskLeafSums(nodes=nodes(), gradient_limit=0.5, hessian_share=0.1).at(rows)
    with pytest.raises(UnusableMessageError):
        query.evaluate(rows)


def test_values_are_added_to_the_leaves_that_rows_are_in():
    rows = b.Take(index=0).execute(b.AssignRows(shares=None).execute(binned()))
    b.AskLeafSums(nodes=nodes(4), gradient_limit=0.5, hessian_share=0.1).at(rows).evaluate(rows)
    # Of a question that was meant and never answered the rows know no leaves.
    b.AskLeafSums(nodes=nodes(1), gradient_limit=0.5, hessian_share=0.1).at(rows)
    with pytest.raises(UnusableMessageError):
        b.Add(values=np.zeros((1, 2), dtype=np.int64)).execute(rows)
    b.Add(values=np.zeros((1, 16), dtype=np.int64)).execute(rows)


def test_bounds_are_those_of_the_partys_own_loss():
    rows = b.Take(index=0).execute(dealt())
    for limit in (0.25, 1.0):
        ask = b.AskLeafSums(nodes=nodes(), gradient_limit=limit, hessian_share=0.1).at(rows)
        assert ask.query.scale.gradient_reach == rows.loss.gradient_reach(limit)
    level = b.AskLevelSums().at(entered())
    assert level.bounds(Neighbours.ADD_REMOVE)[0].constant == 2 * 2 * 2**16
