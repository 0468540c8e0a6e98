"""The orderings that Wang, Dick and Balcan report of DP-TopDown on one machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.harness.claims import Claim
from benchmarks.harness.derived import SPREAD, deviations, differences
from benchmarks.harness.results import Result, pick
from benchmarks.reproductions.fits import DEPTH, NODES

DECAY = "DP-TopDown"
UNIFORM = "DP-TopDown, uniform budget"
BARE = "DP-TopDown, without noise"
BEST = "our best tree"

#: Smallest difference of accuracies that counts, and within which a curve is at another.
MARGIN = 0.002
REACHED = 0.01

_INTERIOR = "4: performance suffers as the share of the leaves approaches 0 or 1"
_DECAY = "figures 1 and 4: the curves of the decay budget are above those of the uniform one"
_SIZES = "A.8: the depth and size of the tree decreases as the privacy budget decreases"
_LARGER = "4: larger training sizes consistently result in better test accuracy"
_LARGER_TRAINING = "A.9: greater training size leads to better training accuracy"
_CONVERGES = "4: accuracy increases with alpha and eventually converges to the baseline"
_SUFFERS = "4: as the share approaches 0, accuracy degrades more with the decay budget"
_VARIES = "4: smaller dataset sizes generally lead to higher variance"

#: Budgets of figures 1 and 4.
SHARE_ALPHAS = (0.125, 1.0, 8.0)


def part_name(fraction: float) -> str:
    """Return the name of the trees of a part of the training rows."""
    return f"{fraction:.0%} of the rows"


def _interior(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and 0.2 <= share <= 0.8


def _tiny(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and share < 0.02


def _huge(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and share > 0.95


def share_claims(figure: str, sets: Sequence[str]) -> list[Claim]:
    """Return what the paper reports of the share of the leaves."""
    found = [
        Claim(
            part=figure,
            text=f"decay above uniform, {name}, alpha {alpha:g}",
            above="decay",
            below="uniform",
            where=lambda data, x, own=f"{name}, alpha {alpha:g}": data == own and 0.1 < x < 0.9,
            margin=MARGIN,
            source=_DECAY,
        )
        for name in sets
        for alpha in SHARE_ALPHAS
    ]
    for name in sets:
        for budget in ("decay", "uniform"):
            for side, extreme in (("small", _tiny), ("large", _huge)):
                found.append(
                    Claim(
                        part=figure,
                        text=f"interior leaf shares above {side} ones, {name}, {budget}",
                        above=budget,
                        below=budget,
                        where=partial(_interior, name),
                        below_where=partial(extreme, name),
                        margin=MARGIN,
                        source=_INTERIOR,
                    )
                )
        found.append(suffering_claim(figure, name, "decay", "uniform", name))
    return found


def suffering_claim(figure: str, data: str, decay: str, uniform: str, text: str) -> Claim:
    """Return that the decay budget loses more than the uniform one where the leaves get little."""
    return Claim(
        part=figure,
        text=f"decay loses more than uniform as the leaf share approaches 0, {text}",
        above=lost(decay),
        below=lost(uniform),
        data=data,
        margin=MARGIN,
        measure="difference",
        source=_SUFFERS,
    )


def lost(budget: str) -> str:
    """Return the name of what a budget loses at the smallest share of the leaves."""
    return f"{budget}, lost at the smallest leaf share"


def losses(rows: Sequence[Result], budgets: Sequence[str]) -> list[Result]:
    """Return what each budget loses from the inner shares of the leaves to the smallest one."""
    mine = [row for row in rows if row.part in ("figure 1", "figure 4")]
    least = min((row.position or 0.0 for row in mine), default=0.0)
    found = []
    for budget in budgets:
        found += differences(
            pick(mine, method=budget),
            name=lost(budget),
            first=lambda row: 0.2 <= (row.position or 0.0) <= 0.8,
            second=lambda row: row.position == least,
            by=lambda row: row.data.partition(", alpha")[0],
        )
    return found


def _size_claims(sets: Sequence[str]) -> Iterator[Claim]:
    """Yield what the paper reports of the trees of figure 5."""
    for name in sets:
        for measure in (DEPTH, NODES):
            yield Claim(
                part="figure 5",
                text=f"more {measure} at alpha 64 and above than at 1 and below, {name}",
                above=DECAY,
                below=DECAY,
                where=lambda data, x, own=name: data == own and x >= 64,
                below_where=lambda data, x, own=name: data == own and x <= 1,
                measure=measure,
                source=_SIZES,
            )


def row_claims(figure: str, what: str, sets: Sequence[str]) -> Iterator[Claim]:
    """Yield what the paper reports of the sizes of the training set."""
    for name in sets:
        yield Claim(
            part=figure,
            text=f"{what}all rows above a hundredth of them, {name}",
            above=part_name(1),
            below=part_name(0.01),
            where=lambda data, x, own=name: data == own,
            margin=MARGIN,
            source=_LARGER_TRAINING if figure == "figure 6" else _LARGER,
        )
        if figure == "figure 3":
            yield Claim(
                part=f"{figure}{SPREAD}",
                text=f"a hundredth of the rows varies more than all of them, {name}",
                above=part_name(0.01),
                below=part_name(1),
                where=lambda data, x, own=name: data == own,
                source=_VARIES,
            )


def of_sizes(rows: Sequence[Result]) -> list[Result]:
    """Return how far the repeats of figure 3 are apart."""
    return deviations(pick(rows, part="figure 3"), by_repeat=False)


def _reaching_claims(method: str, text: str, sets: Sequence[str], *, ours: bool) -> Iterator[Claim]:
    """Yield that a budget comes as far as no noise, where budgets are largest."""
    for name in sets:
        yield Claim(
            part="figure 2",
            text=f"{text} reaches the one without noise at alpha 512, {name}",
            above=method,
            below=BARE,
            where=lambda data, x, own=name: data == own and x == 512,
            ours=ours,
            margin=REACHED,
            reaches=True,
            source=_CONVERGES,
        )


def claims(sets: Sequence[str], small_sets: Sequence[str] = ()) -> list[Claim]:
    """Return what the paper reports, and what we add.

    Parameters
    ----------
    sets, small_sets : sequence of str
        Data sets of figures 2 and 5, and of figures 1, 3 and 6.
    """
    return [
        *share_claims("figure 1", small_sets),
        *_size_claims(sets),
        *row_claims("figure 6", "training accuracy, ", small_sets),
        *row_claims("figure 3", "", small_sets),
        *_reaching_claims(DECAY, "the curve", sets, ours=False),
        *_reaching_claims(UNIFORM, "with a uniform budget it", sets, ours=True),
        *(
            Claim(
                part="figure 2",
                ours=True,
                text=f"our best tree above DP-TopDown, {name}",
                above=BEST,
                below=DECAY,
                where=lambda data, x, own=name: data == own and x <= 8,
                margin=MARGIN,
            )
            for name in sets
        ),
    ]
