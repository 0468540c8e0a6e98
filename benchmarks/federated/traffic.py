"""Bytes on the wire of federated fits: ``python -m benchmarks.federated.traffic``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files import write_atomically
from dpboost.federated import (
    FederatedBoostingClassifier,
    FederatedTreeClassifier,
    LocalChannel,
    Party,
)

RESULTS = Path(__file__).parents[1] / "results"
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


class Scale(LocalChannel):
    """Weighs what one party is sent and sends."""

    def __init__(self, parties: Sequence[Party]) -> None:
        super().__init__(parties)
        self.exchanges: list[tuple[int, int]] = []

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Carry a message and note its size and that of the largest reply."""
        replies = super().exchange(message, to)
        self.exchanges.append((len(message), max(map(len, replies.values()))))
        return replies


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
        Messages to a party, each with one reply.
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


def weigh(model: Any, given: Sequence[tuple[Any, Any]], n_trees: int, settings: str) -> Traffic:
    """Train with a channel that weighs."""
    names = [f"feature {place}" for place in range(N_FEATURES)]
    agreement = model.agreement(len(given), names)
    parties = [Party(index, X, y, agreement=agreement) for index, (X, y) in enumerate(given)]
    channel = Scale(parties)
    model.fit_channel(channel, agreement)
    down, up = np.sum(channel.exchanges, axis=0).tolist()
    return Traffic(
        recipe=model.recipe,
        settings=settings,
        trees=n_trees,
        exchanges=len(channel.exchanges),
        down=down,
        up=up,
    )


def measure(n_trees: int = N_TREES) -> Iterator[Traffic]:
    """Weigh a fit of every recipe."""
    given, public = tables()
    for recipe, parameters in FITS:
        shared = {"trees_per_ensemble": n_trees} if recipe == "dpboost" else {}
        model = FederatedBoostingClassifier(
            recipe=recipe,
            epsilon=EPSILON,
            schema=public,
            n_estimators=n_trees,
            random_state=0,
            verbosity=0,
            **parameters,
            **shared,
        )
        settings = ", ".join(f"{name} {value}" for name, value in parameters.items())
        yield weigh(model, given, n_trees, settings)
    for recipe, parameters in TREES:
        tree = FederatedTreeClassifier(recipe=recipe, epsilon=EPSILON, schema=public, **parameters)
        settings = ", ".join(f"{name} {value}" for name, value in parameters.items())
        yield weigh(tree, given, 1, settings)


def page(found: Sequence[Traffic]) -> str:
    """Write the table as Markdown."""
    lines = [
        "# Bytes of federated fits",
        "",
        f"Written by `python -m benchmarks.federated.traffic`: {N_PARTIES} parties, {N_FEATURES} "
        f"numeric features, two classes, epsilon {EPSILON:g}. Messages are JSON with arrays in "
        "base64; a number is 8 bytes before and 10.7 bytes after. Sizes do not depend on rows, "
        "those of single trees only by what is released: how many nodes are split.",
        "",
        "| recipe | settings | trees | messages a tree | KB to each party a tree "
        "| KB from each party a tree |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        exchanges, down, up = one.per_tree
        lines.append(
            f"| {one.recipe} | {one.settings} | {one.trees} | {exchanges:.2f} "
            f"| {down / 1000:.1f} | {up / 1000:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write ``results/federated-traffic.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.federated.traffic")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the page")
    parser.add_argument("--trees", type=int, default=N_TREES, help="trees of each fit")
    given = parser.parse_args(arguments)
    text = page(list(measure(given.trees)))
    write_atomically(given.folder / "federated-traffic.md", text.encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
