"""From Dask collections to a trained ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask
import numpy as np
from distributed import Client

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.dask.dask_rows import DaskRows
from dpboost.dask.partition_reader import PartFacts, Reader, Site
from dpboost.dask.partitions import join
from dpboost.dask.worker_state import look
from dpboost.data.column_types import ColumnFacts
from dpboost.data.fingerprint import new_key
from dpboost.data.labels import whole_numbers
from dpboost.privacy.queries import RowHandle
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest, Inputs


def fit_partitions(client: Client, given: GivenRows, request: FitRequest) -> FittedModel:
    """Fit a model to rows that lie on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    given : GivenRows
        Collections: labels, weights and initial scores have the partitions of the table.
    request : FitRequest

    Returns
    -------
    FittedModel
        The same for every division of the rows into partitions.

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged; and where a partition
        holds other rows when it is computed again.
    FitFailedError
        When workers were lost too often.

    Privacy
    -------
    Gate, ledger and noise are in this process. Everything in the result is public, declared,
    assumed public or released.
    """
    request = request.checked()
    privacy = request.privacy
    if privacy.rows_per_user is not None or given.user_ids is not None:
        raise InvalidParameterError(
            f"{request.owner} cannot protect users: the rows of one user may be in several "
            "partitions. Leave rows_per_user and user_ids out, or give X the rows that are to take "
            "part, and divide epsilon by their number per user."
        )
    parts, without_tables = join(given.X, given.y, given.sample_weight, given.init_score)
    reader = Reader(
        reading=request.reading,
        schema=privacy.schema,
        continues=request.continuation.continues,
        task=request.task,
        key=new_key(),
    )
    facts = _look(client, parts, reader)
    sites = _sites(facts)
    columns = _common_columns(facts)
    inputs = Inputs.of(
        columns,
        _labels(facts, request.task),
        _common_lists(facts, columns),
        _extras(facts, weighted=request.weights.of_rows),
        request,
    )
    ledger = request.open_ledger(inputs)
    rows = RowHandle(
        DaskRows(
            client,
            [parts[site.partition] for site in sites],
            [without_tables[site.partition] for site in sites],
            reader,
            sites,
        )
    )
    return fit(rows, inputs, request, ledger)


def _look(client: Client, parts: list[Any], reader: Reader) -> list[PartFacts]:
    """Have every partition checked where it lies."""
    shared = dask.delayed(reader, pure=False, traverse=False)
    seen = [dask.delayed(look, pure=False)(part, shared) for part in parts]
    facts: list[PartFacts] = client.gather(client.compute(seen))
    return facts


def _sites(facts: list[PartFacts]) -> list[Site]:
    """Give the rows their numbers, and leave partitions without rows out."""
    sites = []
    first_row = 0
    for partition, own in enumerate(facts):
        if own.n_rows:
            sites.append(
                Site(partition=partition, first_row=first_row, fingerprint=own.fingerprint)
            )
        first_row += own.n_rows
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
