"""The curves of the paper, read from its figures, where they are at hand.

The figures of the paper are vector graphics; their points were read from them: 144 series of ten
points, at epsilon .1, 1.2, 2.3 and so on to 10. The file is looked for among the data, and a run
without it draws no published curve.
"""

from __future__ import annotations

import json

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile, locate
from benchmarks.harness.results import PUBLISHED, Result

FILE = PublishedFile(path="paper_curves/federated_figures_3_to_5.json", url=None, sha256=None)

#: Names of the series in the file, and of the methods in our figures.
METHODS = {
    "plain": "histograms",
    "saving": "histograms, saving",
    "local": "CART of one party, not private",
    "central": "CART of all rows, not private",
}
_N_POINTS = 10
_FIRST, _STEP = 0.1, 1.1


def published(figure: str, n_rows: int, max_depth: int) -> list[Result]:
    """Return the points of a figure; none where the file is not at hand.

    Parameters
    ----------
    figure : str
        Of the paper.
    n_rows, max_depth : int
        By which the file names it, and half of its panels.
    """
    try:
        text = locate(FILE).read_text(encoding="utf-8")
    except DataFileError:
        return []
    found = []
    for key, heights in json.loads(text).items():
        setting, features, depth, series = key.split("|")
        rows, _, correlation = setting.split(" ")
        if (int(rows), int(depth[1:])) != (n_rows, max_depth) or len(heights) != _N_POINTS:
            continue
        data = f"rho {float(correlation):g}, p {features[1:]}, depth {depth[1:]}"
        found += [
            Result(
                part=figure,
                data=data,
                method=METHODS[series],
                x=f"{_FIRST + position * _STEP:g}",
                measure=f"{PUBLISHED} accuracy",
                value=height,
            )
            for position, height in enumerate(heights)
        ]
    return found
