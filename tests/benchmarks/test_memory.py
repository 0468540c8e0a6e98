"""The command that measures the memory of a fit."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
memory = pytest.importorskip("benchmarks.memory", reason="needs the module resource")

from benchmarks.problems import PROBLEMS  # noqa: E402


def test_the_peak_is_at_least_what_the_data_took(monkeypatch, capsys):
    problem = PROBLEMS["abalone"]
    names = [*problem.dictionary.bounds]
    frame = pd.DataFrame(np.zeros((30, len(names))), columns=names)
    for name, values in problem.dictionary.categories.items():
        frame[name] = pd.Categorical([values[0]] * 30, categories=values)
    small = dataclasses.replace(problem, read=lambda paths: (frame, np.full(30, 9.0)), files=())
    monkeypatch.setitem(PROBLEMS, "abalone", small)
    assert memory.main(["abalone"]) == 0
    found = re.search(r"30 x 8, .*: (\d+) MB at most, (\d+) MB", capsys.readouterr().out)
    assert int(found[1]) >= int(found[2]) > 0
