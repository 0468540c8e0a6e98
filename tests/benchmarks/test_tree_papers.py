"""Tree learners implemented from papers: plain trees without noise, exact noise with it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.tree import DecisionTreeClassifier

from benchmarks.errors import BenchmarkError
from benchmarks.libraries import maddock, privatree, s_bdt
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.random_trees import Structure, grid, random_structure, sums
from benchmarks.renyi import best_order, calibrated, divergence, epsilon_of

KNOWN = DataDictionary(
    bounds={"x": (0.0, 1.0), "z": (0.0, 1.0)}, categories={"c": ("a", "b", "d")}, classes=(0, 1)
)
CUTS = grid(["x", "z", "c"], KNOWN, 3)


def table(n_rows: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.random((n_rows, 2)), columns=["x", "z"])
    X["c"] = pd.Categorical.from_codes(random.integers(0, 3, n_rows), ["a", "b", "d"])
    share = 0.1 + 0.6 * (X["x"] > 0.5) + 0.2 * (X["z"] > 0.25) * (X["c"] == "b")
    return X, (random.random(n_rows) < share).to_numpy().astype(np.int64)


def known_problem(task: str = "binary") -> Problem:
    known = KNOWN
    if task == "regression":
        known = DataDictionary(
            bounds=KNOWN.bounds, categories=KNOWN.categories, label_bounds=(-4.0, 4.0)
        )
    return Problem(
        name="small",
        task=task,
        files=(),
        dictionary=known,
        read=lambda paths: table(),
        source="https://example.org",
    )


# Released with the program of S-BDT: epsilon of the trees, planned trees, rate, noise, order and
# total divergence.
AS_RELEASED = [
    (0.18, 50, 0.1, 26.5993, 126, 0.0921079),
    (0.45, 150, 0.1, 19.1853, 55, 0.230797),
    (0.2, 25, 1.0, 167.331, 117, 0.104466),
    (0.5, 150, 0.1, 17.3757, 50, 0.256677),
]


@pytest.mark.parametrize(("epsilon", "n_trees", "rate", "noise", "order", "total"), AS_RELEASED)
def test_the_accounting_is_that_of_the_released_results(
    epsilon, n_trees, rate, noise, order, total
):
    # Its noise is for a change of the root of two.
    assert n_trees * divergence(order, 1 / noise**2, rate) == pytest.approx(total, rel=1e-4)
    assert epsilon_of(order, total, 5e-8) == pytest.approx(epsilon, rel=2e-3)
    found, _ = calibrated(epsilon, 5e-8, n_trees, rate)
    assert math.sqrt(2) * found == pytest.approx(noise, rel=2e-3)


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_the_noise_is_the_least_that_keeps_the_budget(rate):
    noise, order = calibrated(0.7, 1e-5, 40, rate)
    shift = 1 / (2 * noise**2)
    assert best_order(shift, rate, 40, 1e-5) == (order, pytest.approx(0.7, abs=1e-4))
    assert best_order(1.01 * shift, rate, 40, 1e-5)[1] > 0.7
    # No order does better than the one that the search by thirds has found.
    every = [epsilon_of(at, 40 * divergence(at, shift, rate), 1e-5) for at in range(2, 200)]
    assert min(every) == pytest.approx(0.7, abs=1e-4)


def test_all_rows_need_no_less_noise_than_the_exact_condition():
    noise, _ = calibrated(1.0, 1e-5, 1)
    mu = 1 / noise
    left, right = scipy.stats.norm.cdf([mu / 2 - 1 / mu, -mu / 2 - 1 / mu])
    assert left - math.e * right < 1e-5


def test_the_bound_of_a_sample_of_all_is_that_of_all():
    assert divergence(7, 0.3, 1 - 1e-12) == pytest.approx(divergence(7, 0.3, 1.0), rel=1e-6)
    assert divergence(7, 0.3, 0.1) < divergence(7, 0.3, 0.5)


def test_bins_and_leaves_are_those_of_the_cuts():
    X = pd.DataFrame({"x": [0.1, 0.3, 0.9, 2.0], "z": [0.6, 0.2, 0.8, np.nan]})
    X["c"] = pd.Categorical(["a", "d", "b", None], ["a", "b", "d"])
    bins = CUTS.bins(X, KNOWN)
    # A missing number is the middle of its bounds, a missing category the one after the last.
    assert bins.tolist() == [[0, 2, 0], [1, 0, 2], [3, 3, 1], [3, 1, 3]]
    tree = Structure(
        columns=np.array([0, 2, 1]), cuts=np.array([0, 2, 1]), exact=np.array([False, True, False])
    )
    assert tree.leaves(bins).tolist() == [0, 2, 3, 2]
    assert sums(tree.leaves(bins), np.array([1.0, 2.0, 4.0, 8.0]), 4).tolist() == [1, 0, 10, 4]


def test_random_cuts_can_be_reached():
    fine, random = grid(["x", "z", "c"], KNOWN, 5000), np.random.default_rng(1)
    every = np.zeros((5001, 3), dtype=int)
    every[:, 1] = np.arange(5001)
    for _ in range(20):
        tree = random_structure(fine, 3, np.array([1]), random, one_against_rest=True)
        assert len(np.unique(tree.leaves(every))) == 8
    mixed = random_structure(fine, 5, np.array([0, 1]), random, one_against_rest=True)
    assert set(mixed.columns) == {0, 1}


def test_a_split_of_a_category_parts_one_or_cuts_the_codes():
    random = np.random.default_rng(2)
    one = random_structure(CUTS, 2, np.array([2]), random, one_against_rest=True)
    assert one.exact.all()
    assert not random_structure(CUTS, 2, np.array([2]), random, one_against_rest=False).exact.any()


class Asked:
    """Draws nothing but zeros, and says how much noise it was asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def standard_normal(self, size):
        self.sizes.append(int(np.prod(size)))
        return np.zeros(size)

    def random(self, size):
        return np.zeros(size)  # every row is in every sample


def test_a_row_changes_a_leaf_of_s_bdt_by_as_much_as_is_accounted():
    settings = s_bdt.Settings(gradient_clip=0.3, hessian_clip=0.1, share=0.04)
    deviations = np.array(settings.deviations(5.0))
    at_the_clips = np.array([0.3, 0.1])
    assert np.linalg.norm(at_the_clips / deviations) == pytest.approx(1 / 5.0)
    parts = settings.parts(np.array([0.3, -0.3, 0.15, 0.0]), np.array([0.1, 0.1, 0.05, 0.0]))
    assert parts == pytest.approx([1.0, 1.0, 0.25, 0.0])


def test_the_noise_of_s_bdt_is_that_of_its_leaves():
    settings = s_bdt.Settings(
        n_trees=1, rate=1.0, gradient_clip=1.0, share=0.2, ridge=0.0, most=1e9, learning_rate=1.0
    )
    empty = Structure(
        columns=np.zeros(2**12 - 1, dtype=int),
        cuts=np.arange(2**12 - 1) * 0,
        exact=np.zeros(2**12 - 1, dtype=bool),
    )
    released = []

    def keep(gradients, hessians, chosen):
        released.append((gradients, hessians))
        return np.zeros(len(gradients))

    patch = pytest.MonkeyPatch()
    patch.setattr(s_bdt, "leaf_values", keep)
    try:
        s_bdt.boost(
            np.zeros((0, 1), dtype=int),
            np.zeros(0),
            [empty],
            settings,
            start=0.0,
            noise=3.0,
            order=2,
            random=np.random.default_rng(3),
        )
    finally:
        patch.undo()
    for found, expected in zip(released[0], settings.deviations(3.0), strict=True):
        assert found.std() == pytest.approx(expected, rel=0.06)


def test_without_noise_a_leaf_of_s_bdt_is_the_regularized_mean():
    settings = s_bdt.Settings(
        n_trees=1, rate=1.0, gradient_clip=9.0, ridge=2.0, learning_rate=0.5, most=9.0
    )
    stump = Structure(columns=np.array([0]), cuts=np.array([0]), exact=np.array([False]))
    bins, y = np.array([[0], [0], [1], [1], [1]]), np.array([1.0, 3.0, -1.0, -2.0, -3.0])
    (values,) = s_bdt.boost(
        bins, y, [stump], settings, start=0.0, noise=0.0, order=2, random=Asked()
    )
    assert values == pytest.approx([0.5 * 4 / 4, -0.5 * 6 / 5])


def test_s_bdt_has_no_value_where_the_noisy_hessian_is_negative():
    settings = s_bdt.Settings(ridge=1.0, most=2.0)
    values = s_bdt.leaf_values(np.array([-9.0, -9.0, -1.0]), np.array([-0.1, 1.0, 1.0]), settings)
    assert values.tolist() == [0.0, 2.0, 0.5]


def test_the_filter_lets_no_row_spend_more_than_planned():
    spender = s_bdt.Filter(3, n_trees=4, noise=2.0, order=5, rate=0.3)
    parts = np.array([1.0, 0.5, 0.0])
    taken = np.stack([spender.admit(parts) for _ in range(40)])
    # The largest change has its planned trees; half of it has more, and less than no end of them.
    assert taken[:, 0].sum() == 4
    assert taken[:4, 0].all()
    assert 4 < taken[:, 1].sum() < 40
    assert taken[:, 2].all()
    assert (spender.spent <= spender.budget).all()
    assert spender.budget == pytest.approx(4 * divergence(5, 1 / 8, 0.3))
    # What a row spends is never rounded down.
    exact = divergence(5, 0.5 / 8, 0.3)
    assert spender.spent[1] / taken[:, 1].sum() >= exact


def test_the_start_value_has_the_noise_of_both_sums():
    y = np.full(1000, 0.4)
    assert s_bdt.start_value(y, 0.5, math.inf, np.random.default_rng()) == pytest.approx(0.4)
    random = np.random.default_rng(4)
    found = np.array([s_bdt.start_value(y, 0.5, 1.0, random) for _ in range(4000)])
    # Laplace noise of scale 2: of the sum times the clip, and of the number of rows.
    expected = 2 * math.sqrt(2) * math.hypot(0.5, 0.4) / 1000
    assert found.std() == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("library", [s_bdt, maddock])
def test_without_noise_boosting_finds_what_there_is(library, task):
    X, y = table(2000)
    target = y if task == "binary" else (3 * (X["x"] > 0.5) - 2 * X["z"]).to_numpy()
    settings = {"n_trees": 150, "max_depth": 3}
    if library is s_bdt:
        settings |= {"rate": 1.0, "gradient_clip": 1.0, "newton": task == "binary"}
    result = library.fit_predict(
        known_problem(task), X, target, X, epsilon=None, seed=0, n_jobs=1, **settings
    )
    assert result.n_trees == 150
    assert result.epsilon_spent is None
    assert np.corrcoef(result.prediction, target)[0, 1] > (0.6 if task == "binary" else 0.95)
    private = library.fit_predict(
        known_problem(task), X, target, X, epsilon=0.5, seed=0, n_jobs=1, **settings
    )
    assert private.epsilon_spent == 0.5
    assert np.isfinite(private.prediction).all()


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_no_row_changes_a_release_of_maddock_by_more_than_its_sensitivity(task):
    random = np.random.default_rng(5)
    y = random.integers(0, 2, 500) if task == "binary" else random.uniform(-1, 1, 500)
    derived = maddock.derivatives(random.normal(0, 3, 500), y.astype(float), task)
    assert np.hypot(*derived).max() <= maddock.sensitivity(task)
    assert maddock.sensitivity("binary") == pytest.approx(math.sqrt(17) / 4)


def test_maddock_counts_every_release():
    random = maddock.Settings(n_trees=30, max_depth=4)
    assert random.n_releases(14) == 30
    chosen = maddock.Settings(n_trees=30, max_depth=4, structure="histogram")
    assert chosen.n_releases(14) == 30 * 4 * 14
    one = maddock.Settings(n_trees=30, max_depth=4, structure="histogram", one_column=True)
    assert one.n_releases(14) == 30 * 4


@pytest.mark.parametrize("structure", ["random", "histogram"])
def test_maddock_asks_for_the_noise_of_every_counted_release(structure):
    X, y = table()
    settings = maddock.Settings(n_trees=3, max_depth=2, structure=structure)
    asked = Asked()
    maddock.boost(
        CUTS.bins(X, KNOWN),
        y.astype(float),
        CUTS,
        "binary",
        settings,
        noise=maddock.Noise(0.0, asked),
        public=np.random.default_rng(0),
    )
    assert len(asked.sizes) == settings.n_releases(CUTS.n_columns)


def test_the_noise_of_maddock_has_the_deviation_that_is_stated():
    cells = np.zeros(1, dtype=int)
    noise = maddock.Noise(7.0, np.random.default_rng(6))
    found = noise.released(cells, (np.ones(1), np.ones(1)), 4000)
    assert found.std() == pytest.approx(7.0, rel=0.05)


def test_without_noise_a_chosen_split_of_maddock_is_the_best_one():
    X, y = table()
    bins = CUTS.bins(X, KNOWN)
    derived = maddock.derivatives(np.zeros(len(y)), y.astype(float), "binary")
    settings = maddock.Settings(max_depth=1, structure="histogram", learning_rate=1.0)
    tree, values = maddock.greedy_tree(
        bins, CUTS, np.arange(3), derived, settings, maddock.Noise(0.0, np.random.default_rng())
    )

    def score(column, cut):
        sides = [bins[:, column] <= cut, bins[:, column] > cut]
        return sum(derived[0][own].sum() ** 2 / (derived[1][own].sum() + 1) for own in sides)

    scores = {(column, cut): score(column, cut) for column in range(3) for cut in range(3)}
    assert (int(tree.columns[0]), int(tree.cuts[0])) == max(scores, key=scores.get)
    left = tree.leaves(bins) == 0
    for own, value in zip((left, ~left), values, strict=True):
        expected = -derived[0][own].sum() / (derived[1][own].sum() + 1)
        assert value == pytest.approx(np.clip(expected, -2, 2))


def test_a_batch_adds_the_mean_of_its_trees():
    X, y = table()
    bins = CUTS.bins(X, KNOWN)
    trees = {}
    for batch in (1, 4):
        settings = maddock.Settings(n_trees=4, max_depth=2, batch=batch)
        trees[batch] = maddock.boost(
            bins,
            y.astype(float),
            CUTS,
            "binary",
            settings,
            noise=maddock.Noise(0.0, np.random.default_rng()),
            public=np.random.default_rng(7),
        )
    # The first tree of a batch has the same gradients as one alone, and a fourth of its values.
    assert trees[4][0][1] == pytest.approx(trees[1][0][1] / 4)


def test_without_noise_privatree_is_a_plain_tree():
    X, y = table(600)
    columns = X[["x", "z"]]
    known = DataDictionary(bounds=KNOWN.bounds, classes=(0, 1))
    cuts = grid(["x", "z"], known, 9)
    bins = cuts.bins(columns, known)
    endless = privatree.Budget(count=math.inf, leaf=math.inf, level=math.inf)
    tree = privatree.grow(bins, y, cuts, 2, endless, np.random.default_rng())
    plain = DecisionTreeClassifier(max_depth=2).fit(bins, y)
    assert (tree.labels(bins) == plain.predict(bins)).all()


def test_privatree_parts_categories_by_their_share():
    X, _ = table()
    bins = CUTS.bins(X, KNOWN)
    y = (X["c"] == "b").to_numpy().astype(np.int64)
    column, right = privatree.best_split(bins, y, CUTS, math.inf, np.random.default_rng())
    assert column == 2
    assert (right[bins[:, 2]] == y).all()


def test_the_budget_of_privatree_adds_up():
    random = np.random.default_rng(8)
    for epsilon, n_rows in ((0.1, 500), (1.0, 40_000)):
        budget = privatree.budget_of(epsilon, n_rows, 4, random)
        assert budget.total(4) == pytest.approx(epsilon)
        assert 0 < budget.leaf <= epsilon / 2
    # With many rows a label costs less than the half.
    assert budget.leaf < 0.1


def test_privatree_spends_the_budget_of_a_level_on_all_columns(monkeypatch):
    asked = []
    real = privatree.geometric

    def keep(counts, epsilon, random):
        asked.append(epsilon)
        return real(counts, epsilon, random)

    monkeypatch.setattr(privatree, "geometric", keep)
    X, y = table()
    bins = CUTS.bins(X, KNOWN)
    budget = privatree.Budget(count=0.1, leaf=0.3, level=0.6)
    for whole, expected in ((False, 0.6), (True, 0.6 * CUTS.n_columns)):
        asked.clear()
        random = np.random.default_rng(9)
        privatree.grow(bins, y, CUTS, 1, budget, random, whole=whole)
        assert sum(asked) == pytest.approx(expected)


def test_the_noise_of_counts_is_geometric():
    random = np.random.default_rng(10)
    found = privatree.geometric(np.full(20_000, 50), 0.8, random)
    decay = math.exp(-0.8)
    assert found.mean() == pytest.approx(50, abs=0.1)
    assert found.var() == pytest.approx(2 * decay / (1 - decay) ** 2, rel=0.05)
    assert privatree.geometric(np.zeros(100, dtype=int), 0.8, random).min() == 0


def test_permute_and_flip_has_its_chances():
    random, counts = np.random.default_rng(11), np.array([10, 9])
    found = [privatree.permute_and_flip(counts, 0.5, random) for _ in range(20_000)]
    # The smaller count is taken if it comes first and its coin falls so.
    assert np.mean(found) == pytest.approx(0.5 * math.exp(-0.5), abs=0.012)
    assert privatree.permute_and_flip(counts, math.inf, random) == 0


def test_the_worst_error_is_that_of_the_worst_counts():
    # With two counts of difference d it is d times half the chance of the coin; epsilon is 1 and
    # the exponent half of it in the published bound.
    worst = max(d * 0.5 * math.exp(-d / 2) for d in np.linspace(0.01, 20, 20_000))
    assert privatree.worst_error(2) == pytest.approx(worst, rel=1e-3)


def test_privatree_takes_two_classes():
    X, y = table()
    with pytest.raises(BenchmarkError, match="two classes"):
        privatree.fit_predict(known_problem("regression"), X, y, X, epsilon=1.0, seed=0, n_jobs=1)
    result = privatree.fit_predict(known_problem(), X, y, X, epsilon=5.0, seed=0, n_jobs=1)
    assert set(result.prediction) <= {0.0, 1.0}
    assert (result.prediction == y).mean() > 0.6
