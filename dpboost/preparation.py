"""What a recipe releases before its first tree: start value, row count and bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.data.learning import Knowledge
from dpboost.data.noisy_bins import release_bins
from dpboost.data.table import Table
from dpboost.lesson import Lesson
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.budget import divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy_request import PrivacyRequest
from dpboost.recipe import PublicFacts, Recipe


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
    weights : ndarray of shape (n_rows,), int32, or None
        Private weights of the rows, in units of the largest one.
    """

    binner: Binner
    facts: PublicFacts
    budget: Budget
    weights: NDArray[np.int32] | None


def prepare(
    recipe: Recipe,
    table: Table,
    ordered: frozenset[int],
    lesson: Lesson,
    knowledge: Knowledge,
    privacy: PrivacyRequest,
    n_bins: int,
    ledger: Ledger,
    n_threads: int,
) -> Prepared:
    """Release start value, row count and bins where the recipe asks for them."""
    binner = Binner.from_schema(
        knowledge.schema,
        n_bins=n_bins,
        categorical=table.categorical,
        ordered=ordered,
        zero_as_missing=table.zero_as_missing,
    )
    shares = [0.0, 0.0]
    if recipe.start_share is not None:
        shares[0] = recipe.start_share(lesson.loss, privacy.delta)
    if recipe.bins_share is not None and knowledge.schema.bounds:
        shares[1] = recipe.bins_share(privacy.delta)
    weights = [Fraction(str(share)) for share in shares]
    start, bins, rest = divide(knowledge.epsilon, [*weights, 1 - sum(weights)])
    n_rows: float | None = None
    loss = lesson.loss
    row_weights: NDArray[np.int32] | None = None
    with ledger.sequential("preparation"):
        if start:
            loss, row_weights, n_rows = lesson.release(start, ledger)
            n_rows = min(n_rows, knowledge.schema.max_rows or math.inf)
        if bins and n_rows is not None:
            binner = release_bins(
                binner,
                table,
                n_bins=n_bins,
                n_rows=n_rows,
                budget=bins,
                ledger=ledger,
                n_threads=n_threads,
            )
    facts = PublicFacts(
        epsilon=privacy.row_epsilon,
        delta=privacy.delta,
        n_rows=n_rows,
        n_features=table.n_features,
        loss=loss,
    )
    return Prepared(binner=binner, facts=facts, budget=rest, weights=row_weights)
