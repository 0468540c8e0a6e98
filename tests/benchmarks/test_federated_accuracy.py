import dataclasses

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks.federated import accuracy  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.problems import PROBLEMS  # noqa: E402


def test_every_setting_is_measured(tmp_path, monkeypatch):
    problem = PROBLEMS["adult"]
    rng = np.random.default_rng(0)
    names = [*problem.dictionary.bounds]
    frame = pd.DataFrame(rng.normal(size=(120, len(names))), columns=names)
    for name, values in problem.dictionary.categories.items():
        frame[name] = pd.Categorical(rng.choice(values[:2], 120), categories=values)
    labels = np.array(problem.dictionary.schema().classes)[rng.integers(0, 2, 120)]
    small = dataclasses.replace(problem, read=lambda paths: (frame, labels), files=())
    monkeypatch.setitem(PROBLEMS, "adult", small)
    monkeypatch.setattr(accuracy, "SETTINGS", (None, (2, 1)))
    accuracy._rows.cache_clear()
    text = carry_out(accuracy.FEDERATED_ACCURACY, tmp_path, Request(repeats=1), progress=False)
    accuracy._rows.cache_clear()
    assert "| one place | - | all |" in text
    assert "| 2 parties | 1 | all |" in text
