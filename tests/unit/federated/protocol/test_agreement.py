import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Agreement, Identity
from dpboost.federated.protocol import messages as m
from dpboost.training.privacy_params import NotPrivateWarning
from tests.unit.federated.channels import agreement


def test_text_and_digest_keep_all_terms():
    terms = agreement(4, colluding=2, hyper={"max_depth": 3}, epsilon=Fraction(1, 3))
    # One with a threshold, and one that is longer than a message may be.
    for each in (terms, agreement(5, dropouts=1), agreement(hyper={"model": "x" * m.MOST_BYTES})):
        again = Agreement.from_json(each.to_json())
        assert again == each
        assert again.digest == each.digest
    assert agreement(4, colluding=1).digest != terms.digest


def test_equal_schemas_make_equal_digests():
    one = {"nonce": "one", "public_seed": 1}
    listed = agreement(schema={"classes": [0, 1], "bounds": [["age", [0, 1]]]}, **one)
    mapped = agreement(schema={"bounds": {"age": (0.0, 1.0)}, "classes": (0, 1)}, **one)
    assert listed.digest == mapped.digest


def test_no_two_agreements_are_the_same():
    first, second = agreement(), agreement()
    assert first.digest != second.digest
    assert first.nonce != second.nonce
    assert first.public_seed != second.public_seed
    assert first.public_seed.bit_length() > 64
    assert replace(first, hyper={"max_depth": 2}).nonce == first.nonce


@pytest.mark.parametrize(("colluding", "honest"), [(1, 4), (4, 1)])
def test_shares_are_for_the_parties_that_do_not_collude(colluding, honest):
    assert agreement(5, colluding=colluding).honest == honest


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_parties", 1),
        ("colluding", 3),
        ("colluding", 0),
        ("rolled_back", 1),
        ("nonce", ""),
        ("date", 7),
        ("dropouts", 2),
        ("dropouts", -1),
        ("threshold", 2),
        ("accountant", "renyi"),
        ("neighbors", "local"),
        ("task", "ranking"),
        ("epsilon", 0),
        ("public_seed", -1),
        ("noise_seed", "7"),
        ("identities", ("ab",)),
        ("schema", {"bounds": {"height": (0, 1)}}),
    ],
)
def test_refuses_terms_that_mean_nothing(name, value):
    with pytest.raises(InvalidParameterError, match=name if name != "schema" else "height"):
        agreement(**({"n_parties": 3} | {name: value}))


def test_refuses_text_that_is_something_else():
    with pytest.raises(InvalidParameterError, match="agreement"):
        Agreement.from_json('{"version": 1}')


def test_says_when_nothing_is_promised():
    for terms in (agreement(noise_seed=1), agreement(epsilon=math.inf)):
        assert not terms.ledger().private
        with pytest.warns(NotPrivateWarning):
            terms.warn()
    assert agreement().ledger().private


def test_columns_of_text_are_read_by_position():
    terms = agreement(schema={"categories": {"age": ["old", "young"], "dose": [1, 2]}})
    assert terms.listed == {0: ["old", "young"]}


@pytest.mark.parametrize(
    ("n_parties", "colluding", "dropouts", "expected"),
    [(5, 1, 0, None), (4, 1, 1, 3), (5, 1, 1, 4), (10, 1, 2, 6), (50, 1, 10, 26), (4, 1, 2, 2)],
)
def test_by_default_more_than_half_open_a_mask(n_parties, colluding, dropouts, expected):
    found = agreement(n_parties, colluding=colluding, dropouts=dropouts).threshold
    assert found == expected
    if expected is not None:
        assert colluding < found <= n_parties - dropouts


@pytest.mark.parametrize("threshold", [0, 2, 9, "7"])
def test_a_threshold_is_above_those_who_collude_and_within_those_who_stay(threshold):
    for value in (3, 8):
        assert agreement(10, colluding=2, dropouts=2, threshold=value).threshold == value
    with pytest.raises(InvalidParameterError, match="'threshold'"):
        agreement(10, colluding=2, dropouts=2, threshold=threshold)


def test_with_identities_a_threshold_is_above_half_of_all_and_the_colluding():
    keys = [Identity().public for _ in range(10)]
    assert agreement(10, dropouts=2, identities=keys, threshold=6).threshold == 6
    with pytest.raises(InvalidParameterError, match="'threshold'"):
        agreement(10, dropouts=2, identities=keys, threshold=5)
    assert agreement(10, dropouts=4, identities=keys).threshold == 6
    with pytest.raises(InvalidParameterError, match="'dropouts'.*at most 4"):
        agreement(10, dropouts=5, identities=keys)


def test_parties_that_are_rolled_back_raise_the_threshold():
    keys = [Identity().public for _ in range(10)]
    found = agreement(10, dropouts=2, identities=keys, rolled_back=2)
    assert found.threshold == 7
    with pytest.raises(InvalidParameterError, match="'dropouts'.*at most 2"):
        agreement(10, dropouts=3, identities=keys, rolled_back=4)
