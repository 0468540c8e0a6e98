import secrets

import numpy as np
import pytest
from scipy import stats

from dpboost.federated.secagg.keys import (
    Identity,
    SessionKey,
    UntrustedKeyError,
    check_signature,
)

TERMS = b"terms and session"


def pairs_of(n_parties, terms=TERMS):
    keys = [SessionKey(index, terms, secrets.token_bytes(32)) for index in range(n_parties)]
    publics = [key.public for key in keys]
    return [key.pair(publics) for key in keys]


@pytest.mark.parametrize("n_parties", [2, 5, 50])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_masks_of_all_parties_add_up_to_zero(n_parties, size):
    masks = [pairs.mask(b"nonce", size) for pairs in pairs_of(n_parties)]
    assert all(mask.dtype == np.uint64 and mask.shape == (size,) for mask in masks)
    assert not sum(masks[1:], masks[0]).any()


def test_masks_of_some_parties_are_uniform_words():
    masks = [pairs.mask(b"nonce", 1 << 15) for pairs in pairs_of(4)]
    some = masks[0] + masks[1] + masks[2]
    for words in (masks[0], some):
        ones = np.unpackbits(words.view(np.uint8)).mean()
        assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(64 << 15)
        assert stats.kstest(words / 2.0**64, "uniform").pvalue > 1e-6


def test_a_mask_belongs_to_its_nonce_and_session():
    pairs = pairs_of(3)
    first = pairs[0].mask(b"a", 100)
    assert np.array_equal(first, pairs[0].mask(b"a", 100))
    others = [pairs[0].mask(b"b", 100), pairs_of(3)[0].mask(b"a", 100)]
    assert all(np.count_nonzero(first == other) == 0 for other in others)


def test_keys_can_be_kept():
    secret = secrets.token_bytes(32)
    keys = [SessionKey(0, TERMS, secret), SessionKey(1, TERMS, secrets.token_bytes(32))]
    again = SessionKey(0, TERMS, secret)
    assert again.public == keys[0].public
    publics = [key.public for key in keys]
    expected = keys[0].pair(publics).mask(b"x", 4)
    assert np.array_equal(again.pair(publics).mask(b"x", 4), expected)
    identity = Identity()
    assert Identity(identity.secret).public == identity.public


@pytest.mark.parametrize("public", [b"", b"short", bytes(32), b"x" * 33])
def test_what_is_no_key_is_not_paired_with(public):
    key = SessionKey(0, TERMS, secrets.token_bytes(32))
    with pytest.raises(UntrustedKeyError):
        key.pair([key.public, public])


def test_a_signature_is_for_one_content():
    identity = Identity()
    signature = identity.sign(b"content")
    check_signature(identity.public, b"content", signature)
    wrong = [
        (Identity().public, b"content", signature),
        (identity.public, b"other content", signature),
        (identity.public, b"content", b""),
        (identity.public, b"content", None),
        ("not hexadecimal", b"content", signature),
    ]
    for arguments in wrong:
        with pytest.raises(UntrustedKeyError):
            check_signature(*arguments)


def test_nothing_secret_is_printed():
    identity = Identity()
    assert identity.secret.hex() not in repr(identity)
    pairs = pairs_of(2)[0]
    secret = pairs.pad(1, b"")
    assert all(part.hex() not in repr(pairs) for part in (secret, *pairs._secrets.values()))
