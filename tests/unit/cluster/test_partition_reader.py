from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost import InvalidParameterError
from dpboost.cluster.partition_reader import Part, Reader, Site
from dpboost.data.table import Reading
from dpboost.data.users import sample_rows
from dpboost.privacy.randomness import RowCoins
from dpboost.schema import Schema

X = np.arange(12.0).reshape(4, 3)
Y = np.array([0.0, 1.0, 1.0, 0.0])


def reader(task="regression", key=b"k" * 32):
    return Reader(
        reading=Reading(),
        schema=Schema(),
        task=task,
        key=key,
    )


def site_of(part):
    found = reader().fingerprint(part)
    return Site(partition=0, first_row=7, first_taken=7, fingerprint=found)


def changed(array, position, value):
    copy = array.copy()
    copy[position] = value
    return copy


FRAME = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(["a", "b", "a", None])})
PARTS = {
    "array": (Part(X=X, y=Y), Part(X=changed(X, (1, 1), 4.5), y=Y)),
    "order": (Part(X=X, y=Y), Part(X=X[[1, 0, 2, 3]], y=Y[[1, 0, 2, 3]])),
    "fewer rows": (Part(X=X, y=Y), Part(X=X[:3], y=Y[:3])),
    "labels": (Part(X=X, y=Y), Part(X=X, y=changed(Y, 0, 1.0))),
    "text labels": (
        Part(X=X, y=np.array(list("abba"), dtype=object)),
        Part(X=X, y=np.array(list("abbb"), dtype=object)),
    ),
    "weights": (Part(X=X, y=Y, weight=Y), Part(X=X, y=Y, weight=Y + 1)),
    "users": (Part(X=X, y=Y, user_ids=Y), Part(X=X, y=Y, user_ids=Y + 1)),
    "scores": (Part(X=X, y=Y, init_score=Y), Part(X=X, y=Y, init_score=Y + 1)),
    "frame": (Part(X=FRAME, y=Y), Part(X=FRAME.assign(kind=FRAME.kind[::-1].values), y=Y)),
    "sparse": (
        Part(X=scipy.sparse.csr_matrix(X), y=Y),
        Part(X=scipy.sparse.csr_matrix(changed(X, (0, 0), 1.0)), y=Y),
    ),
}


@pytest.mark.parametrize(("part", "other"), PARTS.values(), ids=PARTS)
def test_a_fingerprint_is_that_of_these_rows_alone(part, other):
    own = reader().fingerprint(part)
    assert own == reader().fingerprint(part)
    assert own != reader().fingerprint(other)
    assert own != reader(key=b"l" * 32).fingerprint(part)


def test_other_rows_are_refused_when_a_partition_is_read_again():
    site = site_of(Part(X=X, y=Y))
    assert reader().read(Part(X=X, y=Y), site).first_row == 7
    with pytest.raises(InvalidParameterError, match="held other rows") as found:
        reader().read(Part(X=changed(X, (2, 2), 0.0), y=Y), site)
    assert "stays charged" in str(found.value)


def test_labels_are_read_without_their_table():
    site = site_of(Part(X=X, y=Y))
    rows = reader().read(Part(X=None, y=Y, weight=None), site)
    assert rows.table is None
    np.testing.assert_array_equal(rows.labels, Y)
    with pytest.raises(InvalidParameterError, match="held other rows"):
        reader().read(Part(X=None, y=Y + 1), site)


def test_what_the_client_has_to_know():
    facts = reader("classification").look(Part(X=FRAME, y=Y, init_score=np.zeros((4, 2))))
    assert facts.n_rows == 4
    assert facts.classes == (0.0, 1.0)
    assert facts.n_outputs == 2
    assert facts.columns.feature_names == ("x", "kind")
    assert facts.columns.categorical == {1}
    assert facts.lists == {}
    assumed = Reading(lists_assumed=True)
    facts = replace(reader(), reading=assumed).look(Part(X=FRAME, y=Y))
    assert facts.lists == {1: ["a", "b"]}
    empty = reader().look(Part(X=X[:0], y=Y[:0]))
    assert (empty.n_rows, empty.columns) == (0, None)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(X=X, y=Y[:3]), "same length"),
        (Part(X=X[:0], y=Y), "same length"),
        (Part(X=X, y=changed(Y, 0, np.nan)), "Input y contains NaN"),
        (Part(X=X, y=Y, weight=Y[:2]), "same length"),
        (Part(X=X.astype(str), y=Y), "must be numbers"),
    ],
)
def test_what_cannot_be_read_is_refused_where_it_lies(part, message):
    with pytest.raises(InvalidParameterError, match=message):
        reader().look(part)


USERS = np.array(["a", "b", "a", "a"], dtype=object)


def test_rows_of_users_are_chosen_where_they_lie_by_the_coins_of_their_numbers():
    own = replace(reader(), rows_per_user=2)
    part = Part(X=X, y=Y, user_ids=USERS)
    facts = own.look(part)
    assert (facts.n_rows, facts.n_taken, len(facts.users)) == (4, 3, 2)
    site = Site(partition=0, first_row=7, first_taken=5, fingerprint=facts.fingerprint)
    key = b"c" * 32
    rows = replace(own, user_coins=key).read(part, site)
    chosen = sample_rows(np.array([0, 1, 0, 0]), 2, RowCoins(key).words(7, 4))
    np.testing.assert_array_equal(rows.labels, Y[chosen])
    np.testing.assert_array_equal(rows.table.column(0), X[chosen, 0])
    assert rows.first_row == 5
    assert len(rows.counted) == 2


def test_users_are_known_again_in_another_partition_and_by_nobody_without_the_key():
    own = replace(reader(), rows_per_user=2)
    here = own.look(Part(X=X, y=Y, user_ids=USERS)).users
    there = own.look(Part(X=X[:2], y=Y[:2], user_ids=["b", "c"])).users
    assert len(here & there) == 1
    other = replace(own, key=b"l" * 32).look(Part(X=X, y=Y, user_ids=USERS)).users
    assert not here & other
