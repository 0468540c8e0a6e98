"""The steps of a fit, from rows in any row store to a released model."""

from __future__ import annotations

import numpy as np

from dpboost._utils.progress import round_progress
from dpboost._utils.threads import effective_n_threads
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.recipes.recipe import Setting
from dpboost.training.fitted_model import FittedModel, fitted_model
from dpboost.training.loss_choice import choose_loss, start_loss
from dpboost.training.private_bins import ReleasedBins, release_bins
from dpboost.training.public_schema import complete_schema
from dpboost.training.released_warnings import (
    empty_classes,
    expected_of,
    warn_after_trees,
    warn_before_trees,
    warn_of_declared,
)
from dpboost.training.request import FitRequest, Inputs


# A numpy warning about an odd cell (an overflow, a signaling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit(rows: RowHandle, inputs: Inputs, request: FitRequest, ledger: Ledger) -> FittedModel:
    """Fit a model to rows that have been read and checked, wherever they are.

    Rows in memory, in batches, on workers or at parties, boosting and single trees: what differs
    is the store of rows and what the recipe builds.

    Parameters
    ----------
    rows : RowHandle
        Of ``RawRows``.
    inputs : Inputs
        What the inputs show in public.
    request : FitRequest
        Checked.
    ledger : Ledger
        The gate, with the budget of the whole fit.

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by ``ledger``.
    """
    request = request.on_columns(inputs)
    recipe = request.recipe

    # What the schema leaves open, and labels on the grid of a loss.
    known, row_epsilon = request.known_schema(inputs, ledger), request.privacy.row_epsilon
    if known.whole:
        completed = known.completed(ledger)
    else:
        completed = complete_schema(
            known, rows, n_bins=request.n_bins, ledger=ledger, row_epsilon=row_epsilon
        )
    if "categories" in completed.learned:
        rows.apply("read_with", schema=completed.schema)
    loss, classes = choose_loss(request, completed.schema, inputs.extras, completed.label_spread)
    rows.apply("encode_labels", loss=loss, classes=classes)

    # Where scores start, and bins.
    binner = inputs.binner(completed.schema, request)
    for_start, for_bins, budget = request.divide(completed, loss, binner)
    bins = ReleasedBins(binner=binner)
    with ledger.sequential("training" if recipe.single else "preparation"):
        (loss, weighting, seen), budget = start_loss(
            rows, loss, classes, request, completed.schema, (for_start, budget), ledger
        )
        n_rows = None if seen is None else seen.at_most(completed.schema.max_rows)
        if for_bins and n_rows is not None:
            bins, rest = release_bins(
                binner,
                rows,
                integer=completed.schema.integer,
                n_bins=request.n_bins,
                n_rows=n_rows,
                budget=for_bins,
                ledger=ledger,
            )
            budget = budget + rest

    # What the recipe makes of all that is public now.
    facts = request.facts(completed, loss, classes, n_rows, budget, ledger)
    rule = recipe.columns_to_choose if rows.exact_sums else None  # parties have none
    setting = Setting(
        hyper=request.settle(facts),
        loss=loss,
        binner=bins.binner,
        facts=facts,
        public=np.random.default_rng(request.public_seed),
        n_threads=effective_n_threads(request.n_jobs),
        weighted=weighting is not None,
        choice=rule(facts) if rule else None,
        masses=bins.masses,
    )
    warn_before_trees(seen, classes, setting, request, ledger)
    warn_of_declared(inputs.schema, completed, seen, bins, loss, weighted=request.weights.of_rows)
    growth = recipe.build(setting)

    # Trees.
    rows.apply(
        "bin", binner=bins.binner, loss=loss, weighting=weighting, candidates=growth.candidates
    )
    with (
        round_progress(
            growth.n_rounds, show=request.show_progress, spent=lambda: ledger.part_spent
        ) as on_tree,
        ledger.sequential("training"),
    ):
        monitor = request.monitor
        callback = monitor.begin(setting, completed.schema, growth.n_rounds) if monitor else None
        grown = growth.run(
            rows,
            bins.binner,
            loss,
            budget=budget,
            ledger=ledger,
            n_threads=setting.n_threads,
            on_tree=on_tree,
            callback=callback,
        )
    warn_after_trees(grown, inputs.schema, seen, classes, request, ledger)
    counted = None if seen is None or n_rows is None else n_rows * seen.weight
    expected = [
        *expected_of(seen, classes, weighted=setting.weighted),
        *empty_classes(seen, classes if request.privacy.schema.classes is not None else ()),
    ]
    return fitted_model(
        grown,
        setting,
        completed,
        request,
        ledger,
        n_rows=counted,
        masses=bins.masses,
        facts={"expected": " ".join(expected)} if expected else {},
    )
