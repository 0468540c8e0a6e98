"""Columns that are chosen before the first tree: their scores, their price, and what it brings."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.growing import column_choice
from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import RowHandle, store_of
from dpboost.privacy.sensitivity.constants import column_scores
from dpboost.recipes.best import BEST
from dpboost.recipes.best_rules import CHOSEN, LEAST_COLUMNS
from dpboost.rows import column_scores as scores_module

ADD, REPLACE = Neighbours
N_COLUMNS, N_ROWS = 24, 600
BOUNDS = {"bounds": dict.fromkeys(range(N_COLUMNS), (-1, 1))}
NUMBERS = {**BOUNDS, "label_bounds": (-1, 1)}
FEW = {"n_estimators": 6, "max_depth": 2, "verbosity": -1, "random_state": 1, "n_jobs": 1}


def table(n_columns=N_COLUMNS, n_rows=N_ROWS):
    """The first two columns tell the label, the others nothing; some values are missing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n_rows, n_columns))
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    return X, np.clip(X[:, 0] + np.nan_to_num(X[:, 1]), -1, 1)


def fitted(estimator, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(**{"schema": NUMBERS, **FEW, **options}).fit(X, y)


def choices(model):
    return [line for line in model.privacy_report_.releases if line.label == "column choice"]


# -- how far one row moves scores ---------------------------------------------------------------


def small_scores(rows):
    """Scores of two columns of two cells, for two outputs."""
    sums = np.zeros((2, 2, 2), dtype=int)  # output, column, cell
    for cells, gradients in rows:
        for column, cell in enumerate(cells):
            sums[:, column, cell] += gradients
    return np.abs(sums).sum(axis=(0, 2))


@pytest.mark.parametrize("most", [1, 2])
def test_range_of_the_scores_on_all_small_tables(most):
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
            with_row = [small_scores([*rows, row]) for row in every]
            added = max(added, *(int(np.ptp(one - small_scores(rows))) for one in with_row))
            ends = np.array([one[0] - one[1] for one in with_row])
            replaced = max(replaced, int(np.ptp(ends)))
    assert added == column_scores(reach, ADD).constant == 2 * most
    assert replaced == column_scores(reach, REPLACE).constant == 4 * most


def test_scores_are_sums_of_absolute_sums(monkeypatch):
    n_columns = 36  # more for several classes
    X, y = table(n_columns)
    y = np.digitize(y, [-0.3, 0.3])
    weights = np.random.default_rng(1).uniform(0.2, 1, N_ROWS)
    seen = []
    original = scores_module.scores_of_columns

    def watched(source, cells, loss, limit, neighbours):
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
        found = original(source, cells, loss, limit, neighbours)
        seen.append((np.array(plain), found._value[0]))
        return found

    monkeypatch.setattr(column_choice, "scores_of_columns", watched)
    schema = {"bounds": dict.fromkeys(range(n_columns), (-1, 1)), "classes": [0, 1, 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPBoostClassifier(epsilon=2.0, schema=schema, max_weight=1.0, noise_seed=4, **FEW)
        model.fit(X, y, sample_weight=weights)
    ((plain, found),) = seen
    # Rounding of a weighted gradient is half a unit a row and output.
    assert np.abs(plain - found).max() <= 3 * N_ROWS
    assert found[0] > found[2:].max()


# -- what it costs, and where it is left out ------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_choices_add_up_to_their_budget(delta, neighbours):
    X, y = table()
    model = fitted(DPBoostRegressor, X, y, epsilon=1.0, delta=delta, neighbours=neighbours)
    lines = choices(model)
    assert sum(line.releases for line in lines) == CHOSEN(N_ROWS) == 6
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
    found = np.zeros(N_COLUMNS)
    for tree in model.ensemble_.trees:
        np.add.at(found, tree.feature, 1)
    return found


def test_columns_that_tell_are_cut_more_often():
    X, y = table(n_rows=4000)
    plain = replace(BEST, columns_to_choose=None)
    shares = []
    for recipe in (BEST, plain):
        options = {"epsilon": 1.0, "recipe": recipe, "noise_seed": 7, "n_estimators": 200}
        found = cuts(fitted(DPBoostRegressor, X, y, **options))
        shares.append(found[:2].sum() / found.sum())
        assert (found > 0).sum() > N_COLUMNS / 2  # none is lost for good
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


def test_the_budget_of_choices_is_taken_from_the_trees():
    X, y = table()
    asked = []

    def spy(facts):
        asked.append(BEST.columns_to_choose(facts))
        return asked[-1]

    model = fitted(DPBoostRegressor, X, y, epsilon=1.0, recipe=replace(BEST, columns_to_choose=spy))
    ((n_chosen, share),) = asked
    assert isinstance(share, Fraction)
    parts = {line.label: line.share for line in model.privacy_report_.releases}
    assert n_chosen == 6
    assert parts["column choice"] / parts["leaf sums"] == pytest.approx(float(share / (1 - share)))
