"""Secret sharing: a threshold of shares determines the secret, fewer reveal nothing (Shamir 1979).

The secret is the value at 0 of a polynomial of degree ``threshold - 1`` whose other coefficients
are uniform; share ``i`` is the value at ``i + 1``. Integers of Python modulo a prime of 255 bits: a
key of 32 bytes is one number. Proof: docs/proofs/secret-shares.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Of the field; the one of Curve25519.
PRIME = 2**255 - 19
#: Of an element of the field.
ELEMENT_BYTES = 32


def values(coefficients: Sequence[int], n_shares: int, prime: int = PRIME) -> list[int]:
    """Return the values of a polynomial at 1, 2, and so on.

    Examples
    --------
    >>> values([1234, 166, 94], 6, 1613)
    [1494, 329, 965, 176, 1188, 775]
    """
    found = []
    for point in range(1, n_shares + 1):
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * point + coefficient) % prime
        found.append(value)
    return found


def weights(holders: Sequence[int], prime: int = PRIME) -> list[int]:
    """Return by what the shares of these holders are multiplied, to add up to the secret."""
    found = []
    for own in holders:
        above = below = 1
        for other in holders:
            if other != own:
                above = above * (other + 1) % prime
                below = below * (other - own) % prime
        found.append(above * pow(below, -1, prime) % prime)
    return found


def combine(shares: Mapping[int, int], prime: int = PRIME) -> int:
    """Return the secret that shares tell, of as many holders as the threshold.

    Examples
    --------
    >>> combine({0: 1494, 2: 965, 4: 1188}, 1613)
    1234
    """
    found = zip(weights(list(shares), prime), shares.values(), strict=True)
    return sum(weight * share for weight, share in found) % prime


def to_bytes(element: int) -> bytes:
    """Return an element of the field as bytes."""
    return element.to_bytes(ELEMENT_BYTES, "big")


def elements(content: bytes) -> list[int]:
    """Return the elements of the field that bytes are made of."""
    starts = range(0, len(content), ELEMENT_BYTES)
    parts = (content[start : start + ELEMENT_BYTES] for start in starts)
    return [int.from_bytes(part, "big") % PRIME for part in parts]


def uniform(digest: bytes) -> int:
    """Return an element that is uniform up to 2^-256 where 64 bytes are."""
    return int.from_bytes(digest, "big") % PRIME
