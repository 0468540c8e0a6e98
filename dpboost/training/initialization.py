"""What a recipe releases before its first tree: start value, row count and bins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.data.column_types import ColumnFacts
from dpboost.privacy.budget import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.recipes.recipe import Hyperparameters, PublicFacts, Recipe
from dpboost.rows.row_attributes import Weighting
from dpboost.training.label_warnings import warn_of_labels
from dpboost.training.loss_setup import LossSetup
from dpboost.training.privacy_params import PrivacyRequest, warn_of_delta
from dpboost.training.private_bins import release_bins, released_columns
from dpboost.training.public_schema import CompletedSchema


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a recipe has released before its first tree.

    Parameters
    ----------
    binner : Binner
        Public or released bins.
    facts : PublicFacts
        With the released row count and the loss at its start value.
    budget : Fraction or inf
        What is left for the trees.
    weighting : Weighting or None
        How the weights of rows are made.
    n_rows : float or None
        Released number of rows, of weighted ones the sum of their weights; None where the recipe
        releases none.
    masses : dict of int to ndarray of shape (n_bins + 1,)
        Released rows in the bins of some features.
    """

    binner: Binner
    facts: PublicFacts
    budget: PrivacyCost
    weighting: Weighting | None
    masses: Mapping[int, NDArray[np.float64]]
    n_rows: float | None = None


def prepare(
    recipe: Recipe,
    columns: ColumnFacts,
    source: RowStore,
    loss_setup: LossSetup,
    completed: CompletedSchema,
    privacy: PrivacyRequest,
    n_bins: int,
    given: Hyperparameters,
    ledger: Ledger,
) -> Prepared:
    """Release start value, row count and bins where the recipe asks for them.

    Parameters
    ----------
    recipe : Recipe
    columns : ColumnFacts
    source : RowStore
        Of ``EncodedRows``.
    loss_setup : LossSetup
    completed : CompletedSchema
    privacy : PrivacyRequest
    n_bins : int
        Bins of a numeric feature.
    given : Hyperparameters
        What the user has set.
    ledger : Ledger
        The gate.

    Returns
    -------
    Prepared

    Warns
    -----
    LargeDeltaWarning, ParameterWarning
        By released numbers: where delta is large for so many rows; where rows take no part, and
        where a declared class has none.
    """
    binner = Binner.from_schema(
        completed.schema,
        n_bins=n_bins,
        categorical=columns.lists(completed.schema),
        ordered=columns.ordered,
        zero_as_missing=columns.zero_as_missing,
    )
    shares = [0.0, 0.0]
    if recipe.start_share is not None:
        shares[0] = recipe.start_share(loss_setup.loss, privacy.delta)
    integer = completed.schema.integer
    if recipe.bins_share is not None and released_columns(binner, integer):
        shares[1] = recipe.bins_share(privacy.delta)
    weights = [Fraction(str(share)) for share in shares]
    start, bins, rest = divide(completed.budget, [*weights, 1 - sum(weights)])
    n_rows: float | None = None
    counted: float | None = None
    loss = loss_setup.loss
    weighting: Weighting | None = None
    masses: dict[int, NDArray[np.float64]] = {}
    with ledger.sequential("preparation"):
        if start:
            loss, weighting, seen = loss_setup.release(source, start, ledger)
            n_rows = min(seen.n_rows, completed.schema.max_rows or math.inf)
            counted = n_rows * seen.weight
        if bins and n_rows is not None:
            binner, masses = release_bins(
                binner,
                source,
                integer=integer,
                n_bins=n_bins,
                n_rows=n_rows,
                budget=bins,
                ledger=ledger,
            )
    if n_rows is not None:
        warn_of_delta(ledger, n_rows)
        # Where the set of labels is assumed public, every label is a class of some row.
        declared = privacy.schema.classes is not None
        if loss_setup.classes and (declared or "classes" not in privacy.assume_public):
            warn_of_labels(seen, loss_setup.classes, declared=declared)
    facts = PublicFacts(
        epsilon=privacy.row_epsilon,
        delta=privacy.delta,
        n_rows=n_rows,
        n_features=columns.n_features,
        loss=loss,
        given=given,
        budget=rest,
        accountant=ledger.accountant,
        neighbours=ledger.neighbours,
    )
    return Prepared(
        binner=binner,
        facts=facts,
        budget=rest,
        weighting=weighting,
        masses=masses,
        n_rows=counted,
    )
