"""The synthetic tables of Friedman and Schuster (KDD 2010), section 5.

A random tree is drawn down to a depth; attributes are not repeated on a path unless they are
numeric; from the third level on a node becomes a leaf with probability ``p_leaf``; the class of
a leaf is uniform. Rows are uniform, labeled by the tree, and then every attribute and class is
replaced with probability ``p_noise`` by a uniform value, perhaps the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

#: Range of a numeric attribute.
LOW, HIGH = 0.0, 100.0

#: Level, counted from 1, from which on a node may become a leaf.
_FIRST_LEAF_LEVEL = 3


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Attributes and classes.

    Attributes
    ----------
    n_nominal, n_numeric : int
        Numbers of attributes; the nominal ones come first.
    n_values : int
        Values of a nominal attribute.
    n_classes : int
    """

    n_nominal: int = 10
    n_numeric: int = 0
    n_values: int = 2
    n_classes: int = 2

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self.n_nominal + self.n_numeric

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [f"a{position}" for position in range(self.n_attributes)]

    def schema(self) -> dict[str, object]:
        """Return what is public: the whole domain."""
        names = self.names()
        return {
            "categories": dict.fromkeys(names[: self.n_nominal], tuple(range(self.n_values))),
            "bounds": dict.fromkeys(names[self.n_nominal :], (LOW, HIGH)),
            "classes": tuple(range(self.n_classes)),
        }

    def rows(self, n_rows: int, random: np.random.Generator) -> np.ndarray:
        """Draw uniform rows."""
        nominal = random.integers(0, self.n_values, (n_rows, self.n_nominal))
        numeric = random.uniform(LOW, HIGH, (n_rows, self.n_numeric))
        return np.concatenate([nominal, numeric], axis=1)


@dataclass
class Concept:
    """A node of the tree that labels rows.

    Attributes
    ----------
    label : int
        Class of a leaf.
    attribute : int
        Attribute of an inner node; negative for a leaf.
    threshold : float
        Border of a numeric attribute: at most this goes first.
    children : list of Concept
    """

    label: int = 0
    attribute: int = -1
    threshold: float = 0.0
    children: list[Concept] = field(default_factory=list)

    def classify(self, X: np.ndarray, domain: Domain) -> np.ndarray:
        """Return the class of every row."""
        if self.attribute < 0:
            return np.full(len(X), self.label, dtype=np.int64)
        column = X[:, self.attribute]
        if self.attribute < domain.n_nominal:
            branch = column.astype(np.int64)
        else:
            branch = (column > self.threshold).astype(np.int64)
        labels = np.empty(len(X), dtype=np.int64)
        for position, child in enumerate(self.children):
            own = branch == position
            # Deep trees have more nodes than there are rows.
            if own.any():
                labels[own] = child.classify(X[own], domain)
        return labels


def random_concept(
    domain: Domain, depth: int, random: np.random.Generator, *, p_leaf: float = 0.3
) -> Concept:
    """Draw a tree of at most so many levels of splits."""
    return _node(domain, depth, 1, frozenset(), random, p_leaf)


def _node(
    domain: Domain,
    depth: int,
    level: int,
    used: frozenset[int],
    random: np.random.Generator,
    p_leaf: float,
) -> Concept:
    free = [position for position in range(domain.n_attributes) if position not in used]
    early = level >= _FIRST_LEAF_LEVEL and random.random() < p_leaf
    if depth == 0 or not free or early:
        return Concept(label=int(random.integers(domain.n_classes)))
    attribute = int(random.choice(free))
    nominal = attribute < domain.n_nominal
    below = used | {attribute} if nominal else used
    children = [
        _node(domain, depth - 1, level + 1, below, random, p_leaf)
        for _ in range(domain.n_values if nominal else 2)
    ]
    threshold = float(random.uniform(LOW, HIGH))
    return Concept(attribute=attribute, threshold=threshold, children=children)


def single_split(domain: Domain, attribute: int, threshold: float = 35.0) -> Concept:
    """One split whose branches have different classes."""
    n_branches = domain.n_values if attribute < domain.n_nominal else 2
    leaves = [Concept(label=position % domain.n_classes) for position in range(n_branches)]
    return Concept(attribute=attribute, threshold=threshold, children=leaves)


def sample(
    concept: Concept,
    domain: Domain,
    n_rows: int,
    random: np.random.Generator,
    *,
    p_noise: float = 0.0,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw labeled rows.

    Returns
    -------
    X : DataFrame of shape (n_rows, n_attributes)
        Nominal attributes as whole numbers.
    y : ndarray of shape (n_rows,), int64
    """
    X = domain.rows(n_rows, random)
    y = concept.classify(X, domain)
    replaced = random.random(X.shape) < p_noise
    X = np.where(replaced, domain.rows(n_rows, random), X)
    other = random.integers(0, domain.n_classes, n_rows)
    y = np.where(random.random(n_rows) < p_noise, other, y)
    return pd.DataFrame(X, columns=domain.names()), y
