"""What results show of themselves in a terminal and a notebook, as frames and as plots."""

from __future__ import annotations

import html
import sys

import numpy as np
import pytest
from sklearn.base import clone

from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, Schema, evaluate, forecast
from dpboost._utils.displays import MOST_ROWS

pd = pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

N_FEATURES = 60
GROUPS = ("left", "right", "nobody")


@pytest.fixture(scope="module")
def results():
    """One of each kind, of a table with many columns."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, N_FEATURES))
    y = X[:, 0] + X[:, 1] / 2 > 0
    columns = [f"column {k}" for k in range(N_FEATURES)]
    table = pd.DataFrame(X, columns=columns)
    table["side"] = pd.Categorical(np.where(X[:, 2] > 0, "right", "left"), categories=GROUPS)
    schema = Schema(
        bounds=dict.fromkeys(columns, (-1, 1)), categories={"side": GROUPS}, classes=[False, True]
    )
    budget = Budget(epsilon=8, delta=1e-6, table="trial")
    model = DPBoostClassifier(schema=schema, n_estimators=30, verbosity=-1)
    model.fit(table, y, budget=budget, fraction=0.5, holdout=0.4)
    found = evaluate(model, budget=budget, fraction=0.5, groups="side")
    return {
        "explanation": model.explain(),
        "shape": model.explain(pairs=0).shapes[0],
        "evaluation": found,
        "budget": budget,
        "schema": schema,
        "report": model.privacy_report_,
        "forecast": forecast(n_rows=1000, epsilon=[0.5, 1.0]),
        "model": model,
    }


FRAMES = ("explanation", "shape", "evaluation", "budget", "schema", "report", "forecast")


@pytest.mark.parametrize("name", FRAMES)
def test_what_is_shown_is_short_and_holds_no_arrays(results, name) -> None:
    shown = results[name]
    texts = [repr(shown), str(shown)]
    if name != "shape":
        texts.append(shown._repr_html_())
    for text in texts:
        assert 10 < len(text) < 8000
        assert "array(" not in text


@pytest.mark.parametrize("name", [name for name in FRAMES if name not in ("shape", "report")])
def test_a_notebook_shows_a_table(results, name) -> None:
    page = results[name]._repr_html_()
    assert page.count("<table>") == 1
    assert 1 < page.count("<tr>") <= MOST_ROWS + 1


def test_long_tables_are_cut_and_say_so(results) -> None:
    schema = results["schema"]  # an explanation has the features that the trees took, maybe few
    more = f"... and {len(schema.to_frame()) - MOST_ROWS} more"
    assert more in str(schema)
    assert more in schema._repr_html_()


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_every_line_and_needs_pandas(results, name, monkeypatch) -> None:
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) > 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"to_frame\(\) needs pandas: pip install 'dpboost\[pandas"
    ):
        results[name].to_frame()


@pytest.mark.parametrize("name", ["explanation", "evaluation", "budget", "report", "forecast"])
def test_a_plot_is_drawn_and_needs_matplotlib(results, name, monkeypatch) -> None:
    assert results[name].plot() is not None
    matplotlib.pyplot.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'dpboost\[plot"):
        results[name].plot()


def test_the_frame_of_an_explanation_has_its_importances(results) -> None:
    explanation = results["explanation"]
    frame = explanation.to_frame()
    of_features = frame[~frame.feature.str.contains(" x ")]
    assert [tuple(row) for row in of_features[["feature", "effect", "error"]].to_numpy()] == list(
        explanation.importances()
    )
    assert frame.effect.is_monotonic_decreasing
    shape = explanation.shapes[0]
    assert shape.to_frame().effect.tolist() == shape.effect[0].tolist()
    assert shape.to_frame().share.sum() == pytest.approx(1)


def test_a_group_with_nobody_in_it_says_too_few(results) -> None:
    found = results["evaluation"]
    assert found.groups["nobody"]["accuracy"].too_few
    assert not found.groups["left"]["accuracy"].too_few
    assert not found["accuracy"].too_few
    lines = str(found).splitlines()
    assert lines[lines.index("nobody:") + 1].split() == ["accuracy", "too", "few", "rows"]
    frame = found.to_frame().set_index("rows")
    assert frame.loc["nobody", "value"].isna().all()
    assert frame.loc["left", "value"].notna().all()
    ax = found.plot("groups", metric="accuracy")
    drawn = {line.get_xdata()[0] for line in ax.lines}
    words = [text.get_text() for text in ax.texts]
    matplotlib.pyplot.close("all")
    # All rows, left and right; nobody and "other" have nobody in them.
    assert drawn == {0, 1, 2}
    assert words == ["too few rows"] * 2


def test_a_group_of_numbers_with_nobody_in_it_says_too_few() -> None:
    X = np.random.default_rng(0).uniform(size=(3000, 1))
    schema = Schema(bounds={0: (0, 1)}, label_bounds=(0, 1))
    model = DPBoostRegressor(schema=schema, n_estimators=20, verbosity=-1)
    budget = Budget(epsilon=4, delta=1e-6)
    model.fit(X, X[:, 0], budget=budget, fraction=0.5)
    sides = np.where(X[:, 0] > 0.5, "right", "left")
    found = evaluate(
        model, X, X[:, 0], budget=budget, fraction=0.5, groups=(sides, ["left", "right", "middle"])
    )
    assert [own["rmse"].too_few for own in found.groups.values()] == [False, False, True, True]
    assert str(found).startswith("all rows:")


def test_scores_of_held_out_rows_are_headed_so_and_stand_on_the_page(results) -> None:
    found, model = results["evaluation"], results["model"]
    assert found.held_out
    assert str(found).startswith("rows held out of the fit:")
    assert "rows held out of the fit" in found._repr_html_()
    page = html.unescape(model.to_html())
    assert "Scores of rows held out of the fit" in page
    auc = found["auc"]
    assert f">{auc.value:.3g}</td>" in page
    assert f"{auc.low:.3g} to {auc.high:.3g}" in page
    assert "a function" not in page
    assert "<td >n_estimators</td><td >30</td>" in page
    assert "<td >epsilon</td>" not in page, "the fraction of the budget decides"
    again = clone(model).set_params(schema=None).fit(np.zeros((50, 1)), np.arange(50) % 2)
    again.held_out_scores_ = found
    again.fit(np.zeros((50, 1)), np.arange(50) % 2)
    assert "held out" not in again.to_html()


def test_the_page_ranks_features_by_their_effect_with_its_error(results) -> None:
    page = results["model"].to_html()
    assert "Features by their effect" in page
    assert "share of splits" not in page
    name, effect, error = results["explanation"].importances()[0]
    row = f'>{effect:.3g}</td><td class="number">{error:.1g}</td>'
    assert f"<td >{name}</td>" in page
    assert row in page


def test_the_text_of_an_estimator_stays_short_with_a_wide_schema(results) -> None:
    assert len(repr(results["model"])) < 1000
    assert repr(results["schema"]).startswith("<Schema bounds: 60, categories: 1, classes: 2>")
    few = Schema(bounds={"a": (0, 1)}, max_rows=9)
    assert eval(repr(few), {"Schema": Schema}) == few
