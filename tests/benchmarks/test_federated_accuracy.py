import dataclasses

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks.federated import accuracy, held_out, losses, skew  # noqa: E402
from benchmarks.harness.results import Result, Results  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.problems import PROBLEMS  # noqa: E402


@pytest.fixture
def adult(monkeypatch):
    """A small table in the place of the large one."""
    problem = PROBLEMS["adult"]
    rng = np.random.default_rng(0)
    names = [*problem.dictionary.bounds]
    frame = pd.DataFrame(rng.normal(size=(120, len(names))), columns=names)
    for name, values in problem.dictionary.categories.items():
        frame[name] = pd.Categorical(rng.choice(values[:2], 120), categories=values)
    labels = np.array(problem.dictionary.schema().classes)[rng.integers(0, 2, 120)]
    small = dataclasses.replace(problem, read=lambda paths: (frame, labels), files=())
    monkeypatch.setitem(PROBLEMS, "adult", small)
    held_out.rows_of.cache_clear()
    yield
    held_out.rows_of.cache_clear()


def test_every_setting_is_measured(tmp_path, monkeypatch, adult):
    monkeypatch.setattr(accuracy, "SETTINGS", (None, (2, 1)))
    text = carry_out(accuracy.FEDERATED_ACCURACY, tmp_path, Request(repeats=1), progress=False)
    assert "| one place | - | all |" in text
    assert "| 2 parties | 1 | all |" in text


def test_parties_are_lost_at_once_and_one_by_one(tmp_path, monkeypatch, adult):
    for name, value in {"N_EQUAL": 5, "N_LOST": 2, "N_CENTRAL": 2, "ROUNDS": 3}.items():
        monkeypatch.setattr(losses, name, value)
    text = carry_out(losses.FEDERATED_LOSSES, tmp_path, Request(repeats=1), progress=False)
    assert "5 parties with as many rows each, of whom 2 are lost for good" in text
    assert "| lost before the first release |" in text
    assert "| lost one after the other |" in text


@pytest.mark.parametrize(("loss", "said"), [(0.0, "yes"), (0.0015, "no"), (0.003, "no")])
def test_a_loss_is_met_where_the_whole_interval_is_above_it(loss, said):
    rows = [
        Result(
            data="adult",
            method=how,
            epsilon=1.0,
            repeat=repeat,
            measure="AUC",
            value=0.9 if how == losses._REMAIN else 0.9 - loss + step,
        )
        for repeat, step in enumerate((-0.002, 0.002) * 4)
        for how in (losses._REMAIN, losses._AT_ONCE, losses._ONE_BY_ONE)
    ]
    lines = losses.body(Results(facts={}, rows=rows))
    found = [line.split("|")[-2].strip() for line in lines if line.startswith("| lost")]
    assert found == [said, said]


def test_parties_that_differ_are_measured_together_and_alone(tmp_path, monkeypatch, adult):
    monkeypatch.setattr(skew, "N_PARTIES", 3)
    monkeypatch.setattr(skew, "SKEWS", (0.1,))
    text = carry_out(skew.FEDERATED_SKEW, tmp_path, Request(repeats=1), progress=False)
    assert "| 0.1 |" in text
    assert "among 3 parties by a Dirichlet distribution" in text


@pytest.mark.parametrize("parameter", [0.1, 10.0])
def test_every_row_is_at_one_party(parameter):
    y = np.repeat([0, 1], [300, 100])
    parts = skew.divided(y, parameter, 0)
    assert len(parts) == skew.N_PARTIES
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(400))
    shares = [y[part].mean() for part in parts if len(part)]
    # The smaller the parameter the more the parties differ.
    assert (max(shares) - min(shares) > 0.6) == (parameter < 1)
