"""An attack: rows are reconstructed from the trees of those who have them.

In the manner of TimberStrike (Di Gennaro et al., arXiv 2506.07605), for the text of LightGBM
models. The attacker makes as many rows as the model counts, of which nothing is known at first.
Tree by tree, every row is put into the leaf where it most likely is, such that the leaves get
the numbers of rows, the gradients and the hessians that the tree states; what the path to that
leaf says of a row's columns is kept. What is left open is guessed from public marginals.

Where several assignments give the stated sums, TimberStrike takes one that an integer program
finds; here it is the likeliest under the public marginals, the exponential tilt of them that has
these sums. LightGBM states numbers of rows, which XGBoost leaves to be found from hessians.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: A cell counts as found within this part of the span of its column, if that has numbers.
TOLERANCE = 0.05
#: The span holds all but these parts of the values at either end.
_ENDS = 0.01
#: Of the tilt: steps, and the largest one.
_STEPS, _LONGEST = 40, 2.0
# Totals that are met as nearly as this are met.
_EXACT = 0.02
# What a row is thought to be in a leaf that its earlier leaves exclude: assignments are guesses.
_LEAST = 1e-9


@dataclass(frozen=True)
class Table:
    """Rows as numbers; a category is its position in the list, and one that is missing is last.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    n_categories : tuple of int
        Of each column with the missing one; 0 for numbers.
    """

    values: Array
    n_categories: tuple[int, ...]

    @classmethod
    def of(cls, frame: Any) -> Table:
        """Return the table of a frame whose categories are all declared."""
        columns, sizes = [], []
        for name in frame.columns:
            column = frame[name]
            if hasattr(column, "cat"):
                codes = column.cat.codes.to_numpy().astype(np.float64)
                sizes.append(len(column.cat.categories) + 1)
                columns.append(np.where(codes < 0, sizes[-1] - 1, codes))
            else:
                sizes.append(0)
                columns.append(column.to_numpy(dtype=np.float64))
        return cls(np.column_stack(columns), tuple(sizes))


@dataclass(frozen=True)
class ReadTree:
    """What a tree says of each of its leaves.

    Parameters
    ----------
    counts, hessians, values : ndarray of shape (n_leaves,)
        As the model text states them.
    rate : float
        By which the steps were multiplied: the learning rate.
    paths : list of list of (int, bool, Any)
        Of each leaf: column, whether the path goes left, and the threshold or the categories.
    """

    counts: Array
    hessians: Array
    values: Array
    rate: float
    paths: list[list[tuple[int, bool, Any]]]


def read_trees(text: str) -> list[ReadTree]:
    """Return the trees of a model text."""
    import lightgbm

    # What the text calls the shrinkage of a tree is 1 where a start value was added to it.
    (rate,) = re.findall(r"^\[learning_rate: (.+)\]$", text, flags=re.MULTILINE)
    dumped = lightgbm.Booster(model_str=text).dump_model()
    return [_read_tree(info["tree_structure"], float(rate)) for info in dumped["tree_info"]]


def _read_tree(root: Mapping[str, Any], rate: float) -> ReadTree:
    leaves = list(_walk(root, []))
    numbers = np.array([[leaf.get(key, 0.0) for key in _KEYS] for leaf, _ in leaves])
    return ReadTree(*numbers.T, rate, [path for _, path in leaves])


_KEYS = ("leaf_count", "leaf_weight", "leaf_value")


def _walk(node: Mapping[str, Any], path: list[Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    if "split_feature" not in node:
        yield node, path
        return
    by_set = node["decision_type"] == "=="
    where: Any = node["threshold"]
    if by_set:
        where = frozenset(map(int, str(where).split("||")))
    for side, is_left in (("left_child", True), ("right_child", False)):
        yield from _walk(node[side], [*path, (int(node["split_feature"]), is_left, where)])


class Grid:
    """The parts into which the thresholds of some trees cut every column.

    Parameters
    ----------
    trees : sequence of ReadTree
    public : Table
        Rows of other people, whose columns are known one by one: the marginals.
    """

    def __init__(self, trees: Sequence[ReadTree], public: Table) -> None:
        cuts: list[set[float]] = [set() for _ in public.n_categories]
        for tree in trees:
            for path in tree.paths:
                for column, _, where in path:
                    if not isinstance(where, frozenset):
                        cuts[column].add(float(where))
        self._cuts = [np.array(sorted(own)) for own in cuts]
        self._public = public
        self._sides: dict[tuple[int, Any], Mask] = {}
        self._known: dict[int, tuple[ReadTree, dict[int, Mask]]] = {}
        self.shares: list[Array] = []
        for column, size in enumerate(public.n_categories):
            own = self.parts(public.values[:, column], column)
            counts = np.bincount(own, minlength=size or len(self._cuts[column]) + 1).astype(float)
            # No part is impossible because the public rows have nobody there.
            counts += 0.5 / len(counts)
            self.shares.append(counts / counts.sum())

    def parts(self, values: Array, column: int) -> NDArray[np.int64]:
        """Return the part of each value."""
        if self._public.n_categories[column]:
            return values.astype(np.int64)
        return np.searchsorted(self._cuts[column], values, side="left")

    def leaves(self, tree: ReadTree) -> dict[int, Mask]:
        """Return for each column of a tree which parts of it each leaf admits.

        Returns
        -------
        dict of int to ndarray of shape (n_parts, n_leaves), bool
        """
        # With the tree itself, so that its number is not taken by another one.
        if id(tree) in self._known:
            return self._known[id(tree)][1]
        found: dict[int, Mask] = {}
        for leaf, path in enumerate(tree.paths):
            for column, is_left, where in path:
                shape = (len(self.shares[column]), len(tree.paths))
                admitted = found.setdefault(column, np.ones(shape, dtype=bool))
                admitted[:, leaf] &= self.left(column, where) == is_left
        self._known[id(tree)] = (tree, found)
        return found

    def left(self, column: int, where: Any) -> Mask:
        """Return which parts of a column are on the left of a threshold, or in a set."""
        if (column, where) not in self._sides:
            numbers = np.arange(len(self.shares[column]))
            if isinstance(where, frozenset):
                self._sides[column, where] = np.isin(numbers, list(where))
            else:
                last = np.searchsorted(self._cuts[column], where, side="left")
                self._sides[column, where] = numbers <= last
        return self._sides[column, where]

    def guess(self, allowed: Sequence[Mask]) -> Array:
        """Return what is likeliest in the parts that each row may have.

        The median of the public values there, or the middle where there are none; of categories
        the most frequent one.
        """
        columns = []
        for column, mask in enumerate(allowed):
            if self._public.n_categories[column]:
                columns.append(np.argmax(mask * self.shares[column], axis=1).astype(float))
            else:
                columns.append(self._median(column, mask))
        return np.column_stack(columns)

    def _median(self, column: int, mask: Mask) -> Array:
        values = np.sort(self._public.values[:, column])
        ends = np.searchsorted(values, self._cuts[column], side="right")
        edges = np.concatenate([[0], ends, [len(values)]])
        first = np.argmax(mask, axis=1)
        last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
        low, high = edges[first], edges[last + 1]
        middle = values[np.minimum((low + high) // 2, len(values) - 1)]
        borders = np.concatenate([values[:1], self._cuts[column], values[-1:]])
        between = (borders[first] + borders[last + 1]) / 2
        return np.where(high > low, middle, between)


class Reconstruction:
    """Rows that become known tree by tree.

    Parameters
    ----------
    grid : Grid
        Of all trees that will come.
    n_rows : int
    start : float
        Log-odds before the first tree.
    seed : int
    """

    def __init__(self, grid: Grid, n_rows: int, start: float, seed: int) -> None:
        self._grid = grid
        self._random = np.random.default_rng(seed)
        self._allowed = [np.ones((n_rows, len(shares)), dtype=bool) for shares in grid.shares]
        self._scores = np.full(n_rows, start)
        self._start = start
        self._labels: Array | None = None

    @property
    def rows(self) -> Array:
        """The rows as they are guessed by now."""
        return self._grid.guess(self._allowed)

    def hear(self, tree: ReadTree) -> None:
        """Take in a tree that was grown on other rows: it moves the scores."""
        self._scores += self._chances(tree) @ tree.values

    def learn(self, tree: ReadTree, *, reg_lambda: float = 0.0) -> None:
        """Take in a tree that was grown on these rows."""
        if len(tree.values) == 1:
            return
        is_first = self._labels is None
        steps = tree.values - (self._start if is_first else 0.0)
        gradients = -steps / tree.rate * (tree.hessians + reg_lambda)
        counts = _whole(tree.counts, len(self._scores))
        chance = 1 / (1 + np.exp(-self._scores))
        facts, totals = [np.ones(len(chance))], [counts]
        if self._labels is not None:
            facts += [chance - self._labels, chance * (1 - chance)]
            totals += [gradients, tree.hessians]
        likely = tilt(self._chances(tree), np.stack(facts, axis=1), np.stack(totals, axis=1))
        leaf = assign(likely, counts)
        if self._labels is None:
            self._labels = self._first_labels(leaf, gradients, chance)
        for column, admitted in self._grid.leaves(tree).items():
            left = self._allowed[column] & admitted[:, leaf].T
            # A row that cannot be in its leaf was put into a wrong one, now or before.
            self._allowed[column] = np.where(
                left.any(axis=1, keepdims=True), left, self._allowed[column]
            )
        self._scores += steps[leaf]

    def _chances(self, tree: ReadTree) -> Array:
        """Return how likely each row is in each leaf, by the public marginals."""
        found = np.ones((len(self._scores), len(tree.values)))
        for column, admitted in self._grid.leaves(tree).items():
            shares = self._grid.shares[column]
            allowed = self._allowed[column]
            found *= (allowed @ (shares[:, np.newaxis] * admitted)) / (allowed @ shares)[:, None]
        found = np.maximum(found, _LEAST)
        return found / found.sum(axis=1, keepdims=True)

    def _first_labels(self, leaf: NDArray[np.int64], gradients: Array, chance: Array) -> Array:
        """Return labels such that the leaves of the first tree have their gradients."""
        labels = np.zeros(len(leaf))
        for number, gradient in enumerate(gradients):
            own = np.flatnonzero(leaf == number)
            n_ones = int(np.clip(np.rint(chance[own].sum() - gradient), 0, len(own)))
            labels[self._random.permutation(own)[:n_ones]] = 1.0
        return labels


def start_of(tree: ReadTree) -> float:
    """Return the log-odds before a first tree whose leaves have them added.

    The gradients of all rows add up to 0 there, so that steps weighed by hessians do.
    """
    return float(np.average(tree.values, weights=np.maximum(tree.hessians, 1e-12)))


def tilt(chances: Array, facts: Array, totals: Array) -> Array:
    """Return the distribution next to ``chances`` whose leaves have these totals on average.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, n_leaves)
        Rows add up to 1.
    facts : ndarray of shape (n_rows, n_facts)
        Numbers of each row, such as its gradient.
    totals : ndarray of shape (n_leaves, n_facts)
        Their sums that a leaf states.

    Returns
    -------
    ndarray of shape (n_rows, n_leaves)
    """
    logs = np.log(chances)
    weights = np.zeros(totals.shape)
    n_facts = facts.shape[1]
    squares = (facts[:, :, np.newaxis] * facts[:, np.newaxis]).reshape(len(facts), -1)
    for _ in range(_STEPS):
        # Leaves in turn would be Sinkhorn's way; all at once, with a step cut off, is faster.
        exponent = logs + facts @ weights.T
        exponent -= exponent.max(axis=1, keepdims=True)
        likely = np.exp(exponent)
        likely /= likely.sum(axis=1, keepdims=True)
        missing = totals - likely.T @ facts
        if np.abs(missing).max() < _EXACT:
            break
        spread = likely * (1 - likely)
        curve = (spread.T @ squares).reshape(-1, n_facts, n_facts)
        curve += np.eye(n_facts) * (1e-3 * np.trace(curve, axis1=1, axis2=2)[:, None, None] + 1e-3)
        step = np.linalg.solve(curve, missing[:, :, np.newaxis])[:, :, 0]
        weights += 0.5 * np.clip(step, -_LONGEST, _LONGEST)
    return likely


def assign(likely: Array, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a leaf for each row, the likeliest ones by which each leaf has its count."""
    slots = np.repeat(np.arange(len(counts)), counts)
    cost = -np.log(np.maximum(likely, 1e-300))[:, slots]
    rows, chosen = linear_sum_assignment(cost)
    found = np.empty(len(likely), dtype=np.int64)
    found[rows] = slots[chosen]
    return found


def _whole(counts: Array, total: int) -> NDArray[np.int64]:
    """Return whole numbers in the proportion of some counts, with this sum."""
    shares = np.maximum(counts, 1e-9)
    ends = np.rint(np.cumsum(shares / shares.sum()) * total).astype(np.int64)
    ends[-1] = total
    return np.diff(ends, prepend=0)


def spans(table: Table) -> Array:
    """Return the span of each column of numbers; NaN of categories."""
    low, high = np.quantile(table.values, [_ENDS, 1 - _ENDS], axis=0)
    return np.where(np.array(table.n_categories) > 0, np.nan, high - low)


def found_share(truth: Table, guessed: Array, span: Array) -> tuple[float, float]:
    """Return which part of the cells is found, and of the rows with nine cells of ten.

    Guessed rows have no order: each goes with the true row such that most cells agree.

    Parameters
    ----------
    truth : Table
    guessed : ndarray of shape (n_rows, n_columns)
    span : ndarray of shape (n_columns,)
        `spans` of public rows.

    Returns
    -------
    cells, rows : float
    """
    agree = np.zeros((len(truth.values), len(guessed)), dtype=np.float32)
    for column, size in enumerate(truth.n_categories):
        apart = np.abs(truth.values[:, column, None] - guessed[None, :, column])
        agree += apart == 0 if size else apart <= TOLERANCE * span[column]
    agree /= len(truth.n_categories)
    rows, others = linear_sum_assignment(agree, maximize=True)
    best = agree[rows, others]
    return float(best.mean()), float((best >= 0.9).mean())
