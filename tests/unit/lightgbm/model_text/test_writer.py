"""Model text: stock LightGBM reads it, predicts exactly, and finds nothing private in it."""

import importlib.util
import json
import math
import re
from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.conform import conform
from dpboost.data.feature_bins import AffineBins, CategoryBins, EdgeBins
from dpboost.data.table import read_table
from dpboost.lightgbm import Booster
from dpboost.lightgbm.model_text.model_check import check_model_text
from dpboost.lightgbm.model_text.writer import check_writable, feature_names, model_text
from dpboost.trees.tree import Tree, threshold_sets
from tests.tables import dense_bins

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
needs_graphviz = pytest.mark.skipif(
    importlib.util.find_spec("graphviz") is None, reason="graphviz is not installed"
)


def fields(text, number):
    """Return the fields of one tree."""
    block = text.split(f"Tree={number}\n")[1].split("\n\n")[0]
    return dict(line.split("=") for line in block.split("\n"))


def importance_lines(text):
    return text.split("feature_importances:\n")[1].split("\n\n")[0].split("\n")


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("n_trees", [1, 2, 30, 200])
@pytest.mark.parametrize("exponent", [-30, -16, 0, 10])
def test_stock_lightgbm_predicts_exactly(tools, n_trees, exponent, counts):
    ensemble = tools.ensemble(
        100 + n_trees + exponent, n_trees=n_trees, unit=2.0**exponent, counts=counts
    )
    X = tools.rows(np.random.default_rng(0), ensemble.binner, 40 if n_trees == 200 else 200)
    text = model_text(ensemble)
    check_model_text(text)
    booster = lightgbm.Booster(model_str=text)
    expected = tools.raw_scores(ensemble, X)
    assert np.ptp(expected) > 0
    for table in (X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        np.testing.assert_array_equal(booster.predict(table, raw_score=True), expected)
    np.testing.assert_array_equal(booster.predict(X[:1], raw_score=True), expected[:1])
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    np.testing.assert_array_equal(
        booster.predict(single, raw_score=True), tools.raw_scores(ensemble, single)
    )
    assert booster.num_trees() == n_trees


def test_every_edge_of_a_feature_goes_the_same_way(tools):
    rng = np.random.default_rng(5)
    edges = np.sort(np.concatenate([rng.normal(size=120), 10.0 ** rng.uniform(-30, 30, 120)]))
    bins = tools.Bins([{"edges": edges.tolist()}])
    trees = tuple(
        Tree(
            feature=np.zeros(1, dtype=np.int32),
            left_bins=threshold_sets(np.array([b], dtype=np.uint8), np.array([False])),
            left=np.array([-1], dtype=np.int32),
            right=np.array([-2], dtype=np.int32),
            leaf_value=np.array([0, 1]),
        )
        for b in range(len(edges) + 1)
    )
    ensemble = tools.ensemble(0, binner=bins, trees=trees, unit=1.0, start=0.0)
    x = np.concatenate([edges, np.nextafter(edges, np.inf), [np.nan, np.inf, -np.inf]])[:, None]
    expected = np.array([(~(x_i <= [*edges, math.inf])).sum() for x_i in x])
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    np.testing.assert_array_equal(booster.predict(x, raw_score=True), expected)
    np.testing.assert_array_equal(booster.predict(x, pred_leaf=True).sum(axis=1), expected)


def test_data_frame_with_reordered_categories(tools):
    bins = tools.Bins(
        [{"codes": [0, 1, 2], "name": "city"}, {"edges": [0.5], "name": "size of it"}],
        categories=[["a=b", "ü", "c"]],
    )
    ensemble = tools.ensemble(3, binner=bins, n_trees=20)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    values = ["c", "a=b", "ü", "new", None, "c"]
    frame = pd.DataFrame(
        {
            "city": pd.Categorical(values, categories=["new", "c", "ü", "a=b"]),
            "size of it": [0.0, 1.0, np.nan, 0.5, 0.5, 0.7],
        }
    )
    codes = {"a=b": 0.0, "ü": 1.0, "c": 2.0}
    X = np.column_stack([[codes.get(v, np.nan) for v in values], frame["size of it"]])
    expected = tools.raw_scores(ensemble, X)
    np.testing.assert_array_equal(booster.predict(frame, raw_score=True), expected)
    assert len(set(expected)) > 3


@pytest.mark.parametrize("counts", [True, False])
def test_contributions_are_finite_and_add_up(tools, counts):
    ensemble = tools.ensemble(8, n_trees=40, n_leaves=31, counts=counts)
    X = tools.rows(np.random.default_rng(1), ensemble.binner, 100)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    contributions = booster.predict(X, pred_contrib=True)
    assert np.isfinite(contributions).all()
    np.testing.assert_allclose(
        contributions.sum(axis=1), booster.predict(X, raw_score=True), rtol=1e-9, atol=1e-9
    )


def test_leaves_are_numbered_as_in_the_ensemble(tools):
    ensemble = tools.ensemble(9, n_trees=15)
    X = tools.rows(np.random.default_rng(1), ensemble.binner, 100)
    leaves = lightgbm.Booster(model_str=model_text(ensemble)).predict(X, pred_leaf=True)
    expected = [[tools.leaf_of(t, ensemble.binner, row) for t in ensemble.trees] for row in X]
    np.testing.assert_array_equal(leaves, expected)


@pytest.mark.parametrize(
    ("objective", "transform"),
    [
        ("", lambda r: r),
        ("binary sigmoid:1", lambda r: 1 / (1 + np.exp(-r))),
        ("poisson", np.exp),
        ("regression sqrt", lambda r: np.sign(r) * r * r),
    ],
)
def test_objective_transforms_the_raw_score(tools, objective, transform):
    ensemble = tools.ensemble(4, objective=objective, unit=2.0**-20)
    X = tools.rows(np.random.default_rng(1), ensemble.binner, 50)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    np.testing.assert_allclose(
        booster.predict(X), transform(booster.predict(X, raw_score=True)), rtol=1e-12
    )


def test_tools_of_stock_lightgbm_work(tools):
    ensemble = tools.ensemble(10, n_trees=20)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    dump = booster.dump_model()
    assert len(dump["tree_info"]) == 20
    assert dump["pandas_categorical"] is None
    frame = booster.trees_to_dataframe()
    assert len(frame) == sum(t.n_leaves + t.n_nodes for t in ensemble.trees)
    directions = {
        f"{number}-S{node}": "left" if goes_left else "right"
        for number, tree in enumerate(ensemble.trees)
        for node, goes_left in enumerate(missing_goes_left(tree, ensemble.binner))
    }
    assert set(directions.values()) == {"left", "right"}
    written = frame.set_index("node_index")["missing_direction"].dropna()
    assert written.to_dict() == directions
    used = np.bincount(
        np.concatenate([t.feature for t in ensemble.trees]), minlength=ensemble.binner.n_features
    )
    np.testing.assert_array_equal(booster.feature_importance("split"), used)
    np.testing.assert_array_equal(booster.feature_importance("gain"), used)
    assert sum(int(line.split("=")[1]) for line in importance_lines(model_text(ensemble))) == sum(
        used
    )


@needs_matplotlib
def test_plot_importance_draws_every_used_feature(tools):
    booster = lightgbm.Booster(model_str=model_text(tools.ensemble(10, n_trees=20)))
    axes = lightgbm.plot_importance(booster)
    assert len(axes.patches) == np.count_nonzero(booster.feature_importance())


@needs_graphviz
def test_tree_digraph_shows_shares_of_data(tools):
    ensemble = tools.ensemble(10, counts=False)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    with_splits = [number for number, tree in enumerate(ensemble.trees) if tree.n_nodes]
    graph = lightgbm.create_tree_digraph(
        booster, tree_index=with_splits[0], show_info=["data_percentage", "leaf_count"]
    )
    assert "% of data" in graph.source


def test_gains_and_the_number_of_rows_change_no_prediction(tools):
    rng = np.random.default_rng(4)
    plain = tools.ensemble(12)
    told = replace(
        plain,
        n_rows=977.3,
        trees=tuple(replace(t, split_gain=rng.normal(size=t.n_nodes)) for t in plain.trees),
    )
    boosters = [lightgbm.Booster(model_str=model_text(each)) for each in (plain, told)]
    X = tools.rows(rng, plain.binner, 200)
    np.testing.assert_array_equal(*(booster.predict(X, raw_score=True) for booster in boosters))
    frame = boosters[1].trees_to_dataframe()
    assert set(frame.loc[frame["node_depth"] == 1, "count"].astype(int)) == {977}


@pytest.mark.parametrize("counts", [True, False])
def test_every_number_is_released_or_public(tools, counts):
    ensemble = tools.ensemble(11, n_trees=25, counts=counts)
    bins, text = ensemble.binner, model_text(ensemble)
    (start,) = (int(value / ensemble.unit) for value in ensemble.start)
    for number, tree in enumerate(ensemble.trees):
        field = fields(text, number)
        leaf_counts = [int(v) for v in field.pop("leaf_count").split()]
        values = (tree.leaf_value + (start if number == 0 else 0)) * ensemble.unit
        assert [float(v) for v in field.pop("leaf_value").split()] == values.tolist()
        if counts:
            assert leaf_counts == np.maximum(tree.leaf_count, 1).tolist()
        assert min(leaf_counts) >= 1
        assert [float(v) for v in field.pop("leaf_weight").split()] == (
            leaf_counts if tree.n_nodes else []
        )
        below = node_leaves(tree)
        means = [
            np.average(values[leaves], weights=np.take(leaf_counts, leaves)) for leaves in below
        ]
        totals = [sum(np.take(leaf_counts, leaves)) for leaves in below]
        assert [int(v) for v in field.pop("internal_count").split()] == totals
        written = [float(v) for v in field.pop("internal_value").split()]
        np.testing.assert_allclose(written, means, rtol=1e-5, atol=1e-9)
        written = [float(v) for v in field.pop("internal_weight").split()]
        np.testing.assert_allclose(written, totals, rtol=1e-5)
        for side in ("left", "right"):
            assert field.pop(f"{side}_child") == " ".join(map(str, getattr(tree, side)))
        assert field.pop("split_feature") == " ".join(map(str, tree.feature))
        splits = field.pop("threshold").split()
        decisions = field.pop("decision_type").split()
        codes = [
            sum(1 << int(c) for b, c in enumerate(bins.category_codes(f)) if left_bins >> b & 1)
            for f, left_bins in zip(tree.feature, tree.sets(), strict=True)
            if bins.is_categorical[f]
        ]
        for f, left_bins, split, decision in zip(
            tree.feature, tree.sets(), splits, decisions, strict=True
        ):
            if bins.is_categorical[f]:
                assert decision == "9"
                continue
            missing = 1 << int(bins.n_bins[f])
            assert decision == ("10" if left_bins & missing else "8")
            last = (left_bins & (missing - 1)).bit_length() - 1
            assert float(split) == bins.thresholds(f)[last]
        ends = [int(v) for v in field.pop("cat_boundaries", "0").split()]
        words = [int(v) for v in field.pop("cat_threshold", "").split()]
        assert ends[-1] == len(words)
        assert int(field.pop("num_cat")) == len(codes)
        for code, low, high in zip(codes, ends, ends[1:], strict=False):
            assert sum(w << 32 * i for i, w in enumerate(words[low:high])) == code
        assert set(field.pop("split_gain").split()) <= {"1"}
        assert int(field.pop("num_leaves")) == tree.n_leaves
        assert field == {"is_linear": "0", "shrinkage": "1"}
    header = dict(line.split("=") for line in text.split("\n\n")[0].split("\n")[1:])
    sizes = header.pop("tree_sizes").split()
    assert len(sizes) == 25
    assert header == {
        "version": "v4",
        "num_class": "1",
        "num_tree_per_iteration": "1",
        "label_index": "0",
        "max_feature_idx": "5",
        "objective": "regression",
        "feature_names": "x0 x1 x2 x3 x4 x5",
        "feature_infos": " ".join(bins.feature_infos()),
    }


def missing_goes_left(tree, bins):
    """Return for each node whether its set holds the missing bin, which no category set does."""
    return [
        bool(left_bins >> int(bins.n_bins[f]) & 1)
        for f, left_bins in zip(tree.feature, tree.sets(), strict=True)
    ]


def node_leaves(tree):
    """Return the leaves below each node."""

    def below(child):
        if child < 0:
            return [~child]
        return below(tree.left[child]) + below(tree.right[child])

    return [below(node) for node in range(tree.n_nodes)]


def test_text_is_what_stock_lightgbm_writes_but_for_the_report(tools):
    text = model_text(tools.ensemble(12, n_trees=30), parameters={"num_leaves": 12, "lambda_l2": 1})
    lines = text.split("\n")
    position = next(i for i, line in enumerate(lines) if line.startswith("dpboost:"))
    assert json.loads(lines[position][len("dpboost:") :])["note"] == 'a=b=c "größe" \n line'
    assert lines[position].isascii()
    del lines[position : position + 2]
    assert lightgbm.Booster(model_str=text).model_to_string() == "\n".join(lines)


def test_start_value_is_folded_into_the_first_tree(tools):
    ensemble = tools.ensemble(13, n_trees=4)
    X = tools.rows(np.random.default_rng(1), ensemble.binner, 30)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    first = tools.ensemble(13, n_trees=4, trees=ensemble.trees[:1])
    np.testing.assert_array_equal(
        booster.predict(X, raw_score=True, num_iteration=1), tools.raw_scores(first, X)
    )


def test_no_trees_give_the_start_value(tools):
    booster = lightgbm.Booster(model_str=model_text(tools.ensemble(0, trees=(), start=0.25)))
    np.testing.assert_array_equal(booster.predict(np.zeros((3, 6))), 0.25)


def test_parameters_are_read_back_and_nothing_is_printed(tools, capfd):
    parameters = {"boosting": "dart", "num_leaves": 7, "learning_rate": 1e-5, "extra_trees": True}
    text = model_text(tools.ensemble(14, objective="binary sigmoid:1"), parameters=parameters)
    lightgbm.Booster(model_str=text).predict(np.zeros((2, 6)))
    booster = Booster(model_str=text)
    booster.predict(np.zeros((2, 6)))
    assert booster.params == {**parameters, "objective": "binary"}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "parameters",
    [
        {"dp_epsilon": 1},
        {"data": "file.csv"},
        {"seed": 1},
        {"num_leaves": 3.5},
        {"num_leaves": 2**40},
        {"learning_rate": math.inf},
        {"learning_rate": "0.1"},
        {"extra_trees": 2},
        {"boosting": "a]\n[b: c"},
        {"boosting": 'a"b'},
        {"boosting": ""},
    ],
)
def test_parameters_that_lightgbm_would_misread_are_refused(tools, parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        model_text(tools.ensemble(0, n_trees=1), parameters=parameters)


def test_feature_names():
    assert feature_names(["a b", "größe_日本", "c=d", "(%)"]) == ["a_b", "größe_日本", "c=d", "(%)"]
    for bad in (
        'a"b',
        "a,b",
        "a:b",
        "[a",
        "a]",
        "{",
        "}",
        "a\\b",
        "a\nb",
        "a\tb",
        "a\x00",
        "\u2028",
        "",
    ):
        with pytest.raises(InvalidParameterError, match="Rename"):
            feature_names(["x", bad])
    with pytest.raises(InvalidParameterError, match="more than once"):
        feature_names(["a b", "c", "a_b"])


def test_odd_feature_names_survive(tools):
    bins = tools.Bins([{"edges": [0.5], "name": "größe = 1"}, {"edges": [1.5], "name": "Tree=0"}])
    text = model_text(tools.ensemble(1, binner=bins))
    check_model_text(text)
    booster = lightgbm.Booster(model_str=text)
    assert booster.feature_name() == ["größe_=_1", "Tree=0"]
    assert booster.dump_model()["feature_names"] == ["größe_=_1", "Tree=0"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"unit": 0.1, "start": 0.1}, "unit"),
        ({"unit": 0.0}, "unit"),
        ({"start": 2.0**-17}, "start"),
        ({"start": math.nan}, "start"),
        ({"start": 2.0**40}, "start"),
        ({"objective": "binary\nx"}, "objective"),
        ({"objective": "a=b"}, "objective"),
    ],
)
def test_values_off_the_grid_are_refused(tools, changes, name):
    with pytest.raises(InvalidParameterError, match=name):
        model_text(tools.ensemble(0, n_trees=2, **changes))


def test_leaf_value_that_is_no_exact_double_is_refused(tools):
    tree = Tree(
        feature=np.zeros(0, dtype=np.int32),
        left_bins=np.zeros((0, 4), dtype=np.uint64),
        left=np.zeros(0, dtype=np.int32),
        right=np.zeros(0, dtype=np.int32),
        leaf_value=np.array([2**53 + 1]),
    )
    with pytest.raises(InvalidParameterError, match="2\\^53"):
        model_text(tools.ensemble(0, trees=(tree,), start=0.0))


@pytest.mark.parametrize("code", [-1, 2**31])
def test_category_code_out_of_range_is_refused(tools, code):
    bins = tools.Bins([{"codes": [code]}])
    with pytest.raises(InvalidParameterError, match="code"):
        model_text(tools.ensemble(1, binner=bins, n_trees=5))


def test_what_cannot_be_written_is_known_before_training(tools):
    good = tools.Bins([{"edges": [0.5]}, {"codes": [3]}], categories=[["a"]])
    check_writable(good, objective="binary sigmoid:1")
    for bins, facts, match in (
        (tools.Bins([{"edges": [], "name": "a:b"}]), {}, "a:b"),
        (tools.Bins([{"codes": [-3]}]), {}, "-3"),
        (tools.Bins([{"codes": [0]}], categories=[[1j]]), {}, "complex"),
        (good, {"objective": "a\nb"}, "objective"),
    ):
        with pytest.raises(InvalidParameterError, match=match):
            check_writable(bins, **facts)


def real_binner():
    """Every kind of bins, with a constant feature and one with unknown range."""
    table = bytes([0, 0, 1, 1, 1, 2, 3, 3])
    return Binner(
        features=(
            AffineBins(lower=-3.0, upper=2.1, n_cells=17),
            AffineBins(lower=-0.7, upper=0.9, n_cells=8, table=table),
            AffineBins(lower=5.0, upper=5.0, n_cells=1),
            EdgeBins(edges=(-1.0, -1e-36, 0.0, 1e-35, 0.3)),
            EdgeBins.arcsinh(32),
            CategoryBins(codes=(4, 0, 65535, 33)),
            CategoryBins(codes=(0, 1, 2)),
        ),
        feature_names=("a", "b", "constant", "near zero", "unknown", "numbers", "city"),
        labels={6: ("x", "y", "z")},
    )


def binned_scores(ensemble, bins):
    """Return raw scores of rows given by their bins: what training computes."""
    total = np.zeros(bins.shape[1], dtype=np.int64)
    for tree in ensemble.trees:
        for row in range(bins.shape[1]):
            node = 0 if tree.n_nodes else -1
            while node >= 0:
                left = tree.sets()[node] >> int(bins[tree.feature[node], row]) & 1
                node = int(tree.left[node] if left else tree.right[node])
            total[row] += tree.leaf_value[~node]
    return ensemble.start[0] + total * ensemble.unit


@pytest.mark.parametrize("seed", range(3))
def test_binned_training_and_raw_prediction_agree(tools, seed):
    rng = np.random.default_rng(seed)
    ensemble = tools.ensemble(seed, binner=real_binner(), n_trees=60, n_leaves=31)
    X = tools.rows(rng, ensemble.binner, 300)
    X[:, 4] *= 10.0 ** rng.uniform(-40, 12, 300)
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    for rows in (X, single, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        bins = dense_bins(ensemble.binner, read_table(rows))
        np.testing.assert_array_equal(
            booster.predict(rows, raw_score=True), binned_scores(ensemble, bins)
        )
    frame = pd.DataFrame(X, columns=ensemble.binner.feature_names)
    order = rng.permutation(["z", "y", "new", "x"]).tolist()
    frame["city"] = pd.Categorical(rng.choice([*order, None], 300), categories=order)
    frame = conform(frame, ensemble.binner)
    bins = read_table(frame).bins(ensemble.binner)
    assert len(np.unique(bins[6])) == 4
    np.testing.assert_array_equal(
        booster.predict(frame, raw_score=True), binned_scores(ensemble, bins)
    )


@pytest.mark.parametrize("seed", range(3))
def test_zeros_that_count_as_missing_go_where_missing_values_go(tools, seed):
    rng = np.random.default_rng(seed)
    binner = replace(real_binner(), zero_as_missing=True)
    ensemble = tools.ensemble(seed, binner=binner, n_trees=60, n_leaves=31)
    text = model_text(ensemble)
    decisions = {word for line in re.findall("decision_type=(.*)", text) for word in line.split()}
    assert decisions == {"4", "6", "9"}
    check_model_text(text)
    X = tools.rows(rng, binner, 300)
    X[rng.random(X.shape) < 0.3] = 0.0
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    booster = lightgbm.Booster(model_str=text)
    for rows in (X, single, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        bins = dense_bins(binner, read_table(rows))
        np.testing.assert_array_equal(
            booster.predict(rows, raw_score=True), binned_scores(ensemble, bins)
        )
    missing = np.where(X == 0.0, np.nan, X)
    missing[:, binner.is_categorical == 1] = X[:, binner.is_categorical == 1]
    np.testing.assert_array_equal(booster.predict(missing), booster.predict(X))
