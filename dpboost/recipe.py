"""A recipe: a frozen bundle of strategies over the one engine, found by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from dpboost._validation import check_choice, check_integer, check_real, refuse
from dpboost.boosting.loop import BoostingLoop
from dpboost.losses import Loss
from dpboost.tree.selectors import SELECTIONS


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What the user has set; ``None`` leaves a value to the recipe's rule.

    Parameters
    ----------
    n_estimators : int, optional
        Number of trees.
    learning_rate : float, optional
        Shrinkage, in (0, 1].
    max_depth : int, optional
        Levels of internal nodes, 0 to 12.
    reg_lambda : float, optional
        L2 regularisation of gains and leaves, greater than 0.
    max_bin : int, optional
        Bins of a numeric feature, 2 to 255.
    trees_per_ensemble : int, optional
        Trees that share the rows of one ensemble.
    selection : {"exponential", "permute_and_flip"}, optional
        Mechanism of the split choice.
    """

    n_estimators: int | None = None
    learning_rate: float | None = None
    max_depth: int | None = None
    reg_lambda: float | None = None
    max_bin: int | None = None
    trees_per_ensemble: int | None = None
    selection: str | None = None

    def validate(self, owner: str) -> None:
        """Raise ``InvalidParameterError`` for a value outside its interval."""
        integers = {
            "n_estimators": (1, 100_000),
            "max_depth": (0, 12),
            "max_bin": (2, 255),
            "trees_per_ensemble": (1, 100_000),
        }
        for name, (low, high) in integers.items():
            value = getattr(self, name)
            if value is not None:
                check_integer(name, owner, value, low=low, high=high)
        if self.learning_rate is not None:
            check_real("learning_rate", owner, self.learning_rate, low=0, high=1, low_open=True)
        if self.reg_lambda is not None:
            check_real("reg_lambda", owner, self.reg_lambda, low=1e-6, high=1e12)
        if self.selection is not None:
            check_choice("selection", owner, self.selection, tuple(SELECTIONS))

    def filled(self, defaults: Hyperparameters) -> Hyperparameters:
        """Return these values with ``defaults`` in the place of every None."""
        values = {}
        for field in fields(self):
            own = getattr(self, field.name)
            values[field.name] = getattr(defaults, field.name) if own is None else own
        return Hyperparameters(**values)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An algorithm as strategies of the engine.

    Parameters
    ----------
    name : str
        What users write in ``recipe=``.
    hyperparameters : Hyperparameters
        All values used; those that the user left open are filled by the recipe's rule, which
        sees public inputs only.
    loop : BoostingLoop
        The strategies.
    """

    name: str
    hyperparameters: Hyperparameters
    loop: BoostingLoop


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An entry of the registry.

    Parameters
    ----------
    name : str
        What users write in ``recipe=``.
    defaults : Hyperparameters
        The recipe's rule for values that the user leaves open.
    build : callable
        ``build(hyperparameters, loss, n_threads)`` gives the loop for filled hyper-parameters.
    """

    name: str
    defaults: Hyperparameters
    build: Callable[[Hyperparameters, Loss, int], BoostingLoop]

    def recipe(self, request: Hyperparameters, loss: Loss, n_threads: int) -> Recipe:
        """Build the recipe for a request."""
        filled = request.filled(self.defaults)
        loop = self.build(filled, loss, n_threads)
        return Recipe(name=self.name, hyperparameters=filled, loop=loop)


class Registry:
    """Algorithms by name."""

    def __init__(self, *algorithms: Algorithm) -> None:
        self._algorithms = {algorithm.name: algorithm for algorithm in algorithms}

    @property
    def names(self) -> tuple[str, ...]:
        """Names that ``recipe=`` accepts."""
        return tuple(self._algorithms)

    def find(self, name: str, owner: str) -> Algorithm:
        """Return the algorithm of this name, or raise with the names there are."""
        if not isinstance(name, str) or name not in self._algorithms:
            raise refuse("recipe", owner, "one of " + ", ".join(map(repr, self.names)), name)
        return self._algorithms[name]
