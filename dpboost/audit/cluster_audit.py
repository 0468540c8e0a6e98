"""Replays of fits to rows that lie on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dpboost.audit.neighbouring_pairs import Pair, pair_of
from dpboost.audit.replay import replay_pair
from dpboost.audit.transcript import Violation
from dpboost.privacy.neighbours import Neighbours

#: Rows that the neighbours share, and those of a partition.
N_ROWS, PARTITION = 40, 16

#: Recipe, delta and parameters of a fit; the rows of the second are dealt to trees by coins.
FITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best", {"delta": 1e-6}),
    ("dpboost", {"delta": 0.0, "trees_per_ensemble": 3}),
    ("seq", {"delta": 0.0}),
)


def fits_on_workers() -> list[Violation]:
    """Replay fits on a cluster of this process, under both relations and in both directions.

    The row that differs is the last one: workers make coins of the numbers of rows.

    Returns
    -------
    list of Violation
    """
    from distributed import Client, LocalCluster

    found: list[Violation] = []
    cluster = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(processes=False, **cluster) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        for fit, pair in _cases(client):
            for one in (pair, pair.swapped):
                found += replay_pair(fit, one).violations
    return found


def _cases(client: Any) -> Iterator[tuple[Callable[[Any, Any], Mapping[str, Any]], Pair]]:
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (N_ROWS, 2)).astype(float)
    for neighbours in Neighbours:
        for recipe, settings in FITS:
            for classes in (False, True):
                y = random.integers(0, 2, N_ROWS) if classes else np.tile([-1.0, 1.0], N_ROWS // 2)
                labels = (1, 0) if classes else (1.0, -1.0)
                pair = pair_of(
                    X, y, np.ones(2), labels[0], neighbours, instead=(np.zeros(2), labels[1])
                )
                terms = {"recipe": recipe, "neighbours": neighbours.value, **settings}
                yield _fit_of(client, classes, terms), pair


def _fit_of(
    client: Any, classes: bool, terms: dict[str, Any]
) -> Callable[[Any, Any], Mapping[str, Any]]:
    """Return a fit to partitions that shows model text, report and fitted values."""
    import dask.array

    from dpboost.dask import DaskDPBoostClassifier, DaskDPBoostRegressor

    kind = DaskDPBoostClassifier if classes else DaskDPBoostRegressor
    labels = {"classes": [0, 1]} if classes else {"label_bounds": (-1.0, 1.0)}
    schema = {"bounds": dict.fromkeys(range(2), (0.0, 1.0)), **labels}

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        model = kind(
            client=client,
            schema=schema,
            n_estimators=3,
            max_depth=2,
            max_bin=4,
            random_state=0,
            verbosity=0,
            **terms,
        ).fit(
            dask.array.from_array(X, chunks=(PARTITION, 2)),
            dask.array.from_array(y, chunks=PARTITION),
        )
        return {
            "model text": model.booster_.model_to_string(),
            "report": model.privacy_report_.details(),
            "importances": model.feature_importances_.tolist(),
        }

    return fit
