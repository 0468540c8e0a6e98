"""Where bugs are planted: the one table of paths, for modules that move.

A position is ``module:attribute``; an attribute may have a dot, for a method of a class.
"""

from __future__ import annotations

import importlib
from typing import Any

POSITIONS = {
    # The gate
    "selection kernel": "dpboost.privacy.mechanisms:selection",
    "selection kernel of runs": "dpboost.privacy.mechanisms:runselection",
    "noise kernel": "dpboost.privacy.mechanisms:noise",
    "draw of Gaussian noise": "dpboost.privacy.mechanisms:DiscreteGaussian.draw",
    "draw of Laplace noise": "dpboost.privacy.mechanisms:DiscreteLaplace.draw",
    "charge of pure noise": "dpboost.privacy.accounting:PureAccountant.cost",
    "capacity of Gaussian privacy": "dpboost.privacy.accounting:GDPAccountant.capacity",
    "capacity of concentrated privacy": "dpboost.privacy.accounting:ZCDPAccountant.capacity",
    "growth of a parallel scope": "dpboost.privacy.ledger_records:growth",
    "check of the budget": "dpboost.privacy.ledger:Ledger._check_covered",
    "release": "dpboost.privacy.ledger:Ledger.release",
    "reasons against privacy": "dpboost.privacy.ledger:Ledger.reasons",
    "epsilon spent": "dpboost.privacy.ledger:Ledger.epsilon_spent",
    "coins of an entropy": "dpboost.privacy.randomness:Entropy.row_coins",
    "report of a ledger": "dpboost.reporting.terms:ReportTerms.from_ledger",
    "release of a label range": "dpboost.training.label_range:release_label_range",
    "noisy counts in a range": "dpboost.training.label_range:_Counts.release",
    "counts in a range": "dpboost.rows.cell_counts:RangeCounts.evaluate",
    "bounds of counts in a range": "dpboost.rows.cell_counts:RangeCounts.bounds",
    # Steps of a fit
    "opening of the ledger": "dpboost.training.privacy_params:PrivacyRequest.ledger",
    "accounting for groups": "dpboost.training.privacy_params:for_group",
    "reading of rows": "dpboost.training.local_fit:read",
    "sample of users": "dpboost.training.local_fit:sample_rows",
    "rows of users that count": "dpboost.training.local_fit:first_rows",
    "completed schema": "dpboost.training.fit:complete_schema",
    "stability histogram": "dpboost.training.public_schema:release_categories",
    "released class sizes": "dpboost.training.loss_choice:release_class_sizes",
    "rows of a tree's rule": "dpboost.training.loss_choice:release_rows",
    "facts of a tree": "dpboost.training.fitted_model:_facts",
    "training of an estimator": "dpboost.estimators.base:PrivateEstimator._train",
    # Rows
    "encoding of labels": "dpboost.rows.raw_rows:RawRows.encode_labels",
    "binning of rows": "dpboost.rows.raw_rows:EncodedRows.bin",
    "squared labels": "dpboost.losses.squared:SquaredLoss.encode_labels",
    "weights of rows": "dpboost.rows.row_attributes:RowExtras.weight_units",
    "initial scores of rows": "dpboost.rows.row_attributes:RowExtras.scores_for",
    "rows of a round": "dpboost.rows.boosting_state:BoostingState.take",
    "rows in the root": "dpboost.rows.boosting_state:BoostingState.enter_nodes",
    "statistics of a tree": "dpboost.rows.class_statistics:ClassStatistics.__init__",
    # The loop
    "the boosting loop": "dpboost.growing.boosting_loop:BoostingLoop.boost",
    "deal of rows": "dpboost.growing.boosting_loop:TrainingRows.deal",
    "take of rows": "dpboost.growing.boosting_loop:TrainingRows.take",
    "leaf sums": "dpboost.growing.boosting_loop:TreeRows.leaf_sums",
    "values of leaves": "dpboost.growing.boosting_loop:TreeRows.add",
    "learning of a tree": "dpboost.growing.split_learner:SplitLearner.learn",
    "steps of leaves": "dpboost.growing.shrunken_leaves:ShrunkenLeaf.steps",
    "gains of features": "dpboost.growing.partition_learner:split_gains",
    "first order of features": "dpboost.growing.feature_sampler:FeatureQueue._refill",
    "probabilities of a tree": "dpboost.growing.class_leaves:CountedProbability.of",
    # Other ways to fit
    "coins of cross-validation": "dpboost.model_selection.cross_validation:_Run.results",
    "metrics of cross-validation": "dpboost.model_selection.cross_validation:_Run._release",
    "share of noise": "dpboost.privacy.noise_shares:share",
    "odds of a response": "dpboost.local.frequency_oracles:share_above",
}


def found(name: str) -> tuple[Any, str, Any]:
    """Return the object that has a position, the name of its attribute, and what is there now."""
    module, _, attribute = POSITIONS[name].partition(":")
    holder: Any = importlib.import_module(module)
    *path, last = attribute.split(".")
    for part in path:
        holder = getattr(holder, part)
    return holder, last, getattr(holder, last)


def planted(name: str, value: Any) -> tuple[Any, str, Any]:
    """Return the patch that puts something in a position."""
    holder, attribute, _ = found(name)
    return holder, attribute, value
