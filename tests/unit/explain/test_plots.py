"""Plots of shapes: what is drawn."""

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.plotting import (
    plot_importance,
    plot_interactions,
    plot_shape_compare,
    plot_shapes,
)
from tests.unit.explain.conftest import fitted

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    return fitted(n_estimators=30)


@pytest.fixture(autouse=True)
def _closed():
    yield
    matplotlib.pyplot.close("all")


def test_shapes_are_staircases_with_bands(model):
    explanation = model.explain(pairs=0)
    ax = plot_shapes(explanation, "age")
    shape = explanation.shape("age")
    line = ax.get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), shape.edges)
    np.testing.assert_allclose(line.get_ydata()[:-1], shape.effect[0, :-1])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    low, high = shape.band(0.9)
    assert band.min() == pytest.approx(low[:-1].min())
    assert band.max() == pytest.approx(high[:-1].max())
    assert ax.get_title() == "age"


def test_categories_have_names(model):
    ax = plot_shapes(model, "town")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["north", "south", "west"]


def test_the_most_important_come_first(model):
    axes = plot_shapes(model, max_num_features=2)
    names = [shape.name for shape in model.explain(pairs=0).shapes[:2]]
    assert [ax.get_title() for ax in axes] == names


def test_importances_have_errors(model):
    ax = plot_importance(model, with_error=True)
    rows = model.explain(pairs=0).importances()
    assert [tick.get_text() for tick in ax.get_yticklabels()][::-1] == [row[0] for row in rows]
    lengths = [bar.get_width() for bar in ax.patches][::-1]
    np.testing.assert_allclose(lengths, [row[1] for row in rows])
    assert "±" in ax.texts[-1].get_text()
    # Without errors it is LightGBM's own.
    assert plot_importance(model).get_title() == "Feature importance"


def test_two_models_on_one_plot(model):
    other = fitted(n_estimators=30, monotone_constraints={"age": 1})
    ax = plot_shape_compare(model, other, "age", labels=("free", "kept"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["free", "kept"]
    assert (np.diff(ax.get_lines()[1].get_ydata()) >= 0).all()


def test_pairs_are_maps(model):
    pair = model.explain(pairs=1).pairs[0]
    (ax,) = plot_interactions(model, max_num_pairs=1)
    shown = ax.collections[0].get_array()
    np.testing.assert_allclose(np.ravel(shown), pair.effect[0, :-1, :-1].T.ravel())
    axes = plot_interactions(model, [("pay", "age")])
    assert {axes[0].get_xlabel(), axes[0].get_ylabel()} == {"age", "pay"}


def test_what_cannot_be_drawn_is_refused(model):
    with pytest.raises(InvalidParameterError, match="one that the model splits"):
        plot_shapes(model, ["wages"])
    with pytest.raises(InvalidParameterError, match="'level' parameter"):
        plot_shapes(model, level=1.0)
    with pytest.raises(InvalidParameterError, match="a fitted estimator of boosting"):
        plot_importance("model", with_error=True)
    with pytest.raises(InvalidParameterError, match="in which features meet"):
        plot_interactions(fitted(n_estimators=10, max_interaction=1))
    with pytest.raises(InvalidParameterError, match="pairs that meet"):
        plot_interactions(model, [("age", "wages")])
