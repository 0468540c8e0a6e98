"""From a raw table to a trained ensemble: the steps of a fit, in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost._utils.validation import refuse
from dpboost.data.column_types import ColumnFacts
from dpboost.data.users import first_rows, sample_rows, take_rows
from dpboost.privacy.queries import LocalRows
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import Hyperparameters, Recipe
from dpboost.rows.raw_rows import RawRows
from dpboost.training.constraints import constrained
from dpboost.training.fit import Fitted, TrainingCallback, TrainingRequest, train
from dpboost.training.inputs import (
    Reading,
    known_categories,
    known_classes,
    nominal_columns,
    read,
    read_labels,
    users_of,
)
from dpboost.training.noise_check import check_noise
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.privacy_params import PrivacyRequest, warn_of_request
from dpboost.training.public_schema import check_learnable


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_ensemble(
    X: Any,
    y: Any,
    *,
    task: str,
    recipe: str,
    hyperparameters: Hyperparameters,
    privacy: PrivacyRequest,
    public: np.random.Generator,
    n_jobs: int | None,
    show_progress: bool,
    owner: str,
    reading: Reading | None = None,
    monitor: TrainingCallback | None = None,
    objective: ObjectiveRequest | None = None,
) -> Fitted:
    """Train a private ensemble.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Anything that ``read_table`` understands.
    y : array-like of shape (n_rows,)
        Labels.
    task : {"regression", "classification"}
        Kind of the labels; ``objective`` says which loss.
    recipe : str
        Name of the algorithm.
    hyperparameters : Hyperparameters
        What the user has set.
    privacy : PrivacyRequest
        The guarantee asked for.
    public : numpy.random.Generator
        Public randomness: random partitions, order of features.
    n_jobs : int or None
        Threads, as LightGBM counts them.
    show_progress : bool
        Whether a long fit draws a progress bar.
    owner : str
        Name of the caller in error messages.
    reading : Reading, optional
        How the table is to be read, and whose rows they are.
    monitor : TrainingCallback, optional
        Looks on, and may end training.
    objective : ObjectiveRequest, optional
        What to learn, weights and initial scores; the default of the task without them.

    Returns
    -------
    Fitted

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.
    BudgetExceededError
        If less is left of the budget than the fit is to take; nothing is drawn or charged.

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by ``ledger``.
    """
    objective = objective or ObjectiveRequest(task=task)
    reading = reading or Reading()
    algorithm, privacy = checked_request(
        task, recipe, hyperparameters, privacy, objective, owner=owner
    )
    threads = Threads.of(n_jobs)
    table = read(X, privacy.schema, reading)
    extras = objective.read_rows(table.n_rows)
    labels = read_labels(y, table, task, algorithm, privacy, objective, extras)
    nominal = nominal_columns(reading.categorical, table, privacy.schema, owner)
    users = users_of(reading, privacy, table, owner)
    classes = known_classes(labels, task, privacy)
    if monitor is not None:
        monitor.check(privacy.schema, table.n_features, classes)
    schema = privacy.schema.resolve(table.feature_names)
    hyperparameters = constrained(
        hyperparameters, ColumnFacts.of(table), schema, nominal, privacy, owner
    )
    check_learnable(
        schema,
        ColumnFacts.of(table),
        task=task,
        assume_public=privacy.assume_public,
        nominal=nominal,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
    )
    check_noise(algorithm, hyperparameters, privacy, objective, classes, owner=owner)
    warn_of_request(privacy, task)
    ledger = privacy.ledger(privacy.accountant(algorithm))
    if privacy.claim is not None and privacy.claim.holdout is not None:
        # Before anything looks at the rows: those that are set aside enter no release.
        trained = privacy.claim.set_aside(X, labels, users, ledger.row_coins())
        X, labels, extras = take_rows(X, trained), labels[trained], extras.take(trained)
        users = None if users is None else users[trained]
        table = read(X, privacy.schema, reading)
    counted: slice | NDArray[np.intp] = slice(None)
    if users is not None and privacy.rows_per_user is not None:
        coins = ledger.row_coins().words(0, table.n_rows)
        chosen = sample_rows(users, privacy.rows_per_user, coins)
        X, labels, users = take_rows(X, chosen), labels[chosen], users[chosen]
        extras = extras.take(chosen)
        table = read(X, privacy.schema, reading)
        counted = first_rows(users)
    rows = RawRows(
        table=table,
        labels=labels,
        extras=extras,
        counted=counted,
        read_again=lambda schema: read(X, schema, reading),
        threads=threads,
    )
    source, columns = LocalRows(rows), ColumnFacts.of(table)
    lists = known_categories(table.categorical, privacy)
    # What is read here is held by the source alone, which lets go of it once rows are in bins.
    del table, rows, labels
    return train(
        source,
        columns,
        schema,
        request=TrainingRequest(
            task=task,
            recipe=algorithm,
            hyperparameters=hyperparameters,
            privacy=privacy,
            objective=objective,
            assumed_classes=tuple(classes or ()),
            assumed_categories=lists,
            nominal=nominal,
        ),
        extras=extras,
        ledger=ledger,
        public=public,
        n_threads=threads.now(),
        show_progress=show_progress,
        monitor=monitor,
    )


def checked_request(
    task: str,
    recipe: str,
    hyperparameters: Hyperparameters,
    privacy: PrivacyRequest,
    objective: ObjectiveRequest,
    *,
    owner: str,
) -> tuple[Recipe, PrivacyRequest]:
    """Check what is asked for before any row is read.

    Parameters
    ----------
    task, recipe, hyperparameters, privacy, objective, owner
        As in `fit_ensemble`.

    Returns
    -------
    recipe : Recipe
    privacy : PrivacyRequest
        With the label bounds that belong to the objective.

    Raises
    ------
    InvalidParameterError
        For parameters that do not go together.
    """
    algorithm = ALGORITHMS.find(recipe, owner)
    hyperparameters.validate(owner)
    algorithm.check(hyperparameters, owner)
    objective.check_recipe(algorithm, owner)
    _check_unit(objective, privacy, owner)
    privacy = replace(privacy, schema=objective.completed(privacy.schema))
    privacy = privacy.settled(algorithm.accountant)
    least = algorithm.least_epsilon(hyperparameters, privacy.delta, task, privacy.neighbours)
    if privacy.row_epsilon < least:
        raise privacy.refuse_epsilon(owner, least, "recipe, depth and number of trees")
    return algorithm, privacy


def _check_unit(objective: ObjectiveRequest, privacy: PrivacyRequest, owner: str) -> None:
    """Raise when the budgets of a model and of its continuation would not add up."""
    earlier = objective.earlier
    if earlier is None:
        return
    units = {
        "neighbours": (earlier.neighbours, privacy.neighbours.value),
        "rows_per_user": (earlier.rows_per_user, privacy.rows_per_user),
    }
    for name, (before, now) in units.items():
        if before != now:
            raise refuse(
                name,
                owner,
                f"{before!r} as in the report of init_model, so that the budgets add up",
                now,
            )
