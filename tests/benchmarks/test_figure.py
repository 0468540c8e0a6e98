from __future__ import annotations

import dataclasses
import struct

import pytest

from benchmarks.figure import draw
from benchmarks.runner import run


@pytest.mark.parametrize(("n_panels", "n_columns", "n_lines"), [(2, 2, 1), (6, 5, 2)])
def test_panels_are_wrapped(experiment, bench, tmp_path, n_panels, n_columns, n_lines):
    pytest.importorskip("matplotlib")
    names = tuple(f"ramp{place}" for place in range(n_panels))
    problems = {name: dataclasses.replace(bench.problems["ramp"], name=name) for name in names}
    many = dataclasses.replace(experiment, problems=names)
    rows = run(many, tmp_path / "rows.csv", dataclasses.replace(bench, problems=problems))
    image = draw(rows, many, problems)
    assert struct.unpack(">II", image[16:24]) == (520 * n_columns, 440 * n_lines)
