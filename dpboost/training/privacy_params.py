"""Privacy parameters of a fit, and checks of the noise scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
    worded,
)
from dpboost._utils.warnings import (
    PrivacyWarning,
    is_quiet,
    warn_user,
)
from dpboost.budgeting.claim import Claim, add_fit
from dpboost.data.table import ColumnFacts
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.privacy.accounting import Accountant, UnsupportedReleaseError, for_group, for_part
from dpboost.privacy.exact_arithmetic import (
    Epsilon,
    PrivacyCost,
    as_budget,
    as_fraction,
    epsilon_of,
)
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.recording import is_replay
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Given, PublicFacts, Recipe
from dpboost.schema import DictionarySchema, Schema
from dpboost.training.objective import Objective
from dpboost.training.public_schema import ASSUMPTIONS

# Beyond this epsilon a guarantee says next to nothing.
LARGE_EPSILON = 20
# The budget of a row is at most a thousandth of that of its user.
MOST_ROWS_PER_USER = 1000


class NotPrivateWarning(PrivacyWarning):
    """The model has no guarantee, because of the user's choice of parameters."""


class LargeEpsilonWarning(PrivacyWarning):
    """The guarantee is nearly meaningless, because epsilon is very large."""


class LargeDeltaWarning(PrivacyWarning):
    """Delta is large for the released number of rows, so the guarantee may fail for some row."""


class PublicSizeWarning(PrivacyWarning):
    """The number of rows is not protected, because neighboring tables have equal size."""


@dataclass(frozen=True, kw_only=True)
class PrivacyRequest:
    """The validated privacy parameters of the user."""

    #: Budget of the fit; infinite for no privacy.
    epsilon: float
    #: Probability that the guarantee may fail, in [0, 1).
    delta: float
    #: What "one person more or less" means.
    neighbors: Neighbors
    schema: Schema
    #: What is taken as public by assumption.
    assume_public: tuple[str, ...]
    #: Reproducible noise; the model is then not private.
    noise_seed: int | None
    #: Maximum rows of a user that take part; the guarantee is then for all rows of a user.
    rows_per_user: int | None = None
    #: The fit is one of so many that share the budget, and may use this share of it.
    part: tuple[Fraction, int] | None = None
    #: The fit is in the records of a budget; epsilon and delta are those of the whole.
    claim: Claim | None = None

    @classmethod
    def validated(
        cls,
        owner: str,
        *,
        epsilon: Any,
        delta: Any,
        neighbors: Any,
        schema: Any,
        assume_public: Any,
        noise_seed: Any,
        rows_per_user: Any = None,
        part: tuple[Fraction, int] | None = None,
        claim: Claim | None = None,
    ) -> PrivacyRequest:
        """Check every part, or raise ``InvalidParameterError``."""
        relation = check_choice(
            "neighbors", owner, neighbors, tuple(member.value for member in Neighbors)
        )
        listed = isinstance(assume_public, (tuple, list, set, frozenset))
        if not listed or not all(name in ASSUMPTIONS for name in assume_public):
            raise InvalidParameterError(
                f"The 'assume_public' parameter of {owner} must be a tuple of names among "
                f"{ASSUMPTIONS}. Got {assume_public!r} instead."
            )
        if noise_seed is not None:
            check_integer("noise_seed", owner, noise_seed, low=0)
        if rows_per_user is not None:
            check_integer("rows_per_user", owner, rows_per_user, low=1, high=MOST_ROWS_PER_USER)
        return cls(
            epsilon=check_real("epsilon", owner, epsilon, low=0, low_open=True, infinite=True),
            delta=check_real("delta", owner, delta, low=0, high=1, high_open=True),
            neighbors=Neighbors(relation),
            schema=Schema.coerce(schema),
            assume_public=tuple(assume_public),
            noise_seed=noise_seed,
            rows_per_user=rows_per_user,
            part=part,
            claim=claim,
        )

    def settled(self, accountant: Callable[[float, float], Accountant]) -> PrivacyRequest:
        """Return the request once the recipe is known, whose accountant a claim needs."""
        return self if self.claim is None else replace(self, claim=self.claim.settled(accountant))

    def refuse_epsilon(self, owner: str, least: float, what: str) -> InvalidParameterError:
        """Build the error about an epsilon below the least that a fit can work with.

        Parameters
        ----------
        least : float
            In the terms of `row_epsilon`.
        what : str
            On what it depends.
        """
        why = f"for this {what}, so that every release can be drawn exactly"
        if self.claim is None:
            least *= self.epsilon / self.row_epsilon
            return refuse("epsilon", owner, f"at least {least:.2g} {why}", self.epsilon)
        least *= (self.rows_per_user or 1) / float(1 if self.part is None else self.part[0])
        must = f"so large a part of the budget that its epsilon is at least {least:.2g} {why}"
        return refuse("fraction", owner, must, float(self.claim.fraction))

    @property
    def row_epsilon(self) -> float:
        """About the epsilon that one row of one fit may use, for rules and limits."""
        share = 1.0 if self.part is None else float(self.part[0])
        whole = self.epsilon if self.claim is None else self.claim.epsilon
        return whole * share / (self.rows_per_user or 1)

    @property
    def histogram_delta(self) -> Fraction | None:
        """What one stability histogram may take of a budget's delta; None without a budget."""
        if self.claim is None:
            return None
        return self.claim.histogram_delta / (1 if self.part is None else self.part[1])

    @property
    def learning_delta(self) -> float:
        """Delta that stability histograms may take a part of: none where they would not hide."""
        return 0.0 if self._hides_no_names else self.delta

    @property
    def why_no_names(self) -> str:
        """Why there is none, for messages."""
        if self._hides_no_names:
            return "several rows of one individual in the periods of a budget"
        return "delta=0"

    @property
    def _hides_no_names(self) -> bool:
        return self.claim is not None and self.claim.learns_no_names

    @property
    def whole(self) -> tuple[Epsilon, Fraction]:
        """Epsilon and delta of the ledger: of the fit, or of all that is under one budget."""
        if self.claim is not None:
            return epsilon_of(self.claim.budget.epsilon), self.claim.budget.delta
        return (
            as_budget("epsilon", "fit", self.epsilon),
            as_fraction("delta", "fit", self.delta),
        )

    @property
    def granted(self) -> Accountant | None:
        """Accountant of the part of a budget that a settled claim may use, for one row."""
        return None if self.claim is None else self.claim.accountant

    def accountant(self, recipe: Recipe) -> Accountant:
        """Return the recipe's accountant, for the unit that is protected."""
        accountant = self.granted or recipe.accountant(self.epsilon, self.delta)
        if self.part is not None:
            accountant = for_part(accountant, *self.part, self.whole[1])
        return for_group(accountant, self.rows_per_user or 1)

    @property
    def declared(self) -> str:
        """Names of the parts of the schema that the user declares, for the report."""
        values = {part.name: getattr(self.schema, part.name) for part in fields(Schema)}
        if not any(values["categories"].values()):
            values["categories"] = {}
        given = [name for name, value in values.items() if value not in (None, {}, ())]
        if isinstance(self.schema, DictionarySchema) and self.schema.dictionary.types_alone:
            given.append("column types")
        return ", ".join(given) or "nothing"

    @property
    def facts(self) -> dict[str, str]:
        """Which budget the fit belongs to, for the report."""
        return {} if self.claim is None else {"budget": self.claim.fact}

    @property
    def budget_record(self) -> dict[str, Any] | None:
        """Terms and lines of the budget that the fit belongs to, for the certificate."""
        return None if self.claim is None else self.claim.record()

    @property
    def entropy(self) -> Entropy:
        """Source of all secret bits of the fit."""
        return Entropy.secure() if self.noise_seed is None else Entropy.seeded(self.noise_seed)

    def ledger(self, accountant: Accountant) -> Ledger:
        """Open the ledger: the only way from private to released numbers.

        Raises
        ------
        BudgetExceededError
            If the budget, where the fit takes a part of one, has less left.
        """
        epsilon, delta = self.whole
        ledger = Ledger(
            epsilon=epsilon,
            delta=delta,
            neighbors=self.neighbors,
            accountant=accountant,
            entropy=self.entropy,
            histogram_delta=self.histogram_delta,
        )
        if self.claim is not None:
            # Last: a mistake above costs nothing, and nothing was drawn so far.
            self.claim.reserve()
        return ledger


def warn_of_request(privacy: PrivacyRequest, task: str) -> None:
    """Say what the user's parameters do not give, at the user's own line.

    Parameters
    ----------
    task : {"regression", "classification"}

    Warns
    -----
    NotPrivateWarning
        If there is no guarantee.
    LargeEpsilonWarning, PublicSizeWarning
        Where the guarantee means little, or less than by default.
    ParameterWarning
        Where the schema declares what has no effect.
    """
    warn_of_terms(
        epsilon_of(privacy.epsilon),
        privacy.neighbors,
        privacy.schema,
        task,
        seeded=privacy.noise_seed is not None,
    )


def warn_of_sum(privacy: PrivacyRequest, columns: ColumnFacts) -> None:
    """Add what a fit may use to what others spent on tables with the same columns.

    Those under a budget are in its records, and a fit that is one of several counts with them.
    """
    outside = privacy.claim is None and privacy.part is None and privacy.noise_seed is None
    if outside and not is_quiet() and not is_replay():
        add_fit(columns.key, float(privacy.epsilon), float(privacy.delta))


def warn_of_terms(
    epsilon: Epsilon, neighbors: Neighbors, schema: Schema, task: str, *, seeded: bool
) -> None:
    """Say what the terms of a fit do not give, and which parts of a schema mean nothing to it.

    Parameters
    ----------
    task : {"regression", "classification"}
    seeded : bool
        Whether the noise comes from a seed.
    """
    if warn_if_not_private(epsilon, seeded=seeded):
        warn_of_epsilon(epsilon)
        if neighbors is Neighbors.REPLACE:
            warn_user(
                "neighbors='replace' protects the content of a row but not its presence: the "
                "number of rows may be known. Use 'add_remove' to protect both.",
                PublicSizeWarning,
            )
    idle, kind = ("classes", "regression")
    if task != "regression":
        idle, kind = ("label_bounds", "classification")
    if getattr(schema, idle) is not None:
        meant = "classifier" if kind == "regression" else "regressor"
        warn_user(
            worded(
                f"Schema({idle}=...) has no effect on a {kind}: leave it out, or use a {meant}.",
                f"The declaration of the target ({idle}) in the schema has no effect on a {kind}: "
                "remove it, or change --task.",
            ),
            ParameterWarning,
        )


def warn_of_epsilon(epsilon: Epsilon) -> None:
    """Warn of an epsilon that gives almost no protection."""
    if epsilon > LARGE_EPSILON and epsilon != math.inf:
        warn_user(
            f"epsilon={float(epsilon):g} gives almost no protection: one row may make an outcome "
            f"exp({float(epsilon):g}) times as likely. Use at most {LARGE_EPSILON}; about 1 is a "
            "strong guarantee.",
            LargeEpsilonWarning,
        )


def warn_of_delta(ledger: Ledger, n_rows: float) -> None:
    """Warn if delta would allow a mechanism to publish whole rows.

    Parameters
    ----------
    n_rows : float
        Released; at most the number of rows where they are weighted.
    """
    used = ledger.accountant.name != "pure" or ledger.delta_spent > 0
    if used and ledger.epsilon != math.inf and ledger.delta * Fraction(n_rows) > 1:
        warn_user(
            f"delta={float(ledger.delta):g} is more than one over the released number of rows: a "
            "mechanism that publishes a random row would satisfy it. Use a delta well below one "
            "over the number of rows.",
            LargeDeltaWarning,
        )


def warn_of_budget(
    privacy: PrivacyRequest, recipe: str, *, spent_on: PrivacyCost, needed: float
) -> None:
    """Warn if noise exceeds every leaf value for any rows, and suggest an epsilon.

    Parameters
    ----------
    spent_on : Fraction or inf
        Remaining budget for the trees.
    needed : float
        Budget at which the noise of a leaf equals the range of leaf values.
    """
    times = needed / float(spent_on)
    if times > 1:
        enough = privacy.epsilon * times
        digits = 1 - math.floor(math.log10(enough))
        enough = math.ceil(enough * 10**digits) / 10**digits
        warn_user(
            f"epsilon={privacy.epsilon:g} cannot work for the recipe {recipe!r} with these trees, "
            f"however many rows there are: the standard deviation of the noise of a leaf is "
            f"{times:.2g} times the whole range of leaf values. It is below that range from "
            f"epsilon={enough:g} on, and a useful model takes several times as much. "
            "The recipe 'best' has noise that shrinks with the number of rows.",
            ParameterWarning,
        )


def warn_if_not_private(epsilon: Epsilon, *, seeded: bool) -> bool:
    """Warn if the user's parameters give no guarantee; return whether they give one."""
    if seeded:
        reason, cure = (
            "anyone who knows noise_seed can subtract the noise",
            "Omit noise_seed",
        )
    elif epsilon == math.inf:
        reason, cure = "epsilon is infinite, so there is no noise", "Pass a finite epsilon"
    else:
        return True
    warn_user(f"This model is not private: {reason}. {cure}.", NotPrivateWarning)
    return False


# Rules look at a number of rows that nobody has released yet: every order of magnitude is tried.
NUMBERS_OF_ROWS = tuple(float(10**digits) for digits in range(10))
# What trees may take of the limit of lattice errors; releases before them take next to nothing.
TREES_PART = Fraction(99, 100)


def check_noise(
    recipe: Recipe,
    given: Given,
    privacy: PrivacyRequest,
    objective: Objective,
    classes: Sequence[Any] | None,
    *,
    owner: str,
) -> None:
    """Raise if some release of the trees would need less noise than can be accounted for.

    Parameters
    ----------
    privacy : PrivacyRequest
        With settled claims.
    classes : sequence or None
        Declared or assumed classes; two are taken where they are to be learned.

    Raises
    ------
    InvalidParameterError
        Nothing has been drawn or charged then.
    """
    if recipe.planned is None:
        return
    accountant = privacy.accountant(recipe)
    epsilon, delta = privacy.whole
    capacity = accountant.capacity(epsilon, delta)
    if capacity == math.inf:
        return
    loss = objective.planned_loss(privacy.schema, len(classes or ()) or 2)
    shares = [] if recipe.start_share is None else [recipe.start_share(loss, privacy.delta)]
    budget = capacity * (1 - sum(map(Fraction, map(str, shares))))
    limit = TREES_PART * accountant.lattice_error_limit(epsilon)
    for n_rows in NUMBERS_OF_ROWS:
        noise, bound, times = recipe.planned(
            PublicFacts(
                epsilon=privacy.row_epsilon,
                delta=privacy.delta,
                n_rows=n_rows,
                n_features=1,
                loss=loss,
                given=given,
                budget=budget,
                accountant=accountant,
                neighbors=privacy.neighbors,
            )
        )
        try:
            accountant.cost(noise, bound)
            error = accountant.lattice_error(noise, bound, 1)
        except UnsupportedReleaseError:
            raise _refusal(privacy, given, owner) from None
        except InvalidParameterError:
            # More noise than can be drawn: `FitRequest.check_epsilon` refuses that.
            continue
        if times * error > limit:
            raise _refusal(privacy, given, owner)


def _refusal(privacy: PrivacyRequest, given: Given, owner: str) -> InvalidParameterError:
    """Name what asks for so little noise, and what helps."""
    clip, trees = (
        f"{name}={given[name]:g}" if name in given else name
        for name in ("gradient_clip", "n_estimators")
    )
    must = (
        f"smaller beside {clip}, {trees} and delta={privacy.delta:g}, where the trees would need "
        "less noise than Gaussian accounting can be proved right for; or take a larger "
        "gradient_clip or n_estimators, a smaller delta, or delta=0 for pure accounting"
    )
    if privacy.claim is None:
        return refuse("epsilon", owner, must, privacy.epsilon)
    return refuse("fraction", owner, must, float(privacy.claim.fraction))
