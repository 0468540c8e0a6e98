"""The story of a fit: from rows, wherever they are, to a released model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpboost._utils.progress import tree_progress
from dpboost._utils.threads import effective_n_threads
from dpboost.budgeting.budget import STOPPING_SHARE
from dpboost.privacy.budget import divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.recipes.recipe import Setting
from dpboost.rows.encoded_rows import EncodeLabels
from dpboost.training.carried_over import warn_of_settings
from dpboost.training.conformal import calibrated
from dpboost.training.fitted_model import FittedModel, fitted_model
from dpboost.training.inputs import read
from dpboost.training.label_warnings import warn_of_grown, warn_of_start
from dpboost.training.local_rows import AsideRows, read_local
from dpboost.training.loss_choice import (
    choose_loss,
    share_to_start_again,
    start_loss,
)
from dpboost.training.privacy_params import warn_of_budget
from dpboost.training.private_bins import release_bins
from dpboost.training.private_stopping import (
    DIVISION,
    HELD,
    TRAINED,
    StoppingRows,
    check_stopping,
)
from dpboost.training.request import FitRequest, Inputs


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_local(X: Any, y: Any, request: FitRequest) -> FittedModel:
    """Fit a model to rows of this process.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Anything that ``read_table`` understands, or batches.
    y : array-like of shape (n_rows,)
    request : FitRequest

    Returns
    -------
    FittedModel

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.
    BudgetExceededError
        If less is left of the budget than the fit is to take; nothing is drawn or charged.

    Privacy
    -------
    As `fit`.
    """
    request = request.checked()
    if request.stopping is not None:
        check_stopping(request)
    rows, inputs, ledger, aside = read_local(X, y, request)
    if aside is None:
        return fit(rows, inputs, request, ledger)
    if request.stopping is not None:
        return fit_until_stopped(rows, inputs, request, ledger, aside)
    assert request.conformal is not None
    with ledger.parallel(DIVISION):
        with ledger.sequential(TRAINED):
            fitted = fit(rows, inputs, request, ledger)
        with ledger.sequential(HELD):
            return calibrated(
                fitted,
                read(aside.X, fitted.completed.schema, aside.reading),
                aside.labels,
                level=request.conformal,
                ledger=ledger,
                objective=request.objective,
                rows_per_user=request.privacy.rows_per_user,
                n_threads=effective_n_threads(request.n_jobs),
            )


def fit_until_stopped(
    rows: RowStore, inputs: Inputs, request: FitRequest, ledger: Ledger, aside: AsideRows
) -> FittedModel:
    """Fit a model to rows of this process, and ask rows that were set aside when to stop.

    Parameters
    ----------
    rows : RowStore
        Those to train on.
    inputs : Inputs
    request : FitRequest
        Checked, under a budget.
    ledger : Ledger
        The gate.
    aside : AsideRows

    Returns
    -------
    FittedModel

    Privacy
    -------
    As `fit` and `StoppingRows`. What was reserved of the budget and never charged is free again.
    """
    claim = request.privacy.claim
    assert request.stopping is not None
    assert claim is not None
    stopping = StoppingRows(
        rows=aside,
        patience=request.stopping,
        request=request,
        ledger=ledger,
        n_threads=effective_n_threads(request.n_jobs),
    )
    with ledger.parallel(DIVISION), ledger.sequential(TRAINED):
        fitted = fit(rows, inputs, replace(request, monitor=stopping), ledger)
    with ledger.beside(DIVISION, HELD, most=STOPPING_SHARE):
        sides = ledger.root.children[DIVISION].children
    claim.close(sides[TRAINED].total, sides[HELD].total, ledger.capacity)
    return replace(fitted, best_iteration=stopping.best_iteration)


@np.errstate(all="ignore")
def fit(rows: RowStore, inputs: Inputs, request: FitRequest, ledger: Ledger) -> FittedModel:
    """Fit a model to rows that have been read and checked, wherever they are.

    Rows in memory, in batches, on workers or at parties, boosting and single trees: what differs
    is the store of rows and what the recipe builds.

    Parameters
    ----------
    rows : RowStore
        Of ``RawRows``.
    inputs : Inputs
        What the inputs show in public.
    request : FitRequest
        Checked.
    ledger : Ledger
        The gate, with the budget of the whole fit.

    Returns
    -------
    FittedModel

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by ``ledger``.
    """
    request = request.on_columns(inputs)
    recipe, privacy = request.recipe, request.privacy
    n_threads = effective_n_threads(request.n_jobs)

    completed = inputs.complete(rows, request, ledger)
    loss, classes = choose_loss(
        recipe, request.objective, completed.schema, inputs.extras, completed.label_spread
    )
    rows.apply(EncodeLabels(loss=loss, classes=classes))

    binner = inputs.binner(completed.schema, request)
    for_start, for_bins, budget = request.divide(completed, loss, binner)
    masses: dict[int, Any] = {}  # released rows in bins
    n_rows = None
    with ledger.sequential("training" if recipe.single else "preparation"):
        loss, weighting, seen = start_loss(rows, loss, classes, request, for_start, ledger)
        if seen is not None:
            share = share_to_start_again(
                request, loss, seen, completed.schema.max_rows, inputs.columns.n_features
            )
            if share:
                again, budget = divide(budget, [share, 1 - share])
                loss, weighting, seen = start_loss(
                    rows, loss, classes, request, again, ledger, cautious=True
                )
                assert seen is not None
            n_rows = min(seen.n_rows, completed.schema.max_rows or math.inf)
        if for_bins and n_rows is not None:
            binner, masses = release_bins(
                binner,
                rows,
                integer=completed.schema.integer,
                n_bins=request.n_bins,
                n_rows=n_rows,
                budget=for_bins,
                ledger=ledger,
            )
    if seen is not None:
        warn_of_start(seen, classes, privacy, ledger)

    facts = request.facts(completed, loss, classes, n_rows, budget, ledger)
    if n_rows is not None and not recipe.single:
        warn_of_settings(facts, recipe)
    setting = Setting(
        hyper=recipe.settle(facts),
        loss=loss,
        binner=binner,
        facts=facts,
        public=request.public,
        n_threads=n_threads,
        weighted=weighting is not None,
    )
    if recipe.useful_budget is not None:
        needed = recipe.useful_budget(setting.hyper, loss, privacy.neighbours)
        warn_of_budget(privacy, recipe.name, spent_on=budget, needed=needed)

    growth = recipe.build(setting)
    rows.apply(growth.binning(binner, loss, weighting))
    with (
        tree_progress(growth.n_rounds, show=request.show_progress) as on_tree,
        ledger.sequential("training"),
    ):
        monitor = request.monitor
        callback = monitor.begin(setting, completed.schema, growth.n_rounds) if monitor else None
        grown = growth.run(
            rows,
            binner,
            loss,
            budget=budget,
            ledger=ledger,
            n_threads=n_threads,
            on_tree=on_tree,
            callback=callback,
        )
    if grown.class_sizes is not None:
        warn_of_grown(grown, classes, privacy, ledger, counted=seen is not None)
    counted = None if seen is None or n_rows is None else n_rows * seen.weight
    return fitted_model(grown, setting, completed, request, ledger, n_rows=counted, masses=masses)
