"""Pictures of budgets and forecasts: what is drawn, and what is refused."""

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor, plot_accuracy_vs_epsilon, plot_privacy_budget
from dpboost._utils.validation import InvalidParameterError
from dpboost.model_selection.forecasting import Forecast

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

SCHEMA = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
X = np.linspace(0, 1, 400)[:, None]


@pytest.fixture(autouse=True)
def _closed():
    yield
    matplotlib.pyplot.close("all")


def names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def model(**more):
    return DPBoostRegressor(schema=SCHEMA, n_estimators=5, verbosity=-1, **more)


def test_the_releases_of_a_fit_add_up_to_what_it_spent():
    fitted = model(epsilon=1.0).fit(X, X[:, 0])
    report = fitted.privacy_report_
    ax = plot_privacy_budget(fitted)
    assert names(ax)[: len(report.releases)] == [each.label for each in report.releases]
    assert widths(ax)[: len(report.releases)] == [float(each.share) for each in report.releases]
    assert sum(widths(ax)) == pytest.approx(1)
    assert names(plot_privacy_budget(report)) == names(ax)


def test_the_fits_of_a_budget_and_what_is_left():
    budget = Budget(epsilon=1.0, delta=1e-6, table="trial")
    model().fit(X, X[:, 0], budget=budget, fraction=0.25)
    model().fit(X, X[:, 0], budget=budget.disjoint("north"), fraction=0.5)
    ax = plot_privacy_budget(budget)
    assert widths(ax) == [0.25, 0.5, 0.25]
    assert names(ax)[1].startswith("DPBoostRegressor (")
    assert names(ax)[2] == "left of the Gaussian account"
    assert "trial" in ax.get_title()
    # The title wraps where the picture ends, and not inside of "delta = 1e-06".
    assert max(map(len, ax.get_title().splitlines())) <= 48
    assert "delta\u00a0=\u00a01e-06" in ax.get_title()


def test_what_spends_nothing_is_refused():
    with pytest.raises(InvalidParameterError, match="must be a fitted estimator"):
        plot_privacy_budget("model")
    with pytest.warns(UserWarning, match="not private"):
        fitted = model(epsilon=float("inf")).fit(X, X[:, 0])
    with pytest.raises(InvalidParameterError, match="uses no budget"):
        plot_privacy_budget(fitted)


def found(metric="rmse"):
    return Forecast(
        metric=metric, n_rows=10, epsilon=(1.0, 2.0), value=(3.0, 2.0), low=(2.0, 1.5),
        high=(4.0, 2.5), hidden_rows=(1.0, 0.5),
    )  # fmt: skip


def test_plans_with_bands_and_lines():
    ax = plot_accuracy_vs_epsilon({"a": found(), "b": found()}, epsilon=1.5, reference=1.0)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["a", "b", "without privacy", "epsilon 1.5"]
    assert ax.get_lines()[0].get_ydata().tolist() == [3.0, 2.0]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (1.5, 4.0)
    assert len(plot_accuracy_vs_epsilon(found()).get_lines()) == 1


def test_forecasts_that_cannot_be_compared_are_refused():
    for wrong in ({"a": found(), "b": found("mae")}, found(None), {}):
        with pytest.raises(InvalidParameterError, match="forecast"):
            plot_accuracy_vs_epsilon(wrong)
