import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Coordinator, PartyLostError, RefusedError, simulate
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PermuteAndFlip
from tests.unit.federated.asked import ClassCounts, Keep, OwnScores
from tests.unit.federated.channels import Lossy, Recorder, agreement, parties_of, tables

ONE = DiscreteLaplace(epsilon=Fraction(1))
COUNTS = ClassCounts(n_classes=3)


def total(given):
    return sum(np.bincount(y, minlength=3) for _, y in given)


def release(coordinator, query=COUNTS, mechanism=ONE):
    value = coordinator.sensitive(query)
    return coordinator.ledger.release(mechanism, value, label="counts")


@pytest.mark.parametrize("n_parties", [2, 5, 50])
def test_without_noise_the_masked_words_add_up_to_the_sum(n_parties):
    given = tables([0, 1, *range(10, 10 + n_parties - 2)])
    coordinator, _ = simulate(agreement(n_parties, epsilon=math.inf), given)
    found = release(coordinator, mechanism=DiscreteLaplace(epsilon=math.inf))
    assert np.array_equal(found, total(given))


@pytest.mark.parametrize(("n_parties", "colluding"), [(2, 1), (3, 0), (5, 2)])
def test_the_noise_of_all_parties_has_the_variance_of_their_shares(n_parties, colluding):
    terms = agreement(n_parties, colluding=colluding, schema={"classes": list(range(400))})
    given = [(np.zeros((1, 2)), np.zeros(1, dtype=int))] * n_parties
    coordinator, _ = simulate(terms, given)
    mechanism = DiscreteLaplace(epsilon=Fraction(1, 4))
    drawn = [release(coordinator, ClassCounts(n_classes=400), mechanism) for _ in range(20)]
    noise = np.stack(drawn)[:, 1:]
    rate = math.exp(-1 / 4)
    expected = 2 * rate / (1 - rate) ** 2 * n_parties / (n_parties - colluding)
    assert noise.var() == pytest.approx(expected, rel=0.12)
    told = coordinator.sensitive(ClassCounts(n_classes=400)).noise_stddev(mechanism)
    assert told == pytest.approx(math.sqrt(expected))


def test_noise_from_a_seed_is_what_is_charged_for():
    coordinator, _ = simulate(agreement(3, colluding=2, noise_seed=1), tables([5, 6, 7]))
    value = coordinator.sensitive(COUNTS)
    assert value.noise_stddev(ONE) == ONE.noise_stddev(value.bound("l1"))


def test_gaussian_noise_comes_in_shares_as_well():
    terms = agreement(4, accountant="zCDP", delta=Fraction(1, 10**6))
    coordinator, _ = simulate(terms, tables([5, 6, 7, 8]))
    mechanism = DiscreteGaussian(rho=Fraction(1, 1000))
    noise = np.concatenate(
        [
            release(coordinator, ClassCounts(n_classes=3, units=1 << 16), mechanism)
            - total(tables([5, 6, 7, 8])) * (1 << 16)
            for _ in range(300)
        ]
    )
    (sigma,) = mechanism.parameters(
        ClassCounts(n_classes=3, units=1 << 16).bounds(terms.relation)[1]
    )
    assert stats.kstest(noise / (sigma * math.sqrt(4 / 3)), "norm").pvalue > 1e-6


def test_every_party_charges_what_the_coordinator_charges():
    coordinator, parties = simulate(agreement(), tables([4, 5, 6]))
    release(coordinator)
    coordinator.release(
        [(ONE, ClassCounts(n_classes=3, branch=(f"node {node}",))) for node in range(4)],
        label="nodes",
    )
    coordinator.release(
        [(PermuteAndFlip(epsilon=Fraction(1)), OwnScores(n_candidates=3))],
        label="own choice",
        each=True,
    )
    assert coordinator.ledger.spent == 3
    assert [party.ledger.spent for party in parties] == [3, 3, 3]
    assert all(len(party.ledger.entries) == 6 for party in parties)


def test_every_party_makes_its_own_choice():
    given = [(np.zeros((30, 2)), np.full(30, index)) for index in range(3)]
    coordinator, _ = simulate(agreement(epsilon=math.inf), given)
    choice = coordinator.each(OwnScores(n_candidates=3))
    mechanism = PermuteAndFlip(epsilon=math.inf)
    found = coordinator.ledger.release(mechanism, choice, label="own choice")
    assert found.tolist() == [[0], [1], [2]]


def test_several_questions_go_in_one_exchange():
    terms, given = agreement(), tables([4, 5, 6])
    channel = Recorder(parties_of(terms, given))
    coordinator = Coordinator(terms, channel)
    before = len(channel.sent)
    coordinator.apply(Keep(word="red"))
    coordinator.apply(Keep(word="blue"))
    coordinator.release([(ONE, COUNTS)] * 3, label="counts")
    assert len(channel.sent) == before + 1
    coordinator.apply(Keep(word="green"))
    coordinator.finish()
    coordinator.finish()
    assert len(channel.sent) == before + 2


def test_only_noise_that_comes_in_shares_is_added_to_sums():
    coordinator, _ = simulate(agreement(), tables([4, 5, 6]))
    with pytest.raises(InvalidParameterError, match="sum over parties"):
        coordinator.ledger.release(
            PermuteAndFlip(epsilon=Fraction(1)),
            coordinator.sensitive(OwnScores(n_candidates=3)),
            label="choice",
        )
    assert not coordinator.ledger.entries


# -- what goes wrong -------------------------------------------------------------------------------


def opened(lost, sizes=(4, 5, 6), resends=2, **terms):
    agreed, given = agreement(len(sizes), **terms), tables(sizes)
    parties = parties_of(agreed, given)
    # Exchanges 0 and 1 open the session.
    channel = Lossy(parties, {number + 2: what for number, what in lost.items()})
    return Coordinator(agreed, channel, resends=resends), parties, given


def test_a_lost_party_aborts_the_release_and_leaves_whole_charges():
    coordinator, parties, given = opened({1: "message"}, resends=0, epsilon=10**6)
    certain = DiscreteLaplace(epsilon=Fraction(100))
    release(coordinator, mechanism=certain)
    with pytest.raises(PartyLostError, match="party 1"):
        release(coordinator, mechanism=certain)
    assert coordinator.ledger.spent == 200
    assert [party.ledger.spent for party in parties] == [200, 100, 200]
    # A new attempt has new noise and is a new charge, and the party that comes back is in it.
    assert np.array_equal(release(coordinator, mechanism=certain), total(given))
    assert coordinator.ledger.spent == 300
    assert [party.ledger.spent for party in parties] == [300, 200, 300]


def test_orders_are_carried_out_once_whatever_the_attempts():
    coordinator, parties, _ = opened({0: "reply"}, resends=0)
    coordinator.apply(Keep(word="once"))
    with pytest.raises(PartyLostError):
        release(coordinator)
    carried = []
    for party in parties:
        original = party._rows
        assert original is party.held
        carried.append(party._turn.number)
    release(coordinator)
    assert carried == [0, 0, 0]


def test_words_of_another_shape_end_the_release():
    coordinator, _, _ = opened({})
    session = coordinator._session
    words = m.Masked(words=np.zeros(2, dtype=np.uint64))
    turn = m.Step(session=session, number=0)
    coordinator._exchanges.channel.lost[2] = wire.encode(
        m.Answers(party=1, turn=turn, parts=(words,))
    )
    with pytest.raises(RefusedError, match="shape"):
        release(coordinator)


def test_a_channel_reaches_as_many_parties_as_have_agreed():
    with pytest.raises(RefusedError, match="as many"):
        Coordinator(agreement(4), Recorder(parties_of(agreement(3), tables([1, 2, 3]))))


def test_the_coordinators_own_books_refuse_as_well():
    coordinator, parties = simulate(agreement(epsilon=1.0), tables([4, 5, 6]))
    release(coordinator)
    with pytest.raises(BudgetExceededError):
        release(coordinator)
    assert [party.ledger.spent for party in parties] == [1, 1, 1]
