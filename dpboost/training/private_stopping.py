"""Early stopping by private held-out rows: noisy sums after every eighth of the rounds.

Held-out rows take part in no release of the training, and training rows in none of these releases,
so the two are charged in parallel. Proof: ``docs/proofs/early-stopping.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting.claim import STOPPING_SHARE
from dpboost.budgeting.holdout import HELD
from dpboost.data.labels import encode_classes
from dpboost.data.table import Table, read
from dpboost.growing.growth import RoundCallback
from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import handle_of
from dpboost.recipes.recipe import Setting
from dpboost.rows.loss_change import LossChange, TwiceJudged
from dpboost.schema import ResolvedSchema, Schema
from dpboost.training.fitted_model import ensemble_of
from dpboost.training.inputs import AsideRows
from dpboost.training.request import FitRequest, TrainingCallback
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.tree import Tree

#: The scope around the two sides.
DIVISION = "rows dealt by secret coins"

#: Rounds are judged so often at the most; each time takes an equal part of the charge.
MOST_LOOKS = 8
#: The change of a row's Brier score is clipped to this, that of an absolute error to an eighth of
#: the range of the labels, and that of a squared error to a sixteenth of its square.
LARGEST_CHANGE = 0.25
# Units of one standard deviation of the noise: many looks stay far below the limit of the lattice.
_UNITS_PER_SIGMA = 64 * SMALLEST_SIGMA
_ABSOLUTE = ("regression_l1", "mape", "huber", "fair")


def check_stopping(request: FitRequest) -> None:
    """Raise if rows that are held out cannot evaluate what is trained."""
    weights, continuation = request.weights, request.continuation
    given = {
        "conformal": request.conformal is not None,
        "init_model": continuation.continues,
        "init_score": continuation.given,
        "sample_weight": weights.of_rows,
        "class_weight": weights.class_weight is not None,
        "scale_pos_weight": weights.scale_pos_weight != 1.0,
        "a custom objective": request.objective.function is not None,
    }
    for name, there in given.items():
        if there:
            raise InvalidParameterError(
                f"Early stopping by the 'holdout' of {request.owner}.fit does not support "
                f"{name}: all held-out rows have equal weight in the loss. Omit one of the two, "
                "or pass public rows as eval_set."
            )


def loss_of_rows(
    ensemble: Ensemble,
    table: Table,
    labels: NDArray[Any],
    schema: ResolvedSchema,
    *,
    alpha: float,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return what each row loses by a released model; nothing where its class is not known.

    The Brier score of classes: sums and products alone, the same bits for a row whatever rows are
    beside it. Of numbers the squared error, the absolute one for objectives that are near to it,
    the quantile loss for quantiles. Labels are clipped to their bounds.
    """
    found = np.asarray(ensemble.predict(table, n_threads), dtype=np.float64)
    if schema.classes is not None:
        codes, known = encode_classes(labels, sorted(schema.classes))
        outputs = (found,) if found.ndim == 1 else found.T
        losses = np.zeros(len(labels))
        for output, probability in enumerate(outputs):
            own = codes == (1 if len(outputs) == 1 else output)
            losses += (own - probability) ** 2
        return losses * known
    assert schema.label_bounds is not None
    low, high = schema.label_bounds
    predicted = np.clip(np.nan_to_num(found, nan=(low + high) / 2), low, high)
    errors = np.clip(labels.astype(np.float64), low, high) - predicted
    name = ensemble.objective.split(" ")[0]
    if name == "quantile":
        return np.where(errors >= 0, alpha * errors, (alpha - 1) * errors)
    losses = np.abs(errors) if name in _ABSOLUTE else errors**2
    return np.asarray(losses)


@dataclass(kw_only=True, eq=False)
class StoppingRows:
    """Held-out rows that may end training; a callback of the fit.

    Privacy
    -------
    A look releases one number: by how much the rows held out lose less than at the best round so
    far, with noise. It is charged before it is drawn. Whatever follows from it, the number of
    rounds included, is a function of released numbers.
    """

    #: Private.
    rows: AsideRows
    #: Training ends where the best round is so many rounds ago.
    patience: int
    request: FitRequest
    ledger: Ledger
    n_threads: int
    #: Once training has ended: the round up to which trees are kept.
    best_iteration: int = 0
    looks: int = 0
    ended_at: int | None = None
    _trees: list[Tree] = field(default_factory=list)
    _round: int = 0

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        inner = self._inner
        found = dict(inner.facts) if inner is not None else {}
        text = f"rows held out were asked {self.looks} times"
        if self.ended_at is not None:
            text += (
                f", and ended training after {self.ended_at} of {self._n_rounds} rounds; what the "
                "others would have cost was not charged"
            )
        return found | {"early stopping": f"{text}; the best round is {self.best_iteration}"}

    @property
    def _inner(self) -> TrainingCallback | None:
        return self.request.monitor

    def check(self, schema: Schema, n_features: int, classes: Any) -> None:
        """Leave it to the callbacks: rows held out were read before."""
        if self._inner is not None:
            self._inner.check(schema, n_features, classes)

    def begin(self, setting: Setting, schema: ResolvedSchema, n_rounds: int) -> RoundCallback:
        """Prepare with released bins and start values."""
        inner = self._inner
        self._watch = None if inner is None else inner.begin(setting, schema, n_rounds)
        self._n_rounds = n_rounds
        self._every = math.ceil(n_rounds / MOST_LOOKS)
        loss = setting.loss
        self._released = ensemble_of(loss, setting.binner, trees=())
        self._schema = schema
        self._table = read(self.rows.X, schema, self.rows.reading)
        self._bound = _largest_change(loss, schema)
        # The first look is where later ones begin: nothing is asked then.
        n_looks = max(math.ceil(n_rounds / self._every) - 1, 1)
        budget = self.ledger.capacity * STOPPING_SHARE / n_looks
        self._noise = self.ledger.accountant.noise(budget)
        return self

    def before(self, index: int) -> float | None:
        """Ask the callbacks for the learning rate of the round."""
        return None if self._watch is None else self._watch.before(index)

    def after(self, trees: tuple[Tree, ...]) -> bool:
        """Take the released trees of a round, and look at the rows where it is time to."""
        self._trees += trees
        self._round += 1
        ends = self._watch is not None and self._watch.after(trees)
        last = self._round == self._n_rounds
        if self._round % self._every and not last:
            return ends
        losses = self._losses()
        if self.best_iteration == 0 or self._is_better(losses):
            self.best_iteration, self._best = self._round, losses
        stops = self._round - self.best_iteration >= self.patience
        if stops and not last:
            self.ended_at = self._round
        return ends or stops

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Take trees that are no round."""
        self._trees += trees
        if self._watch is not None:
            self._watch.correct(trees)

    def _losses(self) -> NDArray[np.float64]:
        ensemble = replace(self._released, trees=tuple(self._trees))
        alpha = self.request.objective.alpha
        return loss_of_rows(
            ensemble,
            self._table,
            self.rows.labels,
            self._schema,
            alpha=alpha,
            n_threads=self.n_threads,
        )

    def _is_better(self, losses: NDArray[np.float64]) -> bool:
        """Release the change since the best round; less than its noise is no improvement.

        Proof: docs/proofs/early-stopping.md.
        """
        source = handle_of(TwiceJudged(before=self._best, now=losses))
        query = LossChange(bound=self._bound, units=self._units())
        value = source.ask(query, self.ledger.neighbors)
        with self.ledger.beside(DIVISION, HELD, most=STOPPING_SHARE):
            found = self.ledger.release(self._noise, value, label="change of the loss")
        self.looks += 1
        return bool(found[0] > value.noise_stddev(self._noise))

    def _units(self) -> int:
        """Return what the largest change is worth: a power of two that makes the lattice fine."""
        coarse = LossChange(bound=1.0, units=SMALLEST_SIGMA).bounds(self.ledger.neighbors)
        bound = next(each for each in coarse if each.kind == self._noise.needs)
        sigma = self._noise.noise_stddev(bound) / SMALLEST_SIGMA
        return int(2 ** min(max(math.ceil(math.log2(_UNITS_PER_SIGMA / sigma)), 10), 30))


def _largest_change(loss: Any, schema: ResolvedSchema) -> float:
    """Return what the change of a row's loss is clipped to, by declared and released numbers."""
    if schema.classes is not None:
        return LARGEST_CHANGE
    assert schema.label_bounds is not None
    low, high = schema.label_bounds
    width = high - low
    spread = getattr(loss, "spread", None)
    if spread is not None:
        # In half-widths; a constant label has none.
        width *= min(max(spread / 2, 1e-6), 1.0)
    name = loss.objective.split(" ")[0]
    return width / 8 if name in (*_ABSOLUTE, "quantile") else (width / 4) ** 2
