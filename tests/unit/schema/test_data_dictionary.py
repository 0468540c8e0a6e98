import json
from dataclasses import replace

import pytest

from dpboost import DataDictionary, Schema
from dpboost._utils.validation import InvalidParameterError
from dpboost.schema.data_dictionary import ROLES, TYPES

HOSPITAL = """name,type,lower,upper,values,role,description
age,integer,0,120,,,years
sex,category,,,F|M,,
dose,number,0,2.5,,,mg
smoker,boolean,,,,,
ward,category,,,1|2|3,,
patient,text,,,,user,
note,text,,,,ignore,
outcome,category,,,no|yes,target,
"""


def test_every_part_of_a_schema_comes_from_its_line(tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_text(HOSPITAL, encoding="utf-8")
    schema = Schema.from_data_dictionary(path, max_rows=1000)
    assert schema.bounds == {"age": (0, 120), "dose": (0, 2.5), "smoker": (0, 1)}
    assert schema.categories == {"sex": ("F", "M"), "ward": (1, 2, 3)}
    assert schema.integer == ("age", "smoker")
    assert schema.classes == ("no", "yes")
    assert schema.max_rows == 1000


def test_a_dictionary_is_shown_as_a_table():
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    assert repr(dictionary).splitlines()[:3] == [
        "name     type      lower  upper  values  role    description",
        "age      integer   0.0    120.0                  years",
        "sex      category                F|M",
    ]
    (entry, *_) = dictionary.entries
    page = DataDictionary((replace(entry, name="<b>"),))._repr_html_()
    assert page.startswith("<table><tr><th>name</th>")
    assert "<td>&lt;b&gt;</td><td>integer</td><td>0.0</td>" in page


def test_roles_name_columns():
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    assert dictionary.target == "outcome"
    assert dictionary.user_column == "patient"
    assert "note" not in dictionary.features


def test_a_numeric_target_gives_label_bounds():
    lines = [{"name": "x", "lower": 0, "upper": 1}, {"name": "y", "lower": "0", "upper": "9"}]
    parts = DataDictionary.from_lines(lines).schema_parts("y")
    assert parts["label_bounds"] == (0, 9)
    assert parts["bounds"] == {"x": (0, 1)}


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_files_are_read_as_they_were_written(tmp_path, ending):
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    path = tmp_path / f"dictionary.{ending}"
    dictionary.to_file(path)
    assert DataDictionary.from_file(path) == dictionary
    if ending == "json":
        assert json.loads(path.read_text())[1] == {
            "name": "sex",
            "type": "category",
            "values": ["F", "M"],
        }


def test_dictionaries_of_other_systems_are_read():
    redcap = (
        '"Variable / Field Name","Form Name","Field Type","Field Label",'
        '"Choices, Calculations, OR Slider Labels","Text Validation Min","Text Validation Max"\n'
        "bmi,visit,number,Body mass index,,10,80\n"
        'therapy,visit,radio,Therapy,"1, Surgery | 2, Drugs | 3, None",,\n'
    )
    parts = DataDictionary.from_csv_text(redcap).schema_parts()
    assert parts["bounds"] == {"bmi": (10, 80)}
    assert parts["categories"] == {"therapy": (1, 2, 3)}


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_dates_are_read_and_written_as_dates(tmp_path, ending):
    text = "name,type,lower,upper\nadmitted,date,1970-01-02,1971-01-01T12:00\n"
    dictionary = DataDictionary.from_csv_text(text)
    assert dictionary.schema_parts()["bounds"] == {"admitted": (1, 365.5)}
    dictionary.to_file(tmp_path / f"a.{ending}")
    assert "1970-01-02" in (tmp_path / f"a.{ending}").read_text()
    assert DataDictionary.from_file(tmp_path / f"a.{ending}") == dictionary


def test_text_with_dates_for_limits_is_a_date():
    redcap = (
        '"Variable / Field Name","Field Type","Text Validation Min","Text Validation Max"\n'
        "born,text,1920-01-01,2024-12-31\n"
    )
    (entry,) = DataDictionary.from_csv_text(redcap).entries
    assert (entry.type, entry.lower) == ("date", -18263)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_found(separator):
    text = f"column{separator}min{separator}max\nage{separator}0{separator}9\n"
    assert DataDictionary.from_csv_text(text).schema_parts()["bounds"] == {"age": (0, 9)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,type\na,whatever\n", "type of 'a'"),
        ("name,role\na,boss\n", "role of 'a'"),
        ("name,lower\na,low\n", "range of 'a'"),
        ("name,type,lower\na,date,12\n", "must be dates such as"),
        ("name,type,lower\na,number,2024-01-31\n", "must be numbers"),
        ("name\na\na\n", "two lines for 'a'"),
        ("name,role\na,target\nb,target\n", "more than one line with the role .target., .a., .b."),
        ("title,type\na,number\n", "names no column"),
    ],
)
def test_lines_that_are_not_understood_are_refused(text, message):
    with pytest.raises(InvalidParameterError, match=message):
        DataDictionary.from_csv_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,lower\na,1\n", "one end of the range of 'a'"),
        ("name\na\n", "no line for the target 'b'"),
    ],
)
def test_what_declares_half_is_refused(text, message):
    with pytest.raises(InvalidParameterError, match=message):
        DataDictionary.from_csv_text(text).schema_parts("b" if "target" in message else None)


@pytest.mark.parametrize("content", ["{", '{"name": "a"}', '["a"]', '"a"'])
def test_bad_json_is_refused(tmp_path, content):
    path = tmp_path / "dictionary.json"
    path.write_text(content)
    with pytest.raises(InvalidParameterError, match="data dictionary"):
        DataDictionary.from_file(path)


def test_a_file_without_lines_is_refused(tmp_path):
    for text in ("", "name,type\n"):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(InvalidParameterError, match="has no line for a column"):
            DataDictionary.from_file(tmp_path / "a.csv")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"absent\.csv"):
        DataDictionary.from_file(tmp_path / "absent.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(end, tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_bytes(HOSPITAL.replace("\n", end).encode())
    assert DataDictionary.from_file(path) == DataDictionary.from_csv_text(HOSPITAL)
    assert Schema.from_data_dictionary(path) == Schema.from_data_dictionary(
        write(tmp_path, HOSPITAL)
    )


def write(folder, text):
    path = folder / "other.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_no_csv_is_refused_by_file(tmp_path):
    for text in (f"name,description\nage,{'x' * 200_000}\n", "bounds:\n  age: [0, 120]\n"):
        with pytest.raises(InvalidParameterError, match=r"other\.csv"):
            DataDictionary.from_file(write(tmp_path, text))


@pytest.mark.parametrize("name", ["schema.yaml", "schema.YML"])
@pytest.mark.parametrize("read", [Schema.from_json, DataDictionary.from_file])
def test_yaml_is_refused_by_name(name, read, tmp_path):
    path = tmp_path / name
    path.write_text("bounds:\n  age: [0, 120]\n")
    with pytest.raises(InvalidParameterError, match=rf"{name}.* is YAML.*JSON"):
        read(path)


@pytest.mark.parametrize(
    "line",
    [
        {"name": "a\ud800", "type": "number"},
        {"name": "a", "values": ["x", "\udfff"]},
        {"name": "a", "description": "\ud800"},
    ],
)
def test_half_characters_are_refused(line, tmp_path):
    path = tmp_path / "dictionary.json"
    path.write_text(json.dumps([line]))
    with pytest.raises(InvalidParameterError, match="lone surrogate"):
        DataDictionary.from_file(path)


def test_a_type_alone_declares_a_number():
    text = "name,type\na,integer\nb,number\nc,date\nd,boolean\ne,text\nf,\n"
    found = DataDictionary.from_csv_text(text)
    assert found.numbers == ("a", "b", "c", "d")
    assert found.schema_parts()["integer"] == ["a", "d"]
    assert found.schema_parts()["bounds"] == {"d": (0.0, 1.0)}


def test_a_category_without_values_is_left_to_the_fit():
    dictionary = DataDictionary.from_csv_text(
        "name,type,values,role\na,category,,\nb,category,x|y,\n"
    )
    assert dictionary.learned == ("a",)
    assert dictionary.schema_parts()["categories"] == {"a": (), "b": ("x", "y")}


@pytest.mark.parametrize("mark", ["{}", '"{}",,,'])
def test_a_file_begins_with_the_words_to_use_and_is_read_again(tmp_path, mark):
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    path = tmp_path / "dictionary.csv"
    dictionary.to_file(path)
    first, _, rest = path.read_text().partition("\n")
    assert all(word in first for word in (*TYPES, *ROLES))
    path.write_text(mark.format(first) + "\n" + rest)  # as a spreadsheet may save it
    assert DataDictionary.from_file(path) == dictionary


def test_a_schema_may_be_the_path_of_a_dictionary(tmp_path):
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    for name in ("dictionary.csv", "dictionary.json"):
        dictionary.to_file(tmp_path / name)
        schema = Schema.coerce(tmp_path / name)
        assert schema.to_dict() == Schema(**dictionary.schema_parts()).to_dict()
        with pytest.raises(InvalidParameterError, match="not features of the data dict.*: patient"):
            schema.resolve([*dictionary.features, "patient"])
    assert Schema.or_dictionary(tmp_path / "dictionary.csv") == dictionary


def test_a_command_may_name_target_and_user():
    dictionary = DataDictionary.from_csv_text(HOSPITAL)
    assert dictionary.with_role("target", None) is dictionary
    found = dictionary.with_role("target", "smoker").with_role("user", "note")
    assert (found.target, found.user_column) == ("smoker", "note")
    assert {"patient", "smoker", "note"}.isdisjoint(found.features)
    assert "outcome" in found.features


def test_all_faults_of_a_dictionary_are_one_message():
    text = (
        "name,type,lower,upper,values,role\n"
        "a,numbr,0,1,,featur\n"
        "b,number,0,,,\n"
        "c,number,5,1,,target\n"
        "d,category,,,x|x,target\n"
        "e,integer,zero,1,,\n"
        "b,number,0,1,,\n"
    )
    with pytest.raises(InvalidParameterError) as caught:
        DataDictionary.from_csv_text(text)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("The data dictionary has 8 faults")
    for part in ("'numbr'", "'featur'", "one end of the range of 'b'", "two lines for 'b'"):
        assert sum(part in line for line in lines) == 1
    for part in ("range of 'c'", "values of 'd'", "'zero'", "'c', 'd'"):
        assert sum(part in line for line in lines) == 1
