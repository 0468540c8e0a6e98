"""The request of a fit, checked before any row is read, and its rows."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import effective_n_threads
from dpboost._utils.validation import InvalidParameterError, RefusedError, check_integer, refuse
from dpboost._utils.warnings import warn_user, without_advice
from dpboost.budgeting.claim import Claim
from dpboost.budgeting.searches import kept_columns
from dpboost.data.batches import READ_ONCE, Batches
from dpboost.data.binner import Binner
from dpboost.data.declared_rows import Declaration, frame_of
from dpboost.data.read_once import bin_while_reading
from dpboost.data.table import BatchedTable, Reading, Table, read
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.lightgbm.parameters import ParameterWarning, is_silent
from dpboost.lightgbm.treatments import is_neutral, treatment_of
from dpboost.privacy.recording import is_replay
from dpboost.recipes.recipe import CONTROLS, Given, Recipe, check_given
from dpboost.schema import MAX_VALUE_BINS, DataDictionary, DictionarySchema, ResolvedSchema, Schema
from dpboost.training.inputs import GivenRows, nominal_columns
from dpboost.training.objective import WEIGHT_PARAMETERS, Objective, Weights
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.private_bins import released_columns
from dpboost.training.public_schema import with_types
from dpboost.transcripts.recorded import by_declaration

P = ParamSpec("P")
R = TypeVar("R")

PRIVACY_PARAMETERS = (
    "epsilon",
    "delta",
    "neighbors",
    "schema",
    "assume_public",
    "noise_seed",
    "rows_per_user",
)

OBJECTIVE_PARAMETERS = (
    "objective",
    "alpha",
    "fair_c",
    "tweedie_variance_power",
    "poisson_max_delta_step",
    "gradient_bound",
    "hessian_bound",
    "score_bounds",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """The request of a fit; public, and checked before any row is read."""

    #: Name of the estimator in messages.
    owner: str
    #: By their meaning.
    parameters: Mapping[str, Any]
    #: What LightGBM's ``fit`` would read, by its canonical names.
    fit: Mapping[str, Any]
    recipe: Recipe
    #: Parameters of the recipe that the user has set.
    given: Given
    privacy: PrivacyRequest
    reading: Reading
    #: Rounds without an improvement after which rows held out end training.
    stopping: int | None = None
    #: Whether a released model is continued.
    continues: bool = False

    def learned(self, task: str, *, weighted: bool) -> tuple[Objective, Weights]:
        """Check what is to be learned, of rows with weights or without."""
        return learned(
            {**self.parameters, **self.fit},
            task,
            weighted=weighted,
            schema=self.privacy.schema,
            owner=self.owner,
        )


def learned(
    parameters: Mapping[str, Any], task: str, *, weighted: bool, schema: Any, owner: str
) -> tuple[Objective, Weights]:
    """Check objective and weights among all parameters."""
    given = {name: parameters[name] for name in WEIGHT_PARAMETERS if name in parameters}
    if parameters.get("is_unbalance"):
        if given["class_weight"] is not None:
            raise refuse("is_unbalance", owner, "False where class_weight is given", True)
        given["class_weight"] = "balanced"
    if given.get("scale_pos_weight", 1) != 1 and given.get("class_weight") is not None:
        raise refuse(
            "scale_pos_weight",
            owner,
            "1 where class_weight or is_unbalance is given: multiply the weight of the second "
            "class instead",
            given["scale_pos_weight"],
        )
    own = {name: parameters[name] for name in OBJECTIVE_PARAMETERS if name in parameters}
    objective = Objective.validated(owner, task=task, schema=schema, **own)
    return objective, Weights.validated(owner, task=task, of_rows=weighted, **given)


def asked_privacy(
    owner: str, given: Mapping[str, Any], taken: Claim | None, part: Any = None
) -> PrivacyRequest:
    """Return the guarantee that parameters ask for, or the budget of which the fit takes a part."""
    asked = {name: given[name] for name in PRIVACY_PARAMETERS}
    if taken is not None:
        asked |= taken.terms(asked)
    return PrivacyRequest.validated(owner, part=part, claim=taken, **asked)


def asked_reading(reading: Reading, privacy: PrivacyRequest, *, dealt: bool = False) -> Reading:
    """Return how the table is to be read, where folds or holdouts may have been assigned."""
    # Folds of cv and holdouts are dealt by secret coins: an error about no rows would tell.
    return replace(
        reading,
        may_be_empty=dealt or _holds_out(privacy),
        lists_assumed="categories" in privacy.assume_public,
    )


def _holds_out(privacy: PrivacyRequest) -> bool:
    """Return whether rows are held out under a budget."""
    return privacy.claim is not None and privacy.claim.holdout is not None


def tree_controls(fit: Mapping[str, Any], recipe: Recipe, owner: str) -> dict[str, Any]:
    """Return the parameters that are given under LightGBM's names alone.

    Values that ask for nothing are left out.
    """
    asked = {
        name: fit[name]
        for name in sorted(CONTROLS)
        if fit.get(name) is not None and not is_neutral(fit[name], treatment_of(name).neutral)
    }
    # As in LightGBM: without a frequency there is no bagging.
    if check_integer("bagging_freq", owner, fit.get("bagging_freq") or 0) <= 0:
        asked.pop("bagging_fraction", None)
    if fit.get("extra_trees") and recipe.needs_exact_sums:
        raise RefusedError(
            f"The 'extra_trees' parameter of {owner} cannot be {fit['extra_trees']!r} with recipe="
            f"{recipe.name!r}, which chooses thresholds by the rows: leave it out, or take recipe="
            "'best', which draws them at random in any case."
        )
    return asked


def earlier_model(init_model: Any, init_score: Any) -> EarlierModel | None:
    """Read the model that is continued, if there is one."""
    if init_model is None:
        return None
    if init_score is not None:
        raise refuse("init_score", "fit", "None together with init_model", "an array")
    return EarlierModel.of(init_model)


def open_rows(rows: GivenRows, asked: Asked) -> GivenRows:
    """Return rows, labels and weights that come in batches, as the fit reads them.

    Raises
    ------
    InvalidParameterError
        Where labels or weights come twice, and where an iterator would have to be read more than
        once.

    Privacy
    -------
    Reads private rows and releases nothing. Where bins are public before, rows are binned as they
    are read, together with their labels and once.
    """
    batches, reading, privacy, recipe = rows.X, asked.reading, asked.privacy, asked.recipe
    if _holds_out(privacy):
        raise InvalidParameterError(
            f"The 'holdout' of {asked.owner}.fit needs rows that are in memory, not batches."
        )
    first = batches.first.X
    if batches.labeled and rows.y is not None:
        raise InvalidParameterError(
            "The batches of X come with labels, and y is given as well: give one of them."
        )
    table = BatchedTable(batches, privacy.schema, reading)
    check_given(asked.given, asked.owner)
    learns = recipe.bins_share is not None and recipe.bins_share(privacy.delta) > 0
    reason = "init_model predicts them first" if asked.continues else None
    reason = reason or _why_again(table, reading, privacy, learns, asked.owner)
    X: Any = batches
    labels, weights = None, None
    if reason is None:
        binner = _public_binner(table, privacy, asked.given.get("max_bin", recipe.max_bin))
        n_threads = effective_n_threads(asked.parameters["n_jobs"])
        X, labels, weights = bin_while_reading(table, batches, binner, n_threads)
    elif batches.once:
        raise InvalidParameterError(READ_ONCE.format(reason=reason))
    elif batches.labeled:
        table.check()
        labels, weights = batches.labels()
    return replace(
        rows,
        X=X,
        example=first,
        y=rows.y if labels is None else labels,
        sample_weight=_one(rows.sample_weight, weights),
    )


def earlier_scores(
    earlier: EarlierModel, X: Any, schema: Any, reading: Reading
) -> NDArray[np.float64]:
    """Predict the rows of a fit, in batches or not, by the model that it continues."""
    parts = [batch.X for batch in X] if isinstance(X, Batches) else [X]
    return np.concatenate([earlier.raw_scores(part, read(part, schema, reading)) for part in parts])


def _one(given: Any, found: Any) -> Any:
    """Return the weights, which may be given in one way only."""
    if given is not None and found is not None:
        raise InvalidParameterError(
            "The batches of X come with weights, and sample_weight is given as well: give one."
        )
    return found if given is None else given


def _why_again(
    table: Table, reading: Reading, privacy: PrivacyRequest, learns: bool, owner: str
) -> str | None:
    """Say why rows have to be read more than once, or None if their bins are public."""
    if privacy.rows_per_user is not None:
        return "rows_per_user draws a sample first"
    schema = _known(table, privacy)
    nominal = nominal_columns(reading.categorical, table, privacy.schema, owner)
    open_lists = set(table.categorical) - set(schema.categories)
    if nominal or (open_lists and "categories" not in privacy.assume_public):
        return "categories are learned; declare Schema(categories=...)"
    known = {*schema.bounds, *schema.edges, *schema.categories, *table.categorical}
    if len(known) < table.n_features:
        return (
            "bounds of features are learned; declare Schema(edges=...) of all of them, or "
            "Schema(bounds=...) for a recipe with equal bins"
        )
    public = _public_binner(table, privacy, MAX_VALUE_BINS)
    if learns and released_columns(public, schema.integer):
        return "the recipe learns bins between the bounds; declare Schema(edges=...)"
    return None


def _known(table: Table, privacy: PrivacyRequest) -> ResolvedSchema:
    """Return what is declared, and what column types say where these are public."""
    schema = privacy.schema.resolve(table.feature_names)
    return with_types(schema, table.columns, privacy.assume_public)


def _public_binner(table: Table, privacy: PrivacyRequest, n_bins: int) -> Binner:
    """Return the bins that the fit will ask for, from public knowledge alone."""
    ordered = table.ordered if "categories" in privacy.assume_public else frozenset()
    return Binner.from_schema(
        _known(table, privacy),
        n_bins=n_bins,
        categorical=table.categorical,
        ordered=ordered,
        zero_as_missing=table.zero_as_missing,
    )


def _declaration_of(self: Any) -> tuple[Declaration | None, str]:
    """Read what the schema of an estimator declares, and keep it for predictions."""
    found = None
    if isinstance(self.schema, (str, os.PathLike, DataDictionary, DictionarySchema)):
        found = Declaration.of(self.schema)
    # A schema says nothing of roles.
    self._declaration = None if found is None or found.dictionary is None else found
    return self._declaration, self._task


def declared_features(estimator: Any, X: Any) -> Any:
    """Return the features of a table as the data dictionary of an unfitted estimator has them."""
    declared, _ = _declaration_of(estimator)
    table = None if declared is None else frame_of(X)
    return X if declared is None or table is None else declared.features(table)


def _say(self: Any, line: str) -> None:
    with without_advice(is_silent(vars(self) | self._extra_params())):
        warn_user(f"{line[:1].upper()}{line[1:]}.", ParameterWarning)


#: Has a fit get features, labels and users where the schema is a data dictionary.
declared_fit: Callable[[Callable[..., Any]], Callable[..., Any]] = by_declaration(
    _declaration_of, _say
)


def selected_fit(fit: Callable[P, R]) -> Callable[P, R]:
    """Have a clone that a selection of scikit-learn fits to some columns know which they are."""

    @wraps(fit)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0]
        # A recorded call that is made again has the schema of its columns already.
        selected = None if is_replay() else kept_columns()
        declared = isinstance(model.schema, Mapping) or type(model.schema) is Schema
        if selected is not None and declared:
            model.schema = Schema.coerce(model.schema).of_columns(*selected)
        return fit(*args, **kwargs)

    return call


SEED_BITS = 128


def public_seed(random_state: Any, noise_seed: int | None, owner: str) -> int:
    """Return a seed from what scikit-learn users pass as ``random_state``.

    The transcript of a fit holds this seed, and never the state of the user's generator.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        LightGBM takes negative ones as well. A generator gives 128 fresh bits. None takes the
        noise seed, or fresh bits of the system.
    noise_seed : int or None
        Makes the whole fit reproducible, public randomness included.
    owner : str
        Name of the caller in error messages.
    """
    if random_state is None:
        return secrets.randbits(SEED_BITS) if noise_seed is None else noise_seed
    if isinstance(random_state, np.random.Generator):
        return int.from_bytes(random_state.bytes(SEED_BITS // 8), "little")
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(SEED_BITS // 8), "little")
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state) % (1 << SEED_BITS)
    raise refuse("random_state", owner, "an integer, a RandomState or None", random_state)
