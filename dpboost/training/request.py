"""The request of a fit, the public metadata of its inputs, and the initial scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.warnings import of_table, warn_user
from dpboost.data.binner import Binner
from dpboost.data.table import ColumnFacts, Reading
from dpboost.growing.growth import RoundCallback
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost, as_fraction, divide, epsilon_of, number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.recording import note
from dpboost.recipes.recipe import (
    Given,
    Parameters,
    PublicFacts,
    Recipe,
    Setting,
    Terms,
    constraints_of,
    on_columns,
)
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import ResolvedSchema, Schema
from dpboost.training.inputs import (
    check_kind,
    check_number_of_classes,
    known_classes,
    nominal_columns,
    note_labels,
)
from dpboost.training.objective import Objective, Weights
from dpboost.training.privacy_params import (
    NotPrivateWarning,
    PrivacyRequest,
    check_noise,
    warn_of_request,
    warn_of_sum,
)
from dpboost.training.private_bins import released_columns
from dpboost.training.public_schema import (
    CompletedSchema,
    KnownSchema,
    check_learnable,
    known_schema,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Continuation:
    """The model that a fit continues; public."""

    #: Whether the user gives a score for each row.
    scored: bool = False
    #: The released model whose predictions the scores are.
    earlier: EarlierModel | None = None
    #: Whether the user states that this model is public, whatever its report says.
    public: bool = False

    @property
    def given(self) -> bool:
        """Whether scores begin elsewhere than at a released start value."""
        return self.scored or self.continues

    @property
    def continues(self) -> bool:
        """Whether another model is continued."""
        return self.earlier is not None

    @property
    def report(self) -> PrivacyReport | None:
        """The report of the other model, where its guarantee and that of this fit add up."""
        return self.earlier.report if self.earlier is not None and self.adds_up else None

    @property
    def adds_up(self) -> bool:
        """Whether the guarantee rests on that of another model.

        A private one counts in any case: the statement that it is public can only be wrong.
        """
        if self.earlier is None:
            return False
        report = self.earlier.report
        return not self.public or (report is not None and report.private)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the user states to be public, for the report."""
        stated = self.continues and not self.adds_up
        return ("the model that is continued (init_model), as one of public rows",) * stated

    def check_outputs(self, loss: Loss) -> None:
        """Raise when the model to be continued has another number of raw scores a row.

        Its objective may be another, as in LightGBM: raw scores go on, and the text has the new
        one.
        """
        if self.earlier is not None and self.earlier.n_outputs != loss.n_outputs:
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model with as many raw scores a "
                f"row as the objective {loss.objective or 'custom'!r} has. It has "
                f"{self.earlier.n_outputs} instead of {loss.n_outputs}."
            )

    def check_classes(self, classes: Sequence[Any]) -> None:
        """Raise when the model to be continued has other classes, where its own are known."""
        known = None if self.earlier is None else self.earlier.classes
        if known is not None and list(known) != sorted(classes):
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model of the same classes: its own "
                f"are {list(known)}."
            )

    def check_unit(self, neighbors: str, rows_per_user: int | None, owner: str) -> None:
        """Raise when the budgets of a model and of its continuation would not add up.

        Parameters
        ----------
        rows_per_user : int or None
            Of the fit that continues it.
        """
        if self.report is None:
            return
        units = {
            "neighbors": (self.report.neighbors, neighbors),
            "rows_per_user": (self.report.rows_per_user, rows_per_user),
        }
        for name, (before, now) in units.items():
            if before != now:
                raise refuse(
                    name,
                    owner,
                    f"{before!r} as in the report of init_model, so that the budgets add up",
                    now,
                )

    def warn_if_not_private(self) -> None:
        """Warn if the model to be continued takes the guarantee away."""
        if not self.adds_up:
            return
        if self.report is None:
            reason, cure = (
                "it continues a model without a privacy report, whose trees may show any row",
                "Continue a model of dpboost. If it was trained on public rows only, state it: "
                "assume_public=('column_types', 'classes', 'init_model')",
            )
        elif not self.report.private:
            reason = f"the model that it continues is not: {'; '.join(self.report.reasons)}"
            cure = "Continue a private model"
        else:
            return
        warn_user(f"This model is not private: {reason}. {cure}.", NotPrivateWarning)

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        if not self.scored or self.continues:
            return {}
        return {"initial scores": "an attribute of each row, or a public function of it"}


class TrainingCallback(Protocol):
    """Callback during training: public rows, released rounds, and user callbacks."""

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""

    def check(self, schema: Schema, n_features: int, classes: Any) -> None:
        """Refuse what cannot be used, before anything is drawn."""

    def begin(self, setting: Setting, schema: ResolvedSchema, n_rounds: int) -> RoundCallback:
        """Prepare with released bins and start values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FitRequest:
    """The request of a fit."""

    #: One of "regression", "classification". Kind of the labels; the objective says which loss.
    task: str
    recipe: Recipe
    #: Parameters of the recipe that the user has set.
    given: Given
    privacy: PrivacyRequest
    objective: Objective
    #: Seed of public randomness: random partitions, order of features.
    public_seed: int
    owner: str
    weights: Weights = field(default_factory=Weights)
    #: Where scores begin, if not at a released start value.
    continuation: Continuation = field(default_factory=Continuation)
    #: How the table is to be read.
    reading: Reading = field(default_factory=Reading)
    #: Threads, as LightGBM counts them.
    n_jobs: int | None = None
    #: Whether a long fit draws a progress bar.
    show_progress: bool = False
    #: Looks on, and may end training.
    monitor: TrainingCallback | None = None
    #: Part of the rows that intervals or sets of predictions are to cover; rows are then held out
    #: for them.
    conformal: float | None = None
    #: Rounds without an improvement after which the rows that a budget's holdout holds out end
    #: training.
    stopping: int | None = None
    #: Most rounds that the recipe's rule may plan.
    most_rounds: int | None = None
    #: The public set of labels, where these rows are some of those that have it.
    known_classes: tuple[Any, ...] | None = None

    @property
    def n_bins(self) -> int:
        """Bins of a numeric feature."""
        return int(self.given.get("max_bin", self.recipe.max_bin))

    def checked(self) -> FitRequest:
        """Check what is asked for before any row is read.

        Returns
        -------
        FitRequest
            With the label bounds that belong to the objective, and a settled budget.
        """
        recipe, privacy, objective = self.recipe, self.privacy, self.objective
        recipe.check_task(self.task, self.owner)
        recipe.check(self.given, self.owner)
        self._check_learned_by(recipe)
        self.continuation.check_unit(privacy.neighbors.value, privacy.rows_per_user, self.owner)
        privacy = replace(privacy, schema=objective.completed(privacy.schema))
        return replace(self, privacy=privacy.settled(recipe.accountant))

    def _check_learned_by(self, recipe: Recipe) -> None:
        """Raise when a recipe cannot learn what is asked for."""
        if recipe.objectives:
            return
        default = {"", "regression" if self.task == "regression" else "binary"}
        default |= {"multiclass"} if recipe.multiclass else set()
        weights = self.weights
        asked = {
            "objective": self.objective.name not in default,
            "class_weight": weights.class_weight is not None,
            "scale_pos_weight": weights.scale_pos_weight != 1.0,
            "sample_weight": weights.of_rows and not recipe.weights,
            "init_model": self.continuation.continues,
            "init_score": self.continuation.given,
        }
        for name, given in asked.items():
            if given:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {self.owner} has no meaning for recipe="
                    f"{recipe.name!r}, whose constants are for the squared and the logistic loss "
                    "without weights. Use recipe='best', or omit it."
                )

    def check_classes(self, classes: Sequence[Any], extras: RowExtras) -> None:
        """Raise when public classes, none in a regression, do not suit what is to be learned.

        Parameters
        ----------
        extras : RowExtras
            Only asked for how many outputs it has scores.
        """
        if self.task != "regression":
            check_number_of_classes(len(classes), self.recipe)
        loss = self.objective.planned_loss(self.privacy.schema, len(classes))
        self.continuation.check_outputs(loss)
        extras.scores_for(loss.n_outputs)
        if self.task != "regression":
            self.objective.warn_of_function(len(classes))
            self.continuation.check_classes(classes)
            self.weights.check_classes(classes)

    def least_epsilon(self, n_features: int) -> float:
        """Return the epsilon of a row below which a release could not be drawn exactly."""
        privacy = self.privacy
        accountant = self.recipe.accountant(privacy.epsilon, privacy.delta)
        terms = Terms(
            # Pure accounting buys no noise with delta.
            delta=0.0 if accountant.privacy_measure == "epsilon" else privacy.delta,
            task=self.task,
            neighbors=privacy.neighbors,
            n_features=n_features,
            weighted=self.weights.of_rows,
        )
        return self.recipe.least_epsilon(self.given, terms)

    def least_part(self, n_features: int) -> Fraction:
        """Return the part of the budget that releases of trees need to be drawn exactly."""
        privacy, least = self.privacy, self.least_epsilon(n_features)
        accountant = self.recipe.accountant(privacy.epsilon, privacy.delta)
        delta = as_fraction("delta", self.owner, privacy.delta)
        whole, needed = (
            number_of(accountant.capacity(epsilon_of(Fraction(epsilon)), delta))
            for epsilon in (privacy.row_epsilon, least)
        )
        return min(Fraction(1), Fraction(needed) / Fraction(whole))

    def check_epsilon(self, n_features: int) -> None:
        """Raise if a release would get too little to be drawn exactly."""
        privacy, least = self.privacy, self.least_epsilon(n_features)
        if privacy.row_epsilon < least:
            what = "recipe and depth" if self.recipe.single else "recipe, depth and number of trees"
            raise privacy.refuse_epsilon(self.owner, least, what)

    def known_schema(self, inputs: Inputs, ledger: Ledger) -> KnownSchema:
        """Return what the user declares and what is public by assumption."""
        return known_schema(
            inputs.schema,
            inputs.columns,
            task=self.task,
            assume_public=self.privacy.assume_public,
            ledger=ledger,
            assumed_classes=tuple(inputs.classes or ()),
            assumed_categories=inputs.lists,
            nominal=inputs.nominal,
            label_margin=self.objective.label_margin if self.recipe.objectives else None,
        )

    def divide(
        self, completed: CompletedSchema, loss: Loss, binner: Binner
    ) -> tuple[PrivacyCost, PrivacyCost, PrivacyCost]:
        """Divide the training budget among start, bins and trees; 0 for what is not released."""
        recipe, delta = self.recipe, self.privacy.delta
        start = recipe.start_share(loss, delta) if recipe.start_share else recipe.rows_share
        bins = 0.0
        if recipe.bins_share and released_columns(binner, completed.schema.integer):
            bins = recipe.bins_share(delta)
        shares = [Fraction(str(share)) for share in (start, bins)]
        for_start, for_bins, rest = divide(completed.budget, [*shares, 1 - sum(shares)])
        return for_start, for_bins, rest

    def facts(
        self,
        completed: CompletedSchema,
        loss: Loss,
        classes: Sequence[Any],
        n_rows: float | None,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> PublicFacts:
        """Return what the recipe's rules may look at, once the start is released."""
        return PublicFacts(
            epsilon=self.privacy.row_epsilon,
            delta=self.privacy.delta,
            n_rows=n_rows,
            n_features=len(completed.schema.feature_names),
            loss=loss,
            given=self.given,
            budget=budget,
            accountant=ledger.accountant,
            neighbors=ledger.neighbors,
            max_rows=completed.schema.max_rows,
            n_classes=len(classes),
            weighted=self.weights.of_rows,
            continued=self.continuation.continues,
        )

    def settle(self, facts: PublicFacts) -> Parameters:
        """Return the values that the recipe works with."""
        found = self.recipe.settle(facts)
        most = self.most_rounds
        if most is None or getattr(found, "n_estimators", 0) <= most:
            return found
        return self.recipe.settle(replace(facts, given={**facts.given, "n_estimators": most}))

    def on_columns(self, inputs: Inputs) -> FitRequest:
        """Return the request with constraints by the positions of columns."""
        columns = inputs.columns
        names = columns.feature_names
        monotone = constraints_of(self.given, names, self.owner).monotone
        if monotone:
            assumed = "categories" in self.privacy.assume_public
            unordered = columns.categorical - (columns.ordered if assumed else frozenset())
            categorical = np.zeros(len(names), dtype=bool)
            categorical[list(unordered | inputs.nominal | set(inputs.schema.categories))] = True
            check_ordered(monotone, categorical, names)
        return replace(self, given=on_columns(self.given, names, self.owner))

    def open_ledger(self, inputs: Inputs) -> Ledger:
        """Check what can be checked of the inputs, warn, and open the gate.

        Returns
        -------
        Ledger
            With the budget of the whole fit.

        Raises
        ------
        InvalidParameterError
            For what could not be finished, before anything is drawn or charged.
        BudgetExceededError
            If less is left of the budget than the fit is to take; nothing is drawn or charged.
        """
        privacy = self.privacy
        of_table(inputs.columns.key)
        self.check_epsilon(inputs.columns.n_features)
        self.on_columns(inputs)
        if self.monitor is not None:
            known = inputs.classes
            self.monitor.check(privacy.schema, inputs.columns.n_features, known)
        check_learnable(
            inputs.schema,
            inputs.columns,
            task=self.task,
            assume_public=privacy.assume_public,
            nominal=inputs.nominal,
            epsilon=privacy.epsilon,
            delta=privacy.learning_delta,
            why=privacy.why_no_names,
        )
        check_noise(
            self.recipe, self.given, privacy, self.objective, inputs.classes, owner=self.owner
        )
        warn_of_request(privacy, self.task)
        self.continuation.warn_if_not_private()
        warn_of_sum(privacy, inputs.columns)
        return privacy.ledger(privacy.accountant(self.recipe))


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """Public metadata of the inputs of a fit."""

    #: Names and kinds of the columns.
    columns: ColumnFacts
    #: What the user declares, by position.
    schema: ResolvedSchema
    #: The set of labels, where it is declared or public by assumption.
    classes: Any = None
    #: Lists of categories that column types bring along, where these are public by assumption.
    lists: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    #: Columns of numbers that hold categories, which are to be learned.
    nominal: frozenset[int] = frozenset()
    #: Weights and initial scores; only asked whether they are there and how many outputs they are
    #: for.
    extras: RowExtras = field(default_factory=RowExtras)

    def binner(self, schema: ResolvedSchema, request: FitRequest) -> Binner:
        """Return the public bins of a complete schema."""
        columns = self.columns
        # Categories have an order where the list of their type is used, and nowhere else.
        assumed = "categories" in request.privacy.assume_public
        return Binner.from_schema(
            schema,
            n_bins=request.n_bins,
            categorical=columns.lists(schema),
            ordered=columns.ordered if assumed else frozenset(),
            zero_as_missing=columns.zero_as_missing,
        )

    @classmethod
    def of(
        cls,
        columns: ColumnFacts,
        labels: NDArray[Any],
        lists: Mapping[int, Sequence[Any]],
        extras: RowExtras,
        request: FitRequest,
    ) -> Inputs:
        """Return what is public of checked inputs, or raise where they do not suit the fit.

        Parameters
        ----------
        labels : ndarray
            Of which every class is there once at least.
        lists : mapping of int to sequence
            Lists of categories that column types bring along.
        """
        privacy = request.privacy
        classes = request.known_classes or known_classes(labels, request.task, privacy)
        if request.task == "regression":
            request.check_classes((), extras)
        elif classes is not None:
            request.check_classes(classes, extras)
            check_kind(labels, classes)
        else:
            # What is wrong with a function shows before classes are learned.
            request.objective.planned_loss(privacy.schema)
        reading = request.reading
        note_labels(labels, classes)
        note("lists are public", "categories" in privacy.assume_public)
        return cls(
            columns=columns,
            schema=privacy.schema.resolve(columns.feature_names),
            classes=classes,
            lists=lists if "categories" in privacy.assume_public else {},
            nominal=nominal_columns(reading.categorical, columns, privacy.schema, request.owner),
            extras=extras,
        )
