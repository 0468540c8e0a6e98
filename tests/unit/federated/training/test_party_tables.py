import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.estimators import party_columns, simulate_tables
from tests.unit.federated.channels import agreement


def terms(n_parties, columns):
    schema = {"bounds": dict.fromkeys(columns, (0, 9)), "classes": [0, 1]}
    return agreement(n_parties, features=columns, schema=schema, recipe="noisy_counts")


def test_pairs_may_be_lists_and_rows_may_be_lists():
    given = [[[[1.0, 2.0]], [0]], ([[3.0, 4.0]], [1])]
    assert party_columns(given, "Model") == ("Column_0", "Column_1")
    found = simulate_tables("Model", given, terms)
    assert [one.agreement.features for one in found.parties] == 2 * [("Column_0", "Column_1")]


def test_a_sparse_table_has_numbered_columns():
    tables = [(csr_matrix((2, 3)), np.zeros(2)), (np.zeros((0, 3)), np.zeros(0))]
    assert party_columns(tables, "Model") == ("Column_0", "Column_1", "Column_2")


@pytest.mark.parametrize("given", [None, 3, "ab", [(1, 2)], [(1, 2), (1, 2, 3)], [1, 2]])
def test_what_is_no_list_of_pairs_is_refused(given):
    with pytest.raises(InvalidParameterError, match=r"'parties' parameter of Model\.fit"):
        simulate_tables("Model", given, terms)


def test_labels_beside_the_pairs_are_refused():
    with pytest.raises(InvalidParameterError, match="no y beside it"):
        simulate_tables("Model", [(1, 2), (3, 4)], terms, [0])


def test_named_columns_are_not_numbered_ones():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(InvalidParameterError, match="columns of party 1 differ"):
        party_columns([(frame, [0]), (frame.to_numpy(), [0])], "Model")
