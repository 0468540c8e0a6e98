"""Peak memory of one fit with all defaults: ``python -m benchmarks.memory news20``."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence

from benchmarks._compat import import_pandas
from benchmarks.problems import PROBLEMS


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit on all rows of a data set and print the largest resident size of the process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("problem", choices=sorted(PROBLEMS))
    problem = PROBLEMS[parser.parse_args(arguments).problem]
    import_pandas()
    from dpboost import DPBoostClassifier, DPBoostRegressor

    X, y = problem.load()
    loaded = _peak()
    estimator = DPBoostRegressor if problem.task == "regression" else DPBoostClassifier
    start = time.perf_counter()
    model = estimator(schema=problem.dictionary.schema(), verbosity=0).fit(X, y)
    seconds = time.perf_counter() - start
    print(
        f"{problem.name}, {X.shape[0]:,} x {X.shape[1]:,}, {model.n_estimators_} rounds: "
        f"{_peak()} MB at most, {loaded} MB once the data were read; {seconds:.1f} s"
    )
    return 0


def _peak() -> int:
    """Return the largest resident size so far, in megabytes (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    raise SystemExit(main())
