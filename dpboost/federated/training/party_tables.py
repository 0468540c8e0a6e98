"""The tables of the parties of a simulation, as a caller hands them over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.column_names import column_names


def party_tables(parties: Any, y: Any, owner: str) -> list[tuple[Any, Any]]:
    """Return the rows and labels of each party.

    Parameters
    ----------
    parties : sequence of (X, y)
    y : None
        Labels come with the rows.
    owner : str
        Estimator, for messages.

    Raises
    ------
    InvalidParameterError
        If this is no list of at least two pairs.
    """
    if y is not None:
        raise InvalidParameterError(
            f"{owner}.fit takes one list of pairs, [(X1, y1), (X2, y2), ...], and no y beside it."
        )
    if not isinstance(parties, (list, tuple)) or len(parties) < 2:
        raise refuse(
            "parties", f"{owner}.fit", "a list of at least two pairs (X, y)", type(parties).__name__
        )
    for pair in parties:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise refuse("parties", f"{owner}.fit", "a list of pairs (X, y)", type(pair).__name__)
    return [(X, labels) for X, labels in parties]


def party_columns(tables: Sequence[tuple[Any, Any]], owner: str) -> tuple[str, ...]:
    """Return the names of the columns, which are the same for all parties.

    Parameters
    ----------
    tables : sequence of (X, y)
    owner : str
        Estimator, for messages.

    Raises
    ------
    InvalidParameterError
        If the columns of a party are others, or in another order: their values would be taken for
        those of other columns.
    """
    found = []
    for X, _ in tables:
        table = X if hasattr(X, "shape") else np.asarray(X)
        if len(table.shape) != 2:
            raise InvalidParameterError(
                f"{owner}.fit: the rows of a party must be a table of shape (n_rows, n_features)."
            )
        columns = getattr(table, "columns", None)
        own = None if columns is None else [str(name) for name in columns]
        found.append(column_names(None, table.shape[1], own))
    for position, names in enumerate(found):
        if names != found[0]:
            raise InvalidParameterError(
                f"{owner}.fit: the columns of party {position} differ from those of party 0. All "
                "parties give the same columns, in the same order."
            )
    return found[0]


def party_arrays(
    name: str, given: Any, tables: Sequence[tuple[Any, Any]], owner: str
) -> list[Any] | None:
    """Return what there is beside the rows of each party, None where there is nothing.

    Parameters
    ----------
    name : str
        Of the argument.
    given : sequence of array-like, or None
    tables : sequence of (X, y)
    owner : str
        Estimator, for messages.

    Raises
    ------
    InvalidParameterError
        If this is no list with as many arrays as there are parties.
    """
    if given is None:
        return None
    arrays = list(given) if isinstance(given, (list, tuple)) else []
    if len(arrays) != len(tables) or not all(np.ndim(one) == 1 for one in arrays):
        raise InvalidParameterError(
            f"The {name!r} parameter of {owner}.fit must be a list with one array for each party."
        )
    return arrays
