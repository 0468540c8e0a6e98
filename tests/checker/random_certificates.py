"""Random certificates whose true total is known, and what somebody might change in them."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import cost_of

ACCOUNTANTS = {each.privacy_measure: each for each in (PureAccountant(), ZCDPAccountant())}
ACCOUNTANTS["mu squared"] = GDPAccountant()
NORMS = {"discrete Laplace": "l1", "discrete Gaussian": "l2"}
MECHANISMS = {
    "epsilon": ("discrete Laplace", "exponential mechanism", "permute-and-flip"),
    "rho": ("discrete Laplace", "exponential mechanism", "permute-and-flip", "discrete Gaussian"),
    "mu squared": ("discrete Gaussian", "exponential mechanism"),
}
REASONS = ("random assignment", "holdout", "nodes by content")
FOLDS = "all children but the cheapest"


def cost_of_line(line: dict[str, Any], measure: str) -> Fraction:
    """Return what the noise of a line costs, by the textbook."""
    if line["mechanism"] == "discrete Gaussian":
        rho = Fraction(line["constant"] ** 2, 2 * line["noise"][0] ** 2)
        return rho if measure == "rho" else 2 * rho
    epsilon = Fraction(*line["noise"]) * line["constant"]
    if measure == "epsilon":
        return epsilon
    if measure == "mu squared":
        return epsilon**2 * Fraction(355, 113) / 8
    return epsilon**2 / (8 if line["mechanism"] == "exponential mechanism" else 2)


def total(account: dict[str, Any], scope: dict[str, Any] | None = None) -> list[Fraction]:
    """Return charge and delta of a scope, by the definition, from what is booked."""
    scope = account["scopes"] if scope is None else scope
    sums = [Fraction(0), Fraction(0)]
    for number, times in scope.get("releases", ()):
        line = account["lines"][number]
        sums = [a + times * Fraction(line[b]) for a, b in zip(sums, ("cost", "delta"), strict=True)]
    below = [(total(account, each), each["times"]) for each in scope.get("scopes", ())]
    if scope["kind"] == "parallel":
        return [max((each[i] for each, _ in below), default=Fraction(0)) for i in range(2)]
    sums = [sums[i] + sum(times * each[i] for each, times in below) for i in range(2)]
    if scope["kind"] == FOLDS:
        sums[0] -= min(each[0] for each, _ in below)
    return sums


def epsilon_of(account: dict[str, Any], margin: float = 0.0) -> Fraction:
    """Return the epsilon that the total guarantees, with a relative margin."""
    cost, failure = total(account)
    fits = 1
    for each in account["multiples"]:
        cost, fits = cost * Fraction(each["factor"]), fits * each["fits"]
    if account["measure"] == "epsilon":
        exact = cost
    else:
        left = Fraction(account["delta"]) - fits * failure
        accountant = ACCOUNTANTS[account["measure"]]
        exact = Fraction(accountant.epsilon(cost_of(cost), left))
        order = accountant.witness(cost_of(cost), left)
        account["alpha"] = None if order is None else str(order)
    return exact * (1 + Fraction(margin))


def claimed(account: dict[str, Any], epsilon: Fraction) -> dict[str, Any]:
    """Return a certificate that claims this epsilon."""
    account = copy.deepcopy(account)
    account["epsilon"] = str(epsilon)
    pure = account["measure"] == "epsilon" and total(account)[1] == 0
    rows = [each["coordinates"] for each in account["multiples"]]
    plain = {
        "identity": {"model_sha256": "0" * 64},
        "claim": {
            "private": True,
            "definition": "pure" if pure else "approximate",
            "continued_model": False,
            "neighbours": account["relation"],
            "epsilon": float(epsilon),
            "delta": 0.0 if pure else float(Fraction(account["delta"])),
            "rows_per_person": rows[0] if rows else 1,
        },
        "accounting": account,
    }
    return json.loads(json.dumps(plain), parse_float=Fraction)


def settled(account: dict[str, Any], *, costs: bool = True) -> dict[str, Any]:
    """Return it with charges of its noise, and with the sum of its charges."""
    if costs:
        for line in account["lines"]:
            line["cost"] = str(cost_of_line(line, account["measure"]))
    cost, failure = total(account)
    account["spent"] = {"cost": str(cost), "delta": str(failure)}
    return account


def random_account(rng: np.random.Generator) -> dict[str, Any]:
    """Return a random list of releases with scopes, whose charges are those of its noise."""
    measure = str(rng.choice(list(ACCOUNTANTS)))
    relation = str(rng.choice(["add_remove", "replace"]))
    lines = [_line(rng, measure, relation) for _ in range(rng.integers(1, 6))]
    waiting = list(range(len(lines)))
    root = _scope(rng, waiting, depth=0, name="")
    if waiting:
        root.setdefault("releases", [])
        root["releases"] += [[number, 1] for number in waiting]
    rows = int(rng.integers(1, 4))
    power = 1 if measure == "epsilon" else 2
    multiple = {"of": "rows of a user", "factor": str(rows**power), "coordinates": rows, "fits": 1}
    account = {
        "format": 1,
        "relation": relation,
        "measure": measure,
        "delta": "0" if measure == "epsilon" and rng.random() < 0.5 else "1/100000",
        "multiples": [multiple] if rows > 1 else [],
        "lattice": None
        if measure != "mu squared"
        else {"least_sigma": 2**16, "epsilon": "1/1000000", "delta": f"1/{10**20}"},
        "alpha": None,
        "lines": lines,
        "scopes": root,
        "budget": None,
        "parties": None,
        "earlier": {"epsilon": "0", "delta": "0"},
    }
    if account["delta"] != "0" and lines[0]["norm"] != "range" and rng.random() < 0.4:
        _make_stability_histogram(lines[0], relation)
    return settled(account)


def _line(rng: np.random.Generator, measure: str, relation: str) -> dict[str, Any]:
    mechanism = str(rng.choice(MECHANISMS[measure]))
    added = int(rng.integers(1026, 2**18))
    constant = added if relation == "add_remove" else 2 * added
    if mechanism == "discrete Gaussian":
        noise = [int(constant * rng.uniform(2, 40)) + 2**16]
    else:
        noise = [int(rng.integers(1, 50)), constant * int(rng.integers(100, 2000))]
    norm = NORMS.get(mechanism, "range")
    return {
        "label": "split choice" if norm == "range" else "leaf sums",
        "mechanism": mechanism,
        "noise": noise,
        "norm": norm,
        "constant": constant,
        "coordinates": int(rng.integers(1, 9)),
        "added": None if relation == "add_remove" else added**2 if norm == "l2" else added,
        "unit": 1.0,
        "cost": "0",
        "delta": "0",
        "share": None,
        "sizes": [1, int(rng.integers(1, 100))],
        "delta_alone": False,
        "threshold": None,
    }


def _make_stability_histogram(line: dict[str, Any], relation: str) -> None:
    """Turn a line into one of learned categories, which fail with a delta of 1e-8."""
    units = line["constant"] if relation == "add_remove" else line["constant"] // 2
    columns = line["sizes"][1]
    line |= {"label": "categories", "delta": "1/100000000", "unit": 1 / units}
    if line["mechanism"] == "discrete Gaussian":
        tail = line["noise"][0] * math.sqrt(2 * math.log(1e8 * columns))
    else:
        rate = line["noise"][0] / line["noise"][1]
        tail = (math.log(1e8 * columns) - math.log1p(math.exp(-rate))) / rate
    line["threshold"] = units + math.ceil(tail * (1 + 1e-9))


def _scope(
    rng: np.random.Generator, waiting: list[int], *, depth: int, name: str
) -> dict[str, Any]:
    kind = "sequential"
    if depth:
        kind = str(rng.choice(["sequential", "parallel", FOLDS], p=[0.5, 0.4, 0.1]))
    times = int(rng.integers(1, 4)) if depth else 1
    scope: dict[str, Any] = {"name": name, "kind": kind, "times": times}
    if kind == "parallel":
        scope["because"] = str(rng.choice(REASONS))
    elif kind == "sequential" and waiting and (depth == 3 or rng.random() < 0.7):
        scope["releases"] = [[waiting.pop(), int(rng.integers(1, 4))]]
    below = rng.integers(1, 4) if depth < 3 else 0
    inner = [
        _scope(rng, waiting, depth=depth + 1, name=f"part {depth} {number}")
        for number in range(below)
    ]
    if inner:
        scope["scopes"] = inner
    elif kind != "sequential":
        scope["kind"] = "sequential"
        scope.pop("because", None)
    return scope


def all_scopes(scope: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a scope and all inside it."""
    return [scope, *(each for inner in scope.get("scopes", ()) for each in all_scopes(inner))]
