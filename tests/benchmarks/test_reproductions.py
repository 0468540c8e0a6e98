"""Synthetic tables, orderings and pages of the reproductions."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpboost
from benchmarks.reproductions import (
    dp_topdown,
    federated_histograms,
    federated_topdown,
    friedman_schuster,
)
from benchmarks.reproductions.__main__ import NAMES, main, papers, reproduce
from benchmarks.reproductions.measure import Claim, Measured, accuracy, curves, judge, to_text
from benchmarks.reproductions.mixture import Mixture
from benchmarks.reproductions.places import accuracy_of, fit_places
from benchmarks.reproductions.synthetic import (
    Concept,
    Domain,
    random_concept,
    sample,
    single_split,
)
from dpboost.privacy.neighbours import Neighbours
from dpboost.recipes.single_tree.noisy_histograms import SavingParameters
from dpboost.rows.site_queries import ImpurityBounds

MIXED = Domain(n_nominal=3, n_numeric=2, n_values=3, n_classes=4)


def nodes(concept, level=1, path=()):
    """All nodes with their level and the attributes above them."""
    yield concept, level, path
    for child in concept.children:
        yield from nodes(child, level + 1, (*path, concept.attribute))


def test_nominal_attributes_are_not_repeated_on_a_path():
    random = np.random.default_rng(0)
    repeated = False
    for _ in range(30):
        for concept, level, path in nodes(random_concept(MIXED, 6, random, p_leaf=0.1)):
            used = [*path, concept.attribute]
            nominal = [a for a in used if 0 <= a < MIXED.n_nominal]
            repeated |= len(set(used)) < len(used)
            assert len(nominal) == len(set(nominal))
            assert level <= 7
            assert len(concept.children) in (0, 2 if concept.attribute >= 3 else 3)
            assert 0 <= concept.label < 4
    assert repeated


def test_nodes_become_leaves_from_the_third_level_on():
    random = np.random.default_rng(1)
    found = [list(nodes(random_concept(Domain(), 5, random))) for _ in range(200)]
    by_level = {level: [] for level in range(1, 7)}
    for tree in found:
        for concept, level, _ in tree:
            by_level[level].append(concept.attribute < 0)
    assert not any(by_level[1])
    assert not any(by_level[2])
    for level in (3, 4, 5):
        assert np.mean(by_level[level]) == pytest.approx(0.3, abs=0.04)
    assert all(by_level[6])


def by_hand(concept, row):
    while concept.attribute >= 0:
        value = row[concept.attribute]
        place = (
            int(value) if concept.attribute < MIXED.n_nominal else int(value > concept.threshold)
        )
        concept = concept.children[place]
    return concept.label


def test_rows_are_labelled_by_the_tree():
    random = np.random.default_rng(2)
    concept = random_concept(MIXED, 4, random)
    X, y = sample(concept, MIXED, 500, random)
    assert list(X.columns) == ["a0", "a1", "a2", "a3", "a4"]
    assert y.tolist() == [by_hand(concept, row) for row in X.to_numpy()]
    assert set(np.unique(X["a1"])) <= {0, 1, 2}
    assert 0 <= X["a4"].min() < X["a4"].max() <= 100


def test_noise_replaces_attributes_and_classes():
    concept = single_split(Domain(), 0)
    random = np.random.default_rng(3)
    _, clean = sample(concept, Domain(), 40_000, random)
    X, noisy = sample(concept, Domain(), 40_000, random, p_noise=0.2)
    assert np.mean(clean) == pytest.approx(0.5, abs=0.02)
    # Row and class disagree when either was replaced by the other value: .1 (1 - .1) twice.
    assert np.mean(X["a0"] != noisy) == pytest.approx(2 * 0.1 * 0.9, abs=0.01)


def test_a_single_split_has_other_classes_in_its_branches():
    assert [leaf.label for leaf in single_split(Domain(), 3).children] == [0, 1]
    numeric = single_split(MIXED, 4)
    assert (numeric.threshold, [leaf.label for leaf in numeric.children]) == (35.0, [0, 1])
    assert Concept().classify(np.zeros((3, 2)), Domain()).tolist() == [0, 0, 0]


def rows_of(values, figure="figure 1"):
    """Rows by method, x and repeat."""
    return [
        Measured(figure=figure, data="d", x=x, method=method, repeat=repeat, accuracy=value)
        for method, by_x in values.items()
        for x, repeats in by_x.items()
        for repeat, value in enumerate(repeats)
    ]


def test_orderings_are_judged_pair_by_pair():
    rows = rows_of(
        {
            "a": {1: [0.8, 0.6, 0.7], 2: [0.5, 0.5, 0.5]},
            "b": {1: [0.7, 0.5, 0.61], 2: [0.6, 0.61, 0.6]},
        }
    )
    claim = Claim(figure="figure 1", text="", above="a", below="b", where=lambda d, x: x == 1)
    verdict = judge(claim, rows)
    differences = np.array([0.1, 0.1, 0.09])
    assert verdict.mean == pytest.approx(differences.mean())
    assert verdict.high - verdict.mean == pytest.approx(
        4.3027 * differences.std(ddof=1) / 3**0.5, rel=1e-3
    )
    assert verdict.word == "confirmed"
    both = Claim(figure="figure 1", text="", above="a", below="b", where=lambda d, x: x == 2)
    assert judge(both, rows).word == "refuted"
    everywhere = Claim(figure="figure 1", text="", above="a", below="b")
    assert judge(everywhere, rows).word == "undecided"
    other = Claim(figure="figure 2", text="", above="a", below="b")
    assert judge(other, rows).word == "not measured"


def test_a_method_is_compared_with_itself_elsewhere_and_overlap_widens():
    rows = rows_of({"a": {1: [0.8, 0.6, 0.7], 2: [0.5, 0.35, 0.41]}})
    options = {"figure": "figure 1", "text": "", "above": "a", "below": "a"}
    where = {"where": lambda d, x: x == 1, "below_where": lambda d, x: x == 2}
    narrow = judge(Claim(**options, **where), rows)
    wide = judge(Claim(**options, **where, overlap=1 / 9), rows)
    assert narrow.mean == wide.mean == pytest.approx(0.28)
    ratio = (wide.high - wide.mean) / (narrow.high - narrow.mean)
    assert ratio == pytest.approx((1 + 3 / 9) ** 0.5)


def test_curves_and_csv():
    rows = rows_of({"a": {1: [0.5, 0.7]}, "b": {1: [0.1], 2: [0.2]}})
    ((data, xs, means),) = curves(rows, "figure 1")
    assert (data, xs) == ("d", [1, 2])
    assert means["a"][1].mean == pytest.approx(0.6)
    assert list(means["a"]) == [1]
    read = list(csv.DictReader(io.StringIO(to_text(rows))))
    assert [line["accuracy"] for line in read] == ["0.500000", "0.700000", "0.100000", "0.200000"]


def test_the_papers_choice_is_ours_at_half_the_budget():
    domain = Domain(n_nominal=4)
    random = np.random.default_rng(0)
    train = sample(single_split(domain, 2), domain, 500, random)
    recipe = friedman_schuster.with_the_papers_constants(friedman_schuster.ours.DIFFP_ID3, 5000)
    model = dpboost.DPTreeClassifier(
        recipe=recipe, schema=domain.schema(), epsilon=8.0, max_depth=1, n_jobs=1
    ).fit(*train)
    shares = {r.label: r.share for r in model.privacy_report_.releases}
    assert shares["split choice"] * 2 == shares["leaf counts"]
    assert "paper's constants" in model.privacy_report_.facts["recipe"]


@pytest.mark.parametrize("paper", list(papers().values()), ids=list(papers()))
def test_claims_speak_of_figures_that_are_drawn(paper):
    for claim in paper.claims():
        assert claim.figure in paper.AXES


def test_single_nodes_are_measured_for_all_methods():
    tiny = replace(friedman_schuster.QUICK, runs=1, rows=(300,))
    rows = list(friedman_schuster.single_nodes(tiny))
    methods = {row.method for row in rows if row.figure == "figure 4"}
    assert {"CART", "Max", "Gini", "InfoGain", "Max, n + 1 draws"} < methods
    assert {row.figure for row in rows} == {"figure 3", "figure 4", "figure 5"}
    assert all(0 <= row.accuracy <= 1 for row in rows)


def test_a_page_and_its_files(tmp_path):
    pytest.importorskip("matplotlib")
    rows = rows_of({"a": {1: [0.5, 0.7]}, "b": {1: [0.1, 0.2], 100: [0.2, 0.3]}})
    paper = SimpleNamespace(
        NAME="paper",
        TITLE="A paper",
        AXES={"figure 1": "rows", "figure 2": "epsilon"},
        measure=lambda *, quick: iter(rows),
        claims=lambda: [
            Claim(figure="figure 1", text="a above b", above="a", below="b"),
            Claim(figure="figure 2", text="nobody looked", above="a", below="b"),
        ],
    )
    page = reproduce(paper, tmp_path, quick=True)
    assert "| a above b | figure 1 | 2 |" in page
    assert "| nobody looked | figure 2 | 0 |  |  | not measured |" in page
    assert "| a | 0.600 ± 0.100 |  |" in page
    assert "python -m benchmarks.reproductions paper --quick" in page
    assert {path.name for path in tmp_path.iterdir()} == {
        f"paper-quick.{kind}" for kind in ("csv", "md", "png")
    }


def test_blocks_of_digits_and_parts_of_the_rows():
    table = dp_topdown.Table(
        name="adult",
        X=pd.DataFrame({"x": np.arange(100.0)}),
        y=np.arange(100),
        schema=None,
    )
    (X, y), (held_X, held_y) = table.parts(0)
    assert (len(X), len(held_X)) == (90, 10)
    assert set(y) | set(held_y) == set(range(100))
    (few, _), (same, _) = table.parts(0, 0.1)
    assert len(few) == 9
    assert same["x"].tolist() == held_X["x"].tolist()


def test_accuracy_of_a_fit_without_noise():
    domain = Domain(n_nominal=3)
    random = np.random.default_rng(0)
    parts = [sample(single_split(domain, 1), domain, 400, random) for _ in range(2)]
    assert accuracy(*parts, schema=domain.schema(), epsilon=float("inf")) == 1.0


def test_unknown_papers_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "friedman-schuster" in capsys.readouterr().err


def test_a_mixture_has_the_means_and_correlations_of_the_paper():
    population = Mixture(n_features=3, correlation=0.9)
    X, y = population.sample(40_000, np.random.default_rng(0))
    assert y.mean() == 0.5
    for label, sign in ((0, 1), (1, -1)):
        own = X[y == label]
        assert own.mean(axis=0) == pytest.approx(0.6 * sign, abs=0.03)
        # The means of the components have variance .08 and move all features together.
        assert own.var(axis=0) == pytest.approx(1.08, abs=0.04)
        assert np.cov(own.T)[0, 2] == pytest.approx(0.81 + 0.08, abs=0.04)
    assert not (np.diff(y[:100]) == 0).all()
    assert population.schema()["bounds"][2] == (-4.0, 4.0)


def test_rows_at_places_give_the_tree_of_all_rows():
    population = Mixture(n_features=4, correlation=0.3)
    X, y = population.sample(400, np.random.default_rng(1))
    settings = {"recipe": "histograms", "epsilon": float("inf"), "schema": population.schema()}
    apart = fit_places(federated_histograms.parties(X, y), max_depth=3, **settings)
    whole = fit_places([(X, y)], max_depth=3, **settings)
    assert np.array_equal(apart.tree.counts, whole.tree.counts)
    model = dpboost.DPTreeClassifier(n_jobs=1, max_depth=3, **settings)
    with pytest.warns(dpboost.NotPrivateWarning):
        model.fit(X, y)
    assert accuracy_of(apart, X, y) == np.mean(model.predict(X) == y) > 0.6


def test_the_printed_saving_spends_more_than_its_budget():
    """The bounds of p features cost p times what is charged: the variant is not private."""
    asked = {"nodes": np.zeros(1, dtype=np.int32), "n_features": 25}
    (printed,) = federated_histograms.OnePriceBounds(**asked).bounds(Neighbours.ADD_REMOVE)
    (true,) = ImpurityBounds(**asked).bounds(Neighbours.ADD_REMOVE)
    assert true.constant == 25 * printed.constant
    setting = SimpleNamespace(
        hyper=SavingParameters(max_depth=2, least_rows=1),
        binner=SimpleNamespace(n_bins=np.array([3]), is_categorical=np.zeros(1, dtype=np.uint8)),
        facts=SimpleNamespace(n_classes=2),
        weighted=False,
    )
    learner = federated_histograms.AS_PRINTED.build(setting).learner
    assert learner.bounds_question is federated_histograms.OnePriceBounds


@pytest.mark.parametrize("page", federated_histograms.PAGES, ids=lambda page: page.NAME)
def test_pages_of_federated_histograms(page, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    tiny = replace(
        federated_histograms.QUICK,
        repeats={5: 2},
        features=(3,),
        epsilons=(5.0,),
        shares=(0.5,),
        bounds_shares=(0.25,),
        share_repeats=2,
        share_epsilons=(1.0,),
        correlations=(0.3,),
    )
    monkeypatch.setattr(federated_histograms, "QUICK", tiny)
    text = reproduce(page, tmp_path, quick=True)
    assert page.TITLE in text
    assert f"## {page.figure}: rho 0.3, p 3, depth 5" in text
    assert ("## figure 2: epsilon 1" in text) == page.with_shares
    for method in (*federated_histograms.RECIPES, federated_histograms.LOCAL):
        assert method in text
    rows = list(csv.DictReader(io.StringIO((tmp_path / f"{page.NAME}-quick.csv").read_text())))
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)


@pytest.fixture
def small_table():
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.uniform(0, 1, (400, 2)), columns=["a", "b"])
    y = (X["a"] > 0.5).to_numpy().astype(np.int64)
    schema = {"bounds": {"a": (0, 1), "b": (0, 1)}, "classes": [0, 1]}
    return dp_topdown.Table(name="adult", X=X, y=y, schema=schema)


def test_holders_share_all_rows(small_table):
    rows = (small_table.X, small_table.y)
    for parts in (federated_topdown.EVEN, federated_topdown.UNEVEN):
        assert sum(parts) == pytest.approx(1)
        held = federated_topdown.divide(rows, parts, 0)
        assert [len(y) for _, y in held] == [round(400 * part) for part in parts]
        assert sorted(pd.concat([X for X, _ in held]).index) == list(range(400))


def test_figures_of_federated_topdown(small_table, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    tiny = federated_topdown.Size(
        repeats={"adult": 2},
        alphas=(32.0,),
        shares=(0.125, 0.5),
        share_alphas=(32.0,),
        share_repeats=2,
        share_sets=("adult",),
    )
    monkeypatch.setattr(federated_topdown, "QUICK", tiny)
    monkeypatch.setattr(federated_topdown, "load", lambda name: small_table)
    shallow = partial(federated_topdown.FederatedTreeClassifier, max_depth=2)
    monkeypatch.setattr(federated_topdown, "FederatedTreeClassifier", shallow)
    page = replace(federated_topdown.PAGES[0], sets=("adult",))
    text = reproduce(page, tmp_path, quick=True)
    for part in ("adult, even", "adult, uneven", "adult, alpha 32", federated_topdown.BY_SPLIT):
        assert part in text


def test_a_table_for_each_split_is_the_same_tree_without_noise(small_table):
    train, test = small_table.parts(0)
    settings = {"epsilon": float("inf"), "schema": small_table.schema, "max_bin": 11}
    by_split = accuracy(train, test, recipe=federated_topdown.AS_PRINTED, **settings)
    assert by_split == accuracy(train, test, recipe="noisy_counts", **settings) > 0.8
    question = federated_topdown.SplitCounts(
        nodes=np.zeros(1, dtype=np.int32), n_candidates=159, n_classes=2
    )
    assert question.bounds(Neighbours.ADD_REMOVE)[0].constant == 159


def test_the_command_line_knows_every_paper():
    assert set(papers()) == set(NAMES)
