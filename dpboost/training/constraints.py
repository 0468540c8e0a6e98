"""What the user forbids a model, brought to the columns of the table before anything is drawn."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from dpboost.data.column_types import ColumnFacts
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.recipes.recipe import Hyperparameters
from dpboost.schema import ResolvedSchema
from dpboost.training.privacy_params import PrivacyRequest


def constrained(
    hyperparameters: Hyperparameters,
    columns: ColumnFacts,
    schema: ResolvedSchema,
    nominal: Set[int],
    privacy: PrivacyRequest,
    owner: str,
) -> Hyperparameters:
    """Return hyper-parameters whose constraints speak of the positions of columns.

    Parameters
    ----------
    hyperparameters : Hyperparameters
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
    found = hyperparameters.on_columns(names, owner)
    monotone = found.constraints(names, owner).monotone
    if monotone:
        ordered = columns.ordered if "categories" in privacy.assume_public else frozenset()
        categorical = np.zeros(len(names), dtype=bool)
        categorical[list((columns.categorical - ordered) | nominal | set(schema.categories))] = True
        check_ordered(monotone, categorical, names)
    return found
