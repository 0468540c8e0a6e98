"""Sessions whose messages something else carries, which loses and repeats some of them."""

from threading import Thread

import numpy as np
import pytest

from dpboost.federated import PartyLostError, PartyRefusedError, outcome_of
from dpboost.federated.carried import Mailbox, coordinate_carried
from dpboost.federated.protocol.messages import Key
from dpboost.federated.training.session_run import text_of
from tests.unit.federated.channels import agreement, parties_of, run, tables

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
TERMS = {"schema": SCHEMA, "hyper": {"n_estimators": 3, "max_depth": 2, "max_bin": 8}}
GIVEN = tables((60, 40, 30), n_classes=2)


class Carrier:
    """Hands tasks to parties of this process."""

    def __init__(self, terms, lost=0.0, without=()):
        self.boxes = [Mailbox(timeout=20) for _ in GIVEN]
        self.random, self.lost, self.without = np.random.default_rng(0), lost, without
        self.results, self.carried = {}, []
        for party, box in zip(parties_of(terms, GIVEN), self.boxes, strict=True):
            Thread(target=self.take_part, args=(party, box), daemon=True).start()

    def take_part(self, party, box):
        try:
            self.results[party.index] = party.run(box)
        except Exception as error:
            self.results[party.index] = error

    def __call__(self, tasks):
        replies = {}
        for index, task in tasks.items():
            if index in self.without or self.random.random() < self.lost:
                continue
            reply = self.boxes[index].exchange(task, 0.1)
            self.carried.append((task, reply))
            if self.random.random() >= self.lost:
                replies[index] = reply
        return replies


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_the_model_is_that_of_one_process(lost):
    terms = agreement(noise_seed=3, **TERMS)
    expected = run(terms, parties_of(terms, GIVEN)).coordinator
    carrier = Carrier(terms, lost)
    model = coordinate_carried(terms, carrier, timeout=20)
    texts = [one.booster_.model_to_string() for one in (model, outcome_of(expected))]
    assert texts[0] == texts[1]
    assert all(type(part) is bytes for pair in carrier.carried for part in pair)
    done = [one for one in carrier.results.values() if not isinstance(one, Exception)]
    assert all(text_of(one.fitted, terms) == text_of(expected.fitted, terms) for one in done)


def test_a_party_that_is_not_there_ends_the_session():
    terms = agreement(**TERMS)
    with pytest.raises(PartyLostError, match="Parties .*1.* do not answer"):
        coordinate_carried(terms, Carrier(terms, without=[1]), timeout=1)


def test_a_party_that_fails_ends_the_session_for_all():
    terms = agreement(**TERMS)
    carrier = Carrier(terms)
    carrier.boxes[1].fail()
    carrier.boxes[1]._out.get(timeout=5)  # its hello is not sent
    carrier.boxes[1].exchange = lambda task, seconds: b"{}"
    with pytest.raises((PartyLostError, PartyRefusedError)):
        coordinate_carried(terms, carrier, timeout=1)


def test_there_is_nothing_before_a_party_speaks():
    box = Mailbox(timeout=0.2)
    assert box.exchange(b"", 0.01) == b""
    with pytest.raises(PartyLostError):
        box.post(Key(0, "hello"), b"x")
    assert box.exchange(b"", 0.01) == box.exchange(b"", 0.01) != b""
