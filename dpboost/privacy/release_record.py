"""Every release of a fit as plain data, to recompute epsilon and delta.

Equal releases are one line, and sibling scopes whose names differ only in numbers are one scope
with a count: a fit of four hundred trees is a record of a few lines.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dpboost.privacy.accounting import (
    LATTICE_DELTA,
    LATTICE_EPSILON,
    SMALLEST_SIGMA,
    Accountant,
    DerivedAccountant,
)
from dpboost.privacy.exact_arithmetic import number_of
from dpboost.privacy.ledger import Ledger, LedgerEntry, Scope
from dpboost.privacy.ledger_records import ONE
from dpboost.privacy.noise_shares import MaskedShare, share_sigma
from dpboost.privacy.stability_histogram import StabilityHistogram

#: Number of the format.
FORMAT = 1
FOLDING = (
    "equal releases are one line, with the least and the largest size of their arrays; sibling "
    "scopes that differ only in the numbers of their names are one scope with a count, and these "
    "numbers are written *"
)
# Of which the cheapest counts for no row: a row takes part in all fits but that of its own fold.
FOLDS = "all children but the cheapest"

_DIGITS = re.compile(r"\d+")


class _Node(NamedTuple):
    """A scope with normalized names and lines for comparison."""

    name: str
    kind: str
    because: str | None
    cap: str | None
    releases: tuple[tuple[_Line, int], ...]
    children: tuple[tuple[_Node, int], ...]


class _Line(NamedTuple):
    """The common terms of the releases of one line."""

    label: str
    mechanism: str
    noise: tuple[int, ...]
    norm: str
    constant: int
    coordinates: int | None
    added: int | None
    size: int | None
    unit: float
    cost: str
    delta: str
    threshold: int | None
    share: tuple[int, int | None] | None


#: The least and the largest size of the arrays of a line.
_Sizes = dict[_Line, tuple[int, int]]


def release_record(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger has recorded, and how it adds up, as plain data.

    Fractions and infinity are strings. Proof that charges add up so: docs/proofs/composition.md.

    Privacy
    -------
    Reads the ledger, which is public. Sizes are public facts of queries; that of a stability
    histogram is its number of columns.
    """
    sizes: _Sizes = {}
    root = ledger.root
    total = root.total
    exact = ledger.epsilon != math.inf
    accountant = ledger.accountant
    left = ledger.delta - total.delta
    return {
        "format": FORMAT,
        "folding": FOLDING,
        "relation": ledger.neighbors.value,
        "epsilon": _plain(number_of(ledger.epsilon)),
        "delta": str(ledger.delta),
        "spent": _spent(number_of(total.cost), total.delta),
        **_terms(accountant),
        "alpha": _witness(accountant, ledger.spent, left) if exact else None,
        **_tables(_node(root, sizes), sizes),
    }


def record_of_folds(
    fits: Sequence[dict[str, Any]], own: dict[str, Any], accountant: Accountant, left: Fraction
) -> dict[str, Any]:
    """Return the record of a cross-validation: all fits but the cheapest, and the metrics.

    It is made of the records of the fits, one a fold, and that of the metrics. The accountant is
    that of everything together; ``left`` is what the fits leave of delta.
    """
    sizes: _Sizes = {}
    *trained, metrics = (_inflated(each, sizes) for each in (*fits, own))
    folds = _Node("fits", FOLDS, None, None, (), _counted(trained))
    children = (folds, metrics) if metrics.releases or metrics.children else (folds,)
    costs = sorted(_number(each["spent"]["cost"]) for each in fits)[1:]
    spent = sum(costs, _number(own["spent"]["cost"]))
    failures = sum((Fraction(each["spent"]["delta"]) for each in (*fits, own)), Fraction(0))
    return {
        **own,
        "spent": _spent(spent, failures),
        **_terms(accountant),
        "alpha": _witness(accountant, spent, left) if spent != math.inf else None,
        **_tables(_Node("", "sequential", None, None, (), _counted(children)), sizes),
    }


def _terms(accountant: Accountant) -> dict[str, Any]:
    """Return how charges of one row of one fit become those of the claim."""
    multiples = []
    while isinstance(accountant, DerivedAccountant):
        multiples.append(accountant.terms())
        accountant = accountant.inner
    gaussian = accountant.privacy_measure == "mu squared"
    return {
        "measure": accountant.privacy_measure,
        "multiples": [each for each in multiples if each is not None],
        "lattice": {
            "least_sigma": SMALLEST_SIGMA,
            "epsilon": str(LATTICE_EPSILON),
            "delta": str(LATTICE_DELTA),
        }
        if gaussian
        else None,
    }


def _spent(cost: Any, delta: Fraction) -> dict[str, str]:
    return {"cost": _plain(cost), "delta": str(delta)}


def _witness(accountant: Accountant, total: Any, left: Fraction) -> str | None:
    found = accountant.witness(total, left)
    return None if found is None else str(found)


def _plain(number: Fraction | float) -> str:
    return "inf" if number == math.inf else str(number)


def _number(text: str) -> Any:
    return math.inf if text == "inf" else Fraction(text)


# -- scopes ------------------------------------------------------------------------------------


def _node(scope: Scope, sizes: _Sizes) -> _Node:
    """Return a scope with everything below it, folded."""
    children = (_node(child, sizes) for child in scope.children.values())
    return _Node(
        name=_DIGITS.sub("*", scope.path[-1]) if scope.path else "",
        kind="parallel" if scope.parallel else FOLDS if scope.n_folds else "sequential",
        because=None if scope.because is None else scope.because.value,
        cap=None if scope.most is ONE else str(scope.most),
        releases=_counted(_line(entry, sizes) for entry in scope.entries),
        children=_counted(child for child in children if child.releases or child.children),
    )


def _counted(things: Iterable[Any]) -> tuple[tuple[Any, int], ...]:
    """Return different things with how often each is there, in the order of the first."""
    return tuple(Counter(things).items())


def _line(entry: LedgerEntry, sizes: _Sizes) -> _Line:
    mechanism, bound = entry.mechanism, entry.bound
    noise = tuple(mechanism.parameters(bound))
    share = None
    name = mechanism.name
    size = entry.size
    if isinstance(mechanism, MaskedShare):
        name = mechanism.base.name
        sigma = None
        if len(noise) == 1 and mechanism.honest > 1:
            sigma = share_sigma(noise[0], bound.constant, mechanism.honest, size)
        share = (mechanism.honest, sigma)
    # Where the charge does not depend on the size, it would only keep lines apart.
    lattice = bound.kind == "l2" and bound.coordinates is None
    line = _Line(
        label=entry.label,
        mechanism=name,
        noise=noise,
        norm=bound.kind,
        constant=bound.constant,
        coordinates=bound.coordinates,
        added=bound.added,
        size=size if lattice or (share is not None and share[1] is not None) else None,
        unit=entry.unit,
        cost=_plain(number_of(entry.charge.cost)),
        delta=str(entry.charge.delta),
        threshold=mechanism.threshold if isinstance(mechanism, StabilityHistogram) else None,
        share=share,
    )
    _widen(sizes, line, size, size)
    return line


def _widen(sizes: _Sizes, line: _Line, least: int, largest: int) -> None:
    known = sizes.get(line, (least, largest))
    sizes[line] = min(known[0], least), max(known[1], largest)


def _tables(root: _Node, sizes: _Sizes) -> dict[str, Any]:
    """Return the lines, and the scopes that name them by their number."""
    numbers: dict[_Line, int] = {}

    def plain(node: _Node, times: int) -> dict[str, Any]:
        found: dict[str, Any] = {"name": node.name, "kind": node.kind, "times": times}
        if node.because is not None:
            found["because"] = node.because
        if node.cap is not None:
            found["cap"] = node.cap
        if node.releases:
            found["releases"] = [
                [numbers.setdefault(line, len(numbers)), count] for line, count in node.releases
            ]
        if node.children:
            found["scopes"] = [plain(child, count) for child, count in node.children]
        return found

    scopes = plain(root, 1)
    return {"lines": [_plain_line(line, sizes[line]) for line in numbers], "scopes": scopes}


def _plain_line(line: _Line, sizes: tuple[int, int]) -> dict[str, Any]:
    share, found = line.share, line._asdict()
    del found["size"]
    return {
        **found,
        "noise": list(line.noise),
        "sizes": list(sizes),
        "share": None if share is None else {"honest": share[0], "sigma": share[1]},
        "delta_alone": Fraction(line.delta) > 0 and line.cost == "0",
    }


def _inflated(record: dict[str, Any], sizes: _Sizes) -> _Node:
    """Return the scopes of a record with their lines inside them again."""
    lines = []
    for each in record["lines"]:
        values = {name: each[name] for name in _Line._fields if name != "size"}
        share = values["share"]
        values["share"] = None if share is None else (share["honest"], share["sigma"])
        values["noise"] = tuple(values["noise"])
        lattice = values["norm"] == "l2" and values["coordinates"] is None
        exact = lattice or (share is not None and share["sigma"] is not None)
        lines.append(_Line(size=each["sizes"][0] if exact else None, **values))
        _widen(sizes, lines[-1], *each["sizes"])

    def node(plain: dict[str, Any]) -> _Node:
        return _Node(
            name=plain["name"],
            kind=plain["kind"],
            because=plain.get("because"),
            cap=plain.get("cap"),
            releases=tuple((lines[number], count) for number, count in plain.get("releases", [])),
            children=tuple((node(each), each["times"]) for each in plain.get("scopes", [])),
        )

    return node(record["scopes"])
