"""``Booster(params, train_set)``: it receives its rounds one by one, and trains them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import lightgbm

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost._utils.warnings import warn_user
from dpboost.budgeting.open_budgets import is_open
from dpboost.data.evaluation_rows import is_training_set
from dpboost.estimators.kept_booster import KeptBooster
from dpboost.estimators.train import check_dataset, train
from dpboost.estimators.training_booster import check_reset
from dpboost.lightgbm.parameters import ParameterWarning, canonical_names

# What `train` would do with them is decided by calls of `update` here.
_OF_TRAIN = ("num_iterations", "early_stopping_round")
# What LightGBM's methods read of a Booster first, which has to be there then.
_OF_A_MODEL = ("_handle", "_network", "pandas_categorical")


class _Rates:
    """A callback that sets the learning rate of the rounds that have one of their own."""

    before_iteration, order = True, 10

    def __init__(self, rates: Sequence[float | None]) -> None:
        self._rates = rates

    def __call__(self, env: Any) -> None:
        rate = self._rates[env.iteration]
        if rate is not None:
            env.model.reset_parameter({"learning_rate": rate})


class BoosterSession(KeptBooster, trains=True):
    """A Booster of a training set, whose rounds are added one by one.

    ``update`` adds a round, and trains nothing. The rounds are trained, together and
    once, as soon as anything looks at the model: predictions, its text, metrics of public rows.
    So the noise is divided among as many as there are, and there is one charge.

    Parameters
    ----------
    params : dict, optional
        As of ``dpboost.train``; a number of rounds has no effect.
    train_set : Dataset
    model_file, model_str : None
        Of a Booster without a training set.

    Raises
    ------
    InvalidParameterError
        For what is no Dataset, and where a budget is open, of which it names no fraction.

    Privacy
    -------
    Spends what ``dpboost.train`` does, once. A rollback before changes the number of rounds; one
    afterwards leaves out the last released round, and refunds nothing.
    """

    _told: list[float | None]

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        train_set: Any = None,
        model_file: None = None,
        model_str: None = None,
    ) -> None:
        # LightGBM's constructor is not called: it would need a model.
        if not isinstance(train_set, lightgbm.Dataset):
            raise InvalidParameterError(
                f"Training data should be Dataset instance, met {type(train_set).__name__}"
            )
        if is_open(train_set):
            raise RefusedError(
                "Booster(params, train_set) names no fraction of the budget that is open: use "
                "dpboost.train(params, train_set, num_boost_round, fraction=...)."
            )
        self.params = dict(params or {})
        self.best_iteration = 0
        self.best_score: dict[str, Any] = {}
        self.name_valid_sets: list[str] = []
        self._rows = train_set
        self._sets: list[lightgbm.Dataset] = []
        self._function: Callable[..., Any] | None = None
        self._rate: float | None = None
        self._told = []
        self._trained = False

    def __getattr__(self, name: str) -> Any:
        if not (name in _OF_A_MODEL or name.startswith("_Booster__")) or self._is_ready():
            raise AttributeError(name)
        self._ready()
        return getattr(self, name)

    def _is_ready(self) -> bool:
        return bool(vars(self).get("_trained", True))

    def _ready(self) -> None:
        """Train the rounds that were added, unless they are trained."""
        if self._is_ready():
            return
        if not self._told:
            raise RefusedError("This Booster has no round yet: call its update() first.")
        own = {n: v for n, v in self.params.items() if canonical_names().get(n) not in _OF_TRAIN}
        if self._function is not None:
            own = {n: v for n, v in own.items() if canonical_names().get(n) != "objective"}
            own["objective"] = self._function
        built = train(
            own,
            self._rows,
            len(self._told),
            valid_sets=self._sets,
            valid_names=self.name_valid_sets,
            keep_training_booster=True,
            callbacks=[_Rates(self._told)] if any(self._told) else None,
        )
        state = dict(vars(built))
        vars(built)["_handle"] = None  # it is this one's now
        vars(self).update(state)
        self._trained = True

    def __del__(self) -> None:
        """Free the model, where there is one."""
        if "_handle" in vars(self):
            super().__del__()

    @property
    def privacy_report(self) -> Any:
        """The privacy report of the training."""
        self._ready()
        return super().privacy_report

    def update(  # type: ignore[override]
        self, train_set: Any = None, fobj: Callable[..., Any] | None = None
    ) -> bool:
        """Add one round.

        Parameters
        ----------
        train_set : Dataset, optional
            The one of the Booster.
        fobj : callable, optional
            Objective ``(predictions, dataset)`` of all rounds.

        Returns
        -------
        bool
            False: training could go on.

        Raises
        ------
        InvalidParameterError
            For other rows, for another function than before, and once the rounds are trained.
        """
        if self._is_ready():
            raise RefusedError(
                f"Booster.update cannot add a round: the {self.current_iteration()} before are "
                "already trained, because the model was read, and their noise was divided among "
                "that number. Add all rounds first; metrics of each round are those of "
                "dpboost.train(..., valid_sets=..., callbacks=...). To continue at a separate "
                "cost, pass the model as init_model to dpboost.train."
            )
        if train_set is not None and train_set is not self._rows:
            raise RefusedError(
                "The 'train_set' of Booster.update cannot be other rows: each table is charged. "
                "Give the model as init_model to dpboost.train with them."
            )
        if self._told and fobj is not self._function:
            raise RefusedError(
                "The 'fobj' of Booster.update must be the same in each round: they are trained "
                "together."
            )
        self._function = fobj
        self._told.append(self._rate)
        return False

    def rollback_one_iter(self) -> BoosterSession:  # type: ignore[override]
        """Leave the last round out; one that is trained was charged, and stays so.

        Returns
        -------
        BoosterSession
            This one.
        """
        if not self._is_ready():
            del self._told[-1:]
        elif self.current_iteration() < 2:
            raise RefusedError("Booster.rollback_one_iter cannot leave a model without any round.")
        else:
            n_rounds = self.current_iteration() - 1
            self.model_from_string(self.model_to_string(num_iteration=n_rounds))
            judge = self._kept("rollback_one_iter")
            self._judge = replace(judge, raw=partial(judge.raw, num_iteration=n_rounds))
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> BoosterSession:  # type: ignore[override]
        """Set parameters: the learning rate of the rounds to come, others of all rounds.

        Parameters
        ----------
        params : mapping

        Returns
        -------
        BoosterSession
            This one.

        Raises
        ------
        InvalidParameterError
            For what LightGBM does not let change either, and once the rounds are trained.

        Warns
        -----
        ParameterWarning
            Where rounds were added before: they have the new value too.
        """
        if self._is_ready():
            super().reset_parameter(params)
        check_reset(params)
        for name, value in params.items():
            if canonical_names()[name] == "learning_rate" and self._told:
                self._rate = value
                continue
            if self._told:
                warn_user(
                    f"reset_parameter({name}={value!r}) is for all rounds, those before it "
                    "included: they are trained together.",
                    ParameterWarning,
                )
            same = {n for n in self.params if canonical_names().get(n) == canonical_names()[name]}
            self.params = {n: v for n, v in self.params.items() if n not in same} | {name: value}
        return self

    def current_iteration(self) -> int:
        """Return the number of rounds, trained or added."""
        return int(super().current_iteration()) if self._is_ready() else len(self._told)

    def feature_importance(self, *args: Any, **kwargs: Any) -> Any:
        """Return the importance of each feature, as every Booster."""
        self._ready()
        return super().feature_importance(*args, **kwargs)

    def add_valid(self, data: lightgbm.Dataset, name: str) -> BoosterSession:  # type: ignore[override]
        """Add rows that anyone may see, with labels."""
        if self._is_ready():
            super().add_valid(data, name)
            return self
        check_dataset(data, "add_valid")
        if is_training_set(data, self._rows):
            self.eval_train()
        self._sets.append(data)
        self.name_valid_sets.append(name)
        return self

    def eval(self, data: lightgbm.Dataset, name: str, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate rows that anyone may see, once the rounds are trained."""
        self._ready()
        return super().eval(data, name, feval)

    def eval_valid(self, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate the evaluation sets, once the rounds are trained."""
        self._ready()
        return super().eval_valid(feval)
