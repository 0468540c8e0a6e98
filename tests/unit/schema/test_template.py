import numpy as np
import pandas as pd
import pytest

from dpboost import DataDictionary, schema_template
from dpboost._utils.validation import InvalidParameterError

TABLE = pd.DataFrame(
    {
        "age": [34, 52],
        "dose": [0.5, 1.5],
        "smoker": [True, False],
        "name": ["Ann", "Bob"],
        "ward": pd.Categorical(["surgery", "eyes"]),
        "admitted": pd.to_datetime(["2024-01-31", "2024-02-01"]),
    }
)
EXPECTED = ["integer", "number", "boolean", "text", "category", "date"]


def test_names_and_types_are_written_and_nothing_else(tmp_path):
    path = tmp_path / "dictionary.csv"
    dictionary = schema_template(TABLE, path)
    assert [entry.type for entry in dictionary.entries] == EXPECTED
    assert DataDictionary.from_file(path) == dictionary
    written = path.read_text()
    for value in ("34", "Ann", "surgery", "0.5"):
        assert value not in written


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries_give_the_same(library):
    module = pytest.importorskip(library)
    table = module.from_pandas(TABLE) if library == "polars" else module.Table.from_pandas(TABLE)
    assert [entry.type for entry in schema_template(table).entries] == EXPECTED


def test_a_table_without_names_is_refused():
    with pytest.raises(InvalidParameterError, match="DataFrame"):
        schema_template(np.zeros((2, 2)))
