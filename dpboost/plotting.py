"""Names of ``lightgbm.plotting``: DPBoost's versions if they exist, otherwise LightGBM's."""

from __future__ import annotations

from typing import Any

import lightgbm.plotting
from lightgbm.plotting import (
    create_tree_digraph,
    plot_metric,
    plot_split_value_histogram,
    plot_tree,
)

from dpboost._utils.lightgbm_names import name_of
from dpboost.explain.plots import (
    plot_importance,
    plot_interactions,
    plot_shape_compare,
    plot_shapes,
)

__all__ = [
    "create_tree_digraph",
    "plot_importance",
    "plot_interactions",
    "plot_metric",
    "plot_shape_compare",
    "plot_shapes",
    "plot_split_value_histogram",
    "plot_tree",
]


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.plotting, name)
