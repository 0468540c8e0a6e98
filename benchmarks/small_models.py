"""``python -m benchmarks run small-models``: full models, their compact forms, and others' models.

Every model is fitted and served by one thread. Serving is timed on rows that are drawn, with
replacement, from the held-out ones: the best of several runs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from unittest import mock

import lightgbm
import numpy as np

from benchmarks.catalog import EXPERIMENTS
from benchmarks.glass_box.tables import Parts, parts
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table
from dpboost import compact
from dpboost._utils.validation import InvalidParameterError
from dpboost.compacting import compact as compacting
from dpboost.compacting import small_trees
from dpboost.compacting.released_function import ReleasedFunction
from dpboost.compacting.small_trees import SmallTrees
from dpboost.data.conform import conform
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.reporting.terms import COMPACT_SETTINGS
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.leaf_index import leaf_index

TABLES = (*EXPERIMENTS["best"].problems, *EXPERIMENTS["best-real"].problems)
EPSILONS = (0.1, 1.0, 8.0)
REPEATS = 10
#: Table and epsilon of which serving is timed, and three ways to draw rows are compared.
SERVED = ("adult", 8.0)
#: Fits whose compact forms are made at less cost, and the ways: settings of LightGBM, rows to fit
#: to, and parameters of `compact`.
CHEAPER = (("adult", 1.0), ("default_credit", 0.1), ("kc_house", 1.0))
WAYS: dict[str, tuple[Mapping[str, Any], int, Mapping[str, Any]]] = {
    "as shipped": ({}, compacting._N_ROWS, {}),
    "63 bins a feature": ({"max_bin": 63}, compacting._N_ROWS, {}),
    "10,000 rows": ({}, 10_000, {}),
    "15 leaves a tree": ({}, compacting._N_ROWS, {"num_leaves": 15}),
    "150 trees, learning rate .25": ({"learning_rate": 0.25}, compacting._N_ROWS, {"n_trees": 150}),
    "100 trees, learning rate .3": ({"learning_rate": 0.3}, compacting._N_ROWS, {"n_trees": 100}),
    "100 trees, 10,000 rows, 63 bins": (
        {"learning_rate": 0.3, "max_bin": 63},
        10_000,
        {"n_trees": 100},
    ),
}
SIZES = (1, 100, 10_000, 300_000)
N_TREES = 100
_FULL, _SMALL, _FROM_TEXT = "full", "compact", "compact, of the text alone"
_OF_A_FRAME, _OURS = f"{_FULL}, of a DataFrame", f"{_FULL}, our predictor"
_LIGHTGBM, _XGBOOST = "LightGBM, 100 trees", "XGBoost, 100 trees"
# What an export by default would have to keep: AUC, percent of the RMSE, megabytes.
_AUC_BAR, _RMSE_BAR, _MB_BAR = 0.0005, 0.3, 1.5
# Seconds of repetition after which the best time counts.
_PATIENCE = 1.0

Numbers = dict[str, dict[str, float]]


def accuracy(name: str, epsilon: float, seed: int) -> Numbers:
    """Return accuracy, bytes and seconds of a fit and of its compact forms."""
    own = parts(name, seed)
    model, seconds = _timed(lambda: own.fitted(seed=seed, epsilon=epsilon))
    text = model.booster_.model_to_string()
    found = {_FULL: {own.measure: own.of(model), "bytes": len(text.encode()), "seconds": seconds}}
    rows = conform(own.test_X, model.ensemble_.binner)
    for form, source in ((_SMALL, model), (_FROM_TEXT, text))[: 1 if seed else 2]:
        try:
            small, seconds = _timed(partial(compact, source))
        except InvalidParameterError:  # it is as small already
            continue
        found[form] = {
            own.measure: _of(own, small.predict(rows)),
            "bytes": len(small.model_to_string().encode()),
            "seconds": seconds,
        }
    return found


def costs(name: str, epsilon: float) -> Numbers:
    """Return processor time, error and accuracy of compact forms that cost less."""
    own = parts(name, 0)
    model, seconds = _timed(lambda: own.fitted(seed=0, epsilon=epsilon))
    rows = conform(own.test_X, model.ensemble_.binner)
    compact(model)  # LightGBM is loaded
    found = {_FULL: {own.measure: own.of(model), "error": 0.0, "part": 1.0}}
    for way, (settings, n_rows, parameters) in WAYS.items():
        with (
            mock.patch.dict(small_trees._SETTINGS, settings),
            mock.patch.object(compacting, "_N_ROWS", n_rows),
        ):
            small, took = _timed(partial(compact, model, **parameters))
        known = json.loads(small.privacy_report.facts[COMPACT_SETTINGS])
        found[way] = {
            own.measure: _of(own, small.predict(rows)),
            "error": known["error"],
            "part": took / seconds,
        }
    return found


def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return what an action returns, and seconds of the processor."""
    before = time.process_time()
    found = action()
    return found, time.process_time() - before


def _of(own: Parts, predicted: np.ndarray) -> float:
    """Return the measure of predictions of the held-out rows."""
    if own.task == "binary":
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(own.test_y, predicted))
    return float(np.sqrt(np.mean((predicted - own.test_y) ** 2)))


def serving() -> Numbers:
    """Return bytes, seconds to load and to predict, of five models of one table."""
    name, epsilon = SERVED
    own = parts(name, 0)
    model = own.fitted(seed=0, epsilon=epsilon)
    small = compact(model)
    rows = conform(own.test_X, model.ensemble_.binner)
    found = {}
    for form, booster in (
        (_FULL, model.booster_),
        (_SMALL, small),
        (_LIGHTGBM, own.stock().booster_),
    ):
        text = booster.model_to_string()
        found[form] = {"bytes": len(text.encode())}
        found[form]["load"] = _best(partial(lightgbm.Booster, model_str=text))
        stock = lightgbm.Booster(model_str=text)
        for size in SIZES:
            some = _numbers(_some(rows, size))
            found[form][str(size)] = _best(partial(stock.predict, some, num_threads=1))
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    found[_OF_A_FRAME] = {
        str(size): _best(partial(stock.predict, _some(rows, size), num_threads=1))
        for size in SIZES[:-1]
    }
    model.set_params(n_jobs=1)
    found[_OURS] = {
        str(size): _best(partial(model.predict_proba, _some(own.test_X, size))) for size in SIZES
    }
    found[_OURS]["trees"] = len(model.ensemble_.trees)
    with contextlib.suppress(ImportError):
        found[_XGBOOST] = _xgboost(own)
    return found


def _xgboost(own: Parts) -> dict[str, float]:
    import xgboost

    codes = _numbers(own.train_X)
    settings = {"objective": "binary:logistic", "nthread": 1, "verbosity": 0}
    data = xgboost.DMatrix(codes, own.train_y, nthread=1)
    text = bytes(xgboost.train(settings, data, N_TREES).save_raw("json"))

    def load() -> Any:
        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(text))
        return booster

    found = {"bytes": float(len(text)), "load": _best(load)}
    booster, held_out = load(), _numbers(own.test_X)
    for size in SIZES:
        some = held_out[np.random.default_rng(0).integers(0, len(held_out), size)]
        found[str(size)] = _best(partial(booster.inplace_predict, some))
    return found


def _some(rows: Any, size: int) -> Any:
    return rows.iloc[np.random.default_rng(0).integers(0, len(rows), size)]


def _numbers(rows: Any) -> np.ndarray:
    """Return a table as LightGBM's tools serve it: numbers, and codes of categories."""
    columns = [
        rows[name].cat.codes.to_numpy() if hasattr(rows[name], "cat") else rows[name].to_numpy()
        for name in rows.columns
    ]
    return np.column_stack(columns).astype(np.float64)


def _best(action: Callable[[], Any]) -> float:
    """Return the shortest of some runs, in seconds."""
    found: list[float] = []
    begin = time.perf_counter()
    while len(found) < 2 or (time.perf_counter() - begin < _PATIENCE and len(found) < 500):
        before = time.perf_counter()
        action()
        found.append(time.perf_counter() - before)
    return min(found)


def draws(seed: int) -> Numbers:
    """Return what becomes of the small model where its rows are drawn in other ways."""
    name, _ = SERVED
    own = parts(name, seed)
    model = own.fitted(seed=seed, epsilon=1.0)
    source = compacting._Source.of(model)
    function = source.function()
    fitting = compacting._Fitting.of(function, None, source)
    binner = model.ensemble_.binner
    held_out = read_table(own.test_X, schema=model.schema_)
    cells = np.ascontiguousarray(dense_matrix(held_out.bins(binner, 1)))
    full = function.scores(cells, function.trees)
    rng = np.random.default_rng(seed)
    n_rows = fitting.rows.shape[1]
    bare = np.stack([rng.choice(len(s), n_rows, p=s) for s in function.shares]).astype(np.uint8)
    weights = _raked(function, fitting.rows)
    ways = {
        "shares, a tenth of the cells even": fitting.rows,
        "shares alone": bare,
        "shares, rows weighted to the leaves": np.ascontiguousarray(
            fitting.rows[:, rng.choice(n_rows, n_rows, p=weights)]
        ),
        "chains of pairs, a tenth even": _chained(function, rng, n_rows),
        "held-out rows (private, the limit)": np.ascontiguousarray(
            cells[:, rng.integers(0, cells.shape[1], n_rows)]
        ),
    }
    found = {_FULL: {own.measure: _of(own, full), "error": 0.0}}
    for way, rows in ways.items():
        trees = SmallTrees.fitted(
            function,
            rows,
            function.scores(rows, function.trees),
            function.used,
            fitting.directions,
            n_trees=300,
            num_leaves=31,
            n_threads=1,
        )
        scores = trees.scores(function, cells)
        error = float(np.sqrt(np.mean((scores - full) ** 2)) / full.std())
        found[way] = {own.measure: _of(own, scores), "error": error}
    return found


def _raked(function: ReleasedFunction, rows: np.ndarray) -> np.ndarray:
    """Return weights of rows under which leaves have about their released weights."""
    weights = np.full(rows.shape[1], 1 / rows.shape[1])
    for tree in function.trees:
        leaf = leaf_index(tree, rows)
        count = np.asarray(tree.leaf_count, dtype=float) + 100
        inside = np.bincount(leaf, weights, tree.n_leaves)
        ratio = count / count.sum() / np.maximum(inside, 1e-4)
        weights = weights * ratio[leaf] ** 0.1
        weights /= weights.sum()
    return weights


def _chained(function: ReleasedFunction, rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Draw each feature given the one before it, by pairs that leaves were released of together."""
    shares, used = function.shares, function.used.tolist()
    rows = np.zeros((len(function.n_bins), n_rows), dtype=np.uint8)
    boxes = [
        (leaf_boxes(t.feature, t.left_bins, t.left, t.right, function.n_bins), t.leaf_count)
        for t in function.trees
    ]
    rows[used[0]] = rng.choice(len(shares[used[0]]), n_rows, p=shares[used[0]])
    for first, second in itertools.pairwise(used):
        law = np.outer(shares[first], shares[second])
        both = [(b[first], b[second], c) for b, c in boxes if first in b and second in b][:30]
        for _ in range(5):
            moved = np.zeros_like(law)
            for one, other, count in both:
                inside = np.einsum("li,ij,lj->l", one, law, other, optimize=True)
                ratio = count / count.sum() / np.maximum(inside, 1e-9)
                moved += (one * ratio[:, np.newaxis]).T @ other
            if both:
                law = law * moved / len(both)
                law /= law.sum()
        given = np.cumsum(law, axis=1) / np.maximum(law.sum(axis=1, keepdims=True), 1e-300)
        point = rng.random(n_rows)[:, np.newaxis]
        rows[second] = np.minimum((given[rows[first]] < point).sum(axis=1), len(shares[second]) - 1)
    for f in used:
        again = np.flatnonzero(rng.random(n_rows) < 0.1)
        rows[f, again] = rng.integers(0, function.n_cells[f], len(again))
    return rows


def plan(request: Request) -> Plan:
    """Return every fit, the timings and the draws as units."""
    repeats = request.repeats or (1 if request.quick else REPEATS)
    tables = TABLES[:1] if request.quick else TABLES
    if request.problem is not None:
        tables = (request.problem,)
    versions = digest({"versions": dpboost_recipes.versions()})
    # What is timed on the clock comes first, while the machine is idle.
    units = [
        Unit(
            name="serving",
            settings=versions,
            measure=partial(_rows, "serving", *SERVED, 0, serving),
        )
    ]
    units += [
        Unit(
            name=f"costs, {name}",
            settings=versions,
            measure=partial(_rows, "costs", name, epsilon, 0, costs, name, epsilon),
        )
        for name, epsilon in CHEAPER[: 1 if request.quick else None]
    ]
    units += [
        Unit(
            name=f"draws, {seed}",
            settings=versions,
            measure=partial(_rows, "draws", SERVED[0], 1.0, seed, draws, seed),
        )
        for seed in range(repeats)
    ]
    units += [
        Unit(
            name=f"accuracy, {name}, epsilon {epsilon:g}, {seed}",
            settings=versions,
            measure=partial(_rows, "accuracy", name, epsilon, seed, accuracy, name, epsilon, seed),
        )
        for name, epsilon, seed in itertools.product(tables, EPSILONS, range(repeats))
    ]
    return Plan(units=units, facts={"repeats": str(repeats)})


def _rows(
    part: str, data: str, epsilon: float, seed: int, measure: Callable[..., Numbers], *given: Any
) -> list[Result]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(*given)
    return [
        Result(
            part=part,
            data=data,
            method=method,
            epsilon=epsilon,
            repeat=seed,
            measure=name,
            value=float(value),
        )
        for method, numbers in found.items()
        for name, value in numbers.items()
    ]


def body(results: Results) -> list[str]:
    """Return the tables of accuracy, of serving and of draws."""
    rows = results.rows
    return [
        "A compact form is 300 LightGBM trees of at most 31 leaves, fitted to the raw scores of "
        "rows that are drawn from released shares. Recipe best, delta 1e-5, one thread; means of "
        f"{results.facts['repeats']} split(s).",
        "",
        *_accuracy_lines(pick(rows, part="accuracy")),
        *_bar_lines(pick(rows, part="accuracy")),
        *_serving_lines(pick(rows, part="serving")),
        *_cost_lines(pick(rows, part="costs")),
        *_draw_lines(pick(rows, part="draws")),
    ]


def _mean(rows: Sequence[Result], **what: Any) -> float:
    found = values(rows, **what)
    return float(np.mean(found)) if found else float("nan")


def _measure(rows: Sequence[Result]) -> str:
    """Return the measure of accuracy that rows of one table have."""
    (measure,) = {row.measure for row in rows} & {"AUC", "RMSE"}
    return measure


def _accuracy_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield accuracy, bytes and seconds of full models and of their compact forms."""
    lines = []
    for data in distinct(rows, "data"):
        measure = _measure(pick(rows, data=data))
        for epsilon in EPSILONS:
            mine = pick(rows, data=data, epsilon=epsilon)
            if not mine:
                continue
            line = [f"{data}, {measure}", f"{epsilon:g}"]
            for form in (_FULL, _SMALL, _FROM_TEXT):
                line.append(f"{_mean(mine, method=form, measure=measure):.4f}")
            for form in (_FULL, _SMALL):
                line.append(f"{_mean(mine, method=form, measure='bytes') / 1e6:.2f}")
            for form in (_FULL, _SMALL, _FROM_TEXT):
                line.append(f"{_mean(mine, method=form, measure='seconds'):.2f}")
            lines.append(line)
    head = ["table", "epsilon", _FULL, _SMALL, "of the text", "MB, full", "MB, compact"]
    head += ["s, fit", "s, compact", "s, of the text"]
    yield from (
        "## Accuracy, size and cost",
        "",
        "Seconds are those of the processor; nan where the full model is as small already. The "
        "column of the text alone is of the first split.",
        "",
    )
    yield from (*table(head, lines), "")


def _bars(rows: Sequence[Result]) -> list[list[str]]:
    """Return how far compact forms keep the bars that a default would have to keep."""
    both = {
        measure: np.array(
            [
                [_mean(mine, method=form, measure=measure) for form in (_FULL, _SMALL)]
                for data, epsilon in itertools.product(distinct(rows, "data"), EPSILONS)
                if values(
                    mine := pick(rows, data=data, epsilon=epsilon), method=_SMALL, measure=measure
                )
            ]
        ).reshape(-1, 2)
        for measure in ("AUC", "RMSE", "bytes", "seconds")
    }
    lines = []
    if len(both["AUC"]):
        lost = -np.diff(both["AUC"]).mean()
        lines.append(["mean loss of AUC", f"{lost:+.4f}", f"{_AUC_BAR:g}", _kept(lost <= _AUC_BAR)])
    if len(both["RMSE"]):
        more = 100 * (both["RMSE"][:, 1] / both["RMSE"][:, 0] - 1).mean()
        bar = f"{_RMSE_BAR:g} %"
        lines.append(["mean increase of RMSE", f"{more:+.2f} %", bar, _kept(more <= _RMSE_BAR)])
    n_worse, n_cells = _worse(rows)
    part = n_worse / max(n_cells, 1)
    shown = f"{n_worse} of {n_cells}"
    lines.append(["worse by more than two errors", shown, "one in ten", _kept(part <= 0.1)])
    largest = both["bytes"][:, 1].max() / 1e6
    lines.append(
        ["largest size in MB", f"{largest:.2f}", f"{_MB_BAR:g}", _kept(largest <= _MB_BAR)]
    )
    ratio = np.median(both["seconds"][:, 1] / both["seconds"][:, 0])
    lines.append(["median time of compact over that of the fit", f"{ratio:.1f}", "1"])
    lines[-1].append(_kept(ratio <= 1))
    return lines


def _worse(rows: Sequence[Result]) -> tuple[int, int]:
    """Return at how many tables and epsilons compact forms are worse, and of how many."""
    n_worse = n_cells = 0
    for data, epsilon in itertools.product(distinct(rows, "data"), EPSILONS):
        mine = pick(rows, data=data, epsilon=epsilon)
        full, small = (
            {
                row.repeat: row.value * (-1 if row.measure == "AUC" else 1)
                for row in pick(mine, method=form)
                if row.measure in ("AUC", "RMSE")
            }
            for form in (_FULL, _SMALL)
        )
        lost = np.array([small[repeat] - full[repeat] for repeat in small])
        if len(lost) > 1:
            n_cells += 1
            n_worse += int(lost.mean() > 2 * lost.std(ddof=1) / np.sqrt(len(lost)))
    return n_worse, n_cells


def _bar_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield the table of the bars."""
    yield from ("## The bars of a default", "")
    yield from (*table(["", "measured", "bar", ""], _bars(rows)), "")


def _kept(holds: bool) -> str:
    return "holds" if holds else "**does not hold**"


def _serving_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield seconds to load and to predict."""
    lines = []
    for form in distinct(rows, "method"):
        line = [form, f"{_mean(rows, method=form, measure='bytes') / 1e6:.2f}"]
        for name in ("load", *map(str, SIZES)):
            line.append(f"{1e3 * _mean(rows, method=form, measure=name):.3g}")
        lines.append(line)
    ratios = []
    for size in SIZES:
        theirs = _FULL if size == SIZES[-1] else _OF_A_FRAME
        ours, other = (_mean(rows, method=form, measure=str(size)) for form in (_OURS, theirs))
        ratios.append(f"{ours / other:.3g}")
    each = 1e9 * _mean(rows, method=_OURS, measure=str(SIZES[-1])) / SIZES[-1]
    each /= _mean(rows, method=_OURS, measure="trees")
    name, epsilon = SERVED
    yield from (
        "## Serving",
        "",
        f"{name}, epsilon {epsilon:g}: milliseconds by stock LightGBM on an array of numbers, by "
        "XGBoost in place, and by our predictor on a DataFrame; the best of several runs. The last "
        f"line divides by LightGBM's time of a DataFrame, and for {SIZES[-1]:,} rows of an array; "
        f"there our predictor needs {each:.2g} ns for each row and tree, reading included.",
        "",
        *table(
            ["model", "MB", "load", *(f"{size:,} rows" for size in SIZES)],
            [*lines, ["our predictor, as a part of LightGBM's time", "", "", *ratios]],
        ),
        "",
    )


def _cost_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield what cheaper compact forms cost, in time of the fit, and what they lose."""
    lines = []
    for way in distinct(rows, "method"):
        line = [way]
        for name in distinct(rows, "data"):
            mine = pick(rows, data=name, method=way)
            line.append(f"{_mean(mine, measure='part'):.1f}")
            line.append(f"{_mean(mine, measure='error'):.3f}")
            line.append(f"{_mean(mine, measure=_measure(mine)):.4f}")
        lines.append(line)
    head = ["compact form"]
    for name in distinct(rows, "data"):
        head += [f"{name}: time", "error", _measure(pick(rows, data=name))]
    yield from (
        "## Ways to make it cheaper",
        "",
        "Processor time of `compact` as a part of that of the fit, with the error on drawn rows "
        "that the model states and the accuracy on held-out rows; one split. LightGBM's quantized "
        "training ends with an error on these rows.",
        "",
        *table(head, lines),
        "",
    )


def _draw_lines(rows: Sequence[Result]) -> Iterator[str]:
    """Yield errors of ways to draw rows."""
    lines = [
        [
            way,
            f"{_mean(rows, method=way, measure='error'):.3f}",
            f"{_mean(rows, method=way, measure='AUC'):.4f}",
        ]
        for way in distinct(rows, "method")
    ]
    yield from (
        "## Ways to draw rows",
        "",
        f"{SERVED[0]}, epsilon 1: root mean squared error of raw scores of held-out rows against "
        "the full model, as a share of their standard deviation, and the AUC. The package draws "
        "in the first way.",
        "",
        *table(["rows", "error", "AUC"], lines),
        "",
    )


def finding(results: Results) -> str:
    """Return what compact forms lose, and their size."""
    lines = _bars(pick(results.rows, part="accuracy"))
    shown = "; ".join(f"{what}, {value} (limit {bar})" for what, value, bar, _ in lines)
    return f"Compact models compared with full ones: {shown}."


SMALL_MODELS = Run(
    name="small-models",
    title="Compact models: accuracy, size and serving time",
    group=Group.MODELS,
    description="Compact forms of models: accuracy, size, cost, and seconds to serve them.",
    plan=plan,
    body=body,
    finding=finding,
)
