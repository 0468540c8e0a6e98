"""Masks of one release, and the keys that take them off."""

import secrets
from itertools import combinations

import numpy as np
import pytest

from dpboost.federated.protocol.messages import Unlocked
from dpboost.federated.secagg.keys import SessionKey, pair_words
from dpboost.federated.secagg.release_masks import (
    OpenedMasks,
    ReleaseMasks,
    SealError,
    among,
    array_seed,
    open_masks,
    own_words,
    seeds_of,
    unseal,
)
from dpboost.federated.secagg.secret_shares import PRIME, combine, elements, to_bytes

NAME = b"step 1"
ALL = (0, 1, 2, 3, 4)
ASKED = among(b"asked", ALL)


def masks_of(n_parties, threshold, name=NAME, pairs=None, roster=None, digest=b"asked"):
    if pairs is None:
        keys = [SessionKey(index, b"terms", secrets.token_bytes(32)) for index in range(n_parties)]
        pairs = [key.pair([key.public for key in keys]) for key in keys]
    roster = tuple(range(n_parties)) if roster is None else roster
    made = {
        index: ReleaseMasks(
            name,
            index,
            pairs[index],
            n_parties=n_parties,
            threshold=threshold,
            seed=secrets.token_bytes(32),
        )
        for index in roster
    }
    for masks in made.values():
        masks.bind(roster, digest)
    return made, pairs


def unlocked_by(masks, present, holders):
    for holder in holders:
        masks[holder].settle(present, 1)
    return {holder: Unlocked(party=holder, pads=masks[holder].unlock()) for holder in holders}


def opened_of(masks, present, threshold, holders=None):
    deposits = {index: one.deposit for index, one in masks.items()}
    unlocked = unlocked_by(masks, present, present[:threshold] if holders is None else holders)
    digest = among(b"asked", sorted(deposits))
    return open_masks(deposits, unlocked, present, threshold=threshold, digest=digest)


@pytest.mark.parametrize(("n_parties", "threshold"), [(3, 1), (4, 3), (5, 3), (6, 6)])
def test_what_is_opened_is_what_the_sum_still_has(n_parties, threshold):
    for absent in range(n_parties - threshold + 1):
        masks, _ = masks_of(n_parties, threshold)
        present = tuple(range(absent, n_parties))
        for position, shape in ((0, (5,)), (1, (2, 3)), (2, (0,))):
            size = int(np.prod(shape))
            words = sum(masks[index].words(position, size) for index in present)
            for holders in combinations(present, threshold):
                if position:
                    continue
                opened = opened_of(masks, present, threshold, holders)
                assert np.array_equal(opened.left(0, shape), words)
            assert np.array_equal(opened.left(position, shape), words.reshape(shape))


def test_masks_are_for_those_that_were_asked():
    masks, _ = masks_of(5, 3, roster=(0, 2, 4))
    opened = opened_of(masks, (0, 2, 4), 3)
    words = sum(one.words(0, 7) for one in masks.values())
    assert np.array_equal(opened.left(0, (7,)), words)


def test_masks_of_those_that_were_told_different_things_do_not_cancel():
    masks, pairs = masks_of(4, 3)
    other, _ = masks_of(4, 3, pairs=pairs, digest=b"something else")
    masks[1] = other[1]
    opened = opened_of(masks, (0, 1, 2, 3), 3)
    words = sum(one.words(0, 50) for one in masks.values())
    assert np.count_nonzero(opened.left(0, (50,)) == words) == 0


def test_fewer_than_the_threshold_open_nothing():
    masks, _ = masks_of(5, 3)
    deposits = {index: one.deposit for index, one in masks.items()}
    unlocked = unlocked_by(masks, (0, 1, 2, 3), (0, 1))
    with pytest.raises(SealError):
        open_masks(deposits, unlocked, (0, 1, 2, 3), threshold=2, digest=ASKED)


def test_the_other_key_of_a_party_stays_locked():
    # Parties 3 and 4 pool what they know with the coordinator: two shares of the key that the
    # others have not unlocked, of which three are needed.
    masks, _ = masks_of(5, 3)
    deposits = {index: one.deposit for index, one in masks.items()}
    unlocked = unlocked_by(masks, ALL, ALL)
    target = masks[0]
    pads = {holder: masks[holder]._pad(0, holder, b"pairs") for holder in (3, 4)}
    locked = elements(deposits[0].pairs)
    shares = {holder: (locked[holder] - pad) % PRIME for holder, pad in pads.items()}
    for guess in (0, 1, PRIME - 1):
        with pytest.raises(SealError):
            unseal(to_bytes(combine({**shares, 1: guess})), target.deposit.sealed)
    # With what party 1 has unlocked for the other key in its place they open nothing either.
    wrong = (locked[1] - elements(unlocked[1].pads)[0]) % PRIME
    with pytest.raises(SealError):
        unseal(to_bytes(combine({**shares, 1: wrong})), target.deposit.sealed)
    # With one more share of the same key it opens: the attack is the right one.
    shares[1] = (locked[1] - masks[1]._pad(0, 1, b"pairs")) % PRIME
    seeds = seeds_of(0, unseal(to_bytes(combine(shares)), target.deposit.sealed))
    assert set(seeds) == {1, 2, 3, 4}


def test_what_is_opened_opens_one_release_only():
    # Party 4 is missing from the first release, and its masks in common with all others are
    # opened; from the second nobody is missing, and its own mask is.
    masks, pairs = masks_of(5, 3)
    first = opened_of(masks, (0, 1, 2, 3), 3)
    again, _ = masks_of(5, 3, b"step 2", pairs)
    second = opened_of(again, ALL, 3)
    words = again[4].words(0, 100) - own_words(second.own[4], ASKED, 0, 100)
    for (index, other), key in first.pairs.items():
        assert other == 4
        words = words - pair_words(4, index, array_seed(key, ASKED, 0), 100)
    assert (np.abs(words.view(np.int64).astype(float)) > 2**40).all()
    # In the release that they are of, the same keys leave nothing but the mask of its own.
    late = masks[4].words(0, 100)
    for (index, _), key in first.pairs.items():
        late = late - pair_words(4, index, array_seed(key, ASKED, 0), 100)
    assert np.array_equal(late, own_words(masks[4]._own, ASKED, 0, 100))


def test_nothing_of_one_release_comes_again_in_another():
    masks, pairs = masks_of(3, 2)
    again, _ = masks_of(3, 2, b"step 2", pairs)
    for index in range(3):
        first, second = masks[index].deposit, again[index].deposit
        assert not set(elements(first.own)) & set(elements(second.own))
        assert not set(elements(first.pairs)) & set(elements(second.pairs))
        assert first.sealed != second.sealed
        assert np.count_nonzero(masks[index].words(0, 100) == again[index].words(0, 100)) == 0


def test_locked_shares_are_uniform():
    masks, _ = masks_of(40, 20)
    content = b"".join(one.deposit.own + one.deposit.pairs for one in masks.values())
    bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8))
    # The first bit of an element of a field of 255 bits is 0.
    kept = bits.reshape(-1, 256)[:, 1:]
    assert abs(kept.mean() - 0.5) < 5 * 0.5 / np.sqrt(kept.size)


def test_masks_are_taken_once():
    masks, _ = masks_of(3, 2)
    with pytest.raises(RuntimeError, match="one step"):
        masks[0].bind((0, 1, 2), b"another")


def test_without_masks_to_open_nothing_is_left():
    empty = OpenedMasks(own={}, pairs={}, digest=b"")
    assert not empty.left(0, (2, 3)).any()


def test_own_masks_are_of_one_digest():
    seed = secrets.token_bytes(32)
    words = []
    for digest in (b"asked", b"something else"):
        keys = [SessionKey(index, b"terms", bytes([1 + index]) * 32) for index in range(2)]
        pairs = keys[0].pair([key.public for key in keys])
        masks = ReleaseMasks(NAME, 0, pairs, n_parties=2, threshold=2, seed=seed)
        masks.bind((0,), digest)
        words.append(masks.words(0, 100))
    assert np.count_nonzero(words[0] == words[1]) == 0


def test_a_second_set_of_parties_is_refused():
    masks, _ = masks_of(4, 3)
    masks[0].settle((0, 1, 2), 3)
    for present in ((0, 1, 3), (0, 1, 2, 3), (1, 2, 3), (0, 1), (0, 1, 7)):
        with pytest.raises(ValueError, match="present"):
            masks[0].settle(present, 3)


def test_masks_of_those_that_were_named_different_parties_do_not_cancel():
    masks, pairs = masks_of(5, 3)
    other, _ = masks_of(5, 3, pairs=pairs, roster=(0, 1, 2, 3))
    words = sum(one.words(0, 50) for one in (other[0], other[1], masks[2], masks[3]))
    for index, one in ((0, other), (1, other), (2, masks), (3, masks)):
        roster = (0, 1, 2, 3) if one is other else ALL
        words = words - own_words(one[index]._own, among(b"asked", roster), 0, 50)
    assert (np.abs(words.view(np.int64).astype(float)) > 2**40).mean() > 0.9
