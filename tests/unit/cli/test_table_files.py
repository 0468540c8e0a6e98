import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.table_files import read_file
from dpboost.schema import schema_template
from dpboost.schema.declared_types import label_column, typed

DAYS = (pd.Timestamp("2024-03-01") - pd.Timestamp("1970-01-01")).days


def numbers(cells):
    table = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    return typed(table, {}, {"x"})["x"].tolist()


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators_are_found(tmp_path, mark):
    path = tmp_path / "a.csv"
    path.write_text(f"age {mark}größe in cm{mark}b;c\n1{mark}2{mark}3\n".replace("b;c", "b"))
    table = read_file(str(path))
    assert list(table.columns) == ["age", "größe in cm", "b"]
    assert table.iloc[0].tolist() == ["1", "2", "3"]


def test_a_comma_in_a_number_is_a_point_where_semicolons_separate(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y;z\n1,5;a,b;\n-2,25;c;1,2,3\n")
    table = read_file(str(path))
    assert table["x"].tolist() == ["1.5", "-2.25"]
    assert table["y"].tolist() == ["a,b", "c"]
    assert table["z"].tolist()[1] == "1,2,3"


def test_a_separator_at_the_end_of_lines_shifts_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2,\n3,4,\n")
    table = read_file(str(path))
    assert table["x"].tolist() == ["1", "3"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.csv", "größe\n1\n".encode("latin-1"), "not in UTF-8"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "more cells than the first"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "lines have more cells"),
        ("a.csv", b"a,b,a \n1,2,3\n", "two columns 'a'"),
        ("a.parquet", b"secret", "not a Parquet file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidParameterError, match=message) as caught:
        read_file(str(path))
    assert "secret" not in str(caught.value)


def test_cells_of_columns_of_numbers():
    found = numbers([" 1.5", "yes", "FALSE", "2024-03-01", "2024-03-01 12:00", "none", None])
    assert found[:5] == [1.5, 1, 0, DAYS, DAYS + 0.5]
    assert np.isnan(found[5:]).all()


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize(
    "cell",
    ["1", "-1.5e3", " 2 ", "1e400", "4.9e-324", "inf", "-Infinity", "nan", "NA", "", "null"]
    + ["True", "yes", "0x10", "1_000", "+3", ".5", "1e", "--1", "18446744073709551616", "1d5"]
    + ["9007199254740993", "2024-03-01", '"1"', '" 1"', "1\xa0", "0.1234567890123456789012"],
)
def test_columns_of_numbers_are_what_their_text_says(tmp_path, cell, mark):
    path = tmp_path / "a.csv"
    path.write_text(f"x{mark}y\n{cell}{mark}a\n0.1{mark}b\n", "utf-8")
    plain, named = read_file(str(path)), read_file(str(path), ["x", "elsewhere"])
    found = [typed(table, {"y": ["a", "b"]}, {"x"}) for table in (plain, named)]
    pd.testing.assert_frame_equal(*found, check_exact=True)
    assert named["y"].tolist() == ["a", "b"]
    if cell == "1" and mark != ";":
        assert named["x"].dtype == float != plain["x"].dtype


def test_cells_of_parquet_columns_of_numbers():
    assert numbers([datetime.date(2024, 3, 1), Decimal("1.25"), True]) == [DAYS, 1.25, 1]
    times = pd.DataFrame({"x": pd.to_datetime(["2024-03-01", None])})
    found = typed(times, {}, {"x"})["x"]
    assert found[0] == DAYS
    assert np.isnan(found[1])


@pytest.mark.parametrize("cell", [None, np.nan, pd.NA, "", "?"])
@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_a_declared_number_may_be_missing_in_each_row(cell, dtype):
    table = pd.DataFrame({"x": pd.Series([cell] * 3, dtype=dtype)})
    assert typed(table, {}, {"x"})["x"].isna().all()
    assert typed(table.iloc[:0], {}, {"x"})["x"].dtype == float


def test_types_are_read_off_the_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "whole,gaps,dose,when,flag,ward,empty\n"
        "1,3,1.5,2024-03-01,true,surgery,\n"
        "2,,2,2024-03-02,False,eyes,\n"
    )
    dictionary = schema_template(typed(read_file(str(path)), {}, set()))
    assert {entry.name: entry.type for entry in dictionary.entries} == {
        "whole": "integer",
        "gaps": "integer",
        "dose": "number",
        "when": "date",
        "flag": "boolean",
        "ward": "text",
        "empty": "number",
    }


@pytest.mark.filterwarnings("error")
def test_no_warning_tells_of_a_value_that_is_not_listed():
    table = pd.DataFrame({"ward": ["eyes", "other"], "code": ["1", "9"]})
    found = typed(table, {"ward": ["eyes"], "code": [1, 2]}, set())
    assert found.isna().to_numpy().tolist() == [[False, False], [True, True]]


def test_blanks_around_categories_and_classes_do_not_count():
    table = pd.DataFrame({"ward": ["eyes ", " surgery", "other"]})
    found = typed(table, {"ward": ["eyes", "surgery"]}, set())["ward"]
    assert found.tolist()[:2] == ["eyes", "surgery"]
    assert pd.isna(found[2])
    labels = label_column(pd.Series(["no ", "yes"]), ["no", "yes"], "classification")
    assert labels.tolist() == ["no", "yes"]
