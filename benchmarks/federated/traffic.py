"""Bytes on the wire of federated fits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import span, table
from dpboost.federated import (
    Agreement,
    FederatedBoostingClassifier,
    FederatedTreeClassifier,
    Hub,
    LocalLink,
    Party,
    outcome_of,
)
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.messages import Key
from dpboost.federated.simulation import run_together

N_PARTIES = 5
N_ROWS = 2000
N_FEATURES = 10
EPSILON = 4.0
# Trees, so that what is sent once does not weigh much, and so that runs stay short.
N_TREES = 20

#: Recipe, parameters and what they mean, in the order of the table.
FITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best", {"max_depth": 6, "max_bin": 64}),
    ("best", {"max_depth": 6, "max_bin": 64, "delta": 0.0}),
    ("best", {"max_depth": 6, "max_bin": 64, "dropouts": 1}),
    ("dpboost", {"max_depth": 6, "max_bin": 32, "delta": 0.0}),
    ("para", {"max_depth": 6, "max_bin": 32, "delta": 0.0}),
    ("seq", {"max_depth": 6, "max_bin": 32, "delta": 0.0}),
)

#: The same of single trees.
TREES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("noisy_counts", {"max_depth": 6, "max_bin": 10}),
    ("local_rnm", {"max_depth": 6, "max_bin": 10}),
    ("histograms", {"max_depth": 6, "max_bin": 10}),
    ("histograms_saving", {"max_depth": 6, "max_bin": 10}),
    ("sulq_id3", {"max_depth": 2, "max_bin": 10}),
)


class Scale(LocalLink):
    """Weighs what one party sends and is sent."""

    def __init__(self, hub: Hub, party: int) -> None:
        super().__init__(hub, party)
        self.exchanges: list[tuple[int, int]] = []

    def post(self, key: Key, body: bytes) -> bytes:
        """Carry a message and note its size and that of the reply."""
        reply = super().post(key, body)
        self.exchanges.append((len(reply), len(body)))
        return reply


def weighed(agreement: Agreement, parties: Sequence[Party]) -> tuple[Any, list[tuple[int, int]]]:
    """Run a session; return what comes of it, and the bytes to and from its last party."""
    hub = Hub()
    links = [Scale(hub, party.index) for party in parties]
    session = CoordinatorSession(agreement, hub)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_together(parties, session, hub, links=links)
    return outcome_of(found.coordinator), links[-1].exchanges


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What one party and the coordinator exchange in a fit.

    Parameters
    ----------
    recipe : str
    settings : str
        Parameters that matter.
    trees : int
    exchanges : int
        Messages of a party, each with one reply.
    down, up : int
        Bytes to a party, and from it.
    """

    recipe: str
    settings: str
    trees: int
    exchanges: int
    down: int
    up: int

    @property
    def per_tree(self) -> tuple[float, float, float]:
        """Exchanges, bytes to a party and bytes from it, for one tree."""
        return self.exchanges / self.trees, self.down / self.trees, self.up / self.trees


def tables(seed: int = 0) -> tuple[list[tuple[Any, Any]], dict[str, Any]]:
    """Return rows of all parties and what is public about them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N_ROWS, N_FEATURES))
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    parts = [slice(part, None, N_PARTIES) for part in range(N_PARTIES)]
    public = {"bounds": dict.fromkeys(range(N_FEATURES), (0, 1)), "classes": [0, 1]}
    return [(X[part], y[part]) for part in parts], public


def weigh(
    model: Any,
    given: Sequence[tuple[Any, Any]],
    n_trees: int,
    settings: str,
    dropouts: int = 0,
) -> Traffic:
    """Train with a channel that weighs."""
    names = [f"feature {position}" for position in range(N_FEATURES)]
    agreement = replace(model.agreement(len(given), names), dropouts=dropouts)
    parties = [Party(index, X, y, agreement=agreement) for index, (X, y) in enumerate(given)]
    _, exchanges = weighed(agreement, parties)
    down, up = np.sum(exchanges, axis=0).tolist()
    return Traffic(
        recipe=model.recipe,
        settings=settings,
        trees=n_trees,
        exchanges=len(exchanges),
        down=down,
        up=up,
    )


def measure(position: int, n_trees: int) -> list[Result]:
    """Weigh a fit of one recipe: its rank among those of boosting, then of single trees."""
    given, public = tables()
    recipe, parameters = (*FITS, *TREES)[position]
    settings = ", ".join(f"{name} {value}" for name, value in parameters.items())
    shared: dict[str, Any] = {"recipe": recipe, "epsilon": EPSILON, "schema": public, **parameters}
    dropouts = shared.pop("dropouts", 0)
    if position < len(FITS):
        if recipe == "dpboost":
            shared["trees_per_ensemble"] = n_trees
        model: Any = FederatedBoostingClassifier(
            n_estimators=n_trees, random_state=0, verbosity=0, **shared
        )
    else:
        n_trees, model = 1, FederatedTreeClassifier(**shared)
    found = weigh(model, given, n_trees, settings, dropouts)
    return [
        Result(data=settings, method=recipe, epsilon=EPSILON, measure=name, value=float(value))
        for name, value in asdict(found).items()
        if name not in ("recipe", "settings")
    ]


def plan(request: Request) -> Plan:
    """Return every recipe as a unit; ``repeats`` is the number of trees."""
    n_trees = request.repeats or (2 if request.quick else N_TREES)
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{recipe}, {parameters}",
            settings=digest({"trees": n_trees, "versions": versions}),
            measure=partial(measure, position, n_trees),
        )
        for position, (recipe, parameters) in enumerate((*FITS, *TREES))
    ]
    return Plan(units=units)


def traffic_of(results: Results) -> list[Traffic]:
    """Return what results are of."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in results.rows:
        found.setdefault((row.method, row.data), {})[row.measure] = int(row.value)
    return [
        Traffic(recipe=recipe, settings=settings, **numbers)
        for (recipe, settings), numbers in found.items()
    ]


def body(results: Results) -> list[str]:
    """Return the table."""
    lines = []
    for one in traffic_of(results):
        exchanges, down, up = one.per_tree
        sizes = [f"{exchanges:.2f}", f"{down / 1000:.1f}", f"{up / 1000:.1f}"]
        lines.append([one.recipe, one.settings, str(one.trees), *sizes])
    header = ["recipe", "settings", "trees", "messages a tree", "KB to each party a tree"]
    header.append("KB from each party a tree")
    return [
        f"{N_PARTIES} parties, {N_FEATURES} numeric features, two classes, epsilon {EPSILON:g}. "
        "Messages are JSON with arrays in base64; a number is 8 bytes before and 10.7 bytes "
        "after. Sizes do not depend on rows, those of single trees only by what is released: "
        "how many nodes are split. Where parties may be lost (`dropouts`), a release takes four "
        "messages instead of one.",
        "",
        *table(header, lines),
    ]


def finding(results: Results) -> str:
    """Return the bytes of a tree, from the recipe that has least to that which has most."""
    sizes = [one.per_tree for one in traffic_of(results)]
    down, up = (span((size[way] / 1000 for size in sizes), ",.1f") for way in (1, 2))
    return f"Depending on the recipe, a tree takes {down} KB to each party and {up} KB from it."


FEDERATED_TRAFFIC = Run(
    name="federated-traffic",
    title="Network traffic of federated training",
    group=Group.FEDERATED,
    description="Bytes of federated fits: the messages of every recipe.",
    plan=plan,
    body=body,
    finding=finding,
)
