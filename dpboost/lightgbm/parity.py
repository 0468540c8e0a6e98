"""The parity table: LightGBM's parameters and functions, and how DPBoost treats them.

``python -m dpboost parity`` prints it. Training uses the rows of parameters; the rows of functions,
arguments and attributes are for users. Each row has a test in
``tests/unit/lightgbm/test_parity.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.parameters import canonical_names, nearest_names
from dpboost.lightgbm.treatments import TREATMENTS

_WORDS = {
    "argument": "used",
    "fit": "used",
    "public": "public",
    "accepted": "holds",
    "ignored": "no effect",
    "refused": "refused",
}
#: What the second column says.
KINDS = {
    "same": "as in LightGBM",
    "used": "has its meaning, for private rows, within the budget that the report states",
    "private": "spends budget, or is about private rows",
    "public": "reads public rows only",
    "holds": "always true; no other value is accepted",
    "skipped": "accepted, but not computed: nan, and one warning",
    "no effect": "warns once, with what to set instead",
    "refused": "an error before anything is drawn, with what to do instead",
}


class Row(NamedTuple):
    """A row of the table; the kind is one of ``KINDS``."""

    name: str
    kind: str
    note: str


SURFACE = (
    Row("train", "private", "spends epsilon once; the Booster keeps the report"),
    Row("train(valid_sets=...)", "public", "one warning, one line of the report"),
    Row("train(valid_sets=[train_set])", "skipped", "nan in each round, and one warning"),
    Row("train(feval=...)", "public", "gets predictions and labels of evaluation sets"),
    Row("train(keep_training_booster=True)", "public", "keeps evaluation sets, never private rows"),
    Row("cv", "private", "secret folds; metrics of some rounds are paid, or of public_sets"),
    Row("cv(folds=...)", "private", "their number; rows are assigned at random, in secret"),
    Row("cv(feval=...)", "skipped", "nan, or of public_sets: no bound of it is known"),
    Row("cv(fpreproc=...)", "refused", "a function of all rows is covered by no bound"),
    Row("cv(eval_train_metric=True)", "skipped", "nan in each round, and one warning"),
    Row("Dataset", "same", "never binned; raw data stay"),
    Row("Dataset(group=...)", "refused", "ranking: gradients mix rows"),
    Row("Dataset.save_binary", "refused", "there are no binned rows"),
    Row("early_stopping", "public", "ends training; what is left of the budget is not spent"),
    Row("log_evaluation", "public", ""),
    Row("record_evaluation", "public", ""),
    Row("reset_parameter(learning_rate=...)", "same", "shrinks released values"),
    Row("reset_parameter(max_depth=...)", "no effect", "costs are fixed before training"),
    Row("reset_parameter(objective=...)", "refused", "as num_class, boosting and metric"),
    Row("fit(eval_set=...)", "public", "one warning, one line of the report"),
    Row("fit(eval_set=[(X, y)])", "skipped", "where X, y are the training rows: nan"),
    Row("fit(eval_metric=...)", "public", "LightGBM's own metrics, or functions"),
    Row("fit(feature_name=...)", "same", ""),
    Row("fit(categorical_feature=...)", "private", "categories are declared, or learned"),
    Row("fit(user_ids=...)", "private", "not in LightGBM: with rows_per_user, protects users"),
    Row("predict(raw_score=True)", "same", ""),
    Row("predict(pred_leaf=True)", "same", ""),
    Row("predict(pred_contrib=True)", "same", "from released counts"),
    Row("predict(start_iteration=..., num_iteration=...)", "same", ""),
    Row("booster_.dump_model", "same", "released values only"),
    Row("booster_.trees_to_dataframe", "same", "counts add up to the released number of rows"),
    Row("Booster(params, train_set).update", "private", "rounds are trained together, once"),
    Row("Booster(params, train_set).rollback_one_iter", "same", "refunds nothing"),
    Row("booster_.update", "refused", "would read rows without accounting"),
    Row("booster_.refit", "refused", "dpboost.refit_leaves charges new leaves"),
    Row("feature_importances_", "same", "from released trees; gains less their noise"),
    Row("to_lightgbm()", "same", "not in LightGBM: its own estimator or Booster, report kept"),
    Row("n_features_in_", "same", ""),
    Row("feature_names_in_", "same", ""),
    Row("best_iteration_", "public", "by callbacks, from evaluation sets"),
    Row("best_score_", "public", ""),
    Row("evals_result_", "public", ""),
    Row("plot_importance", "same", ""),
    Row("plot_metric", "public", ""),
    Row("plot_tree", "same", ""),
    Row("create_tree_digraph", "same", ""),
    Row("GridSearchCV", "same", "works; its scores are queries outside the guarantee"),
    Row("clone, pickle, joblib", "same", ""),
    Row("metadata routing, set_output, pipelines", "same", ""),
)


def parameter_rows() -> tuple[Row, ...]:
    """Return one row for each parameter of the installed LightGBM."""
    rows = []
    for name in sorted(set(canonical_names().values())):
        treatment = TREATMENTS.get(name)
        if treatment is not None:
            note = treatment.note
            if treatment.argument:
                note = f"as {treatment.argument}" + (f": {note}" if note else "")
            if treatment.kind == "refused" and treatment.neutral:
                note += f" ({' or '.join(map(repr, treatment.neutral))} is accepted)"
            rows.append(Row(name, _WORDS[treatment.kind], note))
    return tuple(rows)


def rows_about(name: str) -> tuple[Row, ...]:
    """Return the rows about a parameter, under any of its names, or about a function."""
    canonical = canonical_names().get(name)
    found = tuple(row for row in parameter_rows() if row.name == canonical)
    found += tuple(row for row in SURFACE if name.lower() in row.name.lower())
    if not found:
        near = nearest_names(name, [*canonical_names(), *(row.name for row in SURFACE)])
        raise InvalidParameterError(
            f"LightGBM has no parameter or function {name!r} that dpboost knows of.{near}"
        )
    return found


def page(kind: str | None = None) -> str:
    """Return the table as text, or the rows of one kind."""
    sections = (("Functions, arguments and attributes", SURFACE), ("Parameters", parameter_rows()))
    parts = []
    for title, rows in sections:
        chosen = [row for row in rows if kind in (None, row.kind)]
        if chosen:
            parts += [title, "-" * len(title), *lines(chosen), ""]
    return "\n".join(parts)


def lines(rows: Sequence[Row]) -> list[str]:
    """Return rows as aligned lines of text."""
    width, of_kind = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [f"{name:<{width}}  {kind:<{of_kind}}  {note}".rstrip() for name, kind, note in rows]
