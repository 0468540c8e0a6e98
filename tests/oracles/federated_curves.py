"""Algorithm 5 beside the curves of its paper: ``python -m tests.oracles.federated_curves [WORD]``.

Panels where the recipe is furthest from the published curves: depth 10 and 1,000 rows. The literal
algorithm is run as printed, and as in the published program, with one or two thousand rows; a word
of a panel's name asks for that panel alone.
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

N_ROWS, DEPTH = 1000, 10
EPSILONS = (1.2, 3.4, 5.6, 10.0)
N_REPEATS = 4
#: Whether as released, and rows.
PROGRAMS = {
    "printed": (False, N_ROWS),
    "released": (True, N_ROWS),
    "released, 2n rows": (True, 2 * N_ROWS),
}


def literal(released: bool, n: int, p: int, rho: float, epsilon: float) -> np.ndarray:
    """Return the accuracies of the literal algorithm without saving."""
    own = partial(theirs_of_federated, False, released, n, p, rho, DEPTH, epsilon)
    return np.array([own(repeat) for repeat in range(N_REPEATS)])


def main() -> None:
    """Print a table in Markdown: the paper's points, ours of the record, and the literal ones."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    curves = published("figure 4", N_ROWS, DEPTH)
    rows = read(RESULTS / f"federated-histograms-{N_ROWS}-depth-{DEPTH}.csv").measured()
    print(f"| panel | epsilon | paper | recipe | {' | '.join(PROGRAMS)} |")
    print("| --- | --: | --: | --: |" + " --: |" * len(PROGRAMS))
    for (rho, p), epsilon in product(product((0.9, 0.3), (10, 25)), EPSILONS):
        name = panel(rho, p, DEPTH)
        if word not in name:
            continue
        at = {"data": name, "method": PLAIN, "x": f"{epsilon:g}"}
        cells = [f"{np.mean(values(own, **at)):.3f}" if own else "" for own in (curves, rows)]
        for released, n in PROGRAMS.values():
            found = literal(released, n, p, rho, epsilon)
            cells.append(f"{found.mean():.3f} ± {found.std(ddof=1) / len(found) ** 0.5:.3f}")
        print(f"| {name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
