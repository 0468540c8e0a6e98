"""Trees over the rows of several data holders, with all that they release and without messages.

Every holder's share of the noise is drawn as in a session, and the sums are taken in one process:
the releases have the same law, in a tenth of the time.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dpboost
from benchmarks.reproductions.dp_topdown.one_machine import Numbers, Table, numbers_of
from benchmarks.reproductions.dp_topdown.split_tables import N_PARTIES
from benchmarks.reproductions.read_once import Remembered, tree_request
from dpboost.audit.pooled_rows import Sites
from dpboost.data.labels import read_class_labels
from dpboost.data.table import read_table
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.exact_arithmetic import PrivacyCost, pure_epsilon
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.noise_shares import share
from dpboost.privacy.queries import RowHandle
from dpboost.rows.raw_rows import RawRows
from dpboost.training.fit import fit
from dpboost.training.request import Inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpboost.privacy.randomness import Entropy
    from dpboost.privacy.sensitivity.bound import Sensitivity
    from dpboost.training.fitted_model import FittedModel

Rows = tuple[Any, Any]


@dataclass(frozen=True, kw_only=True)
class SharedLaplace(DiscreteLaplace):
    """The noise of all holders, of whom any ``honest`` ones carry what is charged."""

    honest: int

    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Return the value with a share of every holder: ``honest`` of them are the whole noise."""
        base = DiscreteLaplace(epsilon=self.epsilon)
        for _ in range(N_PARTIES // self.honest):
            value = base.draw(value, bound, entropy)
        for _ in range(N_PARTIES % self.honest):
            value = share(base, value, bound, self.honest, entropy)
        return value

    def noise_stddev(self, bound: Sensitivity) -> float:
        """Return the standard deviation of the noise on an entry, in units."""
        return super().noise_stddev(bound) * math.sqrt(N_PARTIES / self.honest)


class HolderAccountant(PureAccountant):
    """Pure epsilon, with noise in shares.

    Parameters
    ----------
    honest : int
        Holders whose shares carry all of the noise that is charged for.
    """

    def __init__(self, honest: int) -> None:
        super().__init__()
        self.honest = honest

    def noise(self, budget: PrivacyCost) -> DiscreteLaplace:
        """Return the noise of all holders."""
        return SharedLaplace(epsilon=pure_epsilon(budget), honest=self.honest)


def divide(train: Rows, parts: tuple[float, ...], repeat: int) -> list[Rows]:
    """Divide rows at random among the data holders."""
    X, y = train
    order = np.random.default_rng(repeat).permutation(len(y))
    ends = np.round(np.cumsum(parts)[:-1] * len(y)).astype(int)
    return [(X.iloc[own], y[own]) for own in np.split(order, ends)]


class Holders:
    """Training rows at data holders, and held-out rows, of one repeat.

    Parameters
    ----------
    table : Table
    repeat : int
    parts : tuple of float
        What share of the rows each holder has.
    fraction : float, default=1.0
        Of the training rows that are used.
    """

    def __init__(
        self, table: Table, repeat: int, parts: tuple[float, ...], fraction: float = 1.0
    ) -> None:
        self._pooled = table.divided(repeat, fraction)
        self._given = {"schema": table.schema, "max_bin": table.settings["max_bin"]}
        self._schema = dpboost.Schema.coerce(table.schema).resolve(tuple(table.X.columns))
        train, _ = table.parts(repeat, fraction)
        self._rows = [
            RawRows(
                table=Remembered(read_table(X, schema=self._schema)), labels=read_class_labels(y)
            )
            for X, y in divide(train, parts, repeat)
        ]

    def fit(
        self, recipe: str, *, epsilon: float, colluding: int = 1, **settings: Any
    ) -> FittedModel:
        """Fit a tree over the data holders, of whom so many may be curious together."""
        request = tree_request(
            "Holders.fit",
            recipe=recipe,
            epsilon=epsilon,
            assume_public=(),
            **self._given,
            **settings,
        )
        inputs = Inputs(
            columns=self._rows[0].table.columns,
            schema=self._schema,
            classes=self._schema.classes,
        )
        ledger = request.privacy.ledger(HolderAccountant(N_PARTIES - colluding))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
            return fit(RowHandle(Sites(self._rows)), inputs, request, ledger)

    def accuracy(self, fitted: FittedModel) -> float:
        """Return the share of held-out rows whose class a tree predicts."""
        return self._pooled.accuracy(fitted)

    def numbers(self, fitted: FittedModel) -> Numbers:
        """Return accuracy and size of a tree by measure."""
        return numbers_of(self._pooled, fitted)
