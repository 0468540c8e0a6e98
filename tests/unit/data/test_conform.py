import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.conform import conform
from dpboost.data.feature_bins import AffineBins, CategoryBins, EdgeBins, uniform_bins
from dpboost.data.table import read_table
from dpboost.schema import Schema
from tests.tables import dense_bins

ZERO = float(np.float32(1e-35))


def stump(index, feature, binner, candidate):
    """Write one split of one feature as a tree whose left leaf is 1 and right leaf is 0."""
    if binner.is_categorical[feature]:
        code = int(binner.category_codes(feature)[candidate])
        words = [0] * (code // 32 + 1)
        words[-1] = 1 << (code % 32)
        split = f"num_cat=1\nsplit_feature={feature}\nthreshold=0\ndecision_type=1\n"
        split += f"cat_boundaries=0 {len(words)}\ncat_threshold={' '.join(map(str, words))}\n"
    else:
        edge = float(binner.thresholds(feature)[candidate])
        split = f"num_cat=0\nsplit_feature={feature}\nthreshold={edge!r}\ndecision_type=8\n"
    return f"Tree={index}\nnum_leaves=2\n{split}left_child=-1\nright_child=-2\nleaf_value=1 0\n\n\n"


def stumps(binner):
    """Return a stock model with one tree for every candidate of every feature."""
    candidates = [(f, c) for f in range(binner.n_features) for c in range(binner.n_bins[f])]
    trees = "".join(stump(i, f, binner, c) for i, (f, c) in enumerate(candidates))
    infos = " ".join(binner.feature_infos())
    categories = lightgbm.basic._dump_pandas_categorical(binner.pandas_categories())
    text = (
        f"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={binner.n_features - 1}\nobjective=regression\n"
        f"feature_names={' '.join(binner.feature_names)}\nfeature_infos={infos}\n\n"
        f"{trees}end of trees\n{categories}"
    )
    return lightgbm.Booster(model_str=text), candidates


def assert_lightgbm_agrees(binner, X, table):
    booster, candidates = stumps(binner)
    leaves = booster.predict(conform(X, binner), pred_leaf=True)
    bins = dense_bins(binner, table)
    for column, (f, c) in enumerate(candidates):
        left = bins[f] == c if binner.is_categorical[f] else bins[f] <= c
        np.testing.assert_array_equal(leaves[:, column] == 0, left, err_msg=f"feature {f}, bin {c}")


def numeric_binner():
    table = np.arange(512) // 20
    features = [
        uniform_bins(-1.0, 1.0, 32),
        AffineBins(lower=-0.1, upper=0.9, n_cells=512, table=table),
        EdgeBins(edges=(-ZERO, 0.0, 0.1, np.float32(0.1), 1.0, 2.0**24)),
        CategoryBins(codes=(3, 0, 40, 70)),
    ]
    return Binner(features=features, feature_names=["a", "b", "c", "d"])


def awkward_rows(binner):
    rng = np.random.default_rng(0)
    edges = [binner.thresholds(f)[:-1] for f in range(3)]
    points = np.concatenate([*edges, [0.0, -0.0, ZERO, -ZERO, 1e-36, -1e-36, 5e-324, 1e300]])
    points = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
    points = np.concatenate([points, [np.inf, -np.inf, np.nan, -0.5, 3.7, -1.0, 40, 70, 71, 1e10]])
    return np.column_stack([rng.permutation(points) for _ in range(4)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, pd.DataFrame]
)
def test_stock_lightgbm_sends_every_row_the_same_way(make, dtype):
    binner = numeric_binner()
    with np.errstate(over="ignore"):
        X = make(awkward_rows(binner).astype(dtype))
    assert_lightgbm_agrees(binner, X, read_table(X))


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "f2", "?", object])
def test_integers_are_not_rounded(dtype):
    binner = numeric_binner()
    X = np.array([[0, 1, 2**24 + 1, 3], [1, 0, 2**24, 40], [0, 0, 2**24 - 1, 70]])
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    assert_lightgbm_agrees(binner, X, read_table(X))
    assert_lightgbm_agrees(binner, X.tolist(), read_table(X.tolist()))
    if dtype != "f2" and dtype is not object:
        sparse = scipy.sparse.csr_matrix(X)
        assert_lightgbm_agrees(binner, sparse, read_table(sparse))


def test_repeated_sparse_entries_are_added():
    binner = one_edge = Binner(features=[EdgeBins(edges=(2.0,))], feature_names=["x"])
    X = scipy.sparse.csr_matrix((np.ones(4), np.zeros(4, int), np.array([0, 3, 4])), shape=(2, 1))
    assert_lightgbm_agrees(one_edge, X, read_table(X))
    np.testing.assert_array_equal(dense_bins(binner, read_table(X)), [[1, 0]])
    assert X.nnz == 4


def text_frame():
    return pd.DataFrame(
        {
            "age": [20, 40, 60, 80],
            "job": ["nurse", None, "pilot", "clerk"],
            "size": pd.Categorical(["S", None, "L", "M"], categories=["S", "M", "L"]),
            "kids": pd.array([1, None, 3, 2], dtype="Int64"),
            "grade": pd.Categorical([2, 1, None, 9], categories=[9, 1, 2], ordered=True),
        },
        index=[5, 5, 1, 0],
    )


def text_binner():
    table = read_table(text_frame(), schema=text_schema())
    return Binner.from_schema(
        text_schema().resolve(table.feature_names),
        n_bins=8,
        categorical=table.categorical,
        ordered=table.ordered,
    )


def text_schema():
    return Schema(bounds={"age": (0, 99)}, categories={"job": ["clerk", "nurse"]})


@pytest.mark.parametrize("job", ["object", "string", "category", "str"])
@pytest.mark.parametrize("sizes", [["S", "M", "L"], ["XL", "L", "S"], ["M"]])
def test_text_and_categories_are_looked_up_in_the_same_list(job, sizes):
    binner = text_binner()
    frame = text_frame().astype({"job": job})
    frame["size"] = frame["size"].cat.set_categories(sizes)
    before = frame.copy()
    result = conform(frame, binner)
    pd.testing.assert_frame_equal(frame, before)
    assert list(result["job"].cat.categories) == ["clerk", "nurse"]
    assert list(result["size"].cat.categories) == ["S", "M", "L"]
    assert_lightgbm_agrees(binner, frame, read_table(result))
    assert_lightgbm_agrees(binner, frame, read_table(result, schema=text_schema()))


def test_nothing_to_do_gives_the_table_itself():
    binner = numeric_binner()
    for X in (np.zeros((2, 4)), np.zeros((2, 4), "f4")):
        assert conform(X, binner) is X
    X = scipy.sparse.csr_matrix(np.eye(2, 4))
    assert np.shares_memory(conform(X, binner).data, X.data)
    frame = pd.DataFrame(np.zeros((2, 4)))
    assert conform(frame, binner) is frame


def test_categorical_columns_of_a_feature_trained_on_numbers():
    binner = numeric_binner()
    frame = pd.DataFrame(np.zeros((3, 4)), columns=list("abcd"))
    frame["d"] = pd.Categorical([40, None, 3])
    assert_lightgbm_agrees(binner, frame, read_table(frame.astype({"d": "float64"})))
    frame["d"] = pd.Categorical(["x", None, "y"])
    with pytest.raises(InvalidParameterError, match="'d'.*trained on numbers"):
        conform(frame, binner)


def test_tables_that_do_not_fit():
    with pytest.raises(InvalidParameterError, match="X has 1 features.*expecting 4"):
        conform(pd.DataFrame({"a": [1]}), numeric_binner())
    frame = pd.DataFrame({"a": ["x"], "b": [1], "c": [1], "d": [1]})
    with pytest.raises(InvalidParameterError, match="column 'a'"):
        conform(frame, numeric_binner())
