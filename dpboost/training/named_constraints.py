"""What the user forbids a model, brought to the columns of the table before anything is drawn."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from dpboost.data.column_types import ColumnFacts
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.recipes.hyperparameters import Given, constraints_of, on_columns
from dpboost.schema import ResolvedSchema
from dpboost.training.privacy_params import PrivacyRequest


def constrained(
    given: Given,
    columns: ColumnFacts,
    schema: ResolvedSchema,
    nominal: Set[int],
    privacy: PrivacyRequest,
    owner: str,
) -> dict[str, Any]:
    """Return what is set with constraints that speak of the positions of columns.

    Parameters
    ----------
    given : mapping
        What the user has set.
    columns : ColumnFacts
    schema : ResolvedSchema
        What the user declares.
    nominal : set of int
        Columns of numbers that hold categories, which are to be learned.
    privacy : PrivacyRequest
        Whether the order of categories in a column type is public.
    owner : str

    Raises
    ------
    InvalidParameterError
        For constraints that do not fit the columns, and for a direction of categories.
    """
    names = columns.feature_names
    monotone = constraints_of(given, names, owner).monotone
    if monotone:
        ordered = columns.ordered if "categories" in privacy.assume_public else frozenset()
        categorical = np.zeros(len(names), dtype=bool)
        categorical[list((columns.categorical - ordered) | nominal | set(schema.categories))] = True
        check_ordered(monotone, categorical, names)
    return on_columns(given, names, owner)
