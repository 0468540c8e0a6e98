import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost.data.fingerprint import RowHash, new_key

KEY = b"k" * 32
X = np.arange(24.0).reshape(8, 3)
FRAME = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical([*"abbaabab"]), "text": [*"stuvwxyz"]})
KINDS = {
    "numbers": X,
    "columns first": np.asfortranarray(X),
    "every other": np.repeat(X, 2, axis=0)[::2],
    "objects": X.astype(object),
    "text": np.array(["a", "bb", "ccc", "d", "e", "f", "g", "h"]),
    "long doubles": X.astype(np.longdouble),
    "dates": np.arange(8).astype("M8[D]"),
    "frame": FRAME,
    "series": FRAME["kind"],
    "no columns": X[:, :0],
}


def digest(*parts, key=KEY):
    found = RowHash(key)
    for part in parts:
        found.add(part)
    return found.digest()


def some(rows, positions):
    return rows.iloc[positions] if hasattr(rows, "iloc") else rows[positions]


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_where_rows_are_divided_makes_no_difference(rows):
    parts = [some(rows, slice(0, 3)), some(rows, slice(3, 4)), some(rows, slice(4, 8))]
    assert digest(*parts) == digest(rows)


@pytest.mark.parametrize("rows", [each for name, each in KINDS.items() if name != "no columns"])
def test_other_rows_another_order_and_another_key_have_another_hash(rows):
    assert digest(some(rows, [1, 0, 2, 3, 4, 5, 6, 7])) != digest(rows)
    assert digest(some(rows, slice(0, 7))) != digest(rows)
    assert digest(rows, key=new_key()) != digest(rows)


def test_the_memory_between_numbers_is_not_hashed():
    rows = X.astype(np.longdouble)
    same = np.full(X.shape, 1.0, dtype=np.longdouble)
    same.view(np.uint8)[:] = 255
    same[:] = rows
    assert digest(same) == digest(rows)


def test_types_and_shapes_count():
    assert digest(X.astype("f4")) != digest(X)
    assert digest(X.reshape(4, 6)) != digest(X)
    assert digest(np.array(["a\0", "b"], dtype=object)) != digest(np.array(["a", "\0b"], object))
    assert digest(None) == digest()


def test_sparse_matrices_are_told_apart():
    matrix = scipy.sparse.csr_matrix(np.eye(4))
    assert digest(matrix) == digest(matrix.tocoo())
    assert digest(matrix) != digest(scipy.sparse.csr_matrix(np.eye(4)[::-1]))
    assert digest(matrix) != digest(scipy.sparse.csr_matrix(np.eye(4, 5)))
