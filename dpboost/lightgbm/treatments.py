"""The treatment of each LightGBM parameter: rows of the parity table.

Names are LightGBM's canonical ones; aliases come from LightGBM at run time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """The treatment of a LightGBM parameter."""

    #: "argument": passed to the argument of the same meaning. "fit" and "public": read by ``fit``,
    #: for private rows or for public ones. "accepted": without effect because it holds anyway.
    #: "ignored": without effect, with a warning. "refused": an error.
    kind: str
    #: What to use instead, or why.
    note: str = ""
    #: Name of our argument, where there is one.
    argument: str = ""
    #: Values that ask for nothing and are always accepted.
    neutral: tuple[Any, ...] = ()


def _argument(name: str, note: str = "", neutral: tuple[Any, ...] = ()) -> Treatment:
    return Treatment(kind="argument", argument=name, note=note, neutral=neutral)


def _ignored(note: str, *neutral: Any) -> Treatment:
    return Treatment(kind="ignored", note=note, neutral=neutral)


def _fit(note: str, *neutral: Any) -> Treatment:
    return Treatment(kind="fit", note=note, neutral=neutral)


def _refused(note: str, *neutral: Any) -> Treatment:
    return Treatment(kind="refused", note=note, neutral=neutral)


def _all(names: str, treatment: Treatment) -> dict[str, Treatment]:
    return dict.fromkeys(names.split(), treatment)


_ACCEPTED = Treatment(kind="accepted", note="holds here in any case")
_FIT = _fit("read by fit")
_EVALUATION = Treatment(kind="public", note="of public rows")
_SEED = _ignored("set random_state, which seeds all public randomness; noise has no seed")
_CATEGORIES = _ignored("categories are split without the row statistics that this would limit")
_LEAF = "leaves of few rows are shrunk: set reg_lambda or step_prior"
_LAYOUT = _ignored("a hint about memory that the engine does not need")
_DART = _ignored("for boosting='dart', which is not available")
_COMMAND_LINE = _ignored("for LightGBM's command line")
_RANKING = _ignored("for ranking, which is not available: its gradients mix rows")
_DISTRIBUTED = _ignored("for distributed training, which is not available")
_QUANTIZED = _ignored("gradients are always sums of integers here", False)
_PREDICTION = _ignored("an option of prediction: give it to predict")
_CEGB = _refused("penalties of features are not available")
_GOSS = _ignored("for goss, which is not available")

TREATMENTS: dict[str, Treatment] = {
    # what has an argument of its own
    "num_iterations": _argument("n_estimators"),
    "learning_rate": _argument("learning_rate", "above 1 counts as 1"),
    "max_depth": _argument(
        "max_depth", "each level costs budget: no limit means the rule of the recipe", (-1,)
    ),
    "lambda_l2": _argument("reg_lambda", "0 means the rule of the recipe", (0,)),
    "max_bin": _argument("max_bin", "more than 255 count as 255"),
    "num_threads": _argument("n_jobs"),
    "seed": _argument("random_state", "seeds public randomness only, never noise"),
    "verbosity": _argument("verbosity"),
    "objective": _argument("objective", "ranking is refused: its gradients mix rows"),
    "alpha": _argument("alpha"),
    "fair_c": _argument("fair_c"),
    "tweedie_variance_power": _argument("tweedie_variance_power"),
    "saved_feature_importance_type": _ignored("give importance_type to save_model", 0),
    # what fit reads
    **_all(
        "metric early_stopping_round early_stopping_min_delta first_metric_only "
        "multi_error_top_k auc_mu_weights",
        _EVALUATION,
    ),
    **_all("categorical_feature num_class zero_as_missing", _FIT),
    # what holds in any case
    "deterministic": _ACCEPTED,
    "boosting": _refused(
        "only 'gbdt' is available: instead of 'dart' set a smaller learning_rate, instead of "
        "'rf' trees_per_ensemble=n_estimators, whose trees have disjoint rows, and instead of "
        "'goss' recipe='dpboost', which drops the rows whose gradients exceed a public bound",
        "gbdt",
        "gbrt",
    ),
    "data_sample_strategy": _refused(
        "which rows have the largest gradients depends on the other rows, so that no bound of one "
        "row's part exists; recipe='dpboost' drops the rows whose gradients are above a public "
        "bound, each for itself",
        "bagging",
    ),
    "device_type": _refused("only 'cpu' is available", "cpu"),
    "tree_learner": _ignored("for distributed training, which is not available", "serial"),
    "boost_from_average": _ignored(
        "the start value is released by the recipe, or a public constant", True
    ),
    "use_missing": _refused(
        "missing values always have a bin of their own; where they are to count as zeros, fill "
        "them before fit and before predict, for instance by X.fillna(0)",
        True,
    ),
    # trees
    "num_leaves": _ignored("trees grow level by level: set max_depth"),
    "min_data_in_leaf": _ignored(_LEAF, 0),
    "min_sum_hessian_in_leaf": _fit(
        "recipe='best': a leaf that releases less takes the step of the node above it", 0, 0.001
    ),
    "min_gain_to_split": _ignored(
        "a threshold on exact gains would reveal them: set reg_lambda", 0
    ),
    "bagging_fraction": _fit(
        "rows take part in a round at random, in secret; a round costs the same as without, so "
        "that its noise weighs more",
        1,
    ),
    "bagging_freq": _fit("above 0 it asks for bagging; each ensemble draws its own rows", 0),
    "pos_bagging_fraction": _refused("sampling by class would reveal the class", 1),
    "neg_bagging_fraction": _refused("sampling by class would reveal the class", 1),
    "feature_fraction": _fit(
        "a tree has its features from such a part of them, drawn at random", 1
    ),
    "feature_fraction_bynode": _ignored("a tree has few features: set features_per_tree", 1),
    "extra_trees": _fit(
        "recipe='best' draws thresholds at random in any case; the others refuse it", False
    ),
    "max_delta_step": _fit("bounds the released steps of leaves", 0),
    "lambda_l1": _ignored("set reg_lambda or step_prior", 0),
    "path_smooth": _fit("recipe='best': over released sums, with hessians instead of rows", 0),
    "linear_tree": _refused(
        "the slopes of a leaf are sums of products, which would cost budget of their own; give "
        "products and ratios of columns as features",
        False,
    ),
    "linear_lambda": _ignored("linear leaves are not available", 0),
    "monotone_constraints": _argument("monotone_constraints", "a dict from names is taken as well"),
    "monotone_constraints_method": _ignored(
        "released leaves are projected, which is exact for every tree", "basic"
    ),
    "monotone_penalty": _ignored("splits are not chosen by the rows, or not by the constraint", 0),
    "interaction_constraints": _argument(
        "interaction_constraints", "the features of a whole tree are of one group"
    ),
    "forcedsplits_filename": _refused(
        "no tree begins with given splits; fit a model to each part of the rows that they make: "
        "as tables of Budget.disjoint they cost as much as the most expensive fit",
        None,
        "",
    ),
    "feature_contri": _fit(
        "recipe='best': factor of what released gains show; a feature with 0 is never used",
        None,
        "",
        (),
    ),
    "cegb_tradeoff": _ignored("penalties of features are not available", 1),
    "cegb_penalty_split": _refused("penalties of features are not available", 0),
    **_all("cegb_penalty_feature_lazy cegb_penalty_feature_coupled", _CEGB),
    "refit_decay_rate": _ignored("for refit, which a released model refuses"),
    **_all("min_data_per_group max_cat_threshold cat_l2 cat_smooth max_cat_to_onehot", _CATEGORIES),
    **_all(
        "drop_rate max_drop skip_drop xgboost_dart_mode uniform_drop drop_seed",
        _DART,
    ),
    **_all("top_rate other_rate", _GOSS),
    # bins
    "max_bin_by_feature": _refused(
        "max_bin is for all features; declare Schema(edges={column: [...]}) of those that are to "
        "have other bins",
        None,
        "",
        (),
    ),
    "forcedbins_filename": _refused(
        "declare its bounds as Schema(edges={column: [...]}), which are then all the borders of "
        "that column: none is added from the rows",
        None,
        "",
    ),
    "min_data_in_bin": _ignored("counts of bins are private"),
    "bin_construct_sample_cnt": _ignored("bins come from a noisy histogram of all rows"),
    "feature_pre_filter": _ignored("no feature is dropped by its counts", False),
    "enable_bundle": _ignored("features are not bundled by their values", False),
    "is_enable_sparse": _LAYOUT,
    # objectives
    "is_unbalance": _argument(
        "is_unbalance", "weighs classes by their released sizes; for classifiers", (False,)
    ),
    "scale_pos_weight": Treatment(
        kind="fit", note="a public weight of the second class; for classifiers", neutral=(1,)
    ),
    "sigmoid": _ignored(
        "it scales raw scores alone, which are those of 1; probabilities are the same", 1
    ),
    "reg_sqrt": _refused("transform the labels, and declare their bounds", False),
    "poisson_max_delta_step": _argument("poisson_max_delta_step"),
    "objective_seed": _SEED,
    **_all(
        "lambdarank_truncation_level lambdarank_norm label_gain eval_at bagging_by_query "
        "lambdarank_position_bias_regularization",
        _RANKING,
    ),
    "is_provide_training_metric": _ignored(
        "an exact metric of the training rows is not private: see dpboost.evaluate", False
    ),
    "metric_freq": _ignored("set log_evaluation(period=...)", 1),
    # seeds, layout, machines
    **_all("bagging_seed feature_fraction_seed extra_seed data_random_seed", _SEED),
    **_all("force_col_wise force_row_wise histogram_pool_size", _LAYOUT),
    **_all(
        "use_quantized_grad num_grad_quant_bins quant_train_renew_leaf stochastic_rounding",
        _QUANTIZED,
    ),
    "num_machines": _ignored("rows on several machines are for dpboost.dask or .spark", 1),
    **_all("top_k local_listen_port time_out machine_list_filename machines", _DISTRIBUTED),
    **_all(
        "gpu_platform_id gpu_device_id gpu_device_id_list gpu_use_dp num_gpu",
        _ignored("for GPUs, which are not used"),
    ),
    # prediction and the command line
    **_all(
        "start_iteration_predict num_iteration_predict predict_raw_score predict_leaf_index "
        "predict_contrib predict_disable_shape_check pred_early_stop pred_early_stop_freq "
        "pred_early_stop_margin",
        _PREDICTION,
    ),
    "input_model": _refused("give init_model to fit or train", None, ""),
    **_all(
        "config task data valid output_model snapshot_freq pre_partition two_round header "
        "label_column weight_column group_column ignore_column save_binary precise_float_parser "
        "parser_config_file output_result convert_model_language convert_model",
        _COMMAND_LINE,
    ),
}


#: What LightGBM's estimators take and none of its parameters is.
OF_ESTIMATORS = {"class_weight": _refused("it weighs classes, and a regression has none", None)}


def treatment_of(name: str) -> Treatment:
    """Return the treatment of a canonical name; one of a newer LightGBM is ignored."""
    known = TREATMENTS | OF_ESTIMATORS
    return known.get(name, _ignored("not known to this version of dpboost"))


def is_neutral(value: Any, neutral: Iterable[Any]) -> bool:
    """Return whether a value asks for nothing."""
    if isinstance(value, (list, tuple)):
        value = tuple(value)
    for candidate in neutral:
        if candidate is None or isinstance(candidate, (str, tuple)):
            if type(value) is type(candidate) and value == candidate:
                return True
        elif isinstance(value, (bool, int, float)) and value == candidate:
            return True
    return False
