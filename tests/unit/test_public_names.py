"""The page of public names is what the package has."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from dpboost.cli.main import COMMANDS
from tests.stored.__main__ import OF_AUDIT, PUBLIC

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "public-names.md"
PROMISED, LEFT_OUT = PAGE.read_text(encoding="utf-8").split("## Not promised")
ROWS = dict(re.findall(r"^\| (.*) \| (`.*) \|$", PROMISED, re.MULTILINE))


def named(text):
    return re.findall(r"`([^`]+)`", text)


def of_the_line(text, start):
    (line,) = (line for line in text.splitlines() if line.startswith(start))
    return named(line.partition(":")[2])


def test_the_page_has_every_public_module_and_the_commands():
    modules = {f"`{module}`" for module in (*PUBLIC, "dpboost.audit")}
    assert set(ROWS) == modules | {"the command `dpboost`"}
    assert named(ROWS["the command `dpboost`"]) == list(COMMANDS)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_page_has_every_public_name(module):
    if module == "dpboost.dask":
        pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    if module == "dpboost.spark":
        pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    assert sorted(named(ROWS[f"`{module}`"])) == sorted(importlib.import_module(module).__all__)


def test_of_the_audit_some_names_are_promised():
    assert tuple(named(ROWS["`dpboost.audit`"])) == OF_AUDIT
    rest = of_the_line(LEFT_OUT, "* Of `dpboost.audit`")
    assert sorted((*OF_AUDIT, *rest)) == sorted(importlib.import_module("dpboost.audit").__all__)
