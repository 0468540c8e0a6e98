import pickle
import threading
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.cluster.partition_state import Cell, DealByKey, WorkerMessage, answer_again
from dpboost.privacy.randomness import Entropy


class Note:
    """An order that rows write down."""

    def __init__(self, name, fails=False):
        self.name = name
        self.fails = fails

    def __call__(self, rows):
        if self.fails:
            raise MemoryError
        rows.notes.append(self.name)
        return rows


class Rows:
    def __init__(self):
        self.notes = []
        self.threads = Threads(1)


class Count:
    def evaluate(self, rows):
        return np.array([len(rows.notes)])


class Mark:
    """A question that rows prepare for."""

    def evaluate(self, rows):
        rows.notes.append("asked")
        return np.array([0])


ORDERS = [Note("a"), Note("b"), Note("c")]


def told(cell, first, orders, query=None, *, remembered=False):
    """Return what a cell answers to a message."""
    message = WorkerMessage(
        release=5,
        first=first,
        orders=orders,
        query=query or Count(),
        remembered=remembered,
    )
    return cell.evaluate(message).answer


def test_orders_are_carried_out_once_and_in_their_order():
    cell = Cell(0, Rows(), 0)
    cell.use(3)
    assert told(cell, 0, ORDERS[:2]) == [2]
    assert told(cell, 0, ORDERS[:2]) == [2]
    assert told(cell, 1, ORDERS[1:]) == [3]
    assert cell._rows.notes == ["a", "b", "c"]
    assert cell._rows.threads.now() == 3
    assert cell.position == 3


def test_a_partition_that_missed_orders_says_so_and_does_nothing():
    cell = Cell(0, Rows(), 1)
    assert told(cell, 2, ORDERS[2:]) is None
    assert cell.position == 1
    assert cell._rows.notes == []


def test_a_question_is_put_again_to_rows_that_start_anew():
    cell = Cell(0, Rows(), 0)
    told(cell, 0, [Note("a"), partial(answer_again, query=Mark()), Note("b")])
    assert cell._rows.notes == ["a", "asked", "b"]


def test_a_question_that_is_remembered_counts_as_an_order():
    cell = Cell(0, Rows(), 0)
    told(cell, 0, [Note("a")], Mark(), remembered=True)
    assert cell.position == 2
    assert told(cell, 2, [Note("b")]) == [3]
    assert cell._rows.notes == ["a", "asked", "b"]


def test_rows_that_failed_in_the_middle_answer_no_more():
    cell = Cell(0, Rows(), 0)
    with pytest.raises(MemoryError):
        told(cell, 0, [Note("a"), Note("b", fails=True)])
    with pytest.raises(RuntimeError, match="during a command"):
        told(cell, 0, [Note("a")])


def test_a_copy_holds_whole_orders_only():
    cell = Cell(0, Rows(), 0)
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __call__(self, rows):
            rows.notes.append("first half")
            begun.set()
            go_on.wait(5)
            rows.notes.append("second half")
            return rows

    working = threading.Thread(target=told, args=(cell, 0, [Slow()]))
    copies = []
    working.start()
    begun.wait(5)
    copying = threading.Thread(target=lambda: copies.append(pickle.dumps(cell)))
    copying.start()
    copying.join(0.05)
    assert not copies
    go_on.set()
    working.join(5)
    copying.join(5)
    copy = pickle.loads(copies[0])
    assert copy._rows.notes == ["first half", "second half"]
    assert copy.position == 1
    assert told(copy, 1, [Note("b")]) == [3]


def test_coins_by_key_are_those_of_the_gate():
    dealt = []

    class Dealt:
        def deal(self, shares, coins):
            dealt.append(coins.blocks(shares, 50, 7))

    shares = (Fraction(1, 3), Fraction(2, 3))
    coins = Entropy.seeded(1).row_coins()
    Dealt().deal(shares, coins)
    DealByKey(shares=shares, key=coins.key_for_workers())(Dealt())
    np.testing.assert_array_equal(*dealt)
    assert "key" not in repr(DealByKey(shares=shares, key=coins.key_for_workers()))
