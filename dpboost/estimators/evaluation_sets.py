"""Scores and metrics of public rows during training on private rows."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv, EarlyStopException, record_evaluation
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.warnings import PrivacyWarning, warn_user
from dpboost.data.binner import Binner
from dpboost.data.labels import (
    check_same_length,
    encode_classes,
    read_class_labels,
    read_regression_labels,
)
from dpboost.data.table import Table, read_table
from dpboost.estimators.training_booster import RESETTING, TrainingBooster, check_reset
from dpboost.recipes.recipe import Setting
from dpboost.schema import ResolvedSchema
from dpboost.training.fitted_model import ensemble_of
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.forest import Forest
from dpboost.trees.tree import Tree

#: LightGBM's callback that ends training, whatever its arguments.
STOPPING: Any = type(lightgbm.early_stopping(1))


class PublicRowsWarning(PrivacyWarning):
    """Evaluation rows are assumed to be public."""


class SkippedRowsWarning(PrivacyWarning):
    """The training rows are among the evaluation sets, and are not evaluated.

    A metric of private rows would be a separate query in each round, which no charge covers. The
    results have ``nan`` for each round, and early stopping ignores them.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicSet:
    """Public rows on which each round is evaluated."""

    #: What callbacks and results call it.
    name: str
    #: Table of shape (n_rows, n_features).
    X: Any
    #: Array-like of shape (n_rows,).
    y: Any
    #: Array-like of shape (n_rows,).
    weight: Any = None
    #: Array-like of shape (n_rows,) or (n_rows, n_outputs). Added to the raw scores.
    init_score: Any = None

    def table(self, schema: Any, *, zero_as_missing: bool) -> Table:
        """Read the rows with the categories of a schema."""
        return read_table(self.X, schema=schema, zero_as_missing=zero_as_missing)

    def labels(self, task: str) -> NDArray[Any]:
        """Labels in the type of the task."""
        return read_regression_labels(self.y) if task == "regression" else read_class_labels(self.y)


class PublicScores:
    """Raw scores of public rows, updated after each released round.

    Parameters
    ----------
    start : sequence of float
        Released start value of each output.
    unit : float
        Unit of leaf values.
    """

    def __init__(
        self,
        binner: Binner,
        table: Table,
        *,
        start: Sequence[float],
        unit: float,
        n_threads: int,
    ) -> None:
        self._bins = table.bins(binner, n_threads)
        n_rows = self._bins.shape[1]
        self._start = np.asarray(start, dtype=np.float64)
        self._unit = unit
        self._n_threads = n_threads
        self._forests = tuple(Forest() for _ in start)
        self._scores = np.zeros((len(start), n_rows), dtype=np.int64)
        self._rows = np.arange(n_rows, dtype=np.int32)

    def add(self, trees: Sequence[Tree]) -> None:
        """Add the trees of a round, one for each output."""
        for forest, scores, tree in zip(self._forests, self._scores, trees, strict=True):
            first = np.full(len(scores), forest.n_trees, dtype=np.int32)
            forest.append(tree)
            forest.add_to(scores, self._bins, self._rows, first, self._n_threads)

    def raw(self) -> NDArray[np.float64]:
        """Raw scores of shape (n_rows,), or (n_rows, n_outputs) for several outputs."""
        raw = self._start[:, np.newaxis] + self._scores * self._unit
        return raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)


class Metrics:
    """LightGBM's metrics, computed by LightGBM from given scores.

    A Booster without trees evaluates each set at its ``init_score``, which is set to the raw
    scores: names, aliases, defaults, links and weights of all metrics are LightGBM's.

    Parameters
    ----------
    objective : str
        As in the model text, for instance ``"binary sigmoid:1"``.
    metrics : sequence of str
        LightGBM's names; empty for the default of the objective.
    parameters : dict
        Further parameters that metrics read.
    functions : sequence of callable
        ``function(predictions, dataset)`` as ``feval`` of ``lightgbm.train``.
    n_outputs : int, default=1
        Raw scores of a row, of which the objective of a function says nothing.
    """

    def __init__(
        self,
        objective: str,
        metrics: Sequence[str],
        parameters: dict[str, Any],
        functions: Sequence[Callable[..., Any]],
        n_outputs: int = 1,
    ) -> None:
        name, *constants = objective.split(" ") if objective else ["none"]
        known = dict(part.split(":") for part in constants if ":" in part)
        if name in ("none", "", "custom") and n_outputs > 1:
            known["num_class"] = str(n_outputs)
        self._parameters = {
            "objective": "none" if name in ("", "custom") else name,
            "verbosity": -1,
            **known,
            **parameters,
        }
        if metrics:
            self._parameters["metric"] = list(metrics)
        self._functions = list(functions)
        n_classes = int(known.get("num_class", 1))
        labels = np.arange(n_classes) if n_classes > 1 else np.ones(2)
        self._reference = lightgbm.Dataset(
            np.zeros((len(labels), 1)), labels, params={"verbosity": -1}
        )
        self._sets: list[tuple[str, lightgbm.Dataset, Any]] = []

    def add_set(self, name: str, labels: Any, weight: Any, init_score: Any) -> None:
        """Take the labels of a set."""
        data = lightgbm.Dataset(
            np.zeros((len(labels), 1)),
            labels,
            reference=self._reference,
            weight=weight,
            params={"verbosity": -1},
        )
        offset = 0.0 if init_score is None else np.asarray(init_score, dtype=np.float64)
        self._sets.append((name, data, offset))

    def evaluate(self, raw: Sequence[NDArray[np.float64]]) -> list[Any]:
        """Return LightGBM's evaluation results of all sets at their raw scores."""
        booster = lightgbm.Booster(self._parameters, self._reference)
        for (name, data, offset), scores in zip(self._sets, raw, strict=True):
            data.construct()
            data.set_init_score(scores + offset)
            booster.add_valid(data, name)
        return list(booster.eval_valid(self._functions or None))

    def names(self) -> list[tuple[str, bool]]:
        """Return the name of each metric, and whether higher is better, without rows of a user.

        Functions are called with two synthetic rows; one that does not bear them has its own name.
        """
        self._reference.construct()
        labels = np.asarray(self._reference.get_label())
        data = lightgbm.Dataset(
            np.zeros((len(labels), 1)),
            labels,
            reference=self._reference,
            params={"verbosity": -1},
        )
        booster = lightgbm.Booster(self._parameters, self._reference)
        booster.add_valid(data, "")
        found = [(str(line[1]), bool(line[3])) for line in booster.eval_valid()]
        n_built_in = len(found)
        for function in self._functions:
            try:
                lines = booster.eval_valid(function)[n_built_in:]
                own = [(str(line[1]), bool(line[3])) for line in lines]
            except Exception:
                inner = getattr(function, "function", getattr(function, "func", function))
                own = [(getattr(inner, "__name__", type(inner).__name__), False)]
            found += own
        return list(dict.fromkeys(found))


@dataclass(kw_only=True, eq=False)
class Evaluator:
    """Run callbacks around each round, with metrics of public rows.

    Privacy
    -------
    Sees released trees and rows declared public, hence whatever a callback decides is
    post-processing of releases.
    """

    owner: str
    #: One of "regression", "classification".
    task: str
    #: Taken as public.
    sets: Sequence[PublicSet]
    #: Name of the training rows, where they are among the evaluation sets: not evaluated.
    skipped: str | None = None
    #: LightGBM's names; empty for the default of the objective.
    metrics: Sequence[str] = ()
    #: Whether the default of the objective is computed beside them.
    and_default: bool = False
    #: Metrics of the user, as ``feval`` of ``lightgbm.train``.
    functions: Sequence[Callable[..., Any]] = ()
    #: LightGBM's callbacks, or functions of a ``CallbackEnv``.
    callbacks: Sequence[Callable[[CallbackEnv], Any]] = ()
    #: What callbacks see as ``env.params``.
    parameters: dict[str, Any] = field(default_factory=dict)
    #: Parameters that metrics read.
    metric_parameters: dict[str, Any] = field(default_factory=dict)
    zero_as_missing: bool = False
    best_iteration: int = 0
    best_score: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.results: dict[str, Any] = {}
        callbacks = list(dict.fromkeys(self.callbacks))
        for position, callback in enumerate(callbacks):
            callback.__dict__.setdefault("order", position - len(callbacks))
        if self.sets or self.skipped is not None:
            callbacks.append(record_evaluation(self.results))
        if not self.sets and self.skipped is not None:
            callbacks = [each for each in callbacks if not isinstance(each, STOPPING)]
        for callback in callbacks:
            if isinstance(callback, RESETTING):  # before anything is drawn
                check_reset(callback.kwargs)
        ordered = sorted(callbacks, key=attrgetter("order"))
        self._before = [each for each in ordered if getattr(each, "before_iteration", False)]
        self._after = [each for each in ordered if not getattr(each, "before_iteration", False)]
        self._ended_at: int | None = None

    def check(self, schema: Any, n_features: int, classes: Sequence[Any] | None) -> None:
        """Refuse public rows that cannot be evaluated, before anything private is released.

        Parameters
        ----------
        n_features : int
            Columns of the private rows.
        classes : sequence or None
            Classes, where they are known before training.
        """
        for public in self.sets:
            table = public.table(schema, zero_as_missing=self.zero_as_missing)
            labels = public.labels(self.task)
            check_same_length(table.n_rows, labels)
            if table.n_features != n_features:
                raise InvalidParameterError(
                    f"The evaluation set {public.name!r} has {table.n_features} features, but X "
                    f"has {n_features}."
                )
            if classes is not None and not encode_classes(labels, sorted(classes))[1].all():
                raise InvalidParameterError(
                    f"The evaluation set {public.name!r} contains labels that are not declared "
                    "classes: drop these rows, or declare the classes with Schema(classes=...)."
                )
        if self.sets:
            names = ", ".join(public.name for public in self.sets)
            warn_user(
                f"The evaluation rows ({names}) are assumed to be public: scores on them are "
                "not protected. Pass only public rows.",
                PublicRowsWarning,
            )

        if self.skipped is not None:
            warn_user(
                f"The evaluation sets ({self.skipped}) contain training rows, which are not "
                "evaluated: an exact metric of private rows is not private. Their results are "
                "nan, and early stopping ignores them. Leave them out, or release metrics after "
                "training: dpboost.evaluate, with num_iteration=... for those of chosen rounds.",
                SkippedRowsWarning,
            )

    def begin(self, setting: Setting, schema: ResolvedSchema, n_rounds: int) -> Evaluator:
        """Prepare for training with released bins and start values."""
        loss = setting.loss
        self._released = ensemble_of(loss, setting.binner, trees=())
        self._trees: list[Tree] = []
        self._n_rounds = n_rounds
        self._round = 0
        self._booster = TrainingBooster(self._ensemble, self.owner)
        given = self.parameters
        self._parameters = {**given, "learning_rate": setting.hyper.learning_rate}
        names = metrics_of_classes(self.metrics, loss.objective)
        if names and self.and_default:
            names += [name for name in loss.objective.split(" ")[:1] if name not in ("", "custom")]
        self._metrics = Metrics(
            loss.objective,
            names,
            {"num_threads": setting.n_threads, **self.metric_parameters},
            self.functions,
            loss.n_outputs,
        )
        self._scores = [self._scores_of(public, setting, schema) for public in self.sets]
        self._unjudged: list[Any] = []
        if self.skipped is not None:
            self._booster.set_train_data_name(self.skipped)
            lines = ((self.skipped, name, np.nan, best) for name, best in self._metrics.names())
            self._unjudged = [result_line(line) for line in lines]
        return self

    def before(self, index: int) -> float | None:
        """Run the callbacks that come before a round, which may set its learning rate."""
        for callback in self._before:
            callback(self._environment(None))
        return self._booster.learning_rate

    def after(self, trees: tuple[Tree, ...]) -> bool:
        """Evaluate a released round and run the callbacks that come after it."""
        self._trees += trees
        self._booster.grow()
        results: list[Any] = []
        if self.sets:
            for scores in self._scores:
                scores.add(trees)
            results = self._metrics.evaluate([scores.raw() for scores in self._scores])
        stops = False
        whole = self._unjudged + results
        try:
            for callback in self._after:
                judged = isinstance(callback, STOPPING)  # nothing else may stop by what is nan
                callback(self._environment(results if judged else whole))
        except EarlyStopException as stopped:
            self.best_iteration = stopped.best_iteration + 1
            best = list(stopped.best_score)
            of_all = any(line[0] == self.skipped for line in best)
            whole, stops = best if of_all else self._unjudged + best, True
        results = whole
        self._round += 1
        if stops and self._round < self._n_rounds:
            self._ended_at = self._round
        if stops or self._round == self._n_rounds:
            self.best_iteration = self.best_iteration or self._booster.best_iteration
            self._keep(results)
        return stops

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Add trees to the scores that are no round."""
        self._trees += trees
        for scores in self._scores:
            scores.add(trees)

    @property
    def stops(self) -> bool:
        """Whether early stopping decides on the number of rounds, by public rows."""
        return bool(self.sets) and any(isinstance(each, STOPPING) for each in self._after)

    @property
    def attributes(self) -> dict[str, Any]:
        """What callbacks have set on the model."""
        return self._booster.attributes

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        facts: dict[str, bool | int | float | str] = {}
        if self.sets:
            facts["taken as public"] = "the evaluation rows " + ", ".join(
                public.name for public in self.sets
            )
        if self._ended_at is not None:
            facts["ended early"] = (
                f"after {self._ended_at} of {self._n_rounds} rounds, by a callback; the budget of "
                "the other rounds was not spent"
            )
        return facts

    def _keep(self, results: list[Any]) -> None:
        best: dict[str, Any] = defaultdict(OrderedDict)
        for result in results:
            best[result[0]][result[1]] = result[2]
        self.best_score = dict(best)

    def _environment(self, results: list[Any] | None) -> CallbackEnv:
        return CallbackEnv(
            model=self._booster,
            params=self._parameters,
            iteration=self._round,
            begin_iteration=0,
            end_iteration=self._n_rounds,
            evaluation_result_list=results,
        )

    def _ensemble(self) -> Ensemble:
        """Return the rounds released so far."""
        return replace(self._released, trees=tuple(self._trees))

    def _scores_of(
        self, public: PublicSet, setting: Setting, schema: ResolvedSchema
    ) -> PublicScores:
        """Read a set with what is known now, and give its labels to the metrics."""
        table = public.table(schema, zero_as_missing=self.zero_as_missing)
        labels = public.labels(self.task)
        weight = public.weight
        if self.task == "classification":
            assert schema.classes is not None
            labels, present = encode_classes(labels, sorted(schema.classes))
            if not present.all():  # its class was not released: no metric knows it
                weight = present * (1.0 if weight is None else np.asarray(weight, dtype=float))
        self._metrics.add_set(public.name, labels, weight, public.init_score)
        return PublicScores(
            setting.binner,
            table,
            start=self._released.start,
            unit=self._released.unit,
            n_threads=setting.n_threads,
        )


def result_line(line: tuple[Any, ...]) -> Any:
    """Return a line of results in the form that the installed LightGBM uses."""
    kind = getattr(lightgbm, "EvalResult", None)
    return line if kind is None else kind(*line)


def metrics_of_classes(names: Sequence[str], objective: str) -> list[str]:
    """Return metrics of classes by the names for so many classes, as LightGBM's classifier does."""
    kind = "binary" if objective.startswith("binary") else "multi"
    if not objective.startswith(("binary", "multiclass")):
        return list(names)
    short = {
        f"{prefix}{name}": f"{kind}_{name}"
        for name in ("logloss", "error")
        for prefix in ("", "binary_", "multi_")
    }
    return list(dict.fromkeys(short.get(name, name) for name in names))
