"""Audits of custom code: any estimator as a black box, any recipe or loss by replay.

See ``docs/auditing-your-own.md``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import check_choice, check_integer, check_real
from dpboost.audit.blackbox import EpsilonEstimate, Statistic, estimate_epsilon
from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.pair_replay import Fit
from dpboost.audit.recipe_audit import Case, RecipeAudit, replay_cases
from dpboost.audit.released_surface import estimator_fit
from dpboost.audit.run_trace import Recorder
from dpboost.audit.witnesses import Witness, witnesses
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS

TASKS = ("regression", "binary")

#: A claim counts as refuted when all bounds above it hold together with this confidence.
CONFIDENCE = 1 - 1e-6

#: Rows of the tables whose other rows are all alike.
N_ALIKE = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class OutsidePair:
    """A table and a neighbor with one row added, removed or changed.

    Parameters
    ----------
    X : ndarray of shape (n_rows, 1)
        In [0, 1].
    y : ndarray of shape (n_rows,)
        In [-1, 1], or 0 and 1.
    row : int
        The row that the other table lacks.
    replacement : (row, label), optional
        What it has instead.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    row: int
    replacement: tuple[Any, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class OutsideAudit:
    """What the black box found on one pair.

    Parameters
    ----------
    claimed : float
        Epsilon.
    refuted : bool
        Whether the claim cannot be true.
    """

    pair: str
    estimate: EpsilonEstimate
    claimed: float
    refuted: bool
    seconds: float

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        return f"{self.pair}: claimed epsilon {self.claimed:g}, {self.estimate}: {verdict}"


def outside_pairs(
    task: str, neighbors: Neighbors | str = Neighbors.ADD_REMOVE
) -> Iterator[OutsidePair]:
    """Yield small tables on which a careless estimator shows one row.

    Parameters
    ----------
    task : {"regression", "binary"}
    neighbors : {"add_remove", "replace"}

    Yields
    ------
    OutsidePair
        A row at the end of the range among many in the middle; one of two opposite rows; the only
        row of its label; the last of so many that a rule on their number changes.
    """
    check_choice("task", "outside_pairs", task, TASKS)
    low, high = (-1.0, 1.0) if task == "regression" else (0, 1)
    tables = {
        "far from all others": (np.append(np.full(N_ALIKE - 1, 0.2), 1.0), (low, high)),
        "one of two opposite rows": (np.array([0.0, 1.0]), (low, high)),
        "the only one of its label": (np.full(N_ALIKE, 0.5), (low, high)),
        "one of equal rows": (np.full(50, 0.5), (high, high)),
    }
    for name, (column, (common, own)) in tables.items():
        labels = np.append(np.full(len(column) - 1, common), own)
        other = ([0.0], low) if Neighbors(neighbors) is Neighbors.REPLACE else None
        yield OutsidePair(
            name=name, X=column[:, np.newaxis], y=labels, row=len(column) - 1, replacement=other
        )


def audit_estimator(
    make_estimator: Callable[[], Any],
    *,
    epsilon: float,
    delta: float = 0.0,
    task: str = "regression",
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    n_runs: int = 1000,
    pairs: Sequence[OutsidePair] | None = None,
    statistic: Statistic | None = None,
) -> tuple[OutsideAudit, ...]:
    """Try to refute what an estimator claims, by training it often on neighboring tables.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator with ``fit(X, y)`` and ``predict(X)``, of any library, with fresh
        noise. It may take as public that features lie in [0, 1] and labels in [-1, 1], or that
        classes are 0 and 1, where the pairs are those of `outside_pairs`.
    epsilon, delta : float
        The claim.
    task : {"regression", "binary"}
    neighbors : {"add_remove", "replace"}
        The relation of the claim.
    n_runs : int, default=1000
        Fits on each table of each pair.
    pairs : sequence of OutsidePair, optional
        Those of `outside_pairs` by default.
    statistic : callable, optional
        As in :func:`estimate_epsilon`: what to read off a fitted estimator.

    Returns
    -------
    tuple of OutsideAudit
        One for each pair. A claim that none refutes is not thereby true.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     def fit(self, X, y):
    ...         self.mean_ = np.clip(y, -1, 1).sum() + np.random.default_rng().laplace(scale=0.1)
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return np.full(len(X), self.mean_)
    >>> found = audit_estimator(Mean, epsilon=1.0, n_runs=200)
    >>> any(each.refuted for each in found)
    True
    """
    owner = "audit_estimator"
    check_real("epsilon", owner, epsilon, low=0, low_open=True)
    check_integer("n_runs", owner, n_runs, low=4)
    chosen = list(outside_pairs(task, neighbors)) if pairs is None else list(pairs)
    found = []
    for pair in chosen:
        started = time.perf_counter()
        estimate = estimate_epsilon(
            make_estimator,
            pair.X,
            pair.y,
            pair.row,
            replacement=pair.replacement,
            n_runs=n_runs,
            delta=delta,
            statistic=statistic,
        )
        # All pairs together are wrong no more often than one may be.
        together = 1 - (1 - CONFIDENCE) / len(chosen)
        found.append(
            OutsideAudit(
                pair=pair.name,
                estimate=estimate,
                claimed=float(epsilon),
                refuted=estimate.epsilon_at(together) > epsilon,
                seconds=time.perf_counter() - started,
            )
        )
    return tuple(found)


def replay_estimator(
    make_estimator: Callable[..., Any],
    *,
    task: str = "regression",
    relations: Sequence[Neighbors] = (Neighbors.ADD_REMOVE,),
    seed: int | None = None,
) -> RecipeAudit:
    """Replay an estimator of ours with a new recipe, loss or parameters on the bank of witnesses.

    Parameters
    ----------
    make_estimator : callable
        Takes the parameters that a witness sets (``schema``, ``n_estimators``, ``neighbors``, ...)
        as keywords and returns a new ``DPBoostRegressor`` or ``DPBoostClassifier``; for instance
        ``functools.partial(DPBoostRegressor, recipe=MINE, epsilon=1.0)``.
    task : {"regression", "binary"}
        Which witnesses: labels in [-1, 1], or classes 0 and 1.
    relations : sequence of Neighbors
    seed : int, optional
        Draw from a seed.

    Returns
    -------
    RecipeAudit
        ``violations`` is empty if no release revealed more than its charge; ``reached`` says
        what part of its charge each kind of release came to, and ``skipped`` on which witnesses
        nothing was fitted, and why.
    """
    check_choice("task", "replay_estimator", task, TASKS)
    cases: list[Case] = []
    epsilon = 0.0
    for neighbors in relations:
        for witness in witnesses(task, neighbors):
            make = partial(_for_witness, make_estimator, witness)
            epsilon = max(epsilon, float(make().epsilon))
            cases.append((witness, estimator_fit(make)))
    return replay_cases(
        "of your own", cases, epsilon=epsilon, seed=seed, adapt=_steered_where_it_fits
    )


def _for_witness(make_estimator: Callable[..., Any], witness: Witness) -> Any:
    """Return a new estimator with the parameters that a witness sets."""
    settings = dict(witness.settings)
    selection = settings.pop("selection", None)
    fixed = {"neighbors": witness.neighbors.value, "random_state": 0, "n_jobs": 1}
    model = make_estimator(**{**fixed, "verbosity": 0, **settings})
    if (
        selection
        and "selection" in ALGORITHMS.find(model.recipe, "replay_estimator").parameters.names()
    ):
        model.set_params(selection=selection)
    return model


def _steered_where_it_fits(fit: Fit, pair: Pair) -> Pair:
    """Return the pair without forced outcomes of a shape that the releases do not have.

    A loss may release another start value than the losses for which the witnesses were made.
    """
    recorder = Recorder(pair.ids, n_ids=max([*pair.ids, *pair.other_ids]) + 1, coin=pair.coin)
    with recorder.watching() as transcript:
        fit(pair.X, pair.y)
    shapes: dict[tuple[str, int], tuple[int, ...]] = {}
    seen: Counter[str] = Counter()
    for line in transcript.lines:
        shapes[line.entry.label, seen[line.entry.label]] = np.shape(np.asarray(line.outcome))
        seen[line.entry.label] += 1
    fitting = {
        position: wish
        for position, wish in pair.steering.items()
        if np.shape(wish) in ((), shapes.get(position, ()))
    }
    return replace(pair, steering=fitting)
