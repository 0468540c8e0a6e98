"""Losses: maps from a row's score and label to its integer gradient, with a public bound.

Scores are multiples of a public power of two (``unit``), gradients are multiples of 2^-16. A loss
has no noise and no budget; it states the bound of one row's gradient, which the mechanisms use.
"""

from __future__ import annotations

from dpboost.losses.custom import CustomLoss
from dpboost.losses.custom_classes import CustomClassLoss
from dpboost.losses.fractional import FractionalLabelLoss
from dpboost.losses.link_table import exponential_table, logistic_table
from dpboost.losses.logistic import LogisticLoss
from dpboost.losses.loglink import LogLinkLoss
from dpboost.losses.newton_loss import GRADIENT_ONE, GRADIENT_UNIT
from dpboost.losses.one_vs_rest import OneVsRestLoss
from dpboost.losses.robust import RobustLoss
from dpboost.losses.several_quantiles import QuantilesLoss
from dpboost.losses.softmax import SoftmaxLoss
from dpboost.losses.squared import SquaredLoss
from dpboost.losses.tabulated import TabulatedLoss

SplitLoss = SquaredLoss | LogisticLoss
"""Losses with one output and a constant hessian, for splits that are chosen node by node."""

OneOutputLoss = SplitLoss | TabulatedLoss

ClassLoss = SoftmaxLoss | OneVsRestLoss
"""Losses with one output for each class."""

AnyCustomLoss = CustomLoss | CustomClassLoss
"""Losses that the user writes: where their scores start does not depend on the labels."""

MeanLoss = OneOutputLoss | QuantilesLoss
"""Losses whose scores start at a mean of labels."""

LabelRangeLoss = SquaredLoss | RobustLoss | QuantilesLoss
"""Losses whose scores are on the scale of the labels."""

Loss = OneOutputLoss | ClassLoss | CustomClassLoss | QuantilesLoss

__all__ = [
    "GRADIENT_ONE",
    "GRADIENT_UNIT",
    "AnyCustomLoss",
    "ClassLoss",
    "CustomClassLoss",
    "CustomLoss",
    "LabelRangeLoss",
    "LogLinkLoss",
    "MeanLoss",
    "LogisticLoss",
    "Loss",
    "OneOutputLoss",
    "QuantilesLoss",
    "RobustLoss",
    "OneVsRestLoss",
    "FractionalLabelLoss",
    "SoftmaxLoss",
    "SplitLoss",
    "SquaredLoss",
    "TabulatedLoss",
    "exponential_table",
    "logistic_table",
]
