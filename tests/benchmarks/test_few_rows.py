"""The run on few rows, and the two pages that quote it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks import few_rows  # noqa: E402
from benchmarks.harness.results import Result, Results, read, values  # noqa: E402
from benchmarks.harness.run import RESULTS  # noqa: E402

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"


def test_a_cut_has_as_many_rows_of_the_class_as_asked_and_none_of_the_held_out():
    y = np.arange(30_000) % 2
    own, held_out = few_rows.cut(y, few_rows.RARE, 25, 3)
    assert (len(own), y[own].sum(), len(held_out)) == (5000, 25, 10_000)
    assert not set(own.tolist()) & set(held_out.tolist())
    own, _ = few_rows.cut(y, few_rows.FEW, 250, 3)
    assert len(own) == 250


def test_the_page_has_a_line_for_each_method_and_a_column_for_each_size():
    rows = [
        Result(
            part=few_rows.FEW, data="adult", method=method, epsilon=epsilon, x=size, repeat=repeat,
            measure="AUC", value=float(size) / 1000,
        )
        for method, epsilon in ((few_rows.BEST, 1.0), (few_rows.PLAIN, None))
        for size in ("1000", "250")
        for repeat in (0, 1)
    ]  # fmt: skip
    text = "\n".join(few_rows.body(Results(facts={"repeats": "2"}, rows=rows)))
    assert "| table, method | 250 rows | 1,000 rows |" in text
    assert "| adult, best, epsilon 1 | 0.250 ± 0.000 | 1.000 ± 0.000 |" in text
    assert "| adult, LightGBM | 0.250 ± 0.000 | 1.000 ± 0.000 |" in text


def quoted(page):
    """The cells of the table of a page, by the first one of the line."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([0-9,]+) \| (.*) \|$", text, re.MULTILINE)
    return {first.replace(",", ""): cells.split(" | ") for first, cells in lines}, text


@pytest.mark.parametrize(
    ("page", "part"), [("few-rows.md", few_rows.FEW), ("imbalanced-classes.md", few_rows.RARE)]
)
def test_the_pages_quote_what_was_measured(page, part):
    found = read(RESULTS / "few-rows.csv").rows
    lines, text = quoted(page)
    columns = [
        (name, method, epsilon)
        for name in few_rows.NAMES
        for method, epsilon in ((few_rows.BEST, 1.0), (few_rows.BEST, 4.0), (few_rows.PLAIN, None))
    ]
    assert len(lines) == 5
    for size, cells in lines.items():
        own = [row for row in found if row.part == part and row.x == size]
        for cell, (name, method, epsilon) in zip(cells, columns, strict=True):
            aucs = values(own, data=name, method=method, epsilon=epsilon, measure="AUC")
            assert cell == f"{np.mean(aucs):.3f}", (size, name, method, epsilon)
    if part == few_rows.RARE:
        own = [row for row in found if row.part == part and row.x == "100"]
        for name in few_rows.NAMES:
            pair = [
                np.mean(values(own, data=name, method=method, epsilon=1.0, measure="AUC"))
                for method in (few_rows.BEST, few_rows.WEIGHTED)
            ]
            assert f"from {pair[0]:.3f} to {pair[1]:.3f} on {name.capitalize()}" in text
