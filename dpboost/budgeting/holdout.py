"""Rows that a fit holds out for evaluation, by secret random assignment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost.data.users import take_rows
from dpboost.privacy.randomness import RowCoins

#: Names of the two sides of a holdout, in the records and in ledgers.
TRAINED, HELD = "training rows", "rows held out"


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldRows:
    """Private rows that took no part in a fit. They remain in this process."""

    X: Any
    y: NDArray[Any]
    users: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return "HeldRows(<hidden>)"

    def _refusal(self, *args: Any) -> NoReturn:
        raise TypeError("Rows that are held out stay in their process: evaluate them there.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refusal


def deal(
    X: Any,
    y: NDArray[Any],
    users: NDArray[np.int64] | None,
    share: Fraction,
    coins: RowCoins,
) -> tuple[HeldRows, NDArray[np.intp]]:
    """Hold out rows: each by an independent draw, or all of a user by one coin.

    ``users`` has the number of the user of each row, ``share`` is the expected part of the rows, in
    (0, 1). Returns the rows held out, and the positions of the other rows.

    Privacy
    -------
    A coin looks at no cell. Which side a row is on is not released, nor how many are on either:
    a row is in one of them, so that what is charged to the two sides does not add up.
    """
    if users is None:
        sides = coins.blocks([share], len(y))
    else:
        sides = coins.blocks([share], int(users.max(initial=-1)) + 1)[users]
    own = np.flatnonzero(sides == 0)
    held = HeldRows(X=take_rows(X, own), y=y[own], users=None if users is None else users[own])
    return held, np.flatnonzero(sides == 1)
