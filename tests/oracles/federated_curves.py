"""Algorithm 5 beside the curves of its paper: ``python -m tests.oracles.federated_curves [WORDS]``.

Panels where the recipe is furthest from the published curves: depth 10, and one of depth 5. The
literal algorithm is run as printed, and as in the published program, with as many rows or twice as
many; words of a panel's name ask for that panel alone.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product

import numpy as np

from benchmarks.harness.results import read, values
from benchmarks.harness.run import RESULTS
from benchmarks.reproductions.federated_trees.figures import PLAIN, panel
from benchmarks.reproductions.federated_trees.published import published
from tests.oracles.cases import theirs_of_federated

#: Figures of the paper, by rows.
FIGURES = {1000: "figure 4", 250: "figure 3", 100: "figure 5"}
#: By depth.
EPSILONS = {10: (1.2, 3.4, 5.6, 10.0), 5: (4.5, 8.9)}
N_REPEATS = {10: 4, 5: 30}
#: Rows, correlation, features and depth.
PANELS = (*product(FIGURES, (0.9, 0.3), (10, 25), (10,)), (100, 0.3, 25, 5))
#: Whether as released, and rows in parts of the table's.
PROGRAMS = {"printed": (False, 1), "released": (True, 1), "released, 2n rows": (True, 2)}


def literal(released: bool, n: int, p: int, rho: float, depth: int, epsilon: float) -> np.ndarray:
    """Return the accuracies of the literal algorithm without saving."""
    own = partial(theirs_of_federated, False, released, n, p, rho, depth, epsilon)
    return np.array([own(repeat) for repeat in range(N_REPEATS[depth])])


def main() -> None:
    """Print a table in Markdown: the paper's points, ours of the record, and the literal ones."""
    words = " ".join(sys.argv[1:])
    print(f"| panel | epsilon | paper | recipe | {' | '.join(PROGRAMS)} |")
    print("| --- | --: | --: | --: |" + " --: |" * len(PROGRAMS))
    for n, rho, p, depth in PANELS:
        name = panel(rho, p, depth)
        if words not in f"{n} rows, {name}":
            continue
        curves = published(FIGURES[n], n, depth)
        ending = "" if depth == 5 else f"-depth-{depth}"
        rows = read(RESULTS / f"federated-histograms-{n}{ending}.csv").measured()
        for epsilon in EPSILONS[depth]:
            at = {"data": name, "method": PLAIN, "x": f"{epsilon:g}"}
            cells = [f"{np.mean(values(own, **at)):.3f}" if own else "" for own in (curves, rows)]
            for released, times in PROGRAMS.values():
                found = literal(released, times * n, p, rho, depth, epsilon)
                cells.append(f"{found.mean():.3f} ± {found.std(ddof=1) / len(found) ** 0.5:.3f}")
            print(f"| {n} rows, {name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
