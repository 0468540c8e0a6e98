"""``Booster(params, train_set)``: rounds are requested one by one and trained together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost._utils.warnings import warn_user
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.open_budgets import innermost, is_open
from dpboost.budgeting.windows import Window
from dpboost.data.evaluation_rows import is_training_set
from dpboost.estimators.kept_booster import Judge, KeptBooster
from dpboost.estimators.train import check_dataset, train
from dpboost.estimators.training_booster import ResetWarning, check_reset
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.parameters import ParameterWarning, canonical_names, read_text, value_of

# What `train` would do with them is decided by calls of `update` here.
_OF_TRAIN = ("num_iterations", "early_stopping_round")
_ROUNDS = 100  # LightGBM's default
# What LightGBM's methods read of a Booster first, which has to be there then.
_OF_A_MODEL = ("_handle", "_network", "pandas_categorical")


class _Rates:
    """A callback that sets the learning rate of individual rounds."""

    before_iteration, order = True, 10

    def __init__(self, rates: Sequence[float | None]) -> None:
        self._rates = rates

    def __call__(self, env: Any) -> None:
        rate = self._rates[env.iteration]
        if rate is not None:
            env.model.reset_parameter({"learning_rate": rate})


class BoosterSession(KeptBooster, trains=True):
    """A Booster of a training set with single-round updates.

    ``update`` requests one more round and trains nothing. All rounds are trained together at the
    first use of the model, with one charge. Predictions and the model text use the requested
    rounds. A metric trains ``num_iterations`` rounds, or LightGBM's default of 100 if only one was
    requested, because more are expected; each ``update`` then makes one more round visible.

    Parameters
    ----------
    params : dict, optional
        As of ``dpboost.train``; a number of rounds is how many are planned where metrics come
        between rounds.
    train_set : Dataset
    model_file, model_str : None
        Of a Booster without a training set.
    budget, fraction : optional
        A budget and the part of it that the training takes, as in ``dpboost.train``.

    Raises
    ------
    InvalidParameterError
        For what is no Dataset, and where a budget is open and no fraction is given.

    Privacy
    -------
    Spends what ``dpboost.train`` does, once. A rollback before changes the number of rounds; one
    afterwards leaves out the last released round, and refunds nothing. Neither do planned rounds
    that are never shown.
    """

    _told: list[float | None]

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        train_set: Any = None,
        model_file: None = None,
        model_str: None = None,
        *,
        budget: Budget | DisjointTable | Window | None = None,
        fraction: Any = None,
    ) -> None:
        # LightGBM's constructor is not called: it would need a model.
        if not isinstance(train_set, lightgbm.Dataset):
            raise InvalidParameterError(
                f"Training data should be Dataset instance, met {type(train_set).__name__}"
            )
        if fraction is None and is_open(train_set):
            raise RefusedError(
                "Booster(params, train_set) has no fraction of the open budget: pass "
                "Booster(params, train_set, fraction=...)."
            )
        if fraction is not None and budget is None:
            budget = innermost("Booster", train_set)  # the block may end before the training
        self._paid = {"budget": budget, "fraction": fraction}
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
        self._whole: Judge | None = None  # where more rounds are trained than are shown
        self._text = ""

    def __getattr__(self, name: str) -> Any:
        if not (name in _OF_A_MODEL or name.startswith("_Booster__")) or self._is_ready():
            raise AttributeError(name)
        self._ready()
        return getattr(self, name)

    def _is_ready(self) -> bool:
        return bool(vars(self).get("_trained", True))

    def _ready(self, *, planned: bool = False) -> None:
        """Train the requested rounds, or all planned ones, unless they are trained."""
        if self._is_ready():
            return
        if not self._told:
            raise RefusedError("This Booster has no rounds yet: call update() first.")
        n_told = len(self._told)
        if planned:
            self._told += [self._rate] * (self._n_planned() - n_told)
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
            **{name: value for name, value in self._paid.items() if value is not None},
        )
        state = dict(vars(built))
        vars(built)["_handle"] = None  # it is this one's now
        vars(self).update(state)
        self._trained = True
        if len(self._told) > n_told:
            warn_user(
                f"Metrics between rounds: {len(self._told)} rounds are trained together now, and "
                "each update() shows one more. Set num_iterations=... to the number you need: the "
                "budget is divided among all rounds, and hidden rounds are charged too.",
                ParameterWarning,
            )
            self._whole, self._text = self._kept("update"), self.model_to_string(num_iteration=-1)
            self._show_rounds(n_told)

    def _n_planned(self) -> int:
        """Return the number of planned rounds if metrics are evaluated between rounds."""
        given = value_of(read_text({**(self._rows.params or {}), **self.params}), "num_iterations")
        n_told = len(self._told)
        if not isinstance(given, int):
            given = _ROUNDS if n_told == 1 else n_told  # several before a first look may be all
        return max(given, n_told)

    def _show_rounds(self, n_rounds: int) -> None:
        """Become the first of all rounds that are trained."""
        assert self._whole is not None
        part = Booster(model_str=self._text).model_to_string(num_iteration=n_rounds)
        self._show(self._whole, part, n_rounds)

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
            For other rows, for another function than before, and once all rounds are trained and
            shown.
        """
        if train_set is not None and train_set is not self._rows:
            raise RefusedError(
                "The 'train_set' of Booster.update must be the same rows: each table is charged. "
                "For other rows pass the model as init_model to dpboost.train."
            )
        if self._told and fobj is not self._function:
            raise RefusedError(
                "The 'fobj' of Booster.update must be the same in each round: they are trained "
                "together."
            )
        if not self._is_ready():
            self._function = fobj
            self._told.append(self._rate)
            return False
        n_rounds = self.current_iteration() + 1
        if self._whole is None or n_rounds > len(self._told):
            raise RefusedError(
                f"Booster.update cannot add a round: {self.current_iteration()} rounds were "
                "trained when the model was first used, and the budget was divided among them. Add "
                "all rounds first; for metrics between rounds set num_iterations=... in the "
                "parameters. To continue with a separate charge, pass the model as init_model to "
                "dpboost.train."
            )
        self._show_rounds(n_rounds)
        return False

    def rollback_one_iter(self) -> BoosterSession:  # type: ignore[override]
        """Remove the last round; a trained round stays charged.

        Returns
        -------
        BoosterSession
            This one.
        """
        if self._is_ready():
            super().rollback_one_iter()
            return self
        del self._told[-1:]
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> BoosterSession:  # type: ignore[override]
        """Set parameters: the learning rate of the next rounds, others for all rounds.

        Returns
        -------
        BoosterSession
            This one.

        Raises
        ------
        InvalidParameterError
            For what LightGBM does not let change either, and once all rounds are trained and
            shown.

        Warns
        -----
        ParameterWarning
            If rounds were announced before: they get the new value too. If rounds are trained that
            are not shown yet: nothing changes. The warnings appear at any verbosity.
        """
        if self._is_ready() and self._whole is None:
            super().reset_parameter(params)
        unknown = check_reset(params)
        if self._is_ready():
            warn_user(
                f"reset_parameter({', '.join(map(str, params))}) has no effect: the next rounds "
                "are already trained, because metrics were requested between them. Reset before "
                "the first metric, or by callbacks of dpboost.train.",
                ResetWarning,
            )
            return self
        for name, value in params.items():
            canonical = canonical_names().get(name, name)
            if canonical == "learning_rate" and self._told:
                self._rate = value
                continue
            if name in unknown:
                warn_user(
                    f"reset_parameter({name}={value!r}) has no effect: {unknown[name]}",
                    ResetWarning,
                )
                continue
            if self._told:
                warn_user(
                    f"reset_parameter({name}={value!r}) applies to all rounds, including earlier "
                    "ones: they are trained together.",
                    ResetWarning,
                )
            same = {n for n in self.params if canonical_names().get(n) == canonical}
            self.params = {n: v for n, v in self.params.items() if n not in same} | {name: value}
        return self

    def current_iteration(self) -> int:
        """Return the number of rounds, trained or added."""
        return int(super().current_iteration()) if self._is_ready() else len(self._told)

    def feature_importance(self, *args: Any, **kwargs: Any) -> Any:
        """Return the importance of each feature."""
        self._ready()
        return super().feature_importance(*args, **kwargs)

    def add_valid(self, data: lightgbm.Dataset, name: str) -> BoosterSession:  # type: ignore[override]
        """Add public rows with labels."""
        if self._is_ready():
            super().add_valid(data, name)
            return self
        check_dataset(data, "add_valid")
        if is_training_set(data, self._rows):
            raise RefusedError(
                "Booster.add_valid does not accept the training set: a metric of private rows is a "
                "separate query. eval_train() returns nan for it."
            )
        self._sets.append(data)
        self.name_valid_sets.append(name)
        return self

    def eval(self, data: lightgbm.Dataset, name: str, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate public rows, once the rounds are trained."""
        self._ready(planned=True)
        return super().eval(data, name, feval)

    def eval_valid(self, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Evaluate the evaluation sets, once the rounds are trained."""
        self._ready(planned=True)
        return super().eval_valid(feval)

    def eval_train(self, feval: Any = None) -> list[Any]:  # type: ignore[override]
        """Return ``nan`` for each metric, once the rounds are trained."""
        self._ready(planned=True)
        return super().eval_train(feval)
