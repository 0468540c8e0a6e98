"""Texts that would crash LightGBM are refused, and its own texts are not."""

import contextlib
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest

from dpboost import InvalidParameterError
from dpboost.lightgbm import Booster
from dpboost.lightgbm.model_text import model_check as validation
from dpboost.lightgbm.model_text.model_check import ModelTextError, check_model_text
from dpboost.lightgbm.model_text.parser import DEEPEST
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.schema import MAX_VALUE_BINS
from dpboost.trees.tree import Tree


def table(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 70, 300)
    if kind == "array":
        return X, [2]
    frame = pd.DataFrame(X, columns=["a b", "c=d", "größe", "x"])
    frame["größe"] = pd.Categorical(frame["größe"].astype(int).astype(str))
    return frame, ["größe"]


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "regression"},
        {"objective": "regression", "reg_sqrt": True},
        {"objective": "quantile"},
        {"objective": "binary"},
        {"objective": "multiclass", "num_class": 3},
        {"objective": "multiclassova", "num_class": 3},
        {"objective": "cross_entropy_lambda"},
        {"objective": "tweedie"},
        {"objective": "regression", "linear_tree": True},
        {"objective": "regression", "monotone_constraints": [1, -1, 0, 0]},
        {"objective": "regression", "interaction_constraints": "[0,1],[2,3]"},
        {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"objective": "binary", "use_missing": False},
        {"objective": "binary", "zero_as_missing": True},
        {"objective": "binary", "min_data_in_leaf": 1000},
    ],
)
def test_stock_texts_are_accepted(parameters, kind):
    X, categorical = table(kind)
    rng = np.random.default_rng(1)
    y = rng.integers(0, parameters.get("num_class", 2), 300)
    data = lightgbm.Dataset(
        X, y, categorical_feature=[] if "linear_tree" in parameters else categorical
    )
    booster = lightgbm.train({**parameters, "verbosity": -1, "num_threads": 1}, data, 3)
    text = booster.model_to_string()
    check_model_text(text)
    check_model_text(booster.model_to_string(num_iteration=1, start_iteration=1))
    check_model_text(booster.model_to_string(start_iteration=9))  # no trees
    ours = Booster(model_str=text)
    assert ours.privacy_report is None
    assert ours.model_to_string() == lightgbm.Booster(model_str=text).model_to_string()
    np.testing.assert_array_equal(ours.predict(X), booster.predict(X))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("counts", ["released", "none", "some", "huge"])
def test_everything_that_is_written_is_accepted(tools, seed, counts):
    """``Booster.of_ensemble`` relies on this: it does not check what has just been written."""
    rng = np.random.default_rng(seed)
    outputs = 1 + seed % 3
    ensemble = tools.ensemble(
        seed,
        n_trees=outputs * int(rng.integers(0, 6)),
        n_leaves=int(rng.choice([2, 3, 31, 100])),
        counts=counts != "none",
        unit=2.0 ** int(rng.integers(-1000, 900)),
    )
    objective = rng.choice(["", "regression", "binary sigmoid:1", "poisson", "regression sqrt"])
    trees = [
        replace(
            tree,
            leaf_value=rng.choice([-(2**52), 2**52, 1, 0], tree.n_leaves),
            leaf_count=changed_counts(rng, tree.leaf_count, counts),
        )
        for tree in ensemble.trees
    ]
    ensemble = replace(
        ensemble,
        trees=tuple(trees),
        start=tuple(ensemble.unit * k for k in range(outputs)),
        objective=str(objective) if outputs == 1 else f"multiclass num_class:{outputs}",
    )
    text = model_text(ensemble, parameters={"num_leaves": 31, "lambda_l2": 0.5})
    check_model_text(text)
    assert Booster.of_ensemble(ensemble).num_trees() == max(len(trees), outputs)


def changed_counts(rng, leaf_count, kind):
    """Return the counts of a tree: as they are, left out by chance, or too large for int32."""
    if kind == "some" and rng.random() < 0.5:
        return None
    return leaf_count * 2**40 if kind == "huge" else leaf_count


def test_stock_text_before_training_is_accepted():
    data = lightgbm.Dataset(np.zeros((20, 1)), np.zeros(20))
    check_model_text(lightgbm.Booster({"verbosity": -1, "num_threads": 1}, data).model_to_string())


def test_windows_line_ends_need_sizes_that_count_them(tools):
    text = model_text(tools.ensemble(2, n_trees=3)).replace("\n", "\r\n")
    with pytest.raises(ModelTextError, match="line ends"):
        check_model_text(text)
    without_sizes = re.sub(r"tree_sizes=.*?\n", "", text)
    check_model_text(without_sizes)
    X = np.zeros((1, 6))
    expected = lightgbm.Booster(model_str=text.replace("\r", "")).predict(X)
    np.testing.assert_array_equal(Booster(model_str=without_sizes).predict(X), expected)


@pytest.fixture(scope="module")
def text(tools):
    """Return two trees: a numeric, a categorical and a numeric split; one leaf."""
    bins = tools.Bins([{"edges": [0.5, 1.5]}, {"codes": [0, 40]}])
    trees = (
        Tree(
            feature=np.array([0, 1, 0], dtype=np.int32),
            left_bins=np.array([[1, 0, 0, 0], [2, 0, 0, 0], [7, 0, 0, 0]], dtype=np.uint64),
            left=np.array([1, -1, -2], dtype=np.int32),
            right=np.array([2, -3, -4], dtype=np.int32),
            leaf_value=np.array([1, 2, 3, 4]),
            leaf_count=np.array([10, 20, 30, 40]),
        ),
        tools.tree(np.random.default_rng(0), bins, 1, size=9, counts=True),
    )
    made = model_text(
        tools.ensemble(0, binner=bins, trees=trees, unit=1.0), parameters={"num_leaves": 4}
    )
    # Sizes come first in most loaders' checks: without them the other checks are reached.
    return re.sub(r"tree_sizes=.*\n", "", made)


def test_unchanged_text_is_accepted(text):
    check_model_text(text)


MUTATIONS = {
    "first line": ("tree\nversion", "version"),
    "byte order mark": ("tree\nversion", "\ufefftree\nversion"),
    "no num_class": ("num_class=1\n", ""),
    "num_class is a word": ("num_class=1", "num_class=one"),
    "num_class is zero": ("num_class=1", "num_class=0"),
    "more trees a round than classes": ("per_iteration=1", "per_iteration=2"),
    "no label_index": ("label_index=0\n", ""),
    "no feature_names": ("feature_names=x0 x1\n", ""),
    "too few names": ("feature_names=x0 x1", "feature_names=x0"),
    "a quote in a name": ("feature_names=x0 x1", 'feature_names=x0 x"1'),
    "too many features": ("max_feature_idx=1", "max_feature_idx=2"),
    "negative feature index": ("max_feature_idx=1", "max_feature_idx=-1"),
    "no feature_infos": ("feature_infos=[-100:100] -1:0:40\n", ""),
    "odd feature_infos": ("[-100:100]", "[abc]"),
    "two equal signs": ("version=v4", "version=v4=v5"),
    "field twice": ("version=v4", "version=v4\nversion=v4"),
    "unknown objective": ("objective=regression", "objective=regresion"),
    "binary without sigmoid": ("objective=regression", "objective=binary"),
    "multiclass of another size": ("objective=regression", "objective=multiclass num_class:3"),
    "sizes that are wrong": ("label_index=0", "label_index=0\ntree_sizes=10 20"),
    "sizes that are missing": ("label_index=0", "label_index=0\ntree_sizes="),
    "sizes of too few trees": ("label_index=0", "label_index=0\ntree_sizes=400"),
    "NUL": ("version=v4", "version=v4\0"),
    "lone carriage return": ("version=v4", "version=\rv4"),
    "lone surrogate": ("version=v4", "version=\ud800"),
    "tree number": ("Tree=1", "Tree=2"),
    "no num_leaves": ("num_leaves=4\nnum_cat", "num_cat"),
    "more leaves": ("num_leaves=4\nnum_cat", "num_leaves=5\nnum_cat"),
    "fewer leaves": ("num_leaves=4\nnum_cat", "num_leaves=3\nnum_cat"),
    "no leaves": ("num_leaves=1\n", "num_leaves=0\n"),
    "huge number of leaves": ("num_leaves=4\nnum_cat", "num_leaves=99999999999\nnum_cat"),
    "no num_cat": ("num_cat=1\n", ""),
    "num_cat forgotten": ("num_cat=1\n", "num_cat=0\n"),
    "num_cat too large": ("num_cat=1\n", "num_cat=2\n"),
    "no split_feature": ("split_feature=0 1 0\n", ""),
    "feature out of range": ("split_feature=0 1 0", "split_feature=0 2 0"),
    "negative feature": ("split_feature=0 1 0", "split_feature=0 -1 0"),
    "no threshold": ("threshold=0.5 0 inf\n", ""),
    "short threshold": ("threshold=0.5 0 inf", "threshold=0.5 0"),
    "hexadecimal threshold": ("threshold=0.5 0 inf", "threshold=0x1p-1 0 inf"),
    "threshold is no number": ("threshold=0.5 0 inf", "threshold=0.5 0 nan"),
    "underscore in a number": ("threshold=0.5 0 inf", "threshold=1_0 0 inf"),
    "two blanks": ("threshold=0.5 0 inf", "threshold=0.5  0 inf"),
    "category set out of range": ("threshold=0.5 0 inf", "threshold=0.5 1 inf"),
    "category set is a fraction": ("threshold=0.5 0 inf", "threshold=0.5 0.5 inf"),
    "category set is infinite": ("threshold=0.5 0 inf", "threshold=0.5 inf inf"),
    "no decision_type": ("decision_type=8 9 8\n", ""),
    "unknown missing type": ("decision_type=8 9 8", "decision_type=12 9 8"),
    "no left_child": ("left_child=1 -1 -2\n", ""),
    "short left_child": ("left_child=1 -1 -2", "left_child=1 -1"),
    "child out of range": ("left_child=1 -1 -2", "left_child=1 -1 7"),
    "leaf out of range": ("left_child=1 -1 -2", "left_child=1 -1 -9"),
    "leaf reached twice": ("left_child=1 -1 -2", "left_child=1 -1 -1"),
    "root is a child": ("left_child=1 -1 -2", "left_child=1 -1 0"),
    "cycle": ("left_child=1 -1 -2\nright_child=2 -3 -4", "left_child=-1 2 1\nright_child=-2 -3 -4"),
    "child is a fraction": ("left_child=1 -1 -2", "left_child=1 -1.0 -2"),
    "foreign digits": ("left_child=1 -1 -2", "left_child=\u0661 -1 -2"),
    "no leaf_value": ("leaf_value=12346", "value=12346"),
    "short leaf_value": ("leaf_value=12346 ", "leaf_value="),
    "leaf value is no number": ("leaf_value=12346 ", "leaf_value=nan "),
    "infinite leaf value": ("leaf_value=12346 ", "leaf_value=1e999 "),
    "count is a fraction": ("leaf_count=10 ", "leaf_count=10.5 "),
    "negative count": ("leaf_count=10 ", "leaf_count=-10 "),
    "short leaf_count": ("leaf_count=10 ", "leaf_count="),
    "counts too large": ("leaf_count=10 20 ", "leaf_count=2147483647 1 "),
    "short internal_count": ("internal_count=100 40 60", "internal_count=100 40"),
    "internal count too large": ("internal_count=100", "internal_count=2147483648"),
    "short leaf_weight": ("leaf_weight=10 ", "leaf_weight="),
    "gain is a word": ("split_gain=1 1 1", "split_gain=1 1 x"),
    "no cat_boundaries": ("cat_boundaries=0 2\n", ""),
    "falling cat_boundaries": ("cat_boundaries=0 2", "cat_boundaries=2 0"),
    "cat_boundaries start late": ("cat_boundaries=0 2", "cat_boundaries=1 2"),
    "short cat_threshold": ("cat_threshold=0 256", "cat_threshold=0"),
    "cat_threshold of 33 bits": ("cat_threshold=0 256", "cat_threshold=0 4294967296"),
    "is_linear without coefficients": ("is_linear=0", "is_linear=1"),
    "is_linear is a word": ("is_linear=0", "is_linear=yes"),
    "shrinkage is empty": ("shrinkage=1", "shrinkage="),
    "splits of a single leaf": ("split_feature=\n", "split_feature=0\n"),
    "line without equal sign": ("shrinkage=1", "shrinkage=1\nodd"),
    "key twice": ("shrinkage=1", "shrinkage=1\nshrinkage=1"),
    "23 keys": ("shrinkage=1", "shrinkage=1\n" + "\n".join(f"k{i}=1" for i in range(5))),
    "no end of trees": ("end of trees\n", ""),
    "odd line after the trees": ("end of trees\n", "end of trees\n\nfoo\n"),
    "feature importance": ("x0=2", "x0 two"),
    "parameter without brackets": ("[num_leaves: 4]", "num_leaves: 4"),
    "parameter without colon": ("[num_leaves: 4]", "[num_leaves]"),
    "parameter without bracket": ("[num_leaves: 4]", "[num_leaves: 4"),
    "parameter without blank": ("[num_leaves: 4]", "[num_leaves:4]"),
    "quote in a parameter": ("[boosting: gbdt]", '[boosting: "gbdt]'),
    "no end of parameters": ("end of parameters\n", ""),
    "report is no JSON": ("dpboost:{", "dpboost:{{"),
    "report is no object": ("dpboost:{", "dpboost:[]\n{"),
    "categories are no JSON": ("categorical:null", "categorical:[["),
    "categories are no list": ("categorical:null", "categorical:3"),
    "categories of one column": ("categorical:null", "categorical:[1]"),
    "sigmoid is no number": ("objective=regression", "objective=binary sigmoid:nan"),
    "sigmoid is infinite": ("objective=regression", "objective=binary sigmoid:inf"),
    "sigmoid is zero": ("objective=regression", "objective=binary sigmoid:0"),
    "a second sigmoid": ("objective=regression", "objective=binary sigmoid:1 sigmoid:nan"),
    "long objective": ("objective=regression", "objective=regression" + " 1" * 200),
    "a backslash in a name": ("feature_names=x0 x1", "feature_names=x0 x\\1"),
    "blank at the end of names": ("feature_names=x0 x1", "feature_names=x0 "),
    "too many header lines": ("version=v4", "\n".join(f"k{i}=1" for i in range(200))),
    "leaf weight is no number": ("leaf_weight=10 ", "leaf_weight=nan "),
    "infinite gain": ("split_gain=1 1 1", "split_gain=1 inf 1"),
    "gain too large for single precision": ("split_gain=1 1 1", "split_gain=1 1e39 1"),
    "internal value is no number": ("internal_value=", "internal_value=nan "),
    "infinite internal weight": ("internal_weight=100", "internal_weight=-inf"),
    "internal weight that overflows": ("internal_weight=100", "internal_weight=1.7e308"),
    "infinite shrinkage": ("shrinkage=1", "shrinkage=inf"),
    "shrinkage that overflows": ("shrinkage=1", "shrinkage=1.7e308"),
    "number of many digits": ("threshold=0.5 0 inf", f"threshold={'1' * 100} 0 inf"),
    "backslash in a parameter": ("[boosting: gbdt]", "[boosting: gb\\dt]"),
    "parameter that is no number": ("[num_leaves: 4]", "[learning_rate: nan]"),
    "parameter that overflows": ("[num_leaves: 4]", "[learning_rate: 1e999]"),
    "parameter that is no list": ("[num_leaves: 4]", "[monotone_constraints: 1,x]"),
    "categories as the last line but one": (
        "pandas_categorical:null\n",
        "pandas_categorical:1=2\n",
    ),
    "text after the categories": ("categorical:null\n", "categorical:null\nfoo\n"),
    "blank lines after the categories": ("categorical:null\n", "categorical:null\n\n\n\n"),
}


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_malformed_text_never_reaches_lightgbm(text, mutation, monkeypatch):
    old, new = mutation
    assert old in text, "the mutation changes nothing"
    monkeypatch.setattr(lightgbm.Booster, "model_from_string", lambda *_: pytest.fail("parsed"))
    with pytest.raises(ModelTextError) as caught:
        Booster(model_str=text.replace(old, new, 1))
    assert str(caught.value)


@pytest.mark.parametrize("n_class", [65537, 2_000_000_000])
def test_outputs_of_too_many_classes_are_refused(text, n_class):
    head, _, rest = text.partition("Tree=0")
    empty = head + rest[rest.index("end of trees") :]
    check_model_text(empty)
    with pytest.raises(ModelTextError, match="'num_class': must be an integer from 1 to 65536"):
        check_model_text(empty.replace("num_class=1", f"num_class={n_class}"))


def test_categories_are_looked_for_in_the_last_line_alone(text):
    """LightGBM takes everything from the last line that it finds by its distance from the end."""
    head, _, _ = text.partition("parameters:\n")
    check_model_text(head)
    odd = head.replace("x0=2\n", "x0=2\npandas_categorical:=2\n").rstrip("\n")
    with pytest.raises(ModelTextError, match="pandas_categorical"):
        check_model_text(odd[: odd.index("=2", odd.index("pandas")) + 2])


def test_every_truncation_is_refused_or_whole(text):
    lines = text.split("\n")
    end = lines.index("end of trees")
    for n in range(end):
        with pytest.raises(ModelTextError):
            check_model_text("\n".join(lines[:n]))


def test_error_names_line_and_field(text):
    line = next(i for i, v in enumerate(text.split("\n"), 1) if v.startswith("split_feature"))
    with pytest.raises(ModelTextError, match=rf"Line {line} .*'split_feature' of tree 0"):
        check_model_text(text.replace("split_feature=0 1 0", "split_feature=0 1 5"))


def test_node_numbers_need_not_grow_downwards(text):
    moved = text.replace("left_child=1 -1 -2", "left_child=2 -1 -2").replace(
        "right_child=2 -3 -4", "right_child=-3 -4 1"
    )
    check_model_text(moved)
    assert lightgbm.Booster(model_str=moved).predict([[0.0, 0.0]]) > 0


# -- depth ----------------------------------------------------------------------------------------


def chain(depth):
    """Return a tree whose every node has a leaf on its left and the next node on its right."""
    nodes = np.arange(depth, dtype=np.int32)
    return Tree(
        feature=nodes % 2,
        left_bins=np.tile(np.array([1, 0, 0, 0], dtype=np.uint64), (depth, 1)),
        left=~nodes,
        right=np.append(nodes[1:], ~np.int32(depth)),
        leaf_value=np.ones(depth + 1, dtype=np.int64),
        leaf_count=None,
    )


def chain_text(tools, depth):
    bins = tools.Bins([{"edges": [0.5, 1.5]}, {"edges": [1.0]}])
    return model_text(tools.ensemble(0, binner=bins, trees=(chain(depth),), unit=1.0))


def test_trees_of_this_library_are_not_too_deep(tools):
    deepest = 12
    with pytest.raises(InvalidParameterError, match="max_depth"):
        TREE_ALGORITHMS.find("sulq_id3", "a test").check({"max_depth": deepest + 1}, "a test")
    # A split into the bins of all values and of missing ones is a chain of one node less.
    text = chain_text(tools, deepest * MAX_VALUE_BINS)
    check_model_text(text)
    assert Booster(model_str=text).num_trees() == 1


def test_deep_trees_are_refused(tools):
    check_model_text(chain_text(tools, DEEPEST))
    for depth in (DEEPEST + 1, 20_000):
        with pytest.raises(ModelTextError, match="levels"):
            check_model_text(chain_text(tools, depth))


STOCK = """
import sys, lightgbm, numpy
model = lightgbm.Booster(model_file=sys.argv[1])
try:
    model.dump_model()
except RecursionError:
    pass  # of Python's JSON reader, which comes after
print(model.predict(numpy.ones((3, 2)), pred_contrib=True).sum())
"""


def test_lightgbm_survives_the_deepest_tree_that_passes(tools, tmp_path):
    (tmp_path / "model.txt").write_text(chain_text(tools, DEEPEST))
    command = [sys.executable, "-c", STOCK, tmp_path / "model.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


# -- size -----------------------------------------------------------------------------------------

SIZE = 2_000_000
LONG = {
    "threshold": ("threshold=0.5 0 inf", "threshold=" + "1 " * SIZE + "1"),
    "names": ("feature_names=x0 x1", "feature_names=" + "xy " * SIZE + "x"),
    "infos": ("-1:0:40", "-1" + ":1" * SIZE),
    "sizes": ("label_index=0", "label_index=0\ntree_sizes=" + "1 " * SIZE + "1"),
    "objective": ("objective=regression", "objective=binary" + " 1" * SIZE),
    "header": ("version=v4", "\n".join(f"k{i}=1" for i in range(SIZE // 8))),
    "blank lines": ("version=v4", "\n" * SIZE + "version=v4"),
    "blank footer": ("end of trees", "end of trees" + "\n" * SIZE),
    "digits": ("threshold=0.5 0 inf", "threshold=0.5 0 " + "1" * SIZE),
    "importances": ("x0=2\n", "x=1\n" * (SIZE // 4) + "x0=2\n"),
}


@pytest.mark.parametrize("change", LONG.values(), ids=LONG.keys())
def test_long_lines_take_no_memory_beyond_their_own(text, change):
    old, new = change
    assert old in text
    long = text.replace(old, new, 1)
    tracemalloc.start()
    try:
        with contextlib.suppress(ModelTextError):
            check_model_text(long)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * len(long)


def test_lines_have_a_limit(text, monkeypatch):
    monkeypatch.setattr(validation, "_LONGEST_LINE", 1000)
    names = " ".join(["x" * 600, "y" * 600])
    with pytest.raises(ModelTextError, match=r"Line 8 .* longer than 1000"):
        check_model_text(text.replace("feature_names=x0 x1", f"feature_names={names}"))


@pytest.mark.parametrize("line", ["pandas_categorical:[", 'dpboost:{"a":['])
def test_json_has_a_limit(text, monkeypatch, line):
    monkeypatch.setattr(validation, "_LONGEST_JSON", 3000)
    key = line.partition(":")[0]
    end = "]" if line.endswith("categorical:[") else "]}"
    long = re.sub(f"{key}:.*", line + ",".join(["[]"] * 1200) + end, text)
    with pytest.raises(ModelTextError, match=f"'{key}:' is longer than 3000"):
        check_model_text(long)


def test_wide_tables_pass(tools):
    bins = tools.Bins([{"edges": [0.5], "name": f"Column_{i}"} for i in range(50_000)])
    text = model_text(tools.ensemble(0, n_trees=1, binner=bins))
    check_model_text(text)


def test_anything_but_a_string_is_refused():
    with pytest.raises(ModelTextError, match="bytes"):
        check_model_text(b"tree")
