"""What attackers find out from models of LightGBM and of ours.

Membership: who was in the table? Attribute: what did a row say in one column, to someone who knows
all the others? Both are measured against models that were trained *without* the row: what such a
model tells too, it does not tell because the row took part.

Many models are trained on one table; each target row is in it or not, by an independent draw and of
each model. The attacker knows everything but that coin: for each target the mean of its score in
the other models with it and without it, and the likelier of the two wins (Carlini et al., IEEE S&P
2022, with a common variance).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.summary import listed, summarize, table

DATA = "adult"
SENSITIVE = "sex"
N_ROWS = 1_000
N_TARGETS = 60
N_MODELS, QUICK_MODELS = 64, 12
REPEATS, QUICK_REPEATS = 3, 1
DELTA = 1e-5
EPSILONS = (0.5, 1.0, 8.0)
LIGHTGBM, BEST = "LightGBM", "best"
ORDINARY, CONTRARY = "ordinary rows", "rows with the wrong label"
_ADVANTAGE, _AUC, _BOUND = "advantage", "AUC", "bound of the advantage"
_MEMBERSHIP, _ATTRIBUTE = "membership", "attribute"

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def advantage(scores: Array, inside: Mask) -> tuple[float, float]:
    """Return what an attacker wins who knows the scores of the other models.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_targets)
        What each model says of each target: the log-odds of its label.
    inside : ndarray of shape (n_models, n_targets), bool
        Whether the target was in the table of the model.

    Returns
    -------
    advantage : float
        True less false positives of the likelier guess.
    auc : float
        Of the likelihood ratio, over all targets and models.
    """
    ratios = np.empty(scores.shape)
    for model in range(len(scores)):
        others = np.arange(len(scores)) != model
        own, known = scores[others], inside[others]
        means = []
        left = own.copy()
        for side in (known, ~known):
            count = np.maximum(side.sum(axis=0), 1)
            mean = np.where(side, own, 0.0).sum(axis=0) / count
            means.append(np.where(side.any(axis=0), mean, own.mean(axis=0)))
            left -= np.where(side, means[-1], 0.0)
        variance = np.maximum(np.mean(left**2, axis=0), 1e-12)
        distance = (scores[model] - means[1]) ** 2 - (scores[model] - means[0]) ** 2
        ratios[model] = distance / (2 * variance)
    flat, truth = ratios.ravel(), inside.ravel()
    guess = flat > 0
    won = float(np.mean(guess[truth]) - np.mean(guess[~truth]))
    ranks = rankdata(flat)
    n_in, n_out = int(truth.sum()), int((~truth).sum())
    return won, float((ranks[truth].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


def attribute_advantage(right: Mask, inside: Mask) -> float:
    """Return how much oftener an attribute is guessed with the row in the table than without."""
    return float(np.mean(right[inside]) - np.mean(right[~inside]))


def _fit_lightgbm(X: Any, y: Any, seed: int) -> tuple[Callable[[Any], Array], float]:
    import lightgbm

    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed).fit(X, y)
    return lambda rows: model.predict_proba(rows)[:, 1], 1.0


def _fit_best(X: Any, y: Any, seed: int, *, epsilon: float) -> tuple[Callable[[Any], Array], float]:
    from dpboost import DPBoostClassifier
    from dpboost.reporting.attacker import membership_advantage

    schema = PROBLEMS[DATA].dictionary.schema()
    model = DPBoostClassifier(
        epsilon=epsilon, delta=DELTA, schema=schema, n_jobs=1, random_state=seed, verbosity=-1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    bound = membership_advantage(epsilon=epsilon, delta=DELTA, mu=model.privacy_report_.mu)
    return lambda rows: model.predict_proba(rows)[:, 1], bound


def attack(
    fit: Callable[..., tuple[Callable[[Any], Array], float]], seed: int, n_models: int
) -> dict[tuple[str, str, str], float]:
    """Train the models of one table and return what the attackers win.

    Parameters
    ----------
    fit : callable
        ``fit(X, y, seed)``: a function that gives probabilities, and a bound of the advantage.
    seed : int
        Of table, targets and coins; public.
    n_models : int

    Returns
    -------
    dict of (part, rows, measure) to float
    """
    random = np.random.default_rng(seed)
    X, y = PROBLEMS[DATA].load()
    labels = np.unique(y, return_inverse=True)[1]
    chosen = random.permutation(len(X))[:N_ROWS]
    X, labels = X.iloc[chosen].reset_index(drop=True), labels[chosen].copy()
    kinds = np.repeat([ORDINARY, CONTRARY], N_TARGETS // 2)
    labels[np.arange(N_TARGETS)[kinds == CONTRARY]] ^= 1
    targets, own = X.iloc[:N_TARGETS], labels[:N_TARGETS]
    versions = {value: _with(targets, value) for value in X[SENSITIVE].cat.categories}
    prior = X[SENSITIVE].value_counts(normalize=True)
    truth = targets[SENSITIVE].to_numpy()
    # Coins of both sides in every target, so that no mean is of nothing.
    coins = random.permuted(np.tile(np.arange(n_models)[:, None] % 2 == 0, (1, N_TARGETS)), axis=0)
    scores, right, bounds = np.empty(coins.shape), np.empty(coins.shape, dtype=bool), []
    for model, inside in enumerate(coins):
        kept = np.concatenate([inside, np.ones(N_ROWS - N_TARGETS, dtype=bool)])
        predict, bound = fit(X[kept], labels[kept], seed * n_models + model)
        bounds.append(bound)
        chance = _of_label(predict(targets), own)
        scores[model] = np.log(chance) - np.log1p(-chance)
        weighed = {
            value: prior[value] * _of_label(predict(rows), own) for value, rows in versions.items()
        }
        names = np.array(list(weighed))
        right[model] = names[np.argmax(np.array(list(weighed.values())), axis=0)] == truth
    found: dict[tuple[str, str, str], float] = {}
    for kind in (ORDINARY, CONTRARY):
        columns = kinds == kind
        won, auc = advantage(scores[:, columns], coins[:, columns])
        found[_MEMBERSHIP, kind, _ADVANTAGE] = won
        found[_MEMBERSHIP, kind, _AUC] = auc
        guessed = attribute_advantage(right[:, columns], coins[:, columns])
        found[_ATTRIBUTE, kind, _ADVANTAGE] = guessed
        found[_MEMBERSHIP, kind, _BOUND] = max(bounds)
    return found


def _with(rows: Any, value: Any) -> Any:
    changed = rows.copy()
    changed[SENSITIVE] = value
    changed[SENSITIVE] = changed[SENSITIVE].astype(rows[SENSITIVE].dtype)
    return changed


def _of_label(chance: Array, labels: NDArray[Any]) -> Array:
    return np.clip(np.where(labels == 1, chance, 1 - chance), 1e-9, 1 - 1e-9)


def _measure(method: str, epsilon: float | None, repeat: int, n_models: int) -> list[Result]:
    fit = _fit_lightgbm if epsilon is None else partial(_fit_best, epsilon=epsilon)
    return [
        Result(
            part=part, data=kind, method=method, epsilon=epsilon, repeat=repeat, measure=measure,
            value=value,
        )
        for (part, kind, measure), value in attack(fit, repeat, n_models).items()
    ]  # fmt: skip


def plan(request: Request) -> Plan:
    """Return every table and method as a unit."""
    repeats = request.repeats or (QUICK_REPEATS if request.quick else REPEATS)
    n_models = QUICK_MODELS if request.quick else N_MODELS
    settings = {
        "versions": dpboost_recipes.versions(),
        "rows": N_ROWS,
        "targets": N_TARGETS,
        "models": n_models,
    }
    methods = [(LIGHTGBM, None), *((BEST, epsilon) for epsilon in EPSILONS)]
    units = [
        Unit(
            name=f"{method} {epsilon}, table {repeat}",
            settings=digest(settings),
            measure=partial(_measure, method, epsilon, repeat, n_models),
        )
        for method, epsilon in methods
        for repeat in range(repeats)
    ]
    return Plan(units=units, facts={"repeats": str(repeats), "models": str(n_models)})


def body(results: Results) -> list[str]:
    """Return a table for each attack."""
    rows = results.rows
    repeats, models = results.facts["repeats"], results.facts["models"]
    return [
        f"{repeats} tables of {N_ROWS:,} rows of Adult, {N_TARGETS} targets and {models} models "
        f"each, all defaults; best has delta {DELTA:g}. 0: no better than with a model that was "
        "trained without the row. 1: always right.",
        "",
        "## Was the row in the table?",
        "",
        "Advantage: true less false positives. The bound holds for every attacker.",
        "",
        *_lines(pick(rows, part=_MEMBERSHIP), (_ADVANTAGE, _AUC, _BOUND)),
        "",
        f"## What does the row say in the column {SENSITIVE}?",
        "",
        "The attacker knows all other columns and the label. Advantage: right guesses with the "
        "row in the table, less those without it.",
        "",
        *_lines(pick(rows, part=_ATTRIBUTE), (_ADVANTAGE,)),
        "",
    ]


def _lines(rows: Sequence[Result], measures: Sequence[str]) -> list[str]:
    kinds = distinct(rows, "data")
    head = ["model", *(f"{kind}: {name}" for kind in kinds for name in measures if name != _BOUND)]
    if _BOUND in measures:
        head.append(_BOUND)
    lines = []
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in rows):
        own = pick(rows, method=method, epsilon=epsilon)
        cells = [
            f"{summarize(values(own, data=kind, measure=name)):3}"
            for kind in kinds
            for name in measures
            if name != _BOUND
        ]
        if _BOUND in measures:
            bounds = values(own, data=kinds[0], measure=_BOUND)
            cells.append("none" if epsilon is None else f"{max(bounds):.3f}")
        name = method if epsilon is None else f"{method}, epsilon {epsilon:g}"
        lines.append([name, *cells])
    return table(head, lines)


def finding(results: Results) -> str:
    """Return what the membership attack wins at most, by model, and its bound."""
    rows = pick(results.rows, part=_MEMBERSHIP)
    said = []
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in rows):
        own = pick(rows, method=method, epsilon=epsilon)
        won, bound = (
            max(
                fmean(values(own, data=kind, measure=measure))
                for kind in distinct(own, "data")
                if pick(own, data=kind, measure=measure)
            )
            for measure in (_ADVANTAGE, _BOUND)
        )
        name = method if epsilon is None else f"`{method}` at epsilon {epsilon:g}"
        said.append(f"{won:.3f} on {name}" + ("" if epsilon is None else f" (bound {bound:.3f})"))
    return f"Membership inference gains an advantage of at most {listed(said)}."


ATTACKS = Run(
    name="attacks",
    title="Membership and attribute inference against models",
    group=Group.PRIVACY,
    description="Membership and attribute inference on models of LightGBM and of the recipe best, "
    "as advantage over models that were trained without the row.",
    plan=plan,
    body=body,
    finding=finding,
)
