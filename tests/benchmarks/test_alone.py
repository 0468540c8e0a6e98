from __future__ import annotations

import dataclasses
import os
import pickle

import numpy as np
import pytest

from benchmarks import alone, runner
from benchmarks.alone import fit_alone
from benchmarks.problems import PROBLEMS
from tests.benchmarks.conftest import measured

LABELS = np.array([1.0, 2.0, 3.0, 6.0])


def test_a_fit_alone_happens_in_another_process(monkeypatch):
    monkeypatch.setattr(alone, "load_library", None)
    X = np.zeros((4, 1))
    # The function that reads this problem cannot be pickled.
    result = fit_alone("constant", PROBLEMS["fried"], X, LABELS, X, epsilon=None, seed=0, n_jobs=1)
    assert result.prediction.tolist() == [3.0] * 4


def test_what_a_fit_alone_raises_comes_back():
    X = np.zeros((4, 1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        fit_alone(
            "constant",
            PROBLEMS["abalone"],
            X,
            LABELS,
            X,
            epsilon=None,
            seed=0,
            n_jobs=1,
            depth=1,
        )


class Fatal:
    """Ends the process that reads it."""

    def __reduce__(self):
        return os._exit, (3,)


def test_a_process_that_ends_without_an_answer_is_told():
    with pytest.raises(RuntimeError, match=r"process of the fit ended with [13]\."):
        fit_alone("constant", PROBLEMS["abalone"], Fatal(), epsilon=None, seed=0, n_jobs=1)


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_problem_can_be_sent_to_another_process(name):
    sent = dataclasses.replace(PROBLEMS[name], read=alone._is_read)
    assert pickle.loads(pickle.dumps(sent)).dictionary == sent.dictionary


@pytest.mark.parametrize("own_environment", [False, True])
def test_memory_is_recorded_where_each_fit_has_a_process(
    experiment, bench, library, monkeypatch, own_environment
):
    sent = []

    def fit_elsewhere(name, *arguments, **settings):
        sent.append(name)
        return library.fit_predict(*arguments, **settings)

    fit = library.fit_predict
    library.fit_predict = lambda *a, **k: dataclasses.replace(fit(*a, **k), peak_mb=5.0)
    monkeypatch.setattr(runner, "fit_alone", fit_elsewhere)
    monkeypatch.setattr(runner, "marks", lambda folder: {})
    monkeypatch.setattr(runner, "releases", dict)
    if own_environment:
        library.prepare = lambda: None
    together = measured(experiment, bench)
    assert sent == []
    assert {row.peak_mb for row in together} == {None}
    rows = measured(dataclasses.replace(experiment, alone=True), bench)
    assert sent == ([] if own_environment else ["fake"] * 6)
    assert {row.peak_mb for row in rows} == {5.0}
    assert {row.accuracy for row in rows} == {None}
