"""Private selection among settings of the recipe best, beside its rules, at equal total epsilon.

Selection runs a candidate on other rows than those that score it, so that a candidate with its
score costs what the fit costs: rows that fit and rows that score are disjoint. What the whole
selection costs:

* k candidates and their scores add up: each has a k-th of mu squared (composition).
* A random number of candidates, of which only the best is released, costs little more than a few
  (Liu and Talwar, STOC 2019; Papernot and Steinke, ICLR 2022). Their number is logarithmic here,
  P[K = k] ~ (1 - gamma)^k / k. If each is epsilon-private, the selection is 2 epsilon-private
  (Corollary 3 of Papernot and Steinke, eta = 0). If each has Renyi divergence at most rho x alpha,
  the selection has at most what `renyi` returns (their Theorem 2).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import Problem, take
from benchmarks.summary import Summary, summarize, table
from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.privacy.accounting import GDPAccountant
from dpboost.privacy.exact_arithmetic import as_budget, as_fraction, cost_of

SPLITS, QUICK_SPLITS = 5, 1
DELTA = 1e-5
EPSILONS = (1.0,)
NAMES = (
    *("telco_churn", "spambase", "mushroom", "default_credit"),
    *("abalone", "wine_quality", "ccpp", "bike_sharing"),
)
#: The first are the rules themselves.
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"learning_rate": 0.05},
    {"learning_rate": 0.3},
    {"max_depth": 2},
    {"max_depth": 6},
    {"n_estimators": 100, "learning_rate": 0.3},
)
#: Of the rows of a fit, so many score it where a selection is to choose.
HELD = 0.2
#: The number of candidates of a random selection has this parameter; 6.3 on average.
GAMMA = 0.05
RULES, HOLDOUT, REPEATS = "rules", "paid holdout", "random repeats"
PURE, PURE_REPEATS = "rules, pure epsilon", "random repeats, pure epsilon"
FREE = "best on the test rows, no privacy of the choice"
#: What each selection is compared with.
REFERENCES = {HOLDOUT: RULES, REPEATS: RULES, PURE_REPEATS: PURE, FREE: RULES}
_ORDERS = np.concatenate([np.arange(1.05, 50, 0.25), np.geomspace(50, 10_000, 200)])


def expected_number(gamma: float) -> float:
    """Return the mean of the logarithmic number of candidates."""
    return (1 / gamma - 1) / math.log(1 / gamma)


def renyi(rho: float, gamma: float, order: float) -> float:
    """Return the divergence of a selection whose candidates have at most rho x alpha.

    Theorem 2 of Papernot and Steinke with eta = 0: for every second order, of which the best is
    taken.
    """
    second = np.min((1 - 1 / _ORDERS) * rho * _ORDERS + math.log(1 / gamma) / _ORDERS)
    return float(rho * order + second + math.log(expected_number(gamma)) / (order - 1))


def epsilon_of_selection(rho: float, gamma: float, delta: float) -> float:
    """Return the epsilon of a selection at a delta, by the best of the orders."""
    return min(
        renyi(rho, gamma, order)
        + math.log1p(-1 / order)
        - (math.log(delta) + math.log(order)) / (order - 1)
        for order in _ORDERS
    )


@functools.cache
def capacity(epsilon: float) -> float:
    """Return mu squared of a budget."""
    exact = as_budget("epsilon", "tuning", epsilon)
    return float(GDPAccountant().capacity(exact, as_fraction("delta", "tuning", DELTA)))


@functools.cache
def of_candidate(epsilon: float) -> float:
    """Return mu squared of each candidate of a random selection with this epsilon."""
    low, high = 0.0, capacity(epsilon) / 2
    for _ in range(60):
        middle = (low + high) / 2
        fits = epsilon_of_selection(middle, GAMMA, DELTA) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return 2 * low


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows to fit and rows to test, and what fits a model to the former."""

    problem: Problem
    X: Any
    y: np.ndarray
    test: tuple[Any, np.ndarray]
    seed: int

    @classmethod
    def of(cls, name: str, seed: int) -> Split:
        """Return a split of a table."""
        problem = PROBLEMS[name]
        X, y = problem.load()
        own, test = problem.split.indices(y, seed)
        return cls(
            problem=problem,
            X=take(X, own),
            y=y[own],
            test=(take(X, test), y[test]),
            seed=seed,
        )

    @property
    def regression(self) -> bool:
        """Whether labels are numbers."""
        return self.problem.task == "regression"

    def fit(self, settings: dict[str, Any], rows: np.ndarray, **budget: float) -> Any:
        """Return a model of some rows."""
        estimator = DPBoostRegressor if self.regression else DPBoostClassifier
        model = estimator(
            schema=self.problem.dictionary.schema(),
            random_state=self.seed,
            n_jobs=1,
            verbosity=-1,
            **budget,
            **settings,
        )
        return model.fit(take(self.X, rows), self.y[rows])

    def predicted(self, model: Any, X: Any) -> np.ndarray:
        """Return numbers, or the probability of the second class."""
        return np.asarray(model.predict(X) if self.regression else model.predict_proba(X)[:, 1])

    def tested(self, model: Any) -> float:
        """Return the error or the area under the curve on the test rows."""
        X, y = self.test
        found = self.predicted(model, X)
        if self.regression:
            return float(np.sqrt(np.mean((y - found) ** 2)))
        return float(roc_auc_score(y, found))

    def loss(self, model: Any, rows: np.ndarray) -> float:
        """Return a sum over rows, in which each of them counts between 0 and 1.

        The spread of the labels is taken as known, which favors a selection.
        """
        wrong = self.y[rows] - self.predicted(model, take(self.X, rows))
        if self.regression:
            wrong = wrong / (2 * self.y.std())
        return float(np.minimum(wrong**2, 1).sum())

    def chosen(self, numbers: np.ndarray, noise: Callable[[], float], **budget: float) -> Any:
        """Return the model of the candidate with the least noisy loss on held-out rows."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        held, own = np.split(order, [int(HELD * len(order))])
        models = [self.fit(SETTINGS[number], own, **budget) for number in numbers]
        return models[int(np.argmin([self.loss(model, held) + noise() for model in models]))]


def gaussian(mu_squared: float) -> tuple[Callable[[], float], dict[str, float]]:
    """Return the noise of a score, and the budget of a fit, of this mu squared each."""
    exact = cost_of(Fraction(mu_squared))
    epsilon = GDPAccountant().epsilon(exact, as_fraction("delta", "tuning", DELTA))
    fresh = np.random.default_rng()
    return lambda: fresh.normal(0, 1 / math.sqrt(mu_squared)), {"epsilon": epsilon, "delta": DELTA}


def measured(name: str, epsilon: float, seed: int) -> list[Result]:
    """Return how good the rules and each selection are on the test rows."""
    split = Split.of(name, seed)
    rows, fresh = np.arange(len(split.y)), np.random.default_rng()
    whole = {"epsilon": epsilon, "delta": DELTA}
    tested = [split.tested(split.fit(settings, rows, **whole)) for settings in SETTINGS]
    found = {RULES: tested[0], FREE: min(tested) if split.regression else max(tested)}
    noise, budget = gaussian(capacity(epsilon) / len(SETTINGS))
    model = split.chosen(np.arange(len(SETTINGS)), noise, **budget)
    found[HOLDOUT] = split.tested(model)
    noise, budget = gaussian(of_candidate(epsilon))
    found[REPEATS] = split.tested(split.chosen(_drawn(fresh), noise, **budget))
    found[PURE] = split.tested(split.fit({}, rows, epsilon=epsilon, delta=0))
    half = epsilon / 2
    model = split.chosen(_drawn(fresh), lambda: fresh.laplace(0, 1 / half), epsilon=half, delta=0)
    found[PURE_REPEATS] = split.tested(model)
    measure = "RMSE" if split.regression else "AUC"
    return [
        Result(data=name, method=method, epsilon=epsilon, repeat=seed, measure=measure, value=value)
        for method, value in found.items()
    ]


def _drawn(fresh: np.random.Generator) -> np.ndarray:
    """Return a random number of settings, each of them any one."""
    return fresh.integers(0, len(SETTINGS), size=fresh.logseries(1 - GAMMA))


def plan(request: Request) -> Plan:
    """Return every split of every table and budget as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    names = NAMES[:1] if request.quick else NAMES
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{name}, {epsilon:g}, split {seed}",
            settings=digest({"versions": versions, "files": PROBLEMS[name].local_digests()}),
            measure=functools.partial(measured, name, epsilon, seed),
        )
        for epsilon in EPSILONS
        for seed in range(n_splits)
        for name in names
    ]
    shares = {f"{epsilon:g}": of_candidate(epsilon) / capacity(epsilon) for epsilon in EPSILONS}
    told = ", ".join(f"{share:.3f} at epsilon {epsilon}" for epsilon, share in shares.items())
    return Plan(units=units, facts={"splits": str(n_splits), "share of a candidate": told})


def gain(rows: list[Result], method: str) -> Summary:
    """Return what a selection gains on the same splits: part of the RMSE, or AUC."""
    own, other = (np.array(values(rows, method=each)) for each in (method, REFERENCES[method]))
    return summarize(list(1 - own / other if rows[0].measure == "RMSE" else own - other))


def _points(results: Results) -> Iterator[tuple[str, float, list[Result]]]:
    for epsilon in EPSILONS:
        for name in distinct(results.rows, "data"):
            if own := pick(results.rows, data=name, epsilon=epsilon):
                yield name, epsilon, own


def counted(results: Results, method: str, epsilon: float) -> tuple[int, int, int]:
    """Return on how many tables a selection is better and worse beyond two errors, and of all."""
    gains = [gain(rows, method) for _, at, rows in _points(results) if at == epsilon]
    better = sum(each.mean > 2 * each.standard_error for each in gains)
    worse = sum(each.mean < -2 * each.standard_error for each in gains)
    return better, worse, len(gains)


def finding(results: Results) -> str:
    """Return on how many tables a selection beats the rules."""
    words = []
    for method in (HOLDOUT, REPEATS, PURE_REPEATS):
        for epsilon in dict.fromkeys(epsilon for _, epsilon, _ in _points(results)):
            better, worse, n_tables = counted(results, method, epsilon)
            words.append(f"{method} at epsilon {epsilon:g}: {better} and {worse} of {n_tables}")
    return (
        "Tables on which a private selection among six settings is better and worse than the rules "
        f"of `best` by more than two errors, at the same total epsilon: {'; '.join(words)}."
    )


def body(results: Results) -> list[str]:
    """Return the scores of the rules, and what each selection gains."""
    lines = []
    for name, epsilon, rows in _points(results):
        digits = 1 if name == "bike_sharing" else 4
        rules = [f"{summarize(values(rows, method=each)):{digits}}" for each in (RULES, PURE)]
        gains = [f"{gain(rows, method):4}" for method in REFERENCES]
        lines.append([f"{name}, {rows[0].measure}", f"{epsilon:g}", *rules, *gains])
    heads = [f"gain, {method}" for method in REFERENCES]
    settings = "; ".join(
        ", ".join(f"{key} {value:g}" for key, value in each.items()) or "the rules"
        for each in SETTINGS
    )
    return [
        f"Means over {results.facts['splits']} splits, ± a standard error. Gains are parts of the "
        "RMSE, or differences of AUC, over the rules on the same splits at the same total epsilon; "
        "a negative one is a loss. The total includes the choice: all candidates and their scores. "
        f"Delta is {DELTA:g}, and 0 for pure epsilon.",
        "",
        f"Settings: {settings}.",
        "",
        f"* *Paid holdout*: each setting has {1 / len(SETTINGS):.3f} of mu squared, and so has its "
        f"score on a fifth of the rows, which no candidate is fitted to. By composition the total "
        "is that of the rules.",
        f"* *Random repeats*: {expected_number(GAMMA):.1f} candidates on average, each a random "
        "setting; only the best is released. By Theorem 2 of Papernot and Steinke (ICLR 2022) the "
        "part of mu squared that each candidate may have is "
        f"{results.facts['share of a candidate']}. With pure epsilon each candidate may have half "
        "of epsilon (their Corollary 3), and would have a third if the number were geometric (Liu "
        "and Talwar, STOC 2019).",
        f"* *{FREE[0].upper()}{FREE[1:]}*: a model of each setting with the whole budget. It is an "
        "upper limit of what a choice among these settings can gain.",
        "",
        *table(["table", "epsilon", RULES, PURE, *heads], lines),
        "",
    ]


TUNING = Run(
    name="tuning",
    title="Private selection among settings, beside the rules of `best`",
    group=Group.ACCURACY,
    description="Whether a private choice among six settings is worth its epsilon: at the same "
    "total epsilon, the rules of the recipe best beside a choice on a paid holdout and one with a "
    "random number of candidates, on eight tables.",
    plan=plan,
    body=body,
    finding=finding,
)
