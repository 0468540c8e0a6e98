"""Fits to Dask collections."""

from __future__ import annotations

from typing import Any

import dask
from distributed import Client

from dpboost.cluster.partition_reader import PartFacts, Reader, Site
from dpboost.cluster.partitioned_fit import fit_partitions, reader_of
from dpboost.dask.dask_rows import DaskRows
from dpboost.dask.partition_tasks import look
from dpboost.dask.partitions import join
from dpboost.privacy.queries import RowHandle
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest


def fit_collections(client: Client, given: GivenRows, request: FitRequest) -> FittedModel:
    """Fit a model to rows that lie on the workers of a Dask cluster.

    The collections of labels and what else rows have are divided as the table is.

    Privacy
    -------
    As `fit_partitions`.
    """
    request = request.checked()
    reader = reader_of(given, request)
    parts, without_tables = join(
        given.X, given.y, given.sample_weight, given.init_score, given.user_ids
    )

    def held(reader: Reader, sites: list[Site]) -> RowHandle:
        return RowHandle(
            DaskRows(
                client,
                [parts[site.partition] for site in sites],
                [without_tables[site.partition] for site in sites],
                reader,
                sites,
            )
        )

    return fit_partitions(_look(client, parts, reader), reader, request, held)


def _look(client: Client, parts: list[Any], reader: Reader) -> list[PartFacts]:
    """Have every partition checked where it lies."""
    shared = dask.delayed(reader, pure=False, traverse=False)
    seen = [dask.delayed(look, pure=False)(part, shared) for part in parts]
    facts: list[PartFacts] = client.gather(client.compute(seen))
    return facts
