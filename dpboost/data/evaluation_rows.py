"""Evaluation rows, and whether they are the training rows; reads no cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError

#: What stands for the training rows where they are given for evaluation as well.
TRAINING_ROWS = "training rows"


def same_rows(left: Any, right: Any) -> bool:
    """Return whether two tables are one object or one piece of memory; no cell is looked at."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        layout = [(each.ctypes.data, each.shape, each.strides) for each in (left, right)]
        return layout[0] == layout[1]
    return left is right and left is not None


def is_training_set(data: Any, train_set: Any) -> bool:
    """Return whether a Dataset is that of the training, or has its rows or labels."""
    pairs = ((data, train_set), (data.data, train_set.data), (data.label, train_set.label))
    return any(same_rows(own, other) for own, other in pairs)


def evaluation_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Return the evaluation sets of either way to give them.

    Parameters
    ----------
    eval_set : list of (X, y) or (X, y), optional
    eval_X, eval_y : optional
        Another way: one table and its labels, or tuples of them.
    """
    if (eval_X is None) != (eval_y is None):
        raise InvalidParameterError("You must specify eval_X and eval_y, not just one of them.")
    if eval_X is not None:
        if eval_set is not None:
            raise InvalidParameterError(
                "Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both."
            )
        if not isinstance(eval_X, tuple):
            eval_X, eval_y = (eval_X,), (eval_y,)
        if len(eval_X) != len(eval_y):
            raise InvalidParameterError(
                "If eval_X is a tuple, y_val must be a tuple of same length, and vice versa."
            )
        return list(zip(eval_X, eval_y, strict=True))
    if eval_set is None:
        return []
    if isinstance(eval_set, tuple):
        eval_set = [eval_set]
    pairs = list(eval_set)
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise InvalidParameterError("The 'eval_set' argument must be a list of (X, y) pairs.")
    return [(pair[0], pair[1]) for pair in pairs]


def is_training_pair(pair: tuple[Any, Any]) -> bool:
    """Return whether a pair is a mark of the training rows."""
    return isinstance(pair[0], str) and pair[0] == TRAINING_ROWS


def marked(pair: tuple[Any, Any], X: Any, y: Any) -> tuple[Any, Any]:
    """Return an evaluation set, or a mark if it is the training rows.

    Parameters
    ----------
    pair : (X, y)
    X, y : any
        The training rows and their labels.
    """
    trained = same_rows(pair[0], X) or same_rows(pair[1], y)
    return (TRAINING_ROWS, TRAINING_ROWS) if trained else pair
