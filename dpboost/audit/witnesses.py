"""Pairs of neighboring tables on which a private fit attains its privacy loss.

Random neighbors are not sufficient: they do not detect a constant that is three times too small.
Each witness here attains a constant of the proofs, or covers a likely implementation error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.neighboring_pairs import Pair, opposite, pair_of
from dpboost.data.feature_bins import N_CELLS
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.training.private_bins import ROW_UNITS
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT

#: Candidates on which one added row makes the other, common change.
N_OTHERS = 40

#: Rows of each of two opposite children: the changes are -3 and 1 up to 1 / N_CHILD.
N_CHILD = 1000

#: A released leaf value, in units of its grid, that saturates any score.
HUGE = 1 << 45

#: First trees whose leaves are forced to zero, where a witness wants scores to stay.
N_QUIET = 16

#: Coins that put a row into the last of so many trees, whose share is the least.
LATE_COINS = {2: 0.95, 5: 0.968}

#: Ten rows in the units of a released start value: the start is in the middle of the labels.
TEN_ROWS = 10 << 20

#: Units of a released start value that one row is worth.
START_UNITS = 1 << 18

#: Released numbers of rows from which on recipes follow other rules.
LARGE_TABLES = (10_000, 20_000, 1_000_000)

#: Columns of which some are chosen before the first tree, and a released number of rows for it.
N_COLUMNS, N_CHOOSING = 24, 4000

#: A released number of rows with which a linear model comes first, and every cell is counted.
N_LINEAR = 1_000_000

DELTA = 1e-6


@dataclass(frozen=True, eq=False)
class Witness:
    """A pair of neighbors and the estimator that is to be trained on it.

    Parameters
    ----------
    task : {"regression", "binary"}
    settings : dict
        Parameters of the estimator, beyond recipe and epsilon.
    aims_at : tuple of (str, int)
        Releases that it drives to their full charge: label and number, counted from 0.
    group : int, default=1
        Rows by which the tables differ, for guarantees of users.
    several : bool, default=False
        Whether the fit opens several ledgers.
    before : callable, optional
        Called before the audit, where the fits need something made.
    """

    name: str
    task: str
    neighbors: Neighbors
    pair: Pair
    settings: dict[str, Any] = field(default_factory=dict)
    aims_at: tuple[tuple[str, int], ...] = ()
    group: int = 1
    several: bool = False
    before: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<{self.name}, {self.task}, {self.neighbors.value}>"


def witnesses(task: str, neighbors: Neighbors) -> Iterator[Witness]:
    """Yield the bank.

    Parameters
    ----------
    task : {"regression", "binary"}

    Yields
    ------
    Witness
        Those that need pandas are left out where it is not installed.
    """
    for tree in range(2):
        for level in range(2):
            yield opposite_children(task, neighbors, tree, level)
        yield one_row_leaf(task, neighbors, tree)
    for make in _SPECIAL:
        yield make(task, neighbors)
    yield late_leaf(task, neighbors, tree=1, n_trees=2, learning_rate=0.9)
    yield late_leaf(task, neighbors, tree=4, n_trees=5, learning_rate=0.5)
    yield five_trees(task, neighbors)
    yield flipped_choice(task, neighbors)
    for first in (True, False):
        yield queue(task, neighbors, first=first)
    yield short_queue(task, neighbors)
    for n_rows in LARGE_TABLES:
        yield large_table(task, neighbors, n_rows)
    yield telling_columns(task, neighbors)
    if task == "regression":
        for turned in (True, False):
            yield linear_row(neighbors, turned=turned)
    yield undeclared(task, neighbors, n_features=2)
    yield undeclared(task, neighbors, n_features=60)
    if find_spec("pandas") is not None:
        for alone in (True, False):
            yield categories(task, neighbors, alone=alone)


def _declared(task: str, n_features: int, **more: Any) -> dict[str, Any]:
    """Return settings with everything declared: bits as features, labels in [-1, 1] or {0, 1}."""
    known: dict[str, Any] = {"bounds": dict.fromkeys(range(n_features), (0.0, 1.0))}
    known |= {"label_bounds": (-1.0, 1.0)} if task == "regression" else {"classes": [0, 1]}
    return {"schema": known, "n_estimators": 2, "max_depth": 2, "max_bin": 2, **more}


def _idle(n_splits: int, start: int = 0) -> dict[tuple[str, int], Any]:
    """Send all rows left: the last bin of the first feature. The node below is the node above."""
    return {("split choice", number): 1 for number in range(start, start + n_splits)}


def _labels(gradients: NDArray[np.int64], task: str) -> NDArray[Any]:
    """Return the labels that give these signs of gradients, once scores are where they help."""
    if task == "regression":
        return -gradients.astype(np.float64)
    return (gradients < 0).astype(np.int64)


def _pushed(task: str, feature: int) -> dict[tuple[str, int], Any]:
    """Force the first tree to split rows by one feature and to send their scores far apart.

    The gradient of the logistic loss is 1/2 at the start and only then reaches its bound: a row
    with bit 0 gets a very high score, one with bit 1 a very low one. Under the squared loss
    gradients are at their bound from the start, and no tree is to move them away. A start value
    that is released is put in the middle of the labels.
    """
    if task == "regression":
        quiet = {("leaf values", number): 0 for number in range(N_QUIET)}
        return {**quiet, ("start value", 0): np.array([0, TEN_ROWS])}
    return {
        ("start value", 0): np.array([TEN_ROWS // 2, TEN_ROWS, 0]),
        ("split choice", 0): 2 * feature,
        ("split choice", 1): 1,
        ("leaf values", 0): np.array([HUGE, HUGE, -HUGE, -HUGE]),
    }


def _coin(tree: int) -> float:
    """Put every row into one tree of two, whatever the recipe's shares are."""
    return 0.01 if tree == 0 else 0.7


def opposite_children(task: str, neighbors: Neighbors, tree: int, level: int) -> Witness:
    """One candidate loses 3 and all others gain 1: the range of the gain, at large n.

    Half of the rows have gradient 1 and half have -1, and every feature tells them apart. The
    row, of gradient -1, joins the first half by one feature and the second half by the others.
    Replaced by one of gradient 1, it changes the candidates by 4 and by -4.
    """
    bits = np.repeat([0, 1], N_CHILD)
    X = np.repeat(bits[:, np.newaxis], N_OTHERS + 2, axis=1).astype(np.float64)
    y = _labels(1 - 2 * bits, task)
    # The last feature pushes scores apart in the first tree and then is one of the others.
    row = np.ones(N_OTHERS + 2)
    row[0] = 0.0
    label = _labels(np.array([-1]), task)[0]
    steering = {**_pushed(task, N_OTHERS + 1), **_idle(level, start=2 * tree)}
    other = row.copy()
    if task == "binary":
        other[-1] = 0.0  # of the other score, so that its gradient is 1 and not 0
    pair = pair_of(
        X,
        y,
        row,
        label,
        neighbors,
        instead=(other, opposite(label, y)),
        steering=steering,
        coin=_coin(tree),
    )
    return Witness(
        f"opposite children, tree {tree}, level {level}",
        task,
        neighbors,
        pair,
        _declared(task, N_OTHERS + 2),
        aims_at=(("split choice", 2 * tree + level),),
    )


def one_row_leaf(task: str, neighbors: Neighbors, tree: int) -> Witness:
    """Add to a leaf of one row a second one of opposite gradient: the sensitivity of a leaf.

    Replaced, the only row of a leaf turns around.
    """
    labels = _labels(np.array([1, -1]), task)
    # Under the logistic loss gradients of 1 and -1 need scores that lie apart.
    shared, added = np.array([[0.0, 0.0]]), np.array([1.0, 0.0])
    if task == "regression":
        added = shared[0]
    steering = {**_pushed(task, 0), **_idle(2, start=2 * tree)}
    n_shared = int(neighbors is Neighbors.ADD_REMOVE)
    pair = pair_of(
        shared[:n_shared],
        labels[:n_shared],
        added,
        labels[1],
        neighbors,
        instead=(shared[0], labels[0]),
        steering=steering,
        coin=_coin(tree),
    )
    return Witness(
        f"one-row leaf, tree {tree}",
        task,
        neighbors,
        pair,
        _declared(task, 2),
        aims_at=(("leaf values", tree),),
    )


def late_leaf(
    task: str, neighbors: Neighbors, *, tree: int, n_trees: int, learning_rate: float
) -> Witness:
    """Put a row into a leaf of a tree whose leaves are clipped far below what gradients allow.

    The row pulls the leaf from one end of its clip to the other one; replaced, it does so in two
    leaves. Where the clip and the noise that it permits do not go by the same position in the
    ensemble, a leaf moves by more.
    """
    found = one_row_leaf(task, neighbors, tree)
    steering = dict(found.pair.steering)
    pair = replace(found.pair, coin=LATE_COINS[n_trees])
    if task == "regression":
        X, y = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([-0.3, -0.3])
        # One leaf is where feature 1 is 0, the other one where it is 1.
        steering[("split choice", 2 * tree)] = 2
        pair = pair_of(
            X,
            y,
            X[0],
            1.0,
            neighbors,
            instead=(X[1], 1.0),
            steering=steering,
            coin=LATE_COINS[n_trees],
        )
    return replace(
        found,
        name=f"late leaf, tree {tree} of {n_trees}",
        pair=pair,
        settings={
            **found.settings,
            "n_estimators": n_trees,
            "learning_rate": learning_rate,
            # A strong one keeps leaves inside of their clip.
            "reg_lambda": 0.1,
        },
        aims_at=(),
    )


def five_trees(task: str, neighbors: Neighbors) -> Witness:
    """Put a row into the first of five trees: it must not be in another one as well."""
    found = one_row_leaf(task, neighbors, 0)
    settings = {**found.settings, "n_estimators": 5}
    return replace(found, name="five trees", settings=settings, aims_at=())


def flipped_choice(task: str, neighbors: Neighbors) -> Witness:
    """Have splits among opposite children chosen by permute-and-flip."""
    found = opposite_children(task, neighbors, 1, 1)
    settings = {**found.settings, "selection": "permute_and_flip"}
    return replace(found, name="opposite children, flipped", settings=settings, aims_at=())


def empty_leaf(task: str, neighbors: Neighbors) -> Witness:
    """Put a row into a leaf, and into children of candidates, in which there was no one."""
    X, y = np.zeros((6, 2)), _labels(np.array([1, 1, 1, -1, -1, -1]), task)
    steering = {("split choice", 0): 0}
    pair = pair_of(X, y, np.ones(2), y[0], neighbors, steering=steering, coin=0.01)
    return Witness("empty leaf", task, neighbors, pair, _declared(task, 2))


def filter_border(task: str, neighbors: Neighbors) -> Witness:
    """Move scores one unit inside and one unit outside the gradient filter.

    The first tree moves scores by one unit up on one side and down on the other, so that rows of
    extreme labels are just kept or just dropped by the second one.
    """
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = _labels(np.array([1, -1, 1, -1]), task)
    steering = {
        ("split choice", 0): 0,
        ("split choice", 1): 1,
        ("leaf values", 0): np.array([10, 10, -10, -10]),
        **_idle(2, start=2),
    }
    pair = pair_of(X, y, X[0], y[0], neighbors, steering=steering, coin=0.7)
    return Witness("filter border", task, neighbors, pair, _declared(task, 1))


def queue(task: str, neighbors: Neighbors, *, first: bool) -> Witness:
    """Put a row at the head or the end of a table of many trees: no one else may move.

    Were blocks of rows cut by their positions, 49 rows for 50 trees would move up by one when a
    row comes, and a row would change trees or meet another one.
    """
    gradients = np.array([1, -1] * 24 + [1])
    X, y = (gradients[:, np.newaxis] + 1) / 2, _labels(gradients, task)
    steering = {("leaf values", tree): 0 for tree in range(50)}
    pair = pair_of(
        X, y, X[1], y[1], neighbors, instead=(X[0], y[0]), first=first, steering=steering
    )
    return Witness(
        f"49 rows or 50, {'first' if first else 'last'}",
        task,
        neighbors,
        pair,
        _declared(task, 1, n_estimators=50, max_depth=1),
    )


def short_queue(task: str, neighbors: Neighbors) -> Witness:
    """Put a row before all others in the only tree: none of them may go or come instead of it."""
    found = queue(task, neighbors, first=True)
    return replace(
        found,
        name="49 rows or 50, one tree",
        pair=replace(found.pair, coin=0.01),
        settings={**found.settings, "n_estimators": 1},
    )


def bin_border(task: str, neighbors: Neighbors) -> Witness:
    """Put a row on the border between two bins, among rows one double beside it."""
    around = [np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1)]
    X, y = np.array(around)[:, np.newaxis], _labels(np.array([1, -1, 1]), task)
    return Witness(
        "bin border", task, neighbors, pair_of(X, y, X[1], y[0], neighbors), _declared(task, 1)
    )


def one_class(task: str, neighbors: Neighbors) -> Witness:
    """All rows have one label; the row has the other one."""
    X, y = np.zeros((30, 1)), _labels(np.ones(30, dtype=np.int64), task)
    return Witness(
        "one class",
        task,
        neighbors,
        pair_of(X, y, X[0], opposite(y[0], y), neighbors),
        _declared(task, 1),
    )


def outside_bounds(task: str, neighbors: Neighbors) -> Witness:
    """Add a row beyond every declared bound, of a label beyond them or of no declared class."""
    X, y = np.zeros((3, 3)), _labels(np.array([1, -1, 1]), task)
    row, label = np.array([1e300, -np.inf, np.inf]), 1e6 if task == "regression" else 7
    other = (-row, -label if task == "regression" else 1)
    return Witness(
        "outside all bounds",
        task,
        neighbors,
        pair_of(X, y, row, label, neighbors, instead=other),
        _declared(task, 3),
    )


def missing_values(task: str, neighbors: Neighbors) -> Witness:
    """Add a row of which nothing is known but its label, among others like it."""
    X, y = np.full((4, 2), np.nan), _labels(np.array([1, -1, 1, -1]), task)
    X[0] = 0.0
    pair = pair_of(X, y, X[1], y[1], neighbors, instead=(X[0], y[0]))
    return Witness("missing values", task, neighbors, pair, _declared(task, 2))


def offset_labels(task: str, neighbors: Neighbors) -> Witness:
    """Labels far from zero, where a sum of raw labels would tell who is there."""
    X = np.array([[0.0], [1.0]])
    y = np.array([1000.0, 1001.0]) if task == "regression" else np.array([0, 1])
    settings = _declared(task, 1)
    if task == "regression":
        settings["schema"]["label_bounds"] = (1000.0, 1001.0)
    pair = pair_of(X, y, X[1], y[1], neighbors, instead=(X[0], y[0]))
    return Witness("offset labels", task, neighbors, pair, settings)


def large_table(task: str, neighbors: Neighbors, n_rows: int) -> Witness:
    """Release so many rows, whatever there are, and leave all rules to the recipe.

    The row is alone in its category of a nominal feature, whose order only large tables learn.
    Bins, features and orders of the rounds that follow must be those that were released.
    """
    X = np.array([[0.2, 0.0], [0.6, 1.0], [0.9, 3.0], [0.4, 3.0]])
    y = _labels(np.array([1, -1, 1, -1]), task)
    row, other = np.array([0.5, 2.0]), np.array([0.5, 0.0])
    schema: dict[str, Any] = {"bounds": {0: (0.0, 1.0)}, "categories": {1: (0, 1, 2, 3)}}
    schema |= {"label_bounds": (-1.0, 1.0)} if task == "regression" else {"classes": [0, 1]}
    # A sum of labels or a number of ones, a number of rows, those of no class.
    start = [0, n_rows] if task == "regression" else [n_rows // 2, n_rows, 0]
    return Witness(
        f"{n_rows:,} rows released",
        task,
        neighbors,
        pair_of(
            X,
            y,
            row,
            y[0],
            neighbors,
            instead=(other, y[1]),
            steering={("start value", 0): np.array(start) * START_UNITS, ("row count", 0): n_rows},
        ),
        {"schema": schema, "n_estimators": 6},
    )


def telling_columns(task: str, neighbors: Neighbors) -> Witness:
    """One of many columns gains by a row what all others lose: the range of their scores.

    In one of them its bit is that of rows with gradients of the same sign, in the others that of
    rows of the other sign. Replaced by one of the other sign, it moves both by twice as much. Each
    choice takes another one, so that the one is a candidate of all of them.
    """
    signs = np.repeat([1, -1], 20)
    agree = np.arange(N_COLUMNS) == 0
    X = (signs[:, np.newaxis] * np.where(agree, 1, -1) < 0).astype(np.float64)
    y = _labels(signs, task)
    start = [0, N_CHOOSING] if task == "regression" else [N_CHOOSING // 2, N_CHOOSING, 0]
    steering = {
        ("start value", 0): np.array(start) * START_UNITS,
        ("row count", 0): N_CHOOSING,
        **{("column choice", number): 1 for number in range(N_COLUMNS)},
    }
    pair = pair_of(X, y, np.zeros(N_COLUMNS), y[0], neighbors, steering=steering)
    return Witness(
        "telling columns",
        task,
        neighbors,
        pair,
        _declared(task, N_COLUMNS),
        aims_at=tuple(("column choice", number) for number in range(4)),
    )


def linear_row(neighbors: Neighbors, *, turned: bool) -> Witness:
    """Add a row with a vector of full length, most of it in one entry, and a clipped gradient.

    It is in the rare bin of the first column. Replaced, its gradient turns around, or the rare bin
    is that of the second column.
    """
    n_columns = 4
    X, y = np.zeros((16, n_columns)), np.tile([1.0, -1.0], 8)
    counts = np.zeros((n_columns, N_CELLS), dtype=np.int64)
    counts[:, [0, -1]] = np.array([39, 1]) * (N_LINEAR // 40) * ROW_UNITS
    steering = {
        ("start value", 0): np.array([0, N_LINEAR]) * START_UNITS,
        ("row count", 0): N_LINEAR,
        ("fine histograms", 0): counts.ravel(),
    }
    first, second = np.eye(n_columns)[:2]
    instead = (first, -1.0) if turned else (second, 1.0)
    pair = pair_of(X, y, first, 1.0, neighbors, instead=instead, steering=steering)
    settings = _declared("regression", n_columns, n_estimators=4 * n_columns)
    del settings["max_depth"]
    aim = "gradient moments" if turned else "second moments"
    name = f"linear row, {'turned' if turned else 'moved'}"
    return Witness(name, "regression", neighbors, pair, settings, aims_at=((aim, 0),))


def undeclared(task: str, neighbors: Neighbors, n_features: int) -> Witness:
    """Nothing is declared, and the row is the only one of its magnitude and of its class."""
    X = np.ones((4000, n_features))
    y = np.ones(4000) if task == "regression" else np.ones(4000, dtype=np.int64)
    row, label = np.full(n_features, 1e9), 1e6 if task == "regression" else 2
    other = (np.full(n_features, -1e-9), 1e-6 if task == "regression" else 3)
    aims = ["common feature bound"] if n_features > 10 else ["feature bounds"]
    aims.append("label bounds" if task == "regression" else "class labels")
    if task == "binary":
        # A class of one row is never released: only classes that exist on both sides are told.
        label, other = 1, (other[0], 0)
        y[2000:] = 0
    settings: dict[str, Any] = {"n_estimators": 1, "max_depth": 1, "max_bin": 2, "delta": DELTA}
    if task == "binary":
        settings["assume_public"] = ("column_types",)
    return Witness(
        f"nothing declared, {n_features} features",
        task,
        neighbors,
        pair_of(X, y, row, label, neighbors, instead=other),
        settings,
        aims_at=tuple((aim, 0) for aim in aims),
    )


def categories(task: str, neighbors: Neighbors, *, alone: bool) -> Witness:
    """Learned categories: the row alone has one, or has frequent ones in every column."""
    import pandas as pd

    kinds = ["a", "b", "c"]
    values = [pd.Categorical(["a", "b"] * 1000, categories=kinds) for _ in range(2)]
    frame = pd.DataFrame({"first": values[0], "second": values[1]})
    y = _labels(np.array([1, -1] * 1000), task)
    settings = _declared(task, 0, n_estimators=1, max_depth=1, delta=DELTA)
    settings["assume_public"] = ASSUMED_BY_DEFAULT
    row, other = (("b", "c"), ("a", "b")) if alone else (("b", "b"), ("a", "a"))
    pair = pair_of(frame, y, row, y[0], neighbors, instead=(other, y[0]))
    return Witness(
        name="lone category" if alone else "frequent categories",
        task=task,
        neighbors=neighbors,
        # Each table lists what its rows hold, as ``astype("category")`` does.
        pair=replace(pair, X=_used(pair.X), X_other=_used(pair.X_other)),
        settings=settings,
        aims_at=() if alone else (("categories", 0),),
    )


def _used(frame: Any) -> Any:
    """Return a DataFrame whose categorical columns list no more than their rows hold."""
    return frame.apply(lambda column: column.cat.remove_unused_categories())


_SPECIAL: tuple[Callable[[str, Neighbors], Witness], ...] = (
    empty_leaf,
    filter_border,
    bin_border,
    one_class,
    outside_bounds,
    missing_values,
    offset_labels,
)
