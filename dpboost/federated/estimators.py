"""Estimators for rows of several parties; fitted models are LightGBM models."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from textwrap import dedent
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dpboost._utils.parameter_effects import EFFECTS, OF_PARTIES, with_effects
from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.data.containers import column_names
from dpboost.estimators import docs
from dpboost.estimators.base import DECIDED_BY_RECIPE
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.federated.protocol.agreement import (
    OBJECTIVE_PARAMETERS,
    SEED_BITS,
    Agreement,
    text_of_model,
)
from dpboost.federated.simulation import Simulation, simulate
from dpboost.federated.training.agreed_fit import agreed_request, party_report
from dpboost.federated.training.session_run import Result
from dpboost.lightgbm.parameters import SHOWN
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import CONSTRAINTS, CONTROLS, given, on_columns
from dpboost.schema import Schema

_ROWS_ELSEWHERE = (
    "each party keeps its rows, so no evaluation is possible between rounds; evaluate the fitted "
    "model with dpboost.federated.evaluate"
)
_FUNCTIONS = (
    "parties run no code of others, so an objective cannot be a function; name one of LightGBM's "
    "objectives"
)
_COINS = (
    "parties have no common random assignment of rows; hold out rows at each party, fit without "
    "them, and evaluate with dpboost.federated.evaluate, or use dpboost.federated.cv"
)

#: Why, and what to do instead, by the name of the parameter.
UNSUPPORTED: dict[str, str] = {
    "assume_public": "parties take nothing of one another's rows as public; declare it in schema",
    "selection": "splits are read off noisy sums",
    "n_jobs": "each party has threads of its own, Party(n_threads=...)",
    "importance_type": "read them of the model, booster_.feature_importance(importance_type=...)",
    "gradient_bound": _FUNCTIONS,
    "hessian_bound": _FUNCTIONS,
    "score_bounds": _FUNCTIONS,
    "is_unbalance": "say class_weight='balanced'",
    **dict.fromkeys(SHOWN, "feature_fraction, bagging_fraction or a rule of the recipe does it"),
    "init_score": "scores of parties start at a released value, or where init_model ends",
    **dict.fromkeys(
        (
            *("eval_set", "eval_names", "eval_sample_weight", "eval_class_weight"),
            *("eval_init_score", "eval_metric", "eval_X", "eval_y", "callbacks"),
        ),
        _ROWS_ELSEWHERE,
    ),
    "feature_name": "names are those of the parties' columns",
    "categorical_feature": "declare the lists, Schema(categories=...)",
    "holdout": _COINS,
    "conformal": _COINS,
}

_DOCUMENTATION = """    Parameters
    ----------
    epsilon : float, default=1.0
        Budget of the fit. Every party charges it to its own ledger.
    delta : float, default=1e-6
        Probability with which the guarantee may fail.
    recipe : {"best", "dpboost", "para", "seq"}, default="best"
        ``best`` is the same algorithm as for one table. The others choose splits from noisy
        histograms of all features instead of exact gains, which no party has.
    schema : Schema or dict
        Public metadata: all categories, and classes or label bounds, must be declared. Missing
        bounds of numeric columns are estimated with a tenth of the budget.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Neighboring relation, for the rows of one party.
    rows_per_user : int, optional
        Maximum rows of an individual at a party; the first ones take part. The guarantee then
        protects individuals instead of rows, and ``fit`` needs ``user_ids``.
    parties_per_user : int, default=1
        Declared maximum number of parties at which an individual has rows.
    colluding : int, default=1
        Maximum number of parties that collude with each other and the coordinator; the guarantee
        protects the rows of the other parties against them. The noise grows with it.
    preset, n_estimators, learning_rate, max_depth, reg_lambda, max_bin, trees_per_ensemble, \
features_per_tree, gradient_clip, step_prior, hessian_share, max_interaction, \
monotone_constraints, interaction_constraints : optional
        As in the estimators for one table; None means the rule of the recipe. Only recipe ``best``
        supports ``max_interaction`` and ``interaction_constraints`` here.
    objective, alpha, fair_c, tweedie_variance_power, poisson_max_delta_step, class_weight, \
scale_pos_weight, max_weight : optional
        As in the estimators for one table, and part of the agreement. An objective must be a name,
        because parties run no external code. Only recipe ``best`` supports values other than
        the defaults.
    max_delta_step, path_smooth, min_sum_hessian_in_leaf, feature_fraction, feature_contri, \
bagging_fraction : optional
        As in LightGBM, without charge. Only recipe ``best`` supports the middle four.
    random_state : int, optional
        Seeds public randomness only.
    noise_seed : int, optional
        For tests: the shares of the noise add up to the noise of one process with this seed. The
        model is not private, and its report states this.
    verbosity : int, default=1
        Zero or less hides the progress bar.

    Attributes
    ----------
    agreement_ : Agreement
        The terms of the fit.
    privacy_report_ : PrivacyReport
        The guarantee against the coordinator, against other parties, and against several of them.
    party_reports_ : tuple of PrivacyReport
        After `fit`: the report of every party of the simulation, from its ledger.
"""


class _FederatedEstimator(BaseEstimator):
    """Shared code of the two estimators; a base before the estimator for one table."""

    _task: str

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        recipe: str = "best",
        schema: Any = None,
        neighbors: str = "add_remove",
        colluding: int = 1,
        preset: str | None = None,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_depth: int | None = None,
        reg_lambda: float | None = None,
        max_bin: int | None = None,
        trees_per_ensemble: int | None = None,
        features_per_tree: int | None = None,
        gradient_clip: float | None = None,
        step_prior: float | None = None,
        hessian_share: float | None = None,
        max_interaction: int | None = None,
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        random_state: Any = None,
        noise_seed: int | None = None,
        verbosity: int = 1,
        max_delta_step: float | None = None,
        path_smooth: float | None = None,
        min_sum_hessian_in_leaf: float | None = None,
        feature_fraction: float | None = None,
        feature_contri: Any = None,
        bagging_fraction: float | None = None,
        objective: str | None = None,
        alpha: float | Sequence[float] | None = None,
        fair_c: float | None = None,
        tweedie_variance_power: float | None = None,
        poisson_max_delta_step: float | None = None,
        class_weight: Any = None,
        scale_pos_weight: float | None = None,
        max_weight: float | None = None,
        rows_per_user: int | None = None,
        parties_per_user: int = 1,
        **kwargs: Any,
    ) -> None:
        given = locals()
        own = {name: value for name, value in given.items() if name in _PARAMETERS}
        super().__init__(**own)
        for name in (*CONTROLS, *OBJECTIVE_PARAMETERS):
            setattr(self, name, given[name])
        self.colluding = colluding
        self.parties_per_user = parties_per_user
        # To be refused where parties would have to agree upon them.
        self._set_extra(kwargs)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the signature; a constructor that takes more passes them on."""
        kinds = (signature(cls.__init__), signature(_FederatedEstimator.__init__))
        named = {
            each.name
            for kind in kinds
            for each in list(kind.parameters.values())[1:]
            if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        }
        return sorted(named)

    def agreement(
        self,
        n_parties: int,
        features: Sequence[str],
        identities: Sequence[str] = (),
        *,
        weighted: bool = False,
        init_model: Any = None,
    ) -> Agreement:
        """Return the terms of a fit with these parameters, for review by all data holders.

        Parameters
        ----------
        n_parties : int
        features : sequence of str
            Names of the columns.
        identities : sequence of str, optional
            Public keys of the parties (``Identity.public``), by their numbers.
        weighted : bool, default=False
            Whether every party has row weights; this requires ``max_weight``.
        init_model : estimator, Booster, str or path, optional
            Released model to continue, federated or not. Its text is part of the terms.

        Returns
        -------
        Agreement

        Raises
        ------
        InvalidParameterError
            If the recipe does not support the terms or ``init_model``.
        """
        owner = type(self).__name__
        if self.schema is None:
            raise refuse("schema", owner, "given: parties agree upon it first", None)
        recipe = ALGORITHMS.find(self.recipe, owner)
        refuse_unsupported(self._extra_params(), owner)
        hyper = {name: getattr(self, name) for name in (*_HYPER, *CONTROLS)}
        seed = self.random_state
        if seed is None:
            seed = secrets.randbits(SEED_BITS) if self.noise_seed is None else self.noise_seed
        schema = Schema.coerce(self.schema)
        agreement = Agreement(
            n_parties=n_parties,
            features=tuple(map(str, features)),
            schema=_by_name(schema, features),
            task=self._task,
            objective={name: getattr(self, name) for name in OBJECTIVE_PARAMETERS},
            weighted=weighted,
            rows_per_user=self.rows_per_user,
            parties_per_user=self.parties_per_user,
            recipe=self.recipe,
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=recipe.accountant(self.epsilon, self.delta).name,
            neighbors=self.neighbors,
            colluding=self.colluding,
            hyper=on_columns(given(hyper), features, owner),
            init_model=text_of_model(init_model, schema.classes),
            public_seed=check_integer("random_state", owner, seed, low=0),
            identities=tuple(identities),
            noise_seed=self.noise_seed,
        )
        agreed_request(agreement, owner)
        return agreement

    @one_warning
    def fit(
        self,
        parties: Sequence[tuple[Any, Any]],
        y: Any = None,
        *,
        sample_weight: Sequence[Any] | None = None,
        user_ids: Sequence[Any] | None = None,
        init_model: Any = None,
        budget: None = None,
        fraction: None = None,
        **other: Any,
    ) -> Any:
        """Simulate the training with all parties in this process.

        Parameters
        ----------
        parties : sequence of (X, y)
            Rows and labels of each of at least two parties, with the same columns; some may be
            empty arrays of shape (0, n_features).
        y : None
            Not used.
        sample_weight : sequence of array-like, optional
            Weights of the rows of each party: private, not negative and clipped to
            ``max_weight``, which is required.
        user_ids : sequence of array-like, optional
            User of each row, for each party; needed with ``rows_per_user``.
        init_model : estimator, Booster, str or path, optional
            Released model to continue: its trees are kept, each party computes the scores of its
            rows, and the budgets add up.
        budget, fraction : None
            Refused: parties do not charge a ``Budget``.
        **other
            Refused, with the reason: further arguments of the estimator for one table.

        Returns
        -------
        self

        Raises
        ------
        InvalidParameterError
            For invalid parameters or input, before anything is drawn or charged.
        """
        owner = type(self).__name__
        refuse_budget(owner, budget, fraction, self)
        refuse_unsupported(other, f"{owner}.fit")
        weighted = sample_weight is not None
        found = simulate_tables(
            owner,
            parties,
            partial(self.agreement, weighted=weighted, init_model=init_model),
            y,
            sample_weight=sample_weight,
            user_ids=user_ids,
            show_progress=self.verbosity > 0,
        )
        self._keep(found.coordinator)
        self.party_reports_ = tuple(
            party_report(one.agreement, one.ledger) for one in found.parties
        )
        return self

    def _keep(self, found: Result, fold: int = 0) -> None:
        """Store the model of a session, or that of a fold."""
        self.agreement_ = found.agreement
        self._store(found.fits[fold], None, found.agreement.continued, has_names=False)


class FederatedBoostingClassifier(_FederatedEstimator, DPBoostClassifier):
    """Differentially private gradient boosting for classification on rows of several parties.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tables = [(rng.uniform(size=(50, 2)), rng.integers(0, 2, 50)) for _ in range(3)]
    >>> model = FederatedBoostingClassifier(
    ...     epsilon=5.0,
    ...     n_estimators=5,
    ...     schema=dict(bounds={0: (0, 1), 1: (0, 1)}, classes=[0, 1]),
    ...     verbosity=0,
    ... ).fit(tables)
    >>> model.predict_proba(tables[0][0]).shape
    (50, 2)
    """


class FederatedBoostingRegressor(_FederatedEstimator, DPBoostRegressor):
    """Differentially private gradient boosting for regression on rows of several parties.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tables = [(rng.uniform(size=(50, 2)), rng.uniform(size=50)) for _ in range(3)]
    >>> model = FederatedBoostingRegressor(
    ...     epsilon=5.0,
    ...     n_estimators=5,
    ...     schema=dict(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(0, 1)),
    ...     verbosity=0,
    ... ).fit(tables)
    >>> model.predict(tables[0][0]).shape
    (50,)
    """


_HYPER = (
    *("n_estimators", *(name for name in DECIDED_BY_RECIPE if name != "selection")),
    *sorted(CONSTRAINTS),
)
_PARAMETERS = (
    *("epsilon", "delta", "recipe", "schema", "neighbors", *_HYPER),
    *("random_state", "noise_seed", "verbosity", "rows_per_user"),
)

for _estimator in (FederatedBoostingClassifier, FederatedBoostingRegressor):
    _head, *_examples = docs.docstring_of(_estimator).partition("Examples\n---")
    _parameters = with_effects(dedent(_DOCUMENTATION), docs.ranges_of(), {**EFFECTS, **OF_PARTIES})
    _estimator.__doc__ = f"{_head.rstrip()}\n\n{_parameters}\n\n{''.join(_examples)}\n"


def estimator_of(agreement: Agreement) -> Any:
    """Return an estimator of the task of an agreement, without a model."""
    regression = agreement.task == "regression"
    return FederatedBoostingRegressor() if regression else FederatedBoostingClassifier()


def _by_name(schema: Schema, features: Sequence[str]) -> dict[str, Any]:
    """Return a schema with columns by name, as all parties know them."""
    known = schema.resolve(names := list(map(str, features)))
    tables: dict[str, Any] = {
        part: {names[position]: value for position, value in sorted(getattr(known, part).items())}
        for part in ("bounds", "edges", "categories")
    }
    return replace(schema, **tables).to_dict()


def refuse_unsupported(given: Mapping[str, Any], owner: str) -> None:
    """Raise for parameters that are not supported over parties, with the reason."""
    for name, value in given.items():
        reason = UNSUPPORTED.get(name)
        if reason is None:
            reason = "parties agree upon the parameters of the constructor alone"
        elif value is None or (isinstance(value, str) and value == "auto"):
            continue
        raise InvalidParameterError(
            f"The {name!r} parameter of {owner} must be left out: {reason}."
        )


# -- the tables of a simulation --------------------------------------------------------------------


def simulate_tables(
    owner: str,
    parties: Any,
    agree: Callable[[int, Sequence[str]], Agreement],
    y: Any = None,
    *,
    sample_weight: Any = None,
    user_ids: Any = None,
    show_progress: bool = False,
) -> Simulation:
    """Agree on the number of tables and their columns, and run a session of all parties."""
    if y is not None:
        raise InvalidParameterError(
            f"{owner}.fit takes one list of pairs, [(X1, y1), (X2, y2), ...], and no y beside it."
        )
    if not isinstance(parties, (list, tuple)) or len(parties) < 2:
        must = "a list of at least two pairs (X, y)"
        raise refuse("parties", f"{owner}.fit", must, type(parties).__name__)
    for pair in parties:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise refuse("parties", f"{owner}.fit", "a list of pairs (X, y)", type(pair).__name__)
    weights = party_arrays("sample_weight", sample_weight, parties, owner)
    users = party_arrays("user_ids", user_ids, parties, owner)
    agreement = agree(len(parties), party_columns(parties, owner))
    agreement.warn()
    return simulate(
        agreement,
        parties,
        sample_weight=weights,
        user_ids=users,
        show_progress=show_progress,
    )


def party_columns(tables: Sequence[tuple[Any, Any]], owner: str) -> tuple[str, ...]:
    """Return the names of the columns, which must be the same for all parties, in one order."""
    found = []
    for X, _ in tables:
        table = X if hasattr(X, "shape") else np.asarray(X)
        if len(table.shape) != 2:
            raise InvalidParameterError(
                f"{owner}.fit: the rows of a party must be a table of shape (n_rows, n_features)."
            )
        columns = getattr(table, "columns", None)
        own = None if columns is None else [str(name) for name in columns]
        found.append(column_names(None, table.shape[1], own))
    for position, names in enumerate(found):
        if names != found[0]:
            raise InvalidParameterError(
                f"{owner}.fit: the columns of party {position} differ from those of party 0. All "
                "parties give the same columns, in the same order."
            )
    return found[0]


def party_arrays(
    name: str, given: Any, tables: Sequence[tuple[Any, Any]], owner: str
) -> list[Any] | None:
    """Return additional arrays of each party, or None."""
    if given is None:
        return None
    arrays = list(given) if isinstance(given, (list, tuple)) else []
    if len(arrays) != len(tables) or not all(np.ndim(one) == 1 for one in arrays):
        raise InvalidParameterError(
            f"The {name!r} parameter of {owner}.fit must be a list with one array for each party."
        )
    return arrays
