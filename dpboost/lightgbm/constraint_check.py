"""Check that the trees of a LightGBM model text satisfy constraints."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import refuse
from dpboost.lightgbm.model_text.model_check import check_model_text
from dpboost.lightgbm.model_text.read_trees import TextTree, read_trees
from dpboost.trees.constraints import Constraints

# LightGBM counts what is no larger as zero.
_ZERO = float(np.float32(1e-35))
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO_MISSING = 1


@dataclass(frozen=True)
class ConstraintCheck:
    """The verified constraints of a model; true if all are satisfied.

    Parameters
    ----------
    monotone : dict of str to bool
        For each feature with a direction whether every tree is monotone in it.
    interactions : bool or None
        Whether the features of every tree come from one group; None if no groups were given.
    reasons : tuple of str
        Why something is not proved.

    Examples
    --------
    >>> check = ConstraintCheck(monotone={"age": True}, interactions=None)
    >>> print(check)
    monotone in age: every tree
    >>> bool(check)
    True
    """

    monotone: dict[str, bool]
    interactions: bool | None
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return all(self.monotone.values()) and self.interactions is not False

    def __str__(self) -> str:
        lines = [
            f"monotone in {name}: {'every tree' if proved else 'not proved'}"
            for name, proved in self.monotone.items()
        ]
        if self.interactions is not None:
            said = "every tree is of one group" if self.interactions else "not proved"
            lines.append(f"interactions: {said}")
        return "\n".join([*lines, *self.reasons]) or "no constraints were given"

    __repr__ = __str__


def check_constraints(
    booster: Any, monotone_constraints: Any = None, interaction_constraints: Any = None
) -> ConstraintCheck:
    """Say whether every tree of a model keeps to constraints.

    The answer is exact for each tree: a tree passes if and only if it keeps to them on its whole
    domain, rows that no one has seen included. A model whose trees all pass keeps to them: sums of
    monotone functions are monotone. One with a tree that does not may still do so, since other
    trees may make up for it; that is *not proved*.

    Parameters
    ----------
    booster : Booster, estimator, str
        A model of this library or of LightGBM, or its text.
    monotone_constraints : list of int, str or dict of name to int, optional
        As in training: 1 for never falling, -1 for never rising.
    interaction_constraints : list of lists, or str, optional
        Groups of features; the features of each tree have to come from one of them.

    Returns
    -------
    ConstraintCheck
        True in a condition where everything is proved.

    Raises
    ------
    InvalidParameterError
        For what is no model, and for constraints that do not fit its columns.

    Notes
    -----
    Monotone means: of two rows that differ in this feature alone, and in which it is not missing,
    the one with the larger value has no smaller raw score. Values that a split of the feature takes
    as missing, NaN or zero, stand aside. What is true for raw scores is true for means and for the
    probability of the second of two classes, not for those of more classes. Trees with linear
    leaves, and directions of features that some tree splits by categories, are not proved.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> X = np.arange(100.0).reshape(50, 2)
    >>> data = lightgbm.Dataset(X, X[:, 0], params={"verbosity": -1})
    >>> booster = lightgbm.train({"monotone_constraints": [1, 1], "verbosity": -1}, data, 3)
    >>> bool(check_constraints(booster, monotone_constraints=[1, 1]))
    True
    """
    forest = read_trees(_text(booster))
    names = forest.feature_names
    constraints = Constraints.of(
        monotone_constraints, interaction_constraints, names, "check_constraints"
    )
    reasons: Counter[str] = Counter()
    monotone: dict[str, bool] = {}
    for position, direction in enumerate(constraints.monotone):
        if direction:
            found = [_not_monotone(tree, position, direction) for tree in forest.trees]
            reasons.update(f"{names[position]}: {each}" for each in found if each)
            monotone[names[position]] = not any(found)
    interactions = None
    if constraints.groups is not None:
        groups = [set(group) for group in constraints.groups]
        apart = sum(
            not any(set(tree.feature.tolist()) <= group for group in groups)
            for tree in forest.trees
        )
        interactions = apart == 0
        if apart:
            reasons["interactions: a tree has features that are in no group together"] = apart
    return ConstraintCheck(
        monotone, interactions, tuple(f"{text} ({n} trees)" for text, n in reasons.items())
    )


def _text(booster: Any) -> str:
    """Return the text of a model that may come in several forms."""
    found = getattr(booster, "booster_", booster)
    if isinstance(found, lightgbm.Booster):
        return str(found.model_to_string(num_iteration=-1))
    if isinstance(found, str):
        check_model_text(found)
        return found
    must = "a Booster, a fitted estimator or a model text"
    raise refuse("booster", "check_constraints", must, type(booster).__name__)


def _not_monotone(tree: TextTree, feature: int, direction: int) -> str:
    """Return why a tree is not monotone in a feature; nothing where it is."""
    if tree.is_linear:
        return "a tree has linear leaves"
    own = tree.feature == feature
    if not own.any():
        return ""
    if (tree.decision_type[own] & _CATEGORICAL).any():
        return "a tree splits it by categories"
    falls = direction * tree.leaf_value
    pairs = falls[:, np.newaxis] > falls
    for other in np.unique(tree.feature).tolist():
        by_category = tree.decision_type[tree.feature == other] & _CATEGORICAL
        if by_category.any() and not by_category.all():
            return "a tree splits a feature both as a number and by categories"
        atoms = _Atoms.of(tree, other)
        reach = atoms.reach(tree, other)
        if other == feature:
            reach = reach[:, atoms.comparable]
            first = np.where(reach.any(axis=1), reach.argmax(axis=1), reach.shape[1])
            last = np.where(
                reach.any(axis=1), reach.shape[1] - 1 - reach[:, ::-1].argmax(axis=1), -1
            )
            pairs &= first[:, np.newaxis] < last
        else:
            shared = reach.astype(np.float32)
            pairs &= shared @ shared.T > 0
        if not pairs.any():
            return ""
    return "a tree has two leaves against the direction"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Atoms:
    """One value for each set of values of a feature that no split distinguishes."""

    #: Of shape (n_nodes_of_feature, n_atoms). Which go left at each of its nodes.
    left: NDArray[np.bool_]
    #: Of shape (n_atoms,). Those that are numbers in rising order, and not missing.
    comparable: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: TextTree, feature: int) -> _Atoms:
        """Return the atoms of a feature in a tree."""
        own = tree.feature == feature
        kinds, thresholds = tree.decision_type[own], tree.threshold[own]
        if (kinds & _CATEGORICAL).any():
            # Each code that is named, and all others.
            codes = np.unique(np.concatenate([np.empty(0, np.int64), *tree.sets]))
            named = [np.isin(codes, tree.sets[int(position)]) for position in thresholds]
            inside = np.column_stack([np.stack(named), np.zeros(len(named), dtype=bool)])
            return cls(left=inside, comparable=np.zeros(inside.shape[1], dtype=bool))
        below_zero = np.nextafter(-_ZERO, -np.inf)
        # The largest number of each run, from the first cut to infinity.
        cuts = np.unique(np.concatenate([thresholds, [below_zero, _ZERO, np.inf]]))
        missing = (kinds >> 2) & 3
        default = (kinds & _DEFAULT_LEFT) > 0
        near_zero = (cuts > below_zero) & (cuts <= _ZERO)
        left = cuts <= thresholds[:, np.newaxis]
        as_zero = missing == _ZERO_MISSING
        left[np.ix_(as_zero, near_zero)] = default[as_zero, np.newaxis]
        nan_left = np.where(missing == 0, thresholds >= 0.0, default)
        comparable = ~(near_zero & as_zero.any())
        return cls(left=np.column_stack([left, nan_left]), comparable=np.append(comparable, False))

    def reach(self, tree: TextTree, feature: int) -> NDArray[np.bool_]:
        """Return which atoms reach each leaf; shape (n_leaves, n_atoms)."""
        n_nodes = len(tree.feature)
        line = np.cumsum(tree.feature == feature) - 1
        reach = np.ones((2 * n_nodes + 1, self.left.shape[1]), dtype=bool)
        level = np.zeros(1, dtype=np.int64)
        while len(level):
            low, high = (
                np.where(side[level] >= 0, side[level], n_nodes + ~side[level])
                for side in (tree.left, tree.right)
            )
            reach[low] = reach[high] = reach[level]
            splits = tree.feature[level] == feature
            sides = self.left[line[level[splits]]]
            reach[low[splits]] &= sides
            reach[high[splits]] &= ~sides
            below = np.concatenate([low, high])
            level = below[below < n_nodes]
        return reach[n_nodes:]
