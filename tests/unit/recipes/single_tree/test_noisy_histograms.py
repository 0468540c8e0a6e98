"""Federated private histograms: the tree without noise, what is saved, and where it goes."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpboost.growing.histogram_saving import SavedHistograms
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import LocalRows
from dpboost.rows.class_statistics import ClassStatistics

BOTH = pytest.mark.parametrize("recipe", ["histograms", "histograms_saving"])


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_it_is_cart(whole_numbers, fit, same_partition, recipe, n_classes):
    X, y = whole_numbers(n_classes=n_classes)
    ours = fit(X, y, recipe=recipe, max_depth=3, max_bin=6, min_rows=1)
    cart = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert same_partition(ours, cart, X)
    assert ours.get_n_leaves() == cart.get_n_leaves()


def test_saving_drops_no_feature_that_would_have_split_better(whole_numbers, fit):
    """Theorem 7: without noise the bounds rule out nothing that matters."""
    X, y = whole_numbers(n_features=12)
    options = {"max_depth": 4, "max_bin": 6, "nominal": (3, 4)}
    plain = fit(X, y, recipe="histograms", **options)
    saving = fit(X, y, recipe="histograms_saving", **options)
    assert plain.export_text() == saving.export_text()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "max", "root_gini"])
def test_criteria_of_plain_histograms(whole_numbers, fit, criterion):
    X, y = whole_numbers()
    model = fit(X, y, recipe="histograms", criterion=criterion, max_depth=3, max_bin=6)
    assert np.mean(model.predict(X) == y) > 0.7


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_books_of_plain_histograms(whole_numbers, fit, neighbors):
    X, y = whole_numbers()
    model = fit(
        X, y, recipe="histograms", epsilon=8.0, max_depth=4, leaf_share=0.25, neighbors=neighbors
    )
    report = model.privacy_report_
    shares = {release.label: (release.share, release.releases) for release in report.releases}
    assert shares == {"class counts": (Fraction(3, 4), 4), "leaf counts": (Fraction(1, 4), 1)}
    (counts, _) = report.releases
    assert counts.largest == counts.smallest == (10 if neighbors == "replace" else 5)


def paths(model):
    """The nodes above each leaf, the leaf included."""
    parent = {0: None}
    tree = model.tree_
    for node, first in zip(tree.splits.node.tolist(), tree.first_child.tolist(), strict=True):
        parent |= {first: node, first + 1: node}
    for leaf in sorted(set(parent) - set(tree.splits.node.tolist())):
        path = []
        while leaf is not None:
            path.append(leaf)
            leaf = parent[leaf]
        yield path[::-1]


@pytest.mark.parametrize("epsilon", [2.0, 500.0])
@pytest.mark.parametrize("n_features", [3, 8])
def test_every_path_spends_the_whole_budget_and_no_more(
    whole_numbers, fit, monkeypatch, epsilon, n_features
):
    """What a node saves goes to both of its children, and what is left goes to the leaves."""
    X, y = whole_numbers(n_features=n_features)
    booked = []
    original = Ledger._book

    def book(self, entry):
        original(self, entry)
        booked.append(entry)

    monkeypatch.setattr(Ledger, "_book", book)
    model = fit(
        X, y, recipe="histograms_saving", epsilon=epsilon, max_depth=3, max_bin=6, min_rows=1200
    )
    assert model.privacy_report_.spent == Fraction(epsilon)
    for path in paths(model):
        scope = [str(node) for node in path[1:]]
        spent = Fraction(0)
        for entry in booked:
            names = [name for name in entry.scope if name not in ("training", "parts")]
            # Releases in the scope of a node are about all rows of the node.
            if names == scope[: len(names)]:
                spent += entry.charge.cost
        assert spent == Fraction(epsilon), path


def test_early_leaves_have_more_for_their_counts(whole_numbers, fit, monkeypatch):
    X, y = whole_numbers()
    spent = []
    original = Ledger._book

    def book(self, entry):
        original(self, entry)
        spent.append((entry.label, entry.charge.cost))

    monkeypatch.setattr(Ledger, "_book", book)
    # One feature is never dropped, so that it can say that a node has too few rows.
    fit(
        X[:, :1],
        y,
        recipe="histograms_saving",
        epsilon=500.0,
        max_depth=3,
        max_bin=6,
        min_rows=1600,
    )
    leaves = {cost for label, cost in spent if label == "leaf counts"}
    # Half of the budget at the bottom; above, that of the levels that were not made as well.
    assert min(leaves) >= 250
    assert max(leaves) >= 250 + 250 / 3


def test_a_feature_that_was_dropped_does_not_make_a_leaf(whole_numbers, fit):
    X, y = whole_numbers(n_features=8)
    y = (X[:, 0] > 2).astype(int)
    options = {"epsilon": 1000.0, "max_depth": 1, "max_bin": 6, "min_rows": 10**6}
    assert fit(X, y, recipe="histograms_saving", **options).get_n_leaves() == 2
    assert fit(X, y, recipe="histograms", **options).get_n_leaves() == 1


def test_features_that_are_ruled_out_cost_nothing(whole_numbers, fit):
    X, y = whole_numbers(n_features=8)
    # The first feature tells the class exactly; no bound of another one comes near.
    y = (X[:, 0] > 2).astype(int)
    model = fit(X, y, recipe="histograms_saving", epsilon=1000.0, max_depth=1, max_bin=6)
    (bounds, counts, leaves) = model.privacy_report_.releases
    assert (bounds.largest, counts.releases, counts.largest) == (8 * 65, 1, 1)
    # Half for the level, a quarter of that for bounds, an eighth of the rest for one histogram.
    assert bounds.share == Fraction(1, 8)
    assert counts.share == Fraction(1, 2) * Fraction(3, 4) / 8
    assert leaves.share == 1 - bounds.share - counts.share


def test_visits_grow_so_that_a_level_takes_few_exchanges(whole_numbers, fit, monkeypatch):
    X, y = whole_numbers(n_features=30)
    sizes = []
    original = SavedHistograms._visit

    def visit(self, rows, level, size, ledger):
        sizes.append(size)
        original(self, rows, level, size, ledger)

    monkeypatch.setattr(SavedHistograms, "_visit", visit)
    fit(X, y, recipe="histograms_saving", epsilon=0.1, max_depth=1)
    assert sizes == [1, 4, 16, 64][: len(sizes)]


def test_the_parts_of_a_level_are_read_at_once(whole_numbers, fit, monkeypatch):
    """A deep tree has hundreds of parts in a level, each with a release of its own."""
    X, y = whole_numbers(n_features=8)
    read, released = [], []
    original, exact = ClassStatistics.release_parts, LocalRows.exact

    def counted(self, asked, **named):
        read.clear()
        found = original(self, asked, **named)
        # Nodes that ask about another number of features are read apart.
        kinds = {np.shape(getattr(query, "features", None))[1:] for _, query in asked}
        assert len(read) == len(kinds)
        released.append(len(asked))
        return found

    monkeypatch.setattr(ClassStatistics, "release_parts", counted)
    monkeypatch.setattr(LocalRows, "exact", lambda *given: read.append(0) or exact(*given))
    fit(X, y, recipe="histograms_saving", epsilon=2.0, max_depth=6, max_bin=6)
    assert max(released) > 20


def test_parts_of_a_wide_level_are_read_in_turn(whole_numbers, fit, monkeypatch):
    X, y = whole_numbers(n_features=4)
    options = {"epsilon": 2.0, "max_depth": 4, "max_bin": 6, "noise_seed": 1}
    at_once = fit(X, y, recipe="histograms_saving", **options).export_text()
    monkeypatch.setattr("dpboost.rows.class_statistics.MOST_COUNTS", 1)
    assert fit(X, y, recipe="histograms_saving", **options).export_text() == at_once


@BOTH
def test_noise_alone_makes_a_tree_all_the_same(fit, recipe):
    X, y = np.zeros((2, 3)), np.array([0, 1])
    model = fit(X, y, recipe=recipe, epsilon=0.1, max_depth=3)
    assert model.predict(X).shape == y.shape
