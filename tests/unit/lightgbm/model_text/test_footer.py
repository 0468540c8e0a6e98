"""What follows the trees: written, found and put back."""

import json

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.model_text.writer import (
    PARAMETER_LINE,
    PARAMETER_TYPES,
    find_report,
    insert_report,
    pandas_line,
    parameter_lines,
    report_line,
)

STOCK = "tree\n\nend of trees\n\nparameters:\n\nend of parameters\n\npandas_categorical:null\n"


def test_every_parameter_makes_a_well_formed_line():
    values = {bool: True, int: -1, float: 0.1, str: "gbdt", list: "[0,1],[2]"}
    lines = parameter_lines({name: values[kind] for name, kind in PARAMETER_TYPES.items()})
    assert lines.count("\n") == len(PARAMETER_TYPES)
    assert all(PARAMETER_LINE.fullmatch(line) for line in lines.split("\n")[:-1])
    assert "[extra_trees: 1]\n" in lines
    assert "[learning_rate: 0.1]\n" in lines


def test_report_is_found_and_put_back():
    report = {"text": "a=b\nü\u2028\\pandas_categorical:[end of parameters", "epsilon": 0.1}
    line = report_line(report)
    assert line.isascii()
    assert "\n" not in line
    text = insert_report(STOCK, line)
    assert text.endswith(f"end of parameters\n\n{line}\n\npandas_categorical:null\n")
    assert find_report(text) == line
    assert find_report(text.replace("\n", "\r\n")) == line
    assert json.loads(line[len("dpboost:") :]) == report


def test_text_without_report_stays_as_it_is():
    assert find_report(STOCK) is None
    assert find_report("dpboost:{}\n" + STOCK) is None
    assert insert_report(STOCK, None) == STOCK


def test_report_is_put_back_where_the_categories_hold_its_neighbors_name():
    stock = STOCK.replace("null", json.dumps([["\npandas_categorical:", "dpboost:{}"]]))
    text = insert_report(stock, "dpboost:{}")
    assert find_report(text) == "dpboost:{}"
    assert text.replace("dpboost:{}\n\n", "", 1) == stock


def test_pandas_line_takes_numpy_scalars():
    categories = [[np.int64(1), np.str_("b"), 2.5], np.array([True, False])]
    assert pandas_line(categories) == 'pandas_categorical:[[1, "b", 2.5], [true, false]]'
    with pytest.raises(InvalidParameterError, match="complex"):
        pandas_line([[1j]])
