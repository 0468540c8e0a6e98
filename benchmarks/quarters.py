"""What to fit each quarter: seven ways to use new rows, at the same epsilon of each individual."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks._compat import import_pandas
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.adult import ADULT
from benchmarks.problems.bank import BANK
from benchmarks.problems.problem import take
from benchmarks.problems.services import BIKE_SHARING
from benchmarks.summary import Summary, summarize, table
from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, Schema, refit_leaves
from dpboost.budgeting.periods import Overlap

SPLITS, QUICK_SPLITS = 3, 1
DELTA = 1e-5
EPSILONS = (0.5, 1.0, 4.0)
QUARTERS = 8
#: Rows of a quarter of the generated tables, and of Adult.
N_ROWS = 2000
#: Of a quarter that does not depend on the split, so many rows are drawn.
DRAWN = 0.8

#: Errors of a model, or areas under its curve.
RMSE, AUC = "RMSE", "AUC"
SPENT = "epsilon spent"

NEWEST, MEAN, ONCE = "newest quarter", "mean of the last 4", "first model, kept"
CONTINUED, LEAVES = "continued", "leaves refitted"
TOGETHER = "every 4th quarter, on 4"
WINDOWS = {f"window of {size}": size for size in (2, 4, 8)}
#: Everyone has rows in one quarter, or in up to four.
ONE, FOUR = "1", "4"
OF_PART = {
    ONE: (NEWEST, *WINDOWS, TOGETHER, MEAN, CONTINUED, LEAVES, ONCE),
    FOUR: (NEWEST, *WINDOWS, MEAN),
}
#: The trees of a continued model grow in number, and its time with their square: not on this one.
NOT_CONTINUED = "bank"
Quarters = list[tuple[Any, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A table whose rows arrive in quarters.

    Attributes
    ----------
    regression : bool
    schema : Schema
    read : callable
        ``read(seed)``: features and labels of each quarter.
    fixed : bool
        Whether all seeds have the same rows, of which each draws some for its fits.
    files : callable
        ``files()``: digests of the published files.
    """

    schema: Schema
    read: Callable[[int], Quarters]
    regression: bool = False
    fixed: bool = False
    files: Callable[[], dict[str, str]] = field(default=dict)


def _bikes(seed: int) -> Quarters:
    X, y = BIKE_SHARING.load()
    number = ((12 * X["yr"] + X["mnth"] - 1) // 3).to_numpy()
    return _parts(X, y, [np.flatnonzero(number == each) for each in range(QUARTERS)])


def _calls(seed: int) -> Quarters:
    # The publisher's rows are in the order of the calls, from May 2008 to November 2010.
    X, y = BANK.load()
    return _parts(X, y, np.array_split(np.arange(len(y)), QUARTERS))


def _steady(seed: int) -> Quarters:
    X, y = ADULT.load()
    order = np.random.default_rng(seed).permutation(len(y))[: QUARTERS * N_ROWS]
    return _parts(X, y, np.array_split(order, QUARTERS))


def _parts(X: Any, y: np.ndarray, rows: Sequence[np.ndarray]) -> Quarters:
    return [(take(X, own), y[own]) for own in rows]


def drifting(seed: int, angles: Sequence[float]) -> Quarters:
    """Return quarters whose labels follow two groups of columns, one turning into the other."""
    random = np.random.default_rng(seed)
    quarters = []
    for angle in angles:
        X = random.uniform(-1, 1, size=(N_ROWS, 6))
        before = 2 * X[:, 0] + np.sin(3 * X[:, 1])
        after = 2 * X[:, 2] - 1.5 * (X[:, 3] > 0) + 0.75
        odds = np.exp(1.5 * (np.cos(angle) * before + np.sin(angle) * after + 0.5 * X[:, 4]))
        quarters.append((X, (random.random(N_ROWS) * (1 + odds) < odds).astype(int)))
    return quarters


_GENERATED = Schema(bounds=dict.fromkeys(range(6), (-1, 1)), classes=[0, 1])
STREAMS = {
    "bike_sharing": Stream(
        schema=BIKE_SHARING.dictionary.schema(),
        read=_bikes,
        regression=True,
        fixed=True,
        files=BIKE_SHARING.local_digests,
    ),
    "bank": Stream(
        schema=BANK.dictionary.schema(), read=_calls, fixed=True, files=BANK.local_digests
    ),
    "adult, no drift": Stream(
        schema=ADULT.dictionary.schema(), read=_steady, files=ADULT.local_digests
    ),
    "drift": Stream(
        schema=_GENERATED,
        read=functools.partial(drifting, angles=[0.1 * each for each in range(QUARTERS)]),
    ),
}


def methods_of(part: str, data: str) -> list[str]:
    """Return the strategies that are measured on a table."""
    return [each for each in OF_PART[part] if (each, data) != (CONTINUED, NOT_CONTINUED)]


class Life:
    """The budget of one strategy, and the models of its fits."""

    def __init__(self, stream: Stream, epsilon: float, part: str, seed: int) -> None:
        self.stream, self.seed, self.part = stream, seed, part
        self.budget = Budget(epsilon=epsilon, delta=DELTA, periods=int(part))
        self.models: list[Any] = []

    def window(self, rows: Quarters, numbers: Sequence[int]) -> tuple[Any, np.ndarray, Any]:
        """Return the rows of some quarters, and the budget that is charged to them."""
        X = [rows[number][0] for number in numbers]
        joined = (
            import_pandas().concat(X, ignore_index=True) if hasattr(X[0], "iloc") else np.vstack(X)
        )
        names = [f"quarter {number}" for number in numbers]
        of_rows = np.repeat(names, [len(rows[number][1]) for number in numbers])
        y = np.concatenate([rows[number][1] for number in numbers])
        return joined, y, self.budget.window(*names, of_rows=of_rows)

    def fit(self, rows: Quarters, numbers: Sequence[int], fraction: Any, **start: Any) -> None:
        """Fit a model to some quarters."""
        X, y, window = self.window(rows, numbers)
        estimator = DPBoostRegressor if self.stream.regression else DPBoostClassifier
        model = estimator(schema=self.stream.schema, random_state=self.seed, n_jobs=1, verbosity=-1)
        self.models.append(model.fit(X, y, budget=window, fraction=fraction, **start))

    def learn(self, method: str, rows: Quarters, now: int) -> None:
        """Do what the strategy does with the rows of a quarter."""
        share = lasting(self.part, WINDOWS.get(method, 1))
        if method in WINDOWS:
            self.fit(rows, range(max(0, now - WINDOWS[method] + 1), now + 1), share)
        elif method == TOGETHER:
            if now % 4 == 3:
                self.fit(rows, range(now - 3, now + 1), 1)
        elif method == CONTINUED and now:
            self.fit(rows, [now], share, init_model=self.models[-1])
        elif method == LEAVES and now:
            X, y, window = self.window(rows, [now])
            newer = refit_leaves(self.models[0], X, y, budget=window, fraction=share)
            self.models.append(newer)
        elif method != ONCE or not now:
            self.fit(rows, [now], share)

    def predicted(self, method: str, X: Any) -> np.ndarray:
        """Return what the strategy predicts: a number, or the log-odds of the second class."""
        last = self.models[-4:] if method == MEAN else self.models[-1:]
        options = {} if self.stream.regression else {"raw_score": True}
        return np.mean([np.asarray(model.predict(X, **options)) for model in last], axis=0)


def lasting(part: str, window: int) -> Fraction:
    """Return the fraction that each fit on a window may take when every quarter has one."""
    return Overlap(most=int(part), of_users=False).lasting(window, "Gaussian")


def measured(data: str, part: str, epsilon: float, seed: int) -> list[Result]:
    """Return how good each model is on the rows of the next quarter, and what was spent by then."""
    stream = STREAMS[data]
    quarters = stream.read(seed)
    rows = quarters
    if stream.fixed:
        random = np.random.default_rng(seed)
        drawn = [
            np.sort(random.choice(len(y), int(DRAWN * len(y)), replace=False)) for _, y in quarters
        ]
        rows = [(take(X, own), y[own]) for (X, y), own in zip(quarters, drawn, strict=True)]
    lives = {method: Life(stream, epsilon, part, seed) for method in methods_of(part, data)}
    lives[MEAN] = lives[NEWEST]  # its models, at no further cost
    results = []
    for now in range(QUARTERS - 1):
        for method, life in lives.items():
            if method != MEAN:
                life.learn(method, rows, now)
        X, y = quarters[now + 1]
        for method, life in lives.items():
            if not life.models:
                continue
            found = life.predicted(method, X)
            if stream.regression:
                score = RMSE, float(np.sqrt(np.mean((y - found) ** 2)))
            else:
                score = AUC, float(roc_auc_score(y, found))
            results += [
                Result(
                    part=part,
                    data=data,
                    method=method,
                    epsilon=epsilon,
                    x=str(now + 1),
                    repeat=seed,
                    measure=measure,
                    value=value,
                )
                for measure, value in (score, (SPENT, life.budget.epsilon_spent))
            ]
    return results


def plan(request: Request) -> Plan:
    """Return every life of every strategy as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    versions = dpboost_recipes.versions()
    streams = list(STREAMS)[-1:] if request.quick else list(STREAMS)
    units = [
        Unit(
            name=f"{data}, {part} quarters, {epsilon:g}, split {seed}",
            settings=digest({"versions": versions, "files": STREAMS[data].files()}),
            measure=functools.partial(measured, data, part, epsilon, seed),
        )
        for seed in range(n_splits)
        for data in streams
        for part in OF_PART
        for epsilon in EPSILONS
        if part == ONE or epsilon == 1
    ]
    return Plan(units=units, facts={"splits": str(n_splits)})


def scores(results: Results, part: str, data: str, method: str, epsilon: float) -> np.ndarray:
    """Return one mean over the quarters for each split: from the fourth on, when all have models.

    Before the fourth quarter some strategies have no model, and none has its whole window.
    """
    rows = pick(results.rows, part=part, data=data, method=method, epsilon=epsilon)
    own = [row for row in rows if row.measure in (RMSE, AUC) and int(row.x) >= 4]
    return np.array(values([_without_quarter(row) for row in own]))


def _without_quarter(row: Result) -> Result:
    # The quarters of a split take the place of its draws.
    return Result(measure=row.measure, value=row.value, repeat=row.repeat, draw=int(row.x))


def gain(results: Results, part: str, data: str, epsilon: float, method: str) -> Summary:
    """Return what a strategy gains over the newest quarter alone: part of the RMSE, or AUC."""
    own, newest = (scores(results, part, data, each, epsilon) for each in (method, NEWEST))
    return summarize(list(1 - own / newest if STREAMS[data].regression else own - newest))


def _points(results: Results, part: str) -> Iterator[tuple[str, float]]:
    rows = pick(results.rows, part=part)
    for data in distinct(rows, "data"):
        for epsilon in sorted({row.epsilon for row in pick(rows, data=data) if row.epsilon}):
            yield data, epsilon


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a strategy compares with the others over all points.

    Attributes
    ----------
    place : float
        Mean place by the mean score, 1 for the best.
    n_places : int
        Of so many strategies at most.
    loss, largest_loss : float
        Part of the RMSE or of the AUC that it is behind the best strategy of a point.
    """

    place: float
    n_places: int
    loss: float
    largest_loss: float


def standing(results: Results, part: str, method: str) -> Standing:
    """Return how a strategy compares with the others where it is measured."""
    places, losses = [], []
    for data, epsilon in _points(results, part):
        methods = methods_of(part, data)
        if method not in methods:
            continue
        sign = -1 if STREAMS[data].regression else 1
        means = [sign * scores(results, part, data, each, epsilon).mean() for each in methods]
        own = means[methods.index(method)]
        places.append(1 + sum(each > own for each in means))
        losses.append((max(means) - own) / abs(max(means)))
    return Standing(
        place=float(np.mean(places)),
        n_places=len(OF_PART[part]),
        loss=float(np.mean(losses)),
        largest_loss=max(losses),
    )


def against_newest(results: Results, part: str, method: str) -> tuple[int, int, int]:
    """Return at how many points a strategy is better and worse beyond two errors, and of all."""
    gains = [
        gain(results, part, data, epsilon, method)
        for data, epsilon in _points(results, part)
        if method in methods_of(part, data)
    ]
    better = sum(each.mean > 2 * each.standard_error for each in gains)
    worse = sum(each.mean < -2 * each.standard_error for each in gains)
    return better, worse, len(gains)


def finding(results: Results) -> str:
    """Return which strategy has the best mean place."""
    words = []
    for part, quarters in ((ONE, "one quarter"), (FOUR, "up to four quarters")):
        places = {method: standing(results, part, method) for method in OF_PART[part]}
        best = min(places, key=lambda method: places[method].place)
        words.append(
            f"{best} (mean place {places[best].place:.1f} of {places[best].n_places}) where "
            f"everyone has rows in {quarters}"
        )
    return (
        f"Of the strategies with the same epsilon for each individual, the best is {words[0]}, and "
        f"{words[1]}."
    )


def body(results: Results) -> list[str]:
    """Return the score of each strategy, what each gains, and what is spent after each quarter."""
    lines = [
        f"{QUARTERS} quarters; each model predicts the rows of the next quarter. Means over the "
        f"quarters from the fourth on and {results.facts['splits']} splits, delta {DELTA:g}, ± a "
        "standard error. Epsilon is what an individual pays in all quarters together. Log-odds or "
        "numbers of several models are averaged. A loss is a part of the RMSE or the AUC of "
        "the best strategy at a point; better and worse are by more than two errors.",
        "",
    ]
    for part, methods in OF_PART.items():
        quarters = "one quarter" if part == ONE else "up to four quarters"
        lines += [f"## Everyone has rows in {quarters}", ""]
        shown = [
            [
                f"{data}, {RMSE if STREAMS[data].regression else AUC}",
                f"{epsilon:g}",
                *(_shown(results, part, data, method, epsilon) for method in methods),
            ]
            for data, epsilon in _points(results, part)
        ]
        lines += [*table(["table", "epsilon", *methods], shown), ""]
        shown = []
        for method in methods:
            found = standing(results, part, method)
            better, worse, n_points = against_newest(results, part, method)
            cells = [f"{found.place:.1f}", f"{found.loss:.1%}", f"{found.largest_loss:.1%}"]
            shown.append([method, *cells, f"{better} of {n_points}", f"{worse} of {n_points}"])
        shown[0][-2:] = ["", ""]
        heads = ["strategy", "mean place", "mean loss", "largest loss"]
        heads += ["better than the newest quarter", "worse"]
        lines += [*table(heads, shown), ""]
    return [*lines, *_guarantees(results)]


def _shown(results: Results, part: str, data: str, method: str, epsilon: float) -> str:
    if method not in methods_of(part, data):
        return ""
    found = summarize(list(scores(results, part, data, method, epsilon)))
    return f"{found:{1 if STREAMS[data].regression else 4}}"


def _guarantees(results: Results) -> list[str]:
    data = results.rows[0].data
    rows = pick(results.rows, data=data, epsilon=EPSILONS[1], measure=SPENT, repeat=0)
    shown = []
    for part, methods in OF_PART.items():
        for method in methods:
            own = {row.x: row.value for row in pick(rows, part=part, method=method)}
            cells = [f"{own[str(n)]:.3f}" if str(n) in own else "" for n in range(1, QUARTERS)]
            shown.append([f"{method}, rows in {part}", f"{lasting(part, WINDOWS.get(method, 1))}"])
            if method == TOGETHER:
                shown[-1][1] = "1"
            shown[-1] += cells
    heads = [f"after quarter {number}" for number in range(1, QUARTERS)]
    return [
        "## The guarantee in force",
        "",
        f"Epsilon of the individual who has paid most, of a budget of {EPSILONS[1]:g}. Each fit "
        "takes its fraction of the budget of the quarters that it reads.",
        "",
        *table(["strategy", "fraction of a fit", *heads], shown),
        "",
    ]


QUARTERS_RUN = Run(
    name="quarters",
    title="What to fit each quarter",
    group=Group.ACCURACY,
    description="New rows arrive each quarter, and everyone has one budget for ever: a fit on the "
    "newest quarter or on the last ones, a continued model, refitted leaves, a mean of models or "
    "the first model, by the accuracy on the next quarter.",
    plan=plan,
    body=body,
    finding=finding,
)
