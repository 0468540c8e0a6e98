"""The model in training that callbacks receive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import lightgbm

from dpboost._utils.validation import RefusedError, check_real
from dpboost._utils.warnings import warn_user
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.parameters import (
    OF_THE_GUARANTEE,
    RANGES,
    ParameterWarning,
    canonical_names,
    check_names,
)
from dpboost.trees.ensemble import Ensemble

#: LightGBM's callback that resets parameters, whatever its arguments.
RESETTING: Any = type(lightgbm.reset_parameter())
#: What LightGBM does not let change during training, and the objective, which is part of the model.
FIXED = ("num_class", "boosting", "metric", "objective")


class ResetWarning(ParameterWarning):
    """A callback requests a change that is not made; shown at every verbosity."""

    even_silent = True


class TrainingBooster(Booster):
    """A Booster of the rounds released so far.

    It is built on first access, and again after another round. Attributes that LightGBM's
    constructor would set are those of the built one.

    Parameters
    ----------
    released : callable
        Returns the released rounds.
    owner : str
        Name of the caller in messages.

    Attributes
    ----------
    learning_rate : float or None
        What a callback has set for the rounds to come.

    Privacy
    -------
    Holds released values alone.
    """

    def __init__(self, released: Callable[[], Ensemble], owner: str) -> None:
        # LightGBM's constructor is not called: it would need a model before the first round.
        self._released = released
        self._owner = owner
        self._built: Booster | None = None
        self.learning_rate: float | None = None
        self._told: set[str] = set()
        self.best_iteration = 0
        self.best_score: dict[str, Any] = {}
        self.set_train_data_name("training")
        self._own = frozenset(self.__dict__)

    @property
    def attributes(self) -> dict[str, Any]:
        """What callbacks have set beyond the attributes of a Booster in training."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in self._own and not name.startswith("_")
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_released" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._current(), name)

    def _current(self) -> Booster:
        """Return a Booster of all released rounds."""
        if self._built is None:
            self._built = Booster.of_ensemble(self._released())
        return self._built

    def grow(self) -> None:
        """Take note of another released round."""
        self._built = None

    def __del__(self) -> None:
        """Leave the handle to the Booster that it belongs to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Booster, (None, None, None, self._current().model_to_string(num_iteration=-1))

    def __deepcopy__(self, *args: Any, **kwargs: Any) -> Booster:
        return Booster.of_ensemble(self._released())

    def reset_parameter(self, params: Mapping[str, Any]) -> TrainingBooster:  # type: ignore[override]
        """Set the learning rate of the rounds to come.

        Parameters
        ----------
        params : mapping
            ``learning_rate``, under any of LightGBM's names. What else LightGBM lets change stays
            as it is, with a warning.

        Returns
        -------
        TrainingBooster
            This one.

        Raises
        ------
        InvalidParameterError
            For what LightGBM does not let change either, and for what the guarantee rests on.

        Warns
        -----
        ParameterWarning
            Once for each parameter without effect, whatever the verbosity.
        """
        unknown = check_reset(params)
        for name, value in params.items():
            if canonical_names().get(name) == "learning_rate":
                largest = RANGES["learning_rate"][1]
                rate = check_real(name, self._owner, value, low=0.0, low_open=True)
                self.learning_rate = min(rate, largest)
                if rate <= largest or name in self._told:
                    continue
                message = f"reset_parameter({name}={value!r}) counts as {largest:g}."
            elif name in self._told:
                continue
            elif name in unknown:
                message = f"reset_parameter({name}={value!r}) has no effect: {unknown[name]}"
            else:
                message = (
                    f"reset_parameter({name}={value!r}) has no effect: the charges and the "
                    "growth of all rounds are fixed before training. Only the learning rate of a "
                    "round can change; set other parameters for all rounds."
                )
            self._told.add(name)
            warn_user(message, ResetWarning)
        return self


def check_reset(names: Iterable[str]) -> dict[str, str]:
    """Raise for parameters that `reset_parameter` may not set.

    Parameters
    ----------
    names : iterable of str
        Of LightGBM, or of ours.

    Returns
    -------
    dict of str to str
        What to say about unknown names; LightGBM continues after a warning about them.
    """
    unknown: dict[str, str] = {}
    for name in names:
        if name in OF_THE_GUARANTEE or canonical_names().get(name) in FIXED:
            raise RefusedError(
                f"reset_parameter cannot set {name!r}: the objective and the charges are fixed "
                "before training. Set it in the parameters of the fit."
            )
        for line in check_names([name], (), "reset_parameter"):
            unknown[name] = line
    return unknown
