"""Columns that are chosen before the first tree: their scores, their price, and what it brings."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.growing import column_choice
from dpboost.growing.feature_sampler import FeatureQueue
from dpboost.losses import SoftmaxLoss
from dpboost.privacy.queries import RowHandle, store_of
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors
from dpboost.privacy.sensitivity.constants import column_scores
from dpboost.recipes.best import BEST
from dpboost.recipes.best_rules import FIRST_CHOSEN, LEAST_COLUMNS
from dpboost.rows import column_scores as scores_module

pytestmark = pytest.mark.filterwarnings("ignore")

ADD, REPLACE = Neighbors
N_COLUMNS, N_ROWS = 24, 600
BOUNDS = {"bounds": dict.fromkeys(range(N_COLUMNS), (-1, 1))}
NUMBERS = {**BOUNDS, "label_bounds": (-1, 1)}
DEFAULTS = dict.fromkeys(("n_estimators", "max_depth", "random_state"))
FEW = {"n_estimators": 6, "max_depth": 2, "verbosity": -1, "random_state": 1, "n_jobs": 1}


def table(n_columns=N_COLUMNS, n_rows=N_ROWS):
    """The first two columns tell the label, the others nothing; some values are missing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n_rows, n_columns))
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    return X, np.clip(X[:, 0] + np.nan_to_num(X[:, 1]), -1, 1)


def fitted(estimator, X, y, **options):
    return estimator(**{"schema": NUMBERS, **FEW, **options}).fit(X, y)


def choices(model):
    return [line for line in model.privacy_report_.releases if line.label == "column choice"]


# -- how far one row moves scores ---------------------------------------------------------------


def small_scores(rows, by_chance):
    """Scores of two columns of two cells, for two outputs, and of no column."""

    class Store:
        def exact(self, query):
            sums = np.zeros((2, 2, 2), dtype=np.int64)  # output, column, cell
            for cells, gradients in rows:
                for column, cell in enumerate(cells):
                    sums[:, column, cell] += gradients
            return sums

    loss = SoftmaxLoss(n_outputs=2)
    cells = np.zeros((2, 256), dtype=np.uint16)
    found = scores_module.scores_of_columns(
        RowHandle(Store()), cells, loss, 1.0, ADD, by_chance=by_chance
    )
    return found._value[0]


@pytest.mark.parametrize("by_chance", [0, 1, 3])
@pytest.mark.parametrize("most", [1, 2])
def test_range_of_the_scores_on_all_small_tables(most, by_chance):
    gradients = [
        one
        for one in itertools.product(range(-most, most + 1), repeat=2)
        if sum(map(abs, one)) <= most
    ]
    cells = list(itertools.product((0, 1), repeat=2))
    every = [(cell, np.array(one)) for cell in cells for one in gradients]
    reach = ContributionBound(l1=most, squares=most**2, entries=2)
    added = replaced = 0
    for n_rows in (0, 1, 2):
        for rows in itertools.combinations_with_replacement(every, n_rows):
            without = small_scores(rows, by_chance)
            with_row = [small_scores([*rows, row], by_chance) for row in every]
            added = max(added, *(int(np.ptp(one - without)) for one in with_row))
            ends = np.array([one[0] - one[1] for one in with_row])
            replaced = max(replaced, int(np.ptp(ends)))
    assert added == column_scores(reach, ADD).constant == 2 * most
    assert replaced == column_scores(reach, REPLACE).constant == 4 * most


def test_scores_are_sums_of_absolute_sums(monkeypatch):
    n_columns = 44  # more for several classes
    X, y = table(n_columns)
    y = np.digitize(y, [-0.3, 0.3])
    weights = np.random.default_rng(1).uniform(0.2, 1, N_ROWS)
    seen = []
    original = scores_module.scores_of_columns

    def watched(source, cells, loss, limit, neighbors, by_chance):
        rows = store_of(source)._rows
        order = np.arange(N_ROWS, dtype=np.int32)
        packed = loss.packed_newton(rows.scores, rows.labels, order, gradient_limit=limit)
        gradients = ((packed >> 32) * rows.weights + 2**15) >> 16
        by_cell = cells[np.arange(n_columns)[:, np.newaxis], rows.bins]
        plain = [
            sum(
                abs(int(own[by_cell[column] == cell].sum()))
                for own in gradients
                for cell in range(scores_module.MOST_CELLS + 1)
            )
            for column in range(n_columns)
        ]
        totals = [float(own.sum()) for own in gradients]
        of_noise = sum(np.hypot(total, by_chance) for total in totals)
        plain.append(min(sorted(plain)[n_columns // 4], of_noise))
        found = original(source, cells, loss, limit, neighbors, by_chance=by_chance)
        seen.append((np.array(plain), found._value[0]))
        return found

    monkeypatch.setattr(column_choice, "scores_of_columns", watched)
    schema = {"bounds": dict.fromkeys(range(n_columns), (-1, 1)), "classes": [0, 1, 2]}
    model = DPBoostClassifier(epsilon=2.0, schema=schema, max_weight=1.0, noise_seed=4, **FEW)
    model.fit(X, y, sample_weight=weights)
    ((plain, found),) = seen
    # Rounding of a weighted gradient is half a unit a row and output.
    assert np.abs(plain - found).max() <= 3 * N_ROWS
    assert found[0] > found[2:].max()
    # A column of noise has about as much as is said of no column.
    assert found[2:-1].mean() == pytest.approx(found[-1], rel=0.25)


# -- what it costs, and where it is left out ------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_choices_add_up_to_their_budget(delta, neighbors):
    X, y = table()
    model = fitted(DPBoostRegressor, X, y, epsilon=1.0, delta=delta, neighbors=neighbors)
    lines = choices(model)
    assert FIRST_CHOSEN < sum(line.releases for line in lines) <= 6
    assert {line.mechanism for line in lines} == {"exponential mechanism"}
    report = model.privacy_report_
    assert 0.99 < report.epsilon_spent <= 1.0
    assert report.private


def test_few_columns_change_nothing():
    X, y = table(LEAST_COLUMNS - 1)
    schema = {"bounds": dict.fromkeys(range(X.shape[1]), (-1, 1)), "label_bounds": (-1, 1)}
    texts = []
    for recipe in (BEST, replace(BEST, columns_to_choose=None)):
        model = fitted(DPBoostRegressor, X, y, schema=schema, recipe=recipe, noise_seed=3)
        assert not choices(model)
        texts.append(model.booster_.model_to_string())
    assert texts[0] == texts[1]


def test_rows_without_exact_sums_choose_nothing():
    class Parties:
        exact_sums = False

    assert not RowHandle(Parties()).exact_sums
    assert RowHandle(object()).exact_sums


# -- what it brings -------------------------------------------------------------------------------


def cuts(model):
    """How often each column is cut."""
    found = np.zeros(model.n_features_in_)
    for tree in model.ensemble_.trees:
        np.add.at(found, tree.feature, 1)
    return found


def test_columns_that_tell_are_cut_more_often():
    X, y = table(60, n_rows=4000)
    schema = {"bounds": dict.fromkeys(range(60), (-1, 1)), "label_bounds": (-1, 1)}
    plain = replace(BEST, columns_to_choose=None)
    shares = []
    for recipe in (BEST, plain):
        options = {"epsilon": 1.0, "recipe": recipe, "noise_seed": 7, "n_estimators": 200}
        found = cuts(fitted(DPBoostRegressor, X, y, schema=schema, **options))
        shares.append(found[:2].sum() / found.sum())
        assert (found > 0).sum() > 60 / 2  # none is lost for good
    assert shares[0] > 1.5 * shares[1]


def test_only_allowed_columns_are_chosen():
    X, y = table()
    contri = [0.0, *[1.0] * (N_COLUMNS - 1)]
    model = fitted(
        DPBoostRegressor, X, y, epsilon=2.0, feature_contri=contri, n_estimators=60, noise_seed=1
    )
    assert choices(model)
    assert cuts(model)[0] == 0
    assert cuts(model)[1] > 0


def plan_of(X, y, estimator=DPBoostRegressor, **options):
    """Return the plan of the choices of a fit, and the model."""
    asked = []

    def spy(facts):
        asked.append(BEST.columns_to_choose(facts))
        return asked[-1]

    recipe = replace(BEST, columns_to_choose=spy)
    model = fitted(estimator, X, y, recipe=recipe, **options)
    return asked[0], model


@pytest.mark.parametrize("noise_seed", [1, 2, 3])
def test_the_budget_of_choices_is_taken_from_the_trees(noise_seed):
    X, y = table()
    plan, model = plan_of(X, y, epsilon=1.0, noise_seed=noise_seed)
    (made,) = (line.releases for line in choices(model))
    share = float(plan.share) * made / plan.n_most
    parts = {line.label: line.share for line in model.privacy_report_.releases}
    assert plan.n_first < made <= plan.n_most == 6
    assert parts["column choice"] / parts["leaf sums"] == pytest.approx(share / (1 - share))


@pytest.fixture
def preferred(monkeypatch):
    """Columns that each fit prefers."""
    found = []
    original = FeatureQueue.prefer

    def watched(self, chosen):
        found.append(set(chosen))
        original(self, chosen)

    monkeypatch.setattr(FeatureQueue, "prefer", watched)
    return found


def test_what_was_drawn_is_chosen(preferred):
    X, y = table(60, n_rows=4000)
    schema = {"bounds": dict.fromkeys(range(60), (-1, 1)), "label_bounds": (-1, 1)}
    drawn = []
    for noise_seed in range(6):
        options = {"schema": schema, "epsilon": 0.3, "noise_seed": noise_seed}
        model = fitted(DPBoostRegressor, X, y, **options)
        left, chosen = list(range(60)), set()
        for step in model.transcript_.releases:
            if step.line["label"] == "column choice" and step.outcome[0] < len(left):
                chosen.add(left.pop(int(step.outcome[0])))
        drawn.append(chosen)
    assert preferred == drawn
    assert len(set(map(frozenset, drawn))) > 1


def test_choices_end_where_nothing_more_is_told(preferred):
    X, y = table(60, n_rows=4000)
    schema = {"bounds": dict.fromkeys(range(60), (-1, 1)), "label_bounds": (-1, 1)}
    made = []
    for noise_seed in range(11):
        plan, model = plan_of(X, y, schema=schema, epsilon=4.0, noise_seed=noise_seed)
        made += [line.releases for line in choices(model)]
    assert plan.n_most == 24
    assert all({0, 1} <= chosen for chosen in preferred)
    # Two columns tell, two more are chosen in any case, and sometimes one of noise.
    assert np.median(made) <= FIRST_CHOSEN + 3
    assert max(made) < 24


@pytest.mark.parametrize("n_columns", [LEAST_COLUMNS + 2, 30])
def test_columns_that_tell_something_only_together_are_found(n_columns):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60_000, n_columns))
    y = rng.random(len(X)) < np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), 0.9, 0.1)
    schema = {"bounds": dict.fromkeys(range(n_columns), (0, 1)), "classes": [0, 1]}
    # The chosen columns are of noise; a fit in ten, or in five of 30 columns, sees no such pair.
    shown = []
    for noise_seed in range(3):
        options = {"schema": schema, "epsilon": 8.0, "noise_seed": noise_seed}
        model = fitted(DPBoostClassifier, X[:40_000], y[:40_000], **options | DEFAULTS)
        shown.append(np.mean(model.predict(X[40_000:]) == y[40_000:]))
    assert max(shown) > 0.85


def test_where_most_columns_tell_something_none_is_preferred(preferred):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, N_COLUMNS))
    y = np.clip(X.mean(axis=1) * 3, -1, 1)
    plan, model = plan_of(X, y, epsilon=8.0, noise_seed=0)
    assert plan.all_alike_from == plan.n_most == 14
    assert [line.releases for line in choices(model)] == [14]
    assert preferred == []


@pytest.mark.parametrize("n_classes", [3, 10])
def test_of_several_classes_more_columns_are_chosen_first(n_classes):
    X, y = table(60, n_rows=2000)
    y = np.digitize(y, np.linspace(-0.5, 0.5, n_classes - 1))
    schema = {"bounds": dict.fromkeys(range(60), (-1, 1)), "classes": list(range(n_classes))}
    plan, model = plan_of(X, y, DPBoostClassifier, schema=schema, epsilon=1.0, noise_seed=0)
    if n_classes == 3:
        assert plan.n_first == FIRST_CHOSEN + 6
    else:  # a quarter of the columns are fewer than the first ones
        assert plan is None
        assert not choices(model)


def test_without_noise_choices_end_by_exact_scores(preferred):
    X, y = table(60, n_rows=4000)
    schema = {"bounds": dict.fromkeys(range(60), (-1, 1)), "label_bounds": (-1, 1)}
    fitted(DPBoostRegressor, X, y, schema=schema, epsilon=float("inf"))
    (chosen,) = preferred
    assert {0, 1} <= chosen
