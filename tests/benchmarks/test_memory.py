"""The command that measures the memory of a fit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
memory = pytest.importorskip("benchmarks.memory", reason="needs the module resource")

from benchmarks.errors import BenchmarkError  # noqa: E402
from benchmarks.harness.results import Result  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.problems import PROBLEMS  # noqa: E402


def test_the_peak_is_at_least_what_the_data_took(monkeypatch):
    problem = PROBLEMS["abalone"]
    names = [*problem.dictionary.bounds]
    frame = pd.DataFrame(np.zeros((30, len(names))), columns=names)
    for name, values in problem.dictionary.categories.items():
        frame[name] = pd.Categorical([values[0]] * 30, categories=values)
    small = dataclasses.replace(problem, read=lambda paths: (frame, np.full(30, 9.0)), files=())
    monkeypatch.setitem(PROBLEMS, "abalone", small)
    found = memory.fit("abalone")
    assert found["peak MB"] >= found["MB once the data were read"] > 0
    assert (found["rows"], found["columns"]) == (30, 8)


def test_the_page_has_a_line_for_each_data_set(tmp_path, monkeypatch):
    numbers = {"rows": 1000.0, "columns": 3.0, "rounds": 5.0, "peak MB": 70.0, "seconds": 1.25}
    numbers["MB once the data were read"] = 60.0

    def measure(name):
        return [Result(data=name, measure=key, value=value) for key, value in numbers.items()]

    monkeypatch.setattr(memory, "_measure", measure)
    kind = type(memory.PROBLEMS["abalone"])
    monkeypatch.setattr(kind, "local_digests", lambda problem: {"file": problem.name})
    text = carry_out(memory.MEMORY, tmp_path, Request(problem="abalone"), progress=False)
    assert "| abalone | 1,000 x 3 | 5 | 70 | 60 | 1.2 |" in text
    with pytest.raises(BenchmarkError, match="no data set 'nonsense'"):
        memory.plan(Request(problem="nonsense"))
