"""Agreements: the public terms of a session for all parties and the coordinator."""

from __future__ import annotations

import datetime
import functools
import hashlib
import math
import numbers
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lightgbm.basic import LightGBMError

from dpboost._utils.validation import (
    InvalidParameterError,
    RefusedError,
    check_choice,
    check_integer,
    refuse,
)
from dpboost.federated.protocol import messages as m
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.init_model import EarlierModel, has_categories
from dpboost.model_selection.cross_validation import METRIC_SHARE
from dpboost.privacy.accounting import (
    Accountant,
    GDPAccountant,
    PureAccountant,
    ZCDPAccountant,
    for_group,
    for_part,
)
from dpboost.privacy.exact_arithmetic import Epsilon, as_budget, as_fraction, epsilon_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.schema import Schema
from dpboost.training.objective import WEIGHT_PARAMETERS, Objective, Weights
from dpboost.training.privacy_params import MOST_ROWS_PER_USER, warn_of_terms
from dpboost.training.request import Continuation

ACCOUNTANTS: dict[str, type[Accountant]] = {
    "pure": PureAccountant,
    "zCDP": ZCDPAccountant,
    "GDP": GDPAccountant,
}
MOST_PARTIES = 10_000
MOST_FOLDS = 100
SEED_BITS = 128
#: Before the fingerprint of a certificate.
FINGERPRINT = "sha256:"
_OF_NUMBERS = ("alpha", "fair_c", "tweedie_variance_power", "poisson_max_delta_step")
#: Parameters of the estimators that say what is learned.
OBJECTIVE_PARAMETERS = (
    "objective",
    *_OF_NUMBERS,
    "class_weight",
    "scale_pos_weight",
    "max_weight",
)


@dataclass(frozen=True, kw_only=True)
class AgreedFolds:
    """A cross-validation: one fit for each fold and one evaluation.

    Each party assigns its rows to folds once, by a secret random draw. A row takes part in all fits
    except that of its fold, and the model of that fold is evaluated on it. All of them together
    use the budget of the agreement, and each has a fraction. ``part`` is the subject of the terms
    of one: the fit without the rows of this fold, or the evaluation if it equals ``n_folds``. It is
    None in the agreement, which covers all of them.
    """

    n_folds: int
    metrics: tuple[str, ...]
    part: int | None = None

    def __post_init__(self) -> None:
        owner = "AgreedFolds"
        check_integer("n_folds", owner, self.n_folds, low=2, high=MOST_FOLDS)
        if self.part is not None:
            check_integer("part", owner, self.part, low=0, high=self.n_folds)
        metrics = self.metrics
        if not isinstance(metrics, tuple) or not all(type(name) is str for name in metrics):
            raise refuse("metrics", owner, "a tuple of names", metrics)

    @property
    def is_evaluation(self) -> bool:
        """Whether terms are those of the evaluation."""
        return self.part == self.n_folds

    @property
    def share(self) -> tuple[Fraction, int]:
        """Part of the budget that the part may use, and the number of the fits."""
        share = METRIC_SHARE if self.is_evaluation else (1 - METRIC_SHARE) / (self.n_folds - 1)
        return share, self.n_folds


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Public terms of a federated fit; every data holder reads and approves them.

    Parameters
    ----------
    n_parties : int
        Data holders, at least 2.
    features : tuple of str
        Names of the columns, in the order in which every party gives them.
    schema : dict
        ``Schema.to_dict()``: bounds or categories of all columns, classes or label bounds.
        Nothing is assumed and nothing learned from column types: the parties may differ in them.
    task : {"classification", "regression"}
        Kind of the labels.
    objective : dict
        What is learned, where it is not the default of the task: ``objective``, ``alpha``,
        ``class_weight``, ``max_weight`` and the like, as of the estimators.
    weighted : bool
        Whether every party gives weights of its rows, which are clipped to ``max_weight``.
    recipe : str
        The algorithm.
    epsilon : Fraction, float or inf
        Budget of the fit, of every party's own ledger as well.
    delta : Fraction or float
        Probability of failure.
    rows_per_user : int, optional
        Protects individuals instead of rows: so many rows of each take part at a party, of which a
        party itself sees to it.
    parties_per_user : int
        At how many parties a person may have rows. That no person has rows at more is declared:
        no one can look.
    accountant : {"pure", "zCDP", "GDP"}
        Currency of the ledgers.
    neighbors : {"add_remove", "replace"}
        The relation, of the rows of one party.
    colluding : int
        How many parties, ``1 <= colluding < n_parties``, may pool all that they know without harm
        to the guarantee of the rest: ``n_parties - colluding`` shares of the noise carry all of
        it. All parties see all sums: 1 is a party that subtracts its own share.
    dropouts : int
        Parties that may be lost on the way, ``colluding + dropouts < n_parties``; the noise of
        the rest is still all of it. With 0 a missing party ends the fit. More cost each
        release three exchanges (`federated.secagg.release_masks`). A lost party takes part again
        from the next release on, once it has taken in the sums that it has missed.
    rolled_back : int
        With ``dropouts`` and ``identities``: so many parties may be started again from an older
        copy of their records without harm to the masks of the others.
    threshold : int, optional
        With ``dropouts``: as many parties as take the masks off a sum, of those that have
        answered; the others may be lost meanwhile. ``colluding < threshold <= n_parties -
        dropouts``, and with ``identities`` more than half of ``n_parties + colluding +
        rolled_back``, so that no coordinator gets two different sums. By default the least number
        above that half, or ``n_parties - dropouts`` if this is less.
    hyper : dict
        Public parameters of the recipe, by name.
    init_model : str, optional
        Text of a released model that the fit continues: each party finds the scores of its own
        rows by it, the trees go before the new ones, and the budgets add up.
    folds : AgreedFolds, optional
        Of a cross-validation: one session of a fit for each fold and metrics, which share the
        budget.
    public_seed : int
        Seed of public randomness, such as random partitions; 128 fresh bits by default.
    identities : tuple of str
        Public Ed25519 keys of the parties in hexadecimal, by their numbers; ``()`` without any.
        The keys of the masks are then relayed unsigned, and the guarantee against the
        coordinator holds only where it follows the protocol (honest but curious).
    coordinator : str
        Whom parties on a network connect to and no one else: the name in the coordinator's
        certificate, or ``"sha256:"`` and the SHA-256 of the certificate.
    noise_seed : int, optional
        For tests and benchmarks: the shares of the noise add up to what one process would draw
        from this seed. Nothing is private then.
    nonce : str
        Makes each agreement another one, so that one is for one session; fresh by default.
    date : str
        Of the agreement; today by default.

    Raises
    ------
    InvalidParameterError
        For a value outside its domain.

    Privacy
    -------
    Made of public values only, before any row is read.

    Examples
    --------
    >>> from dpboost import Schema
    >>> schema = Schema(bounds={"age": (0, 100)}, classes=[0, 1])
    >>> terms = Agreement(
    ...     n_parties=2, features=("age",), schema=schema.to_dict(), recipe="noisy_counts"
    ... )
    >>> terms.colluding, terms.dropouts
    (1, 0)
    >>> from dataclasses import replace
    >>> replace(terms, n_parties=10, dropouts=2).threshold
    6
    """

    n_parties: int
    features: tuple[str, ...]
    schema: dict[str, Any] = field(default_factory=dict)
    task: str = "classification"
    objective: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    recipe: str = "best"
    epsilon: Epsilon = epsilon_of(Fraction(1))
    delta: Fraction = Fraction(0)
    rows_per_user: int | None = None
    parties_per_user: int = 1
    accountant: str = "pure"
    neighbors: str = "add_remove"
    colluding: int = 1
    dropouts: int = 0
    rolled_back: int = 0
    threshold: int | None = None
    hyper: dict[str, Any] = field(default_factory=dict)
    init_model: str | None = None
    folds: AgreedFolds | None = None
    public_seed: int = field(default_factory=lambda: secrets.randbits(SEED_BITS))
    identities: tuple[str, ...] = ()
    coordinator: str = ""
    noise_seed: int | None = None
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())

    def __post_init__(self) -> None:
        owner = "Agreement"
        check_integer("n_parties", owner, self.n_parties, low=2, high=MOST_PARTIES)
        check_integer("colluding", owner, self.colluding, low=1, high=self.n_parties - 1)
        most = self.n_parties - 1 - self.colluding
        check_integer("dropouts", owner, self.dropouts, low=0, high=most)
        high = self.n_parties if self.dropouts and self.identities else 0
        check_integer("rolled_back", owner, self.rolled_back, low=0, high=high)
        for name in ("nonce", "date"):
            text = getattr(self, name)
            if type(text) is not str or not 0 < len(text) <= m.LONGEST_TEXT:
                raise refuse(name, owner, f"text of 1 to {m.LONGEST_TEXT} characters", text)
        if type(self.coordinator) is not str:
            raise refuse("coordinator", owner, "a name, or 'sha256:...'", self.coordinator)
        object.__setattr__(self, "threshold", self._checked_threshold(owner))
        check_integer("public_seed", owner, self.public_seed, low=0)
        check_choice("task", owner, self.task, ("classification", "regression"))
        check_choice("accountant", owner, self.accountant, tuple(ACCOUNTANTS))
        choices = tuple(relation.value for relation in Neighbors)
        check_choice("neighbors", owner, self.neighbors, choices)
        if self.noise_seed is not None:
            check_integer("noise_seed", owner, self.noise_seed, low=0)
        if self.identities and len(self.identities) != self.n_parties:
            raise refuse("identities", owner, "one key for each party, or ()", self.identities)
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "identities", tuple(self.identities))
        object.__setattr__(self, "epsilon", as_budget("epsilon", owner, self.epsilon))
        object.__setattr__(self, "delta", as_fraction("delta", owner, self.delta))
        if not 0 <= self.delta < 1:
            raise refuse("delta", owner, "in [0, 1)", self.delta)
        self._check_users(owner)
        if type(self.weighted) is not bool:
            raise refuse("weighted", owner, "True or False", self.weighted)
        # One form of the parts, so that equal agreements have equal digests.
        given = self.objective
        _learned(given, self.task, owner, weighted=self.weighted)
        learned = {name: value for name, value in sorted(given.items()) if value is not None}
        learned = {name: _plain(value, owner) for name, value in learned.items()}
        object.__setattr__(self, "objective", learned)
        checked = Schema.from_dict(self.schema)
        checked.resolve(self.features)
        object.__setattr__(self, "schema", checked.to_dict())
        if not isinstance(self.folds, AgreedFolds | None):
            raise refuse("folds", owner, "None or AgreedFolds", type(self.folds).__name__)
        if self.init_model is not None:
            _check_continued(self.init_model, self.features, self.listed, owner)
            self.continuation.check_unit(self.neighbors, self.rows_of_user, owner)

    def _checked_threshold(self, owner: str) -> int | None:
        """Return as many parties as open a mask, or None if none is ever opened."""
        if not self.dropouts:
            if self.threshold is not None:
                raise refuse("threshold", owner, "None without 'dropouts'", self.threshold)
            return None
        safe = (self.n_parties + self.colluding + self.rolled_back) // 2 + 1
        least = safe if self.identities else self.colluding + 1
        most = self.n_parties - self.dropouts
        if most < least:
            must = (
                f"at most {max(self.n_parties - least, 0)} where 'identities' are listed, so that "
                "those that remain are more than half of n_parties + colluding + rolled_back"
            )
            raise refuse("dropouts", owner, must, self.dropouts)
        if self.threshold is None:
            return min(safe, most)
        return check_integer("threshold", owner, self.threshold, low=least, high=most)

    def _check_users(self, owner: str) -> None:
        most = self.n_parties if self.rows_per_user is not None else 1
        check_integer("parties_per_user", owner, self.parties_per_user, low=1, high=most)
        if self.rows_per_user is not None:
            # At most a thousandth of a budget is for one row.
            high = MOST_ROWS_PER_USER // self.parties_per_user
            check_integer("rows_per_user", owner, self.rows_per_user, low=1, high=high)

    @property
    def rows_of_user(self) -> int | None:
        """Maximum rows of a person at all parties together; None if rows are protected."""
        each = self.rows_per_user
        return None if each is None else each * self.parties_per_user

    @property
    def honest(self) -> int:
        """Parties whose shares of the noise carry all of it."""
        return self.n_parties - self.colluding - self.dropouts

    @property
    def noise_variance_ratio(self) -> float:
        """Variance of the noise of a sum, in parts of what is charged for; from a seed none is."""
        return self.n_parties / self.honest if self.noise_seed is None else 1.0

    @property
    def relation(self) -> Neighbors:
        """The relation."""
        return Neighbors(self.neighbors)

    @property
    def continued(self) -> EarlierModel | None:
        """The model that the fit continues."""
        return None if self.init_model is None else continued_model(self.init_model)

    @property
    def continuation(self) -> Continuation:
        """The model that the fit continues, as it is asked of a fit."""
        return Continuation(earlier=self.continued)

    @property
    def learns(self) -> Objective:
        """What a model learns."""
        return self._learned[0]

    @property
    def weights(self) -> Weights:
        """How rows and classes count."""
        return self._learned[1]

    @property
    def _learned(self) -> tuple[Objective, Weights]:
        return _learned(self.objective, self.task, "Agreement", weighted=self.weighted)

    @functools.cached_property
    def declared(self) -> Schema:
        """The schema, with the label bounds that belong to the objective."""
        return self.learns.completed(Schema.from_dict(self.schema))

    @functools.cached_property
    def listed(self) -> dict[int, list[Any]]:
        """Columns that are read by position in their list of categories: those of text."""
        categories = self.declared.resolve(self.features).categories
        return {
            position: list(values)
            for position, values in categories.items()
            if any(isinstance(value, str) for value in values)
        }

    @functools.cached_property
    def digest(self) -> bytes:
        """SHA-256 of the terms: what the parties accept, and what their masks are bound to."""
        return hashlib.sha256(m.encode(self)).digest()

    def entropy(self) -> Entropy:
        """Return a source of secret bits for a ledger, or the seeded one that is not private."""
        return Entropy.secure() if self.noise_seed is None else Entropy.seeded(self.noise_seed)

    def ledger(self, entropy: Entropy | None = None, whole: Ledger | None = None) -> Ledger:
        """Open a ledger of these terms; that of a part of a cross-validation in that of all."""
        accountant, folds = ACCOUNTANTS[self.accountant](), self.folds
        if folds is not None and folds.part is not None:
            accountant = for_part(accountant, *folds.share, self.delta)
        accountant = for_group(accountant, self.rows_of_user or 1)
        own = self.entropy() if entropy is None else entropy
        if folds is not None and whole is not None:
            if folds.is_evaluation:
                return whole.part("metrics", accountant=accountant, entropy=own)
            with whole.folds("fits", folds.n_folds):
                return whole.part(f"fold {folds.part}", accountant=accountant, entropy=own)
        return Ledger(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.relation,
            accountant=accountant,
            entropy=own,
        )

    def to_json(self) -> str:
        """Return the terms as text, for the data holders to read and keep."""
        return m.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Agreement:
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidParameterError
            If the text is something else.
        """
        content = text.encode()
        try:
            # It is no message, and texts of large models may make it longer than one.
            return m.decode(content, cls, max(len(content), m.MOST_BYTES))
        except m.MalformedMessageError as error:
            raise InvalidParameterError("The text is not an agreement of this version.") from error

    def warn(self) -> None:
        """Say what the terms do not give, at the user's own line, as a fit of one table does."""
        seeded = self.noise_seed is not None
        warn_of_terms(self.epsilon, self.relation, self.declared, self.task, seeded=seeded)
        self.continuation.warn_if_not_private()


# -- what is learned -------------------------------------------------------------------------------


def _learned(
    given: Mapping[str, Any], task: str, owner: str, *, weighted: bool
) -> tuple[Objective, Weights]:
    """Return what is to be learned, checked."""
    if not isinstance(given, Mapping) or not set(given) <= set(OBJECTIVE_PARAMETERS):
        must = f"a dict with keys among {OBJECTIVE_PARAMETERS}"
        raise refuse("objective", owner, must, given)
    if callable(given.get("objective")):
        raise RefusedError(
            f"The 'objective' parameter of {owner} must be the name of one of LightGBM's "
            "objectives: parties run no code of others."
        )
    for name in _OF_NUMBERS:
        if task != "regression" and given.get(name) is not None:
            raise refuse(name, owner, "None in a classification", given[name])
    if weighted and given.get("max_weight") is None:
        must = "the public bound of the weights: parties agree upon it first"
        raise refuse("max_weight", owner, must, None)
    set_by_user = {name: value for name, value in given.items() if value is not None}
    of_weights = {name: set_by_user.pop(name) for name in WEIGHT_PARAMETERS if name in set_by_user}
    objective = Objective.validated(owner, task=task, **set_by_user)
    return objective, Weights.validated(owner, task=task, of_rows=weighted, **of_weights)


def _plain(value: Any, owner: str) -> Any:
    """Return a checked parameter as text, number, tuple or dict: one form of equal terms."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        weights = {_label(label, owner): float(weight) for label, weight in value.items()}
        return dict(sorted(weights.items(), key=lambda item: (str(type(item[0])), item[0])))
    if isinstance(value, numbers.Real):
        return float(value)
    return tuple(map(float, value))


def _label(label: Any, owner: str) -> int | str:
    """Return a class as it can be sent."""
    if isinstance(label, str):
        return str(label)
    number = float(label) if isinstance(label, numbers.Real) else math.nan
    if number.is_integer() and abs(number) < 2**31:
        return int(number)
    must = "a dict whose keys are text or whole numbers below 2^31"
    raise refuse("class_weight", owner, must, label)


# -- a released model that is continued: a text that all parties have ------------------------------


def text_of_model(init_model: Any, classes: Sequence[Any] | None) -> str | None:
    """Return the text of what ``fit`` takes as ``init_model``, a model of these classes."""
    if init_model is None:
        return None
    earlier = EarlierModel.of(init_model)
    known = earlier.classes
    if known is not None and classes is not None and list(known) != sorted(classes):
        raise InvalidParameterError(
            "The 'init_model' parameter of fit must be a model of the same classes: its own "
            f"are {list(known)}."
        )
    return str(earlier.booster.model_to_string(num_iteration=-1))


@functools.lru_cache(maxsize=8)
def continued_model(text: str) -> EarlierModel:
    """Read the text of an agreement, once in a process."""
    try:
        return EarlierModel.of(Booster(model_str=text))
    except LightGBMError as error:
        raise InvalidParameterError(
            "The 'init_model' of an agreement must be a model text."
        ) from error


def _check_continued(
    text: Any, features: Sequence[str], listed: Mapping[int, Sequence[Any]], owner: str
) -> None:
    """Raise for what is no text of a model, and for one of other columns or categories."""
    if not isinstance(text, str):
        raise refuse("init_model", owner, "None or a model text", type(text).__name__)
    booster = continued_model(text).booster
    if booster.num_feature() != len(features):
        raise InvalidParameterError(
            f"The 'init_model' of {owner} must be a model of its {len(features)} features, not of "
            f"{booster.num_feature()}."
        )
    if not has_categories(booster, listed):
        raise InvalidParameterError(
            f"The 'init_model' of {owner} must be a model of the categories in its schema, in "
            "their order: list those of text by Schema(categories=...)."
        )


m.known("folds", AgreedFolds)
m.known("agreement", Agreement)
