"""Notebooks run from top to bottom, and what ends a cell shows itself."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import dpboost

pytestmark = pytest.mark.filterwarnings("ignore")

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(cell, names):
    """Run a cell and return what a notebook would show of its last line."""
    text = "".join(cell["source"])
    tree = ast.parse(text)
    shown = None
    if isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "cell", "exec"), names)
        shown = eval(compile(last, "cell", "eval"), names)
    else:
        exec(compile(tree, "cell", "exec"), names)
    return "" if shown is None or text.endswith(";") else html(shown)


def html(shown):
    to_html = getattr(shown, "_repr_html_", None)
    return repr(shown) if to_html is None else to_html()


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    matplotlib.use("agg")
    names: dict = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [run(cell, names) for cell in cells if cell["cell_type"] == "code"]
    matplotlib.pyplot.close("all")
    assert any(shown)


def test_what_a_call_returns_can_be_read_in_a_console():
    X, y = np.random.default_rng(0).uniform(size=(300, 2)), np.tile([0, 1], 150)
    budget = dpboost.Budget(epsilon=1.0, delta=1e-6)
    schema = dpboost.Schema(bounds={0: (0, 1), 1: (0, 1)}, classes=[0, 1])
    model = dpboost.DPBoostClassifier(schema=schema, n_estimators=3)
    model.fit(X, y, budget=budget, fraction=1, holdout=0.3)
    results = {
        "Budget": budget,
        "ConstraintCheck": dpboost.check_constraints(model),
        "EpsilonExplanation": dpboost.explain_epsilon(1.0, 1e-6),
        "Evaluation": dpboost.evaluate(model, budget=budget, fraction=1),
        "Forecast": dpboost.forecast(schema=schema, n_rows=1000, epsilon=[1.0]),
        "PrivacyReport": model.privacy_report_,
        "Reason": model.reason_codes(X[:1])[0][0],
    }
    for name, shown in results.items():
        assert type(shown).__name__ == name
        assert repr(shown) == str(shown)
        assert not repr(shown).startswith((f"{name}(", "<"))


def test_notebooks_hold_no_output():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs")
