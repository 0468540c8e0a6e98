"""Shares of secrets: published values, and every polynomial of a small field."""

from collections import Counter
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost.federated.secagg.secret_shares import (
    PRIME,
    combine,
    elements,
    to_bytes,
    uniform,
    values,
    weights,
)

# The example of "Shamir's secret sharing" on Wikipedia, in the field of 1613 elements.
PUBLISHED = {1: 1494, 2: 329, 3: 965, 4: 176, 5: 1188, 6: 775}


def test_published_shares():
    assert values([1234, 166, 94], 6, 1613) == list(PUBLISHED.values())
    for points in combinations(PUBLISHED, 3):
        assert combine({point - 1: PUBLISHED[point] for point in points}, 1613) == 1234


def test_weights_by_hand():
    # Of the points 2, 4 and 5: 10/3, -5 and 8/3 modulo the prime.
    third = pow(3, -1, 1613)
    assert weights([1, 3, 4], 1613) == [10 * third % 1613, 1613 - 5, 8 * third % 1613]


def test_the_field_is_a_field():
    # Euler's criterion at some bases, and what Curve25519's field is known by.
    assert PRIME == 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFED
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in range(2, 50))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_as_many_as_the_threshold_open_a_secret(data):
    n_shares = data.draw(st.integers(1, 12))
    threshold = data.draw(st.integers(1, n_shares))
    secret = data.draw(st.integers(0, PRIME - 1))
    others = data.draw(st.lists(st.integers(0, PRIME - 1), min_size=threshold - 1))
    shares = values([secret, *others[: threshold - 1]], n_shares)
    holders = data.draw(st.permutations(range(n_shares)))[:threshold]
    assert combine({holder: shares[holder] for holder in holders}) == secret


@pytest.mark.parametrize(("prime", "threshold"), [(5, 2), (5, 3), (7, 3), (5, 4)])
def test_fewer_shares_tell_nothing(prime, threshold):
    # Every polynomial of a small field: what fewer holders see has one law for every secret.
    n_shares = 4
    for holders in combinations(range(n_shares), threshold - 1):
        seen = {}
        for secret in range(prime):
            polynomials = product(range(prime), repeat=threshold - 1)
            found = (values([secret, *others], n_shares, prime) for others in polynomials)
            seen[secret] = Counter(tuple(one[holder] for holder in holders) for one in found)
        assert all(law == seen[0] for law in seen.values())
        assert set(seen[0].values()) == {1}


@pytest.mark.parametrize(("prime", "threshold"), [(5, 2), (7, 3)])
def test_in_a_small_field_as_many_tell_everything(prime, threshold):
    for coefficients in product(range(prime), repeat=threshold):
        shares = values(coefficients, 4, prime)
        for holders in combinations(range(4), threshold):
            assert combine({h: shares[h] for h in holders}, prime) == coefficients[0]


def test_elements_are_written_and_read():
    numbers = [0, 1, PRIME - 1]
    assert elements(b"".join(map(to_bytes, numbers))) == numbers
    assert elements(b"") == []
    assert uniform(b"\xff" * 64) == (2**512 - 1) % PRIME
