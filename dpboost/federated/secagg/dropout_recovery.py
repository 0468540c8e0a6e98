"""What is left of the masks in a sum from which parties are missing.

The coordinator's side of `release_masks`: it holds the locked shares, is told what unlocks one
share of every party, and opens one key of every party. Proof: docs/proofs/secret-shares.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol.messages import Deposit, Unlocked
from dpboost.federated.secagg.keys import pair_words
from dpboost.federated.secagg.release_masks import SealError, array_seed, own_words, unseal
from dpboost.federated.secagg.secret_shares import (
    ELEMENT_BYTES,
    PRIME,
    elements,
    to_bytes,
    weights,
)


@dataclass(frozen=True, kw_only=True)
class OpenedMasks:
    """Keys of masks of one step: all of them that the sum over those present still has.

    ``own`` is of each party that is present, ``pairs`` of what one that is present has in common
    with one that is missing, in this order.
    """

    own: dict[int, bytes]
    pairs: dict[tuple[int, int], bytes]
    digest: bytes

    def left(self, position: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return what is left of the masks in the sum over those that are present."""
        size = int(np.prod(shape, dtype=np.int64))
        total = np.zeros(size, dtype=np.uint64)
        for key in self.own.values():
            total += own_words(key, self.digest, position, size)
        for (index, other), key in self.pairs.items():
            total += pair_words(index, other, array_seed(key, self.digest, position), size)
        return total.reshape(shape)


def check_deposit(deposit: Deposit, n_parties: int) -> bool:
    """Return whether there is a share of every key for every party."""
    return {len(deposit.own), len(deposit.pairs)} == {n_parties * ELEMENT_BYTES}


def check_unlocked(unlocked: Unlocked, n_deposits: int) -> bool:
    """Return whether a share of every party of the roster is unlocked."""
    return len(unlocked.pads) == n_deposits * ELEMENT_BYTES


def open_masks(
    deposits: Mapping[int, Deposit],
    unlocked: Mapping[int, Unlocked],
    present: tuple[int, ...],
    *,
    threshold: int,
    digest: bytes,
) -> OpenedMasks:
    """Put the keys together that are needed for the sum over those that are present.

    SealError where shares do not fit together: a party has not kept to the protocol.
    """
    holders = sorted(unlocked)[:threshold]
    factors = weights(holders)
    pads = [elements(unlocked[holder].pads) for holder in holders]
    own: dict[int, bytes] = {}
    pairs: dict[tuple[int, int], bytes] = {}
    for place, index in enumerate(sorted(deposits)):
        deposit = deposits[index]
        locked = elements(deposit.own if index in present else deposit.pairs)
        shares = (locked[holder] - pad[place] for holder, pad in zip(holders, pads, strict=True))
        key = to_bytes(sum(w * s for w, s in zip(factors, shares, strict=True)) % PRIME)
        if index in present:
            own[index] = key
            continue
        seeds = seeds_of(index, unseal(key, deposit.sealed))
        if not set(present) <= set(seeds):
            raise SealError("A key is missing from what was sealed.")
        pairs |= {(other, index): seeds[other] for other in present}
    return OpenedMasks(own=own, pairs=pairs, digest=digest)


def seeds_of(index: int, opened: bytes) -> dict[int, bytes]:
    """Return what a party has sealed: a key for every other one."""
    size = ELEMENT_BYTES
    seeds = [opened[start : start + size] for start in range(0, len(opened), size)]
    others = (other for other in range(len(seeds) + 1) if other != index)
    return dict(zip(others, seeds, strict=True))
