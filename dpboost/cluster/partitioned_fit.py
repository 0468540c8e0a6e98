"""Fits to partitions on workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.cluster.partition_reader import PartFacts, Reader, Site
from dpboost.data.fingerprint import new_key
from dpboost.data.labels import whole_numbers
from dpboost.data.table import ColumnFacts
from dpboost.privacy.queries import RowHandle
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows, check_users
from dpboost.training.request import FitRequest, Inputs


def reader_of(given: GivenRows, request: FitRequest) -> Reader:
    """Return how workers read the partitions of a fit.

    The request is checked. InvalidParameterError for rows that would have to be held out, and for
    users without their number of rows.
    """
    privacy = request.privacy
    if request.conformal is not None:
        must = "None on a cluster: rows are held out only in one process"
        raise refuse("conformal", f"{request.owner}.fit", must, request.conformal)
    check_users(given.user_ids, privacy, request.owner)
    return Reader(
        reading=request.reading,
        schema=privacy.schema,
        continues=request.continuation.continues,
        task=request.task,
        key=new_key(),
        rows_per_user=privacy.rows_per_user,
    )


def fit_partitions(
    facts: list[PartFacts],
    reader: Reader,
    request: FitRequest,
    handle_of: Callable[[Reader, list[Site]], RowHandle],
) -> FittedModel:
    """Fit a model to rows that lie on the workers of a cluster.

    ``facts`` are of every partition, in their order; with ``reader`` the workers have looked at
    them. The request is checked. ``handle_of(reader, sites)`` returns a handle of the partitions
    that have rows. The model is the same for every division of the rows into partitions.

    InvalidParameterError for invalid parameters or input, before anything is drawn or charged, and
    where a partition holds other rows when it is read again; FitFailedError when workers were lost
    too often.

    Privacy
    -------
    Gate, ledger and noise are in this process. Everything in the result is public, declared,
    assumed public or released.
    """
    sites = _sites(facts)
    columns = _common_columns(facts)
    _check_apart(facts)
    inputs = Inputs.of(
        columns,
        _labels(facts, request.task),
        _common_lists(facts, columns),
        _extras(facts, weighted=request.weights.of_rows),
        request,
    )
    ledger = request.open_ledger(inputs)
    if reader.rows_per_user is not None:
        reader = replace(reader, user_coins=ledger.row_coins().key_for_workers())
    return fit(handle_of(reader, sites), inputs, request, ledger)


def _sites(facts: list[PartFacts]) -> list[Site]:
    """Give the rows their numbers, and leave partitions without rows out."""
    sites = []
    first_row = first_taken = 0
    for partition, own in enumerate(facts):
        if own.n_rows:
            sites.append(
                Site(
                    partition=partition,
                    first_row=first_row,
                    first_taken=first_taken,
                    fingerprint=own.fingerprint,
                )
            )
        first_row += own.n_rows
        first_taken += own.n_taken
    if not sites:
        raise InvalidParameterError(
            "Found array with 0 sample(s): the partitions of X are empty, while a minimum of 1 is "
            "required."
        )
    return sites


def _common_columns(facts: list[PartFacts]) -> ColumnFacts:
    """Return names and kinds of the columns, which all partitions must share."""
    found = [own.columns for own in facts if own.columns is not None]
    first = found[0]
    for other in found[1:]:
        if other.feature_names != first.feature_names:
            raise InvalidParameterError("The partitions of X must have the same columns.")
        for position in sorted(
            first.categorical ^ other.categorical | first.ordered ^ other.ordered
        ):
            raise _unlike(first.feature_names[position])
    # Whole numbers and fractions together are fractions.
    return replace(
        first,
        integer=frozenset.intersection(*(own.integer for own in found)),
        boolean=frozenset.intersection(*(own.boolean for own in found)),
    )


def _common_lists(facts: list[PartFacts], columns: ColumnFacts) -> Mapping[int, Sequence[Any]]:
    """Return the lists of categories that are assumed public, which all partitions must share."""
    found = [own.lists for own in facts if own.columns is not None]
    for other in found[1:]:
        for position, values in found[0].items():
            if other[position] != values:
                raise _unlike(columns.feature_names[position])
    return found[0]


def _unlike(name: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"The column {name!r} of X has another type or other categories in some partitions: give "
        "all of them the same categorical type, or declare Schema(categories=...)."
    )


def _extras(facts: list[PartFacts], *, weighted: bool) -> RowExtras:
    """Return empty arrays that say which there are, and for how many outputs."""
    outputs = {own.n_outputs for own in facts if own.n_rows}
    if len(outputs) > 1:
        raise refuse("init_score", "fit", "of the same shape in all partitions", "several shapes")
    n_outputs = outputs.pop()
    return RowExtras(
        sample_weight=np.empty(0) if weighted else None,
        init_scores=np.empty((n_outputs, 0)) if n_outputs else None,
    )


def _labels(facts: list[PartFacts], task: str) -> np.ndarray:
    """Return every class that occurs, once; private until it is assumed public."""
    if task == "regression":
        return np.empty(0)
    found = [label for own in facts for label in own.classes]
    kinds = {type(label) for label in found}
    if str in kinds and len(kinds) > 1:
        raise InvalidParameterError("Unknown label type: a mixture of text and numbers.")
    return np.unique(np.array(found) if len(kinds) == 1 else whole_numbers(found))


def _check_apart(facts: list[PartFacts]) -> None:
    """Raise if the rows of a user are in several partitions."""
    if sum(len(own.users) for own in facts) > len(frozenset().union(*(own.users for own in facts))):
        raise InvalidParameterError(
            "The rows of a user are in several partitions, and rows_per_user chooses among those "
            "of one: divide the rows by users first, so that all rows of one come together."
        )
