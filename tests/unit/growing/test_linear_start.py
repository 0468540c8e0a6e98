"""The linear model before the first round: its price, its trees, and where there is none."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, Schema, refit_leaves
from dpboost.data.binner import Binner
from dpboost.federated import FederatedBoostingRegressor
from dpboost.growing import linear_start
from dpboost.growing.linear_start import one_leaf_a_bin
from dpboost.losses import SquaredLoss
from dpboost.recipes.best_rules import MOST_SHARE_OF_LINEAR
from dpboost.rows.boosting_state import BoostingState
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.tree import SlopeNoise

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS, N_COLUMNS = 2500, 4
BOUNDS = {"bounds": dict.fromkeys(range(N_COLUMNS), (-2, 2))}
NUMBERS = {**BOUNDS, "label_bounds": (-6, 6)}
FEW = {"n_estimators": 20, "verbosity": -1, "random_state": 1, "n_jobs": 1, "schema": NUMBERS}
LOSS = SquaredLoss.from_label_bounds(-1.0, 1.0)
SLOPES = np.array([1.0, -1.5, 0.5, 0.0])


def table(n_rows=N_ROWS, seed=0):
    """A linear signal of columns that go together, with some values missing in the last."""
    random = np.random.default_rng(seed)
    common = random.normal(0, 0.5, (n_rows, 1))
    X = np.clip(common + random.normal(0, 0.5, (n_rows, N_COLUMNS)), -2, 2)
    y = X @ SLOPES + random.normal(0, 0.1, n_rows)
    X[random.random(n_rows) < 0.1, -1] = np.nan
    return X, y


def fitted(X, y, estimator=DPBoostRegressor, **options):
    return estimator(**{**FEW, "epsilon": 1.0, "delta": 1e-6, **options}).fit(X, y)


def linear_trees(model):
    return [tree for tree in model.ensemble_.trees if isinstance(tree.noise, SlopeNoise)]


# -- what it costs, and where it is left out ------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 12.0])  # the last one accounts in zCDP
def test_its_releases_add_up_to_its_part(epsilon, neighbors):
    model = fitted(*table(), epsilon=epsilon, neighbors=neighbors)
    lines = {line.label: line for line in model.privacy_report_.releases}
    moments, sums, leaves = (
        lines[label] for label in ("second moments", "gradient moments", "leaf sums")
    )
    assert (moments.releases, sums.releases) == (1, 2)
    assert leaves.releases == FEW["n_estimators"] - N_COLUMNS
    part = float(moments.share + sums.share)
    share = MOST_SHARE_OF_LINEAR
    assert part / float(leaves.share) == pytest.approx(share / (1 - share), rel=1e-6)
    assert float(moments.share) == pytest.approx(part / 2, rel=1e-6)
    assert 0.99 * epsilon < model.privacy_report_.epsilon_spent <= epsilon
    assert len(linear_trees(model)) == N_COLUMNS
    assert model.booster_.num_trees() == FEW["n_estimators"]


@pytest.mark.parametrize(
    "options",
    [
        {"delta": 0.0},
        {"epsilon": 0.05},
        {"learning_rate": 0.2},
        {"max_delta_step": 0.5},
        {"max_depth": 3},
        {"monotone_constraints": [1, 0, 0, 0]},
        {"bagging_fraction": 0.5, "bagging_freq": 1},
        {"n_estimators": 4 * N_COLUMNS - 1},
        {"objective": "mae"},
        {"objective": "poisson", "schema": {**BOUNDS, "label_bounds": (0, 6)}},
        {"feature_contri": [0, 1, 0, 0]},
        {"schema": {"categories": dict.fromkeys(range(4), (0, 1, 2)), "label_bounds": (-6, 6)}},
    ],
)
def test_where_there_is_none(options):
    X, y = table()
    if "categories" in options.get("schema", {}):
        X = np.nan_to_num(np.rint(np.abs(X)))
    model = fitted(X, np.abs(y) if options.get("objective") == "poisson" else y, **options)
    assert not linear_trees(model)
    assert {line.label for line in model.privacy_report_.releases}.isdisjoint(
        {"second moments", "gradient moments"}
    )
    assert model.privacy_report_.epsilon_spent <= options.get("epsilon", 1.0)


def test_it_is_for_numbers_with_enough_rows_alone():
    X, y = table()
    assert len(linear_trees(fitted(X, y, epsilon=0.2))) == N_COLUMNS
    schema = {**BOUNDS, "classes": [0, 1]}
    assert not linear_trees(fitted(X, (y > 0).astype(int), DPBoostClassifier, schema=schema))
    earlier = fitted(X, y)
    again = DPBoostRegressor(**FEW, epsilon=1.0, delta=1e-6).fit(X, y, init_model=earlier)
    assert "second moments" not in {line.label for line in again.privacy_report_.releases}


# -- what it is -----------------------------------------------------------------------------------


def test_a_linear_signal_is_found_at_once():
    X, y = table(20_000)
    fresh, truth = table(4000, seed=1)
    model = fitted(X, y, epsilon=4.0)
    after = np.sqrt(np.mean((model.predict(fresh, num_iteration=N_COLUMNS) - truth) ** 2))
    plain = fitted(X, y, epsilon=4.0, max_delta_step=1e9)
    before = np.sqrt(np.mean((plain.predict(fresh) - truth) ** 2))
    assert after < 0.35 < before  # of a deviation of 1.2 without any model
    gains = model.booster_.feature_importance("gain")
    assert gains.argmax() == 1
    assert gains[3] < 0.1 * gains[:3].min()


def test_rows_have_the_scores_of_the_model(monkeypatch):
    seen = []
    leaf_sums = BoostingState.leaf_sums

    def watched(self, *arguments):
        seen.append((self.bins, self.scores.copy()))
        return leaf_sums(self, *arguments)

    monkeypatch.setattr(BoostingState, "leaf_sums", watched)
    model = fitted(*table())
    bins, scores = seen[0]
    trees = linear_trees(model)
    found = sum(tree.leaf_value[leaf_index(tree, bins)] for tree in trees)
    start = round(model.ensemble_.start[0] / model.ensemble_.unit)
    assert (scores[0] == start + found).all()


@pytest.mark.parametrize("n_bins", [2, 3, 17, 64, 255])
def test_a_tree_has_a_leaf_for_each_bin(n_bins):
    values = np.zeros(256, dtype=np.int64)
    values[:n_bins] = np.linspace(-64, 64, n_bins).astype(np.int64)
    tree = one_leaf_a_bin(1, n_bins, values)
    bins = np.zeros((2, n_bins + 1), dtype=np.uint8)
    bins[1] = np.arange(n_bins + 1)
    leaves = leaf_index(tree, bins)
    assert leaves[:-1].tolist() == list(range(n_bins))
    assert leaves[-1] == np.abs(values[:n_bins]).argmin()  # missing
    depth = np.zeros(len(tree.feature), dtype=int)
    for node in range(len(depth)):
        for child in (tree.left[node], tree.right[node]):
            if child >= 0:
                assert child > node
                depth[child] = depth[node] + 1
    assert depth.max() + 1 == int(np.ceil(np.log2(n_bins)))


class QuadraticRows:
    """Rows whose gradients are linear, and whose noise is that of a generator."""

    def __init__(self, design, moments, slopes, noise, random):
        self.design, self.moments, self.slopes = design, moments, slopes
        self.noise, self.random = noise, random
        self.found = np.zeros(len(slopes))

    def released(self, query, budget, ledger, label):
        size = self.design.size
        if label == "second moments":
            exact = self.moments[np.triu_indices(size)]
        else:
            exact = self.moments @ (self.found - self.slopes)
        return exact + self.random.normal(0, self.noise[label], exact.shape), self.noise[label]

    def correct(self, trees):
        (tree,) = trees
        column = int(tree.feature[0])
        values = self.design.values[column, [0, tree.n_leaves - 1]] / linear_start.ONE
        ends = tree.leaf_value[[0, -1]] / LOSS.units_per_one
        slope = (ends[1] - ends[0]) / (values[1] - values[0])
        self.found[column + 1] += slope
        if column == 0:
            self.found[0] += ends[0] - slope * values[0]

    append = correct


def test_the_known_noise_of_its_leaves_is_that_of_repeated_fits(open_ledger):
    random = np.random.default_rng(0)
    names = tuple(f"x{k}" for k in range(3))
    schema = Schema(bounds=dict.fromkeys(names, (0, 1))).resolve(names)
    binner = Binner.from_schema(schema, n_bins=8)
    columns = np.arange(3, dtype=np.int32)
    design = linear_start.linear_columns(binner, columns, {})
    factor = random.normal(size=(4, 400)) + random.normal(size=400)
    moments, slopes = factor @ factor.T, np.array([0.05, 0.2, -0.1, 0.0])
    noise = {"second moments": 20.0, "gradient moments": 4.0}
    start = linear_start.LinearStart(
        first=lambda: columns,
        most_columns=9,
        binner=binner,
        masses={},
        loss=LOSS,
        share=Fraction(1, 2),
        gradient_limit=0.3,
        prior=0.15,
    )
    found, known = [], []
    for _ in range(300):
        rows = QuadraticRows(design, moments, slopes, noise, random)
        trees, left = start.release(rows, open_ledger(), Fraction(1))
        assert left == Fraction(1, 2)
        found.append(rows.found)
        known.append([tree.noise.stddev(None)[-1] for tree in trees])
    ends = np.array(found)[:, 1:] * design.values[:, 7] / linear_start.ONE
    ends[:, 0] += np.array(found)[:, 0]
    ratio = ends.std(axis=0) * LOSS.units_per_one / np.mean(known, axis=0)
    assert (ratio > 0.8).all()
    assert (ratio < 1.25).all()
    # Shrunken, but not by much.
    assert np.abs(np.mean(found, axis=0) - slopes).max() < 0.03


def test_tables_of_any_kind_give_the_same_model():
    X, y = table()
    X = np.nan_to_num(X)
    X[np.abs(X) < 0.5] = 0.0
    options = {"noise_seed": 3, "epsilon": 1.0}
    text = fitted(X, y, **options).booster_.model_to_string()
    assert text == fitted(sparse.csr_matrix(X), y, **options).booster_.model_to_string()
    assert text == fitted(X, y, **{**options, "n_jobs": 2}).booster_.model_to_string()


def test_batches_give_the_same_model():
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    X, y = table()
    options = {"noise_seed": 3, "epsilon": 1.0}
    batches = arrow.Table.from_pandas(pandas.DataFrame(X)).to_batches(max_chunksize=700)
    one, other = fitted(X, y, **options), fitted(batches, y, **options)
    assert np.array_equal(one.predict(X), other.booster_.predict(X))


def test_parties_release_it_from_sums_of_their_own():
    X, y = table()
    sites = [(X[:900], y[:900]), (X[900:], y[900:])]
    model = FederatedBoostingRegressor(epsilon=2.0, delta=1e-6, schema=NUMBERS, verbosity=-1)
    model.fit(sites)
    lines = {line.label: line.releases for line in model.privacy_report_.releases}
    assert (lines["second moments"], lines["gradient moments"]) == (1, 2)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.4 * y.std()


def test_noise_is_told_apart_from_what_is_shown():
    X, y = table(8000)
    model = fitted(X, y, epsilon=2.0, n_estimators=100)
    assert model.is_explainable
    reasons = model.reason_codes(np.nan_to_num(X[:5]), k=2)
    assert len(reasons) == 5
    assert all(reason.error > 0 for row in reasons for reason in row)


def test_new_leaves_of_a_linear_model_are_learned_together():
    X, y = table()
    model = fitted(X, y)
    budget = Budget(epsilon=1, delta=1e-6, table="new rows")
    new = refit_leaves(model, X, -y, budget=budget, fraction=1)
    lines = {line.label: line.releases for line in new.privacy_report_.releases}
    assert lines == {"second moments": 1, "gradient moments": 2, "leaf sums": 16}
    assert len(linear_trees(new)) == N_COLUMNS
    assert np.corrcoef(new.predict(X), y)[0, 1] < -0.8
    pure = Budget(epsilon=1, delta=0, table="more rows")
    new = refit_leaves(model, X, -y, budget=pure, fraction=Fraction(1))
    assert {line.label: line.releases for line in new.privacy_report_.releases} == {"leaf sums": 20}


# -- its arithmetic -------------------------------------------------------------------------------


def test_equations_are_solved():
    random = np.random.default_rng(0)
    factor = random.normal(size=(9, 9))
    matrix, right = factor @ factor.T + np.eye(9), random.normal(size=(9, 4))
    found = linear_start._solution(matrix, right)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
    np.testing.assert_allclose(linear_start._product(matrix, right), matrix @ right, rtol=1e-12)


def test_no_library_of_linear_algebra_decides_an_entry():
    """Parties and replays on other machines must find the same trees, to the last bit."""
    nodes = list(ast.walk(ast.parse(Path(linear_start.__file__).read_text())))
    assert not any(isinstance(node, ast.MatMult) for node in nodes)
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert used.isdisjoint({"linalg", "dot", "matmul", "einsum", "inner", "tensordot"})


def test_values_of_bins_have_mean_zero_and_one_deviation():
    edges, weights = np.array([-3.0, 0.0, 0.5, 1.0, 4.0]), np.array([1.0, 30, 30, 30, 30, 1])
    values = linear_start._standardized(edges, weights) / linear_start.ONE
    mean = np.average(values, weights=weights)
    assert abs(mean) < 0.05
    assert np.sqrt(np.average((values - mean) ** 2, weights=weights)) == pytest.approx(1, abs=0.1)
    assert (np.diff(values) >= 0).all()
    # A bin far away, and bins without rows or without a width.
    far = linear_start._standardized(np.array([0.0, 1.0, 1e300]), np.zeros(4))
    assert (np.abs(far) <= linear_start.MOST).all()
    same = linear_start._standardized(np.array([1.0, 1.0]), np.ones(3))
    assert same.tolist() == [0, 0, 0]
