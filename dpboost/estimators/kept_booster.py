"""The Booster of ``train(keep_training_booster=True)``, which evaluates public rows."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost._utils.warnings import warn_user
from dpboost.estimators.evaluation_sets import (
    Metrics,
    PublicRowsWarning,
    SkippedRowsWarning,
    metrics_of_classes,
    result_line,
)
from dpboost.lightgbm.booster import Booster


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """Settings for the evaluation of public rows by a Booster."""

    #: As in the model text.
    objective: str
    #: LightGBM's names; empty for the default of the objective.
    metrics: Sequence[str]
    #: Constants that metrics read.
    parameters: dict[str, Any]
    #: ``raw(dataset, num_iteration=None)``: raw scores of its rows.
    raw: Callable[..., NDArray[np.float64]]
    #: ``labels(dataset)``: its labels as metrics read them.
    labels: Callable[[lightgbm.Dataset], Any]
    #: The private rows; they are not kept alive.
    trained_on: weakref.ReferenceType[lightgbm.Dataset]
    #: Raw scores of a row.
    n_outputs: int = 1

    def check(self, data: Any) -> None:
        """Refuse what is no Dataset, and the training rows."""
        if not isinstance(data, lightgbm.Dataset):
            raise InvalidParameterError(
                f"Validation data should be Dataset instance, met {type(data).__name__}"
            )
        if self.is_of_training(data):
            raise RefusedError(
                "The training set cannot be evaluated: an exact metric of private rows is not "
                "private. Use dpboost.evaluate, which charges a budget."
            )

    def is_of_training(self, data: Any) -> bool:
        """Return whether these are the private rows."""
        own = self.trained_on()
        if own is None:
            return False
        return data is own or (getattr(data, "data", None) is own.data and own.data is not None)

    def unjudged(self, name: str, feval: Any) -> list[Any]:
        """Return the evaluation results of the private rows: ``nan`` for each metric."""
        lines = self._metrics(feval).names()
        return [result_line((name, metric, np.nan, higher)) for metric, higher in lines]

    def results(self, sets: Sequence[tuple[str, lightgbm.Dataset]], feval: Any) -> list[Any]:
        """Return LightGBM's evaluation results of public sets."""
        metrics = self._metrics(feval)
        for name, data in sets:
            metrics.add_set(name, self.labels(data), data.weight, data.init_score)
        return metrics.evaluate([self.raw(data) for _, data in sets]) if sets else []

    def _metrics(self, feval: Any) -> Metrics:
        functions = list(feval) if isinstance(feval, (list, tuple)) else [feval]
        return Metrics(
            self.objective,
            metrics_of_classes(self.metrics, self.objective),
            self.parameters,
            [each for each in functions if each is not None],
            self.n_outputs,
        )


class KeptBooster(Booster):
    """A released model with the evaluation sets of its training.

    Privacy
    -------
    Holds released values and sets that are taken as public. Whatever would read the private rows,
    or would change the model by rows, raises as in every Booster. A copy or a pickle has no sets.
    """

    _judge: Judge | None = None
    _public: tuple[tuple[str, lightgbm.Dataset], ...] = ()

    @classmethod
    def of(
        cls, booster: Booster, judge: Judge, sets: Sequence[tuple[str, lightgbm.Dataset]]
    ) -> KeptBooster:
        """Return the model of a Booster with its evaluation sets."""
        kept = cls(model_str=booster.model_to_string(num_iteration=-1))
        kept.params = booster.params
        kept.best_iteration, kept.best_score = booster.best_iteration, booster.best_score
        kept.pandas_categorical, kept.trained_by = booster.pandas_categorical, booster.trained_by
        own = vars(kept)
        own.update({name: each for name, each in vars(booster).items() if name not in own})
        kept._judge, kept._public = judge, tuple(sets)
        kept.name_valid_sets = [name for name, _ in sets]
        return kept

    def add_valid(self, data: lightgbm.Dataset, name: str) -> KeptBooster:  # type: ignore[override]
        """Add rows that anyone may see, with labels.

        Returns
        -------
        KeptBooster
            This one.

        Raises
        ------
        InvalidParameterError
            For what is no Dataset, and for the training rows.
        """
        judge = self._kept("add_valid")
        judge.check(data)
        _warn(name)
        self._public += ((name, data),)
        self.name_valid_sets.append(name)
        return self

    def eval(self, data: lightgbm.Dataset, name: str, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate rows that anyone may see.

        Parameters
        ----------
        feval : callable or list of callable, optional
            Metrics of ``(predictions, dataset)``.

        Returns
        -------
        list of tuple
            Name of the set, of the metric, its value, and whether higher is better. Values of the
            training rows are ``nan``.

        Raises
        ------
        InvalidParameterError
            For what is no Dataset.
        """
        judge = self._kept("eval")
        if judge.is_of_training(data):
            return self._unjudged(name, feval)
        judge.check(data)
        if not any(data is own for _, own in self._public):
            _warn(name)
        return judge.results([(name, data)], feval)

    def eval_valid(self, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate the evaluation sets of the training, and those that were added.

        Parameters
        ----------
        feval : callable or list of callable, optional
            Metrics of ``(predictions, dataset)``.

        Returns
        -------
        list of tuple
            As `eval`.
        """
        return self._kept("eval_valid").results(self._public, feval)

    def eval_train(self, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Return ``nan`` for each metric: one of private rows is a query of its own.

        Parameters
        ----------
        feval : callable or list of callable, optional
            Metrics of ``(predictions, dataset)``; called with two synthetic rows, for their names.

        Returns
        -------
        list of tuple
            As `eval`.

        Warns
        -----
        SkippedRowsWarning
        """
        return self._unjudged(getattr(self, "_train_data_name", "training"), feval)

    def rollback_one_iter(self) -> KeptBooster:  # type: ignore[override]
        """Leave the last round out; it was charged, and stays so.

        Returns
        -------
        KeptBooster
            This one.

        Raises
        ------
        InvalidParameterError
            For the only round of a model, and for a copy.
        """
        judge, n_rounds = self._kept("rollback_one_iter"), self.current_iteration() - 1
        if n_rounds < 1:
            raise RefusedError("Booster.rollback_one_iter cannot leave a model without any round.")
        self._show(judge, self.model_to_string(num_iteration=n_rounds), n_rounds)
        return self

    def _show(self, judge: Judge, text: str, n_rounds: int) -> None:
        """Become the first rounds of a model."""
        self.model_from_string(text)
        self._judge = replace(judge, raw=partial(judge.raw, num_iteration=n_rounds))

    def _unjudged(self, name: str, feval: Any) -> list[Any]:
        judge = self._kept("eval_train")
        warn_user(
            f"The training rows ({name}) are not evaluated: a metric of private rows is a "
            "separate query. Their results are nan. dpboost.evaluate releases metrics under a "
            "budget.",
            SkippedRowsWarning,
        )
        return judge.unjudged(name, feval)

    def __reduce__(self) -> tuple[Any, ...]:
        text = self.model_to_string(num_iteration=-1)
        state = {"best_iteration": self.best_iteration, "best_score": self.best_score}
        return _plain, (text, self.params, state)

    def __deepcopy__(self, *args: Any, **kwargs: Any) -> Booster:
        rebuild, arguments = self.__reduce__()
        return rebuild(*arguments)

    def _kept(self, name: str) -> Judge:
        if self._judge is None:
            raise RefusedError(
                f"Booster.{name} needs the evaluation sets of train(keep_training_booster=True), "
                "which a copy lacks."
            )
        return self._judge


def _plain(text: str, params: dict[str, Any], state: dict[str, Any]) -> Booster:
    """Return a Booster without sets."""
    booster = Booster(model_str=text)
    booster.params = dict(params)
    vars(booster).update(state)
    return booster


def _warn(name: str) -> None:
    warn_user(
        f"The evaluation rows ({name}) are assumed to be public: scores on them are not "
        "protected. Pass only public rows.",
        PublicRowsWarning,
    )
