"""Scores of a party's rows start where the agreed model ends, whatever its text says."""

from unittest import mock

import numpy as np
import pytest

from dpboost.federated.party.party import read_rows, start_scores
from dpboost.lightgbm.init_model import EarlierModel
from tests.unit.federated.channels import agreement
from tests.unit.federated.evaluated import BOUNDS, model_of, tables_of

SCHEMA = {"bounds": BOUNDS, "classes": [0, 1]}


def terms_of(kind, text=None):
    booster = model_of(kind).booster_
    return agreement(2, schema=SCHEMA, init_model=text or booster.model_to_string())


def held(terms, X):
    return read_rows(X, terms)


def test_they_are_those_of_the_model():
    X = tables_of("two classes", [50])[0][0]
    X[3, 1], X[4, 0] = np.nan, np.inf
    for kind in ("two classes", "three classes"):
        terms = terms_of(kind)
        found = start_scores(held(terms, X), terms)
        expected = model_of(kind).booster_.predict(X, raw_score=True)
        assert np.array_equal(found, np.atleast_2d(expected.T))


def test_there_are_none_without_a_model_and_none_of_no_rows():
    terms = agreement(2, schema=SCHEMA)
    assert start_scores(held(terms, np.zeros((3, 2))), terms) is None
    terms = terms_of("two classes")
    assert start_scores(held(terms, np.zeros((0, 2))), terms).shape == (1, 0)


@pytest.mark.filterwarnings("error")
def test_sums_that_are_no_numbers_count_as_zero():
    terms = terms_of("two classes")
    odd = np.array([np.nan, np.inf, -np.inf])
    with mock.patch.object(EarlierModel, "predict", return_value=odd):
        found = start_scores(held(terms, np.zeros((3, 2))), terms)
    largest = np.finfo(np.float64).max
    assert found.tolist() == [[0.0, largest, -largest]]
