"""Numbers made of results."""

from __future__ import annotations

import pytest

from benchmarks.harness.derived import SPREAD, best_positions, deviations, differences, shifted
from benchmarks.harness.results import Result

ROWS = [
    Result(part="p", data=data, method=method, x=f"{x}", repeat=repeat, measure="m", value=value)
    for data, method, x, values in (
        ("d, one", "a", 1, (0.5, 0.7)),
        ("d, one", "b", 1, (0.25, 0.25)),
        ("d, two", "a", 2, (0.75, 0.5)),
    )
    for repeat, value in enumerate(values)
]


def test_differences_are_taken_repeat_by_repeat():
    found = differences(
        ROWS,
        name="gap",
        first=lambda row: row.method == "a",
        second=lambda row: row.method == "b",
        by=lambda row: row.data.partition(",")[0],
        x="9",
    )
    assert [(row.data, row.method, row.position, row.repeat) for row in found] == [
        ("d", "gap", 9.0, 0),
        ("d", "gap", 9.0, 1),
    ]
    assert [row.value for row in found] == pytest.approx([0.625 - 0.25, 0.6 - 0.25])


def test_a_repeat_with_one_side_has_no_difference():
    found = differences(
        ROWS, name="", first=lambda r: r.x == "2", second=lambda r: r.x == "3", by=lambda r: ""
    )
    assert found == []


def test_deviations_are_those_of_a_point():
    found = deviations(ROWS[:2], by_repeat=False)
    assert [row.value for row in found] == pytest.approx([0.1, 0.1])
    assert {row.part for row in found} == {f"p{SPREAD}"}
    # One draw a repeat says nothing of its spread.
    assert deviations(ROWS[:2], by_repeat=True) == []


def test_a_method_is_shifted_under_another_name():
    found = shifted(ROWS, method="b", name="b less .1", by=-0.1)
    assert [(row.method, row.value) for row in found] == [("b less .1", 0.15)] * 2


def test_the_best_position_is_found_for_every_repeat():
    rows = [
        Result(method="a", epsilon=1.0, x=x, repeat=repeat, measure="error", value=value)
        for x, values in (("3", (0.5, 0.1)), ("4", (0.4, 0.2)))
        for repeat, value in enumerate(values)
    ]
    found = best_positions(rows, measure="depth")
    assert [(row.position, row.value, row.measure) for row in found] == [
        (1.0, 4.0, "depth"),
        (1.0, 3.0, "depth"),
    ]
