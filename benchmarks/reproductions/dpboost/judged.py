"""Orderings that the paper claims, set by set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.harness.claims import Claim, Kind
from benchmarks.harness.derived import SPREAD
from benchmarks.harness.results import Result
from benchmarks.reproductions.dpboost.sets import CLASSIFICATION

Where = Callable[[float], bool]

#: Smallest differences that count: of shares of wrong classes, and of RMSE as a share of it.
MARGIN_OF_ERRORS = 0.005
MARGIN_OF_RMSE = 0.02


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """One method has smaller errors than another.

    Attributes
    ----------
    text : str
    better, worse : str
        Names of methods.
    where : callable
        ``where(position)``: the points that are compared: epsilon, or a number of trees.
    worse_where : callable, optional
        The points of the worse method, where they are others.
    ours : bool
        Whether the paper does not claim it.
    spread : bool
        Whether it is about how far fits are apart, not about their errors.
    source : str
        Section or figure of the paper, and its words.
    reaches : float
        Margin within which the better one is said to be as good, 0 where it is said to be better:
        of errors, and four times that of RMSE as a share of it.
    """

    text: str
    better: str
    worse: str
    where: Where = lambda position: True
    worse_where: Where | None = None
    ours: bool = False
    source: str = ""
    reaches: float = 0.0
    spread: bool = False

    def margin_on(self, data: str) -> float:
        """Return the smallest difference that counts."""
        if self.spread:
            return 0.0
        if data in CLASSIFICATION:
            return self.reaches or MARGIN_OF_ERRORS
        return 4 * self.reaches or MARGIN_OF_RMSE


def _of_position(where: Where | None) -> Callable[[str, float], bool] | None:
    return None if where is None else lambda data, position: where(position)


def claims(
    rows: Sequence[Result], orderings: Iterable[Ordering], test: Kind = Kind.REPEATS
) -> list[Claim]:
    """Return the claims on every set on which both methods were run."""
    found = []
    parts = list(dict.fromkeys(row.part for row in rows))
    methods: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        methods.setdefault((row.part, row.data), set()).add(row.method)
    for ordering in orderings:
        for part in parts:
            for (own, data), names in methods.items():
                of_spread = part.endswith(SPREAD)
                known = {ordering.better, ordering.worse} <= names
                if own == part and known and of_spread == ordering.spread:
                    found.append(
                        Claim(
                            part=part,
                            text=ordering.text,
                            above=ordering.better,
                            below=ordering.worse,
                            data=data,
                            where=lambda data, position, own=ordering.where: own(position),
                            below_where=_of_position(ordering.worse_where),
                            lower_is_better=True,
                            ours=ordering.ours,
                            source=ordering.source,
                            margin=ordering.margin_on(data),
                            relative=data not in CLASSIFICATION,
                            reaches=bool(ordering.reaches),
                            test=test,
                        )
                    )
    return found
