"""One measurement in a process of its own: ``python -m benchmarks.timing.child TASK``.

The task is a JSON object; the last line of the output is a list of figures as JSON.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing.tables import MAKERS, TimedTable

# 255 bins, depth 6 and 64 leaves on both sides.
_SHAPE = {"max_depth": 6, "max_bin": 255}
_EPSILON = 1.0
_SECONDS_TO_START = 0.5
# Ends with the process that has started it, however that one ends.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
_STATUS = Path("/proc/self/status")


def fit(
    table: str, arguments: list[Any], method: str, trees: list[int], threads: int
) -> list[dict[str, float]]:
    """Fit once; for each number of trees the seconds up to that tree, all figures at the end."""
    made = MAKERS[table](*arguments)
    marks: dict[int, tuple[float, float]] = {}
    estimator = _estimator(method, max(trees), threads, made)
    options: dict[str, Any] = {}
    if len(trees) > 1:

        def note(state: Any) -> None:
            if state.iteration + 1 in trees:
                marks[state.iteration + 1] = (time.perf_counter(), time.process_time())

        options["callbacks"] = [note]
    gc.collect()
    before = _reset_peak()
    start = time.perf_counter(), time.process_time()
    estimator.fit(made.X, made.y, **options)
    marks[max(trees)] = (time.perf_counter(), time.process_time())
    above = _status("VmHWM") - before
    return [
        {
            "seconds": marks[number][0] - start[0],
            "cpu_seconds": marks[number][1] - start[1],
            "peak_mb": above,
            "input_mb": made.n_bytes / 2**20,
        }
        for number in trees
    ]


def predict(
    n_rows: int, n_features: int, classes: int, trees: int, method: str, threads: int
) -> list[dict[str, float]]:
    """Predict once with a model of ours, by our own predictor or by LightGBM's from its text."""
    import numpy as np

    import dpboost

    made = MAKERS["dense"](n_rows, n_features)
    some = slice(0, 20_000)
    y = np.digitize(made.X[some, 0], np.linspace(0, 1, classes + 1)[1:-1])
    schema = dpboost.Schema(bounds=dict(made.schema.bounds), classes=list(range(classes)))
    model = dpboost.DPBoostClassifier(
        epsilon=_EPSILON, n_estimators=trees, schema=schema, n_jobs=threads, verbosity=0, **_SHAPE
    ).fit(made.X[some], y)
    if method == "LightGBM":
        import lightgbm

        booster = lightgbm.Booster(model_str=model.booster_.model_to_string())

        def run(X: Any) -> Any:
            return booster.predict(X, num_threads=threads)
    else:
        run = model.predict_proba
    run(made.X[some])
    gc.collect()
    before = _reset_peak()
    start = time.perf_counter(), time.process_time()
    run(made.X)
    return [
        {
            "seconds": time.perf_counter() - start[0],
            "cpu_seconds": time.process_time() - start[1],
            "peak_mb": _status("VmHWM") - before,
            "input_mb": made.n_bytes / 2**20,
        }
    ]


def beside(table: str, method: str, threads: int, others: int) -> list[dict[str, float]]:
    """Fit with a library's own defaults while other processes are busy; 0 threads: its choice."""
    made = MAKERS["real"](table)
    estimator = _plain_estimator(method, threads or None, made)
    estimator.fit(made.X, made.y)
    endless = [sys.executable, "-c", _BUSY]
    busy = [subprocess.Popen(endless) for _ in range(others)]
    try:
        time.sleep(_SECONDS_TO_START if others else 0)
        gc.collect()
        before = _reset_peak()
        start = time.perf_counter(), time.process_time()
        estimator.fit(made.X, made.y)
        return [
            {
                "seconds": time.perf_counter() - start[0],
                "cpu_seconds": time.process_time() - start[1],
                "peak_mb": _status("VmHWM") - before,
                "input_mb": made.n_bytes / 2**20,
            }
        ]
    finally:
        for process in busy:
            process.kill()
            process.wait()


def import_package() -> list[dict[str, float]]:
    """Import dpboost after LightGBM; `child` itself imports neither."""
    import lightgbm  # noqa: F401

    before = _status("VmRSS")
    start = time.perf_counter(), time.process_time()
    import dpboost  # noqa: F401

    return [
        {
            "seconds": time.perf_counter() - start[0],
            "cpu_seconds": time.process_time() - start[1],
            "peak_mb": _status("VmRSS") - before,
            "input_mb": float("nan"),
        }
    ]


def _estimator(method: str, trees: int, threads: int, made: TimedTable) -> Any:
    if method == "LightGBM":
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_estimators=trees, num_leaves=64, n_jobs=threads, verbosity=-1, **_SHAPE
        )
    import dpboost

    delta = {} if method == "best" else {"delta": 0.0}
    return dpboost.DPBoostClassifier(
        preset=_preset(method),
        recipe=method,
        epsilon=_EPSILON,
        n_estimators=trees,
        schema=made.schema,
        n_jobs=threads,
        verbosity=0,
        **_SHAPE,
        **delta,
    )


def _plain_estimator(method: str, threads: int | None, made: TimedTable) -> Any:
    if method == "LightGBM":
        import lightgbm

        return lightgbm.LGBMClassifier(n_jobs=threads, verbosity=-1)
    import dpboost

    return dpboost.DPBoostClassifier(
        recipe=method,
        preset=_preset(method),
        epsilon=_EPSILON,
        schema=made.schema,
        n_jobs=threads,
        verbosity=0,
    )


def _preset(method: str) -> str | None:
    """Return the settings of the paper's experiments, which take longer than the recipe's own."""
    return "paper" if method == "dpboost" else None


def _reset_peak() -> float:
    """Let the largest resident size count from now on; return the size now, in megabytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    return _status("VmRSS")


def _status(name: str) -> float:
    """Return a size of this process in megabytes, NaN where the system does not say."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


TASKS: dict[str, Callable[..., list[dict[str, float]]]] = {
    "fit": fit,
    "predict": predict,
    "beside": beside,
    "import": import_package,
}


def main(arguments: list[str]) -> int:
    """Do one task and print its figures."""
    task = json.loads(arguments[0])
    warnings.simplefilter("ignore")
    print(json.dumps(TASKS[task.pop("task")](**task)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
