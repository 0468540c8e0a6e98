"""The Booster of ``train(keep_training_booster=True)``: it evaluates rows that anyone may see."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import lightgbm
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost._utils.warnings import warn_user
from dpboost.estimators.evaluation_sets import Metrics, PublicRowsWarning, metrics_of_classes
from dpboost.lightgbm.booster import Booster


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """What a Booster has to know to evaluate public rows.

    Parameters
    ----------
    objective : str
        As in the model text.
    metrics : sequence of str
        LightGBM's names; empty for the default of the objective.
    parameters : dict
        Constants that metrics read.
    raw : callable
        ``raw(dataset, num_iteration=None)``: raw scores of its rows.
    labels : callable
        ``labels(dataset)``: its labels as metrics read them.
    trained_on : weakref of Dataset
        The private rows; they are not kept alive.
    n_outputs : int, default=1
        Raw scores of a row.
    """

    objective: str
    metrics: Sequence[str]
    parameters: dict[str, Any]
    raw: Callable[..., NDArray[np.float64]]
    labels: Callable[[lightgbm.Dataset], Any]
    trained_on: weakref.ReferenceType[lightgbm.Dataset]
    n_outputs: int = 1

    def check(self, data: Any) -> None:
        """Refuse what is no Dataset, and the training rows."""
        if not isinstance(data, lightgbm.Dataset):
            raise InvalidParameterError(
                f"Validation data should be Dataset instance, met {type(data).__name__}"
            )
        own = self.trained_on()
        if own is not None and (data is own or (data.data is own.data and data.data is not None)):
            raise RefusedError(
                "The training set cannot be evaluated: an exact metric of private rows is not "
                "private. Use dpboost.evaluate, which charges a budget."
            )

    def results(self, sets: Sequence[tuple[str, lightgbm.Dataset]], feval: Any) -> list[Any]:
        """Return LightGBM's evaluation results of public sets."""
        functions = list(feval) if isinstance(feval, (list, tuple)) else [feval]
        metrics = Metrics(
            self.objective,
            metrics_of_classes(self.metrics, self.objective),
            self.parameters,
            [each for each in functions if each is not None],
            self.n_outputs,
        )
        for name, data in sets:
            metrics.add_set(name, self.labels(data), data.weight, data.init_score)
        return metrics.evaluate([self.raw(data) for _, data in sets]) if sets else []


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
        kept.pandas_categorical = booster.pandas_categorical
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
            Name of the set, of the metric, its value, and whether higher is better.

        Raises
        ------
        InvalidParameterError
            For what is no Dataset, and for the training rows.
        """
        judge = self._kept("eval")
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

    def eval_train(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a metric of private rows is a query of its own."""
        raise RefusedError(
            "Booster.eval_train would reveal an exact metric of private rows: use "
            "dpboost.evaluate, which charges a budget."
        )

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
                f"Booster.{name} needs what train(keep_training_booster=True) keeps, which a copy "
                "has not."
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
        f"The rows given for evaluation ({name}) are taken as public: scores on them are not "
        "protected. Pass only public rows.",
        PublicRowsWarning,
    )
