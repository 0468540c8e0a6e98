"""Training rows in batches: what is read when, and what an iterator is too short for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import READ_ONCE, Batches
from dpboost.data.binned_table import bin_while_reading
from dpboost.data.binner import Binner
from dpboost.data.column_types import ColumnFacts
from dpboost.data.table import Table
from dpboost.estimators.row_arguments import RowArguments
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.recipes.hyperparameters import Given, check_given
from dpboost.recipes.recipe import Recipe
from dpboost.schema import MAX_VALUE_BINS, ResolvedSchema
from dpboost.training.inputs import Reading, nominal_columns, open_table, read
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.private_bins import released_columns
from dpboost.training.public_schema import with_types


def open_batches(
    X: Any,
    y: Any,
    rows: RowArguments,
    *,
    reading: Reading,
    recipe: Recipe,
    given: Given,
    privacy: PrivacyRequest,
    n_threads: int,
    owner: str,
) -> tuple[Any, Any, RowArguments]:
    """Return rows, labels and weights as the fit reads them, where the rows come in batches.

    Parameters
    ----------
    X : Batches or any object that is not batched
        The latter comes back as it is.
    y : array-like of shape (n_rows,), or None where labels come with the rows
    rows : RowArguments
    reading : Reading
    recipe : Recipe
    given : mapping
        Its parameters that the user has set.
    privacy : PrivacyRequest
    n_threads : int
    owner : str
        Name of the caller in messages.

    Returns
    -------
    X : Batches, BinnedTable or what was given
    y : array-like of shape (n_rows,)
    rows : RowArguments

    Raises
    ------
    InvalidParameterError
        Where labels or weights come twice, and where an iterator would have to be read more than
        once.

    Privacy
    -------
    Reads private rows and releases nothing. Where bins are public before, rows are binned as they
    are read, together with their labels and once.
    """
    if not isinstance(X, Batches):
        return X, y, rows
    batches = X
    if batches.labelled and y is not None:
        raise InvalidParameterError(
            "The batches of X come with labels, and y is given as well: give one of them."
        )
    weighted = rows.sample_weight
    table = open_table(batches, privacy.schema, reading)
    check_given(given, owner)
    learns = recipe.bins_share is not None and recipe.bins_share(privacy.delta) > 0
    reason = "init_model predicts them first" if rows.init_model is not None else None
    reason = reason or _why_again(table, reading, privacy, learns, owner)
    labels, weights = None, None
    if reason is None:
        n_bins = given.get("max_bin", recipe.max_bin)
        binner = _public_binner(table, privacy, n_bins)
        X, labels, weights = bin_while_reading(table, batches, binner, n_threads)
    elif batches.once:
        raise InvalidParameterError(READ_ONCE.format(reason=reason))
    elif batches.labelled:
        table.check()
        labels, weights = batches.labels()
    return X, y if labels is None else labels, rows.weighted(_one(weighted, weights))


def earlier_scores(
    earlier: EarlierModel, X: Any, schema: Any, reading: Reading
) -> NDArray[np.float64]:
    """Predict the rows of a fit, in batches or not, by the model that it continues."""
    parts = [batch.X for batch in X] if isinstance(X, Batches) else [X]
    return np.concatenate([earlier.raw_scores(part, read(part, schema, reading)) for part in parts])


def _one(given: Any, found: Any) -> Any:
    """Return the weights, which may be given in one way only."""
    if given is not None and found is not None:
        raise InvalidParameterError(
            "The batches of X come with weights, and sample_weight is given as well: give one."
        )
    return found if given is None else given


def _why_again(
    table: Table, reading: Reading, privacy: PrivacyRequest, learns: bool, owner: str
) -> str | None:
    """Say why rows have to be read more than once, or None where their bins are public."""
    if privacy.rows_per_user is not None:
        return "rows_per_user draws a sample first"
    schema = _known(table, privacy)
    nominal = nominal_columns(reading.categorical, table, privacy.schema, owner)
    open_lists = set(table.categorical) - set(schema.categories)
    if nominal or (open_lists and "categories" not in privacy.assume_public):
        return "categories are learned; declare Schema(categories=...)"
    known = {*schema.bounds, *schema.edges, *schema.categories, *table.categorical}
    if len(known) < table.n_features:
        return (
            "bounds of features are learned; declare Schema(edges=...) of all of them, or "
            "Schema(bounds=...) for a recipe with equal bins"
        )
    public = _public_binner(table, privacy, MAX_VALUE_BINS)
    if learns and released_columns(public, schema.integer):
        return "the recipe learns bins between the bounds; declare Schema(edges=...)"
    return None


def _known(table: Table, privacy: PrivacyRequest) -> ResolvedSchema:
    """Return what is declared, and what column types say where these are public."""
    schema = privacy.schema.resolve(table.feature_names)
    return with_types(schema, ColumnFacts.of(table), privacy.assume_public)


def _public_binner(table: Table, privacy: PrivacyRequest, n_bins: int) -> Binner:
    """Return the bins that the fit will ask for, from public knowledge alone."""
    ordered = table.ordered if "categories" in privacy.assume_public else frozenset()
    return Binner.from_schema(
        _known(table, privacy),
        n_bins=n_bins,
        categorical=table.categorical,
        ordered=ordered,
        zero_as_missing=table.zero_as_missing,
    )
