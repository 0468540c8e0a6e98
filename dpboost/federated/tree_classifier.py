"""A private decision tree on the rows of several parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost._utils.validation import InvalidParameterError, check_choice, keep_arguments
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.estimators.tree_base import DECIDED_BY_RECIPE, TreeClassifier
from dpboost.federated.estimators import simulate_tables
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.training.agreed_fit import FEDERATED_RECIPES, agreed_request, shares
from dpboost.federated.training.session_run import Result
from dpboost.recipes.recipe import given, on_columns
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import Schema

# Decided by recipes that need a trusted holder of all rows.
_CENTRAL_ALONE = ("preset", "threshold_draws")
_DECIDED = tuple(name for name in DECIDED_BY_RECIPE if name not in _CENTRAL_ALONE)


class FederatedTreeClassifier(TreeClassifier):
    """Differentially private decision tree for classification on rows of several parties.

    ``fit`` runs all parties in this process, each with its rows, ledger and keys, and a
    coordinator that receives masked or released numbers only. In production the parties run as
    separate processes on a network; see ``dpboost.federated``.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``, pure. ``float("inf")`` switches every noise off; the model
        is then not private and says so.
    recipe : {"histograms", "histograms_saving", "noisy_counts", "local_rnm", "sulq_id3"}, \
default="histograms"
        Algorithm: that of Gubler, without or with budget saving, the two of Wang, Dick and
        Balcan, or SuLQ-ID3, which needs no more than noisy sums either.
    schema : Schema, dict or path of a JSON file
        Public knowledge on which all parties agree first: bounds, edges or categories of every
        column, and the classes. Required.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Two tables are neighbors when one party has one row more, or another row.
    colluding : int, default=1
        How many parties may tell the coordinator, or each other, all that they know without harm
        to the guarantee of the rest; below the number of parties. The more, the more noise: each
        adds a share such that those of all others already carry what is charged for.
    max_depth, criterion, max_bin, selection, leaf_share, n_splits, depth_budget, target_error, \
min_gain, prune, min_rows, bounds_share, monotone_constraints : optional
        As of ``DPTreeClassifier``; None means the rule of the recipe, and not every recipe takes
        each. By ``selection`` a party chooses a split on its own rows (``local_rnm``).
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text state this.

    Attributes
    ----------
    classes_, booster_, tree_, ensemble_, schema_, n_features_in_, feature_names_in_, max_depth_, \
criterion_, max_bin_, selection_, leaf_share_, n_splits_, depth_budget_, target_error_, \
min_gain_, prune_, min_rows_, bounds_share_
        As of ``DPTreeClassifier``.
    privacy_report_ : PrivacyReport
        Every release and its charge, by the coordinator's ledger.
    party_reports_ : tuple of PrivacyReport
        After ``fit``: the records of each party, and the guarantee against each attacker. They do
        not depend on its rows.
    agreement_ : Agreement
        The terms of the fit.
    n_parties_ : int

    Privacy
    -------
    The guarantee of ``privacy_report_`` holds for each row of each party against the coordinator,
    against everybody who sees the model, and against up to ``colluding`` of the other parties
    together with them. A person with rows at several parties has it that many times.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> schema = dict(bounds={i: (0, 8) for i in range(4)}, classes=[0, 1, 2])
    >>> parties = [(X[i::3], y[i::3]) for i in range(3)]
    >>> model = FederatedTreeClassifier(epsilon=5.0, schema=schema).fit(parties)
    >>> model.predict(X).shape
    (150,)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        recipe: str = "histograms",
        max_depth: int | None = None,
        schema: Any = None,
        neighbors: str = "add_remove",
        colluding: int = 1,
        criterion: str | None = None,
        max_bin: int | None = None,
        selection: str | None = None,
        leaf_share: float | None = None,
        n_splits: int | None = None,
        depth_budget: str | None = None,
        target_error: float | None = None,
        min_gain: float | None = None,
        prune: bool | None = None,
        min_rows: int | None = None,
        bounds_share: float | None = None,
        monotone_constraints: Any = None,
        noise_seed: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    @one_warning
    def fit(
        self,
        parties: Sequence[tuple[Any, Any]],
        y: None = None,
        *,
        budget: None = None,
        fraction: None = None,
    ) -> FederatedTreeClassifier:
        """Train privately.

        Parameters
        ----------
        parties : sequence of (X, y)
            Rows and labels of each of at least two parties, with the same columns. A party may
            have few rows, rows of one class only, or an array of shape (0, n_features). Labels
            outside the declared classes take no part.
        y : None
            Labels come with the rows.
        budget, fraction : None
            Refused: a budget has no records at parties.

        Returns
        -------
        FederatedTreeClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For invalid parameters, an incomplete schema or bad shapes, before anything is drawn or
            charged.

        Privacy
        -------
        Spends ``epsilon`` once; see ``privacy_report_`` and ``party_reports_``.
        """
        owner = type(self).__name__
        refuse_budget(owner, budget, fraction, self)
        found = simulate_tables(owner, parties, self.agreement, y)
        self._keep(found.coordinator, names=getattr(parties[0][0], "columns", None))
        # All parties have the same shares of the noise, and so the same guarantee.
        self.party_reports_ = tuple(
            PrivacyReport.from_ledger(
                one.ledger, facts=self.privacy_report_.facts, parties=shares(self.agreement_)
            )
            for one in found.parties
        )
        return self

    def _keep(self, found: Result, *, names: Any = None) -> None:
        """Take the model of a session."""
        self._store(found.fitted, names=names)
        self.agreement_ = found.agreement
        self.n_parties_ = found.agreement.n_parties

    def agreement(
        self, n_parties: int, features: Sequence[str], identities: Sequence[str] = ()
    ) -> Agreement:
        """Return the terms that these parameters make, for all data holders to read.

        Parameters
        ----------
        n_parties : int
        features : sequence of str
            Names of the columns.
        identities : sequence of str, optional
            Public keys of the parties (``Identity.public``), by their numbers.

        Returns
        -------
        Agreement

        Raises
        ------
        InvalidParameterError
            For what cannot be agreed upon.
        """
        owner = type(self).__name__
        if self.schema is None:
            raise InvalidParameterError(
                f"The 'schema' parameter of {owner} is required: all parties agree on bounds or "
                "categories of every column and on the classes before anything is computed."
            )
        check_choice("recipe", owner, self.recipe, FEDERATED_RECIPES)
        hyper = {name: getattr(self, name) for name in (*_DECIDED, "monotone_constraints")}
        agreement = Agreement(
            n_parties=n_parties,
            features=tuple(map(str, features)),
            schema=Schema.coerce(self.schema).to_dict(),
            recipe=self.recipe,
            epsilon=self.epsilon,
            neighbors=self.neighbors,
            colluding=self.colluding,
            hyper=on_columns(given(hyper), features, owner),
            identities=tuple(identities),
            noise_seed=self.noise_seed,
        )
        agreed_request(agreement, owner)
        return agreement
