"""Keyed hashes of rows, to detect changes when rows are read again."""

from __future__ import annotations

import hmac
import secrets
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.sparse_checks import checked_sparse

# Bytes of the key of a hash.
KEY_BYTES = 32


def new_key() -> bytes:
    """Return a key, without which a hash tells nothing of the rows."""
    return secrets.token_bytes(KEY_BYTES)


class RowHash:
    """A hash of rows, independent of their division into parts."""

    def __init__(self, key: bytes) -> None:
        self._hash = hmac.new(key, digestmod="sha256")
        self._kind = ""

    def add(self, rows: Any) -> None:
        """Add an array, a sparse matrix, a Series or a DataFrame; None adds nothing."""
        if rows is None:
            return
        arrays = _plain_arrays(rows)
        kind = repr([getattr(rows, "shape", ())[1:], *(array.dtype.str for array in arrays)])
        if kind != self._kind:
            self._hash.update(kind.encode())
            self._kind = kind
        for array in arrays:
            self._hash.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def digest(self) -> bytes:
        """Return the hash of all rows so far."""
        return self._hash.digest()


def _plain_arrays(rows: Any) -> list[NDArray[Any]]:
    """Return plain arrays that hold all of some rows, or hashes of what is no number."""
    if scipy.sparse.issparse(rows):
        rows = checked_sparse(rows).tocsr()
        # Lengths, since no array shows where the next one begins.
        sizes = np.array([*rows.shape, rows.nnz])
        return [sizes, rows.indptr, rows.indices, rows.data]
    if hasattr(rows, "iloc"):
        import pandas as pd

        return [pd.util.hash_pandas_object(rows, index=False).to_numpy()]
    plain = np.asarray(rows)
    # Of what is no plain number the memory tells nothing; a long double's has unused bytes.
    if plain.dtype.kind not in "biufcmM" or plain.dtype.char in "gG":
        written = "".join(f"{value!r}\0" for value in plain.ravel().tolist())
        return [np.frombuffer(written.encode(errors="surrogatepass"), dtype=np.uint8)]
    return [plain]
