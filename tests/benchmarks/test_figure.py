from __future__ import annotations

import dataclasses

import pytest

from benchmarks.figure import draw
from tests.benchmarks.conftest import measured


@pytest.mark.parametrize("n_panels", [1, 5])
def test_a_panel_for_each_problem(experiment, bench, n_panels):
    pytest.importorskip("matplotlib")
    names = tuple(f"ramp{position}" for position in range(n_panels))
    problems = {name: dataclasses.replace(bench.problems["ramp"], name=name) for name in names}
    many = dataclasses.replace(experiment, problems=names)
    rows = measured(many, dataclasses.replace(bench, problems=problems))
    image = draw(rows, many, problems)
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == 1000
