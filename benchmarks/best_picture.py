"""How recipe best learns, in a picture: ``python -m benchmarks.best_picture``.

A fit of synthetic rows under epsilon 1: what it predicts after one round, after some, and at the
end.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from benchmarks._compat import import_matplotlib
from benchmarks.files import write_atomically
from dpboost import DPBoostRegressor, Schema

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "how-best-works.png"
N_ROWS, SIDE = 10_000, 120
ROUNDS = (1, 10, 100)


def picture() -> bytes:
    """Return a PNG image; its noise is fresh."""
    import_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    random = np.random.default_rng(0)
    X = random.uniform(size=(N_ROWS, 2))
    y = _truth(X) + random.normal(0, 0.3, N_ROWS)
    schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(-2, 2))
    model = DPBoostRegressor(epsilon=1.0, schema=schema, random_state=0, verbosity=-1).fit(X, y)
    grid = (np.arange(SIDE) + 0.5) / SIDE
    points = np.array([(x, z) for z in grid for x in grid])
    last = model.booster_.num_trees()
    shown = [(f"after round {n}", model.predict(points, num_iteration=n)) for n in ROUNDS]
    shown += [(f"after all {last} rounds", model.predict(points)), ("the truth", _truth(points))]
    figure = Figure(figsize=(10, 2.4), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, values) in zip(figure.subplots(1, len(shown)), shown, strict=True):
        axes.imshow(values.reshape(SIDE, SIDE), origin="lower", vmin=-1, vmax=1, cmap="RdBu_r")
        axes.set_title(title, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _truth(X: np.ndarray) -> np.ndarray:
    """Return what is to be learned: a wave over the one feature that turns with the other."""
    found: np.ndarray = np.sin(5 * X[:, 0]) * np.where(X[:, 1] > 0.5, 1.0, -0.6)
    return found


if __name__ == "__main__":
    write_atomically(PICTURE, picture())
    print(PICTURE)
