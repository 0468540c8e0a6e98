"""Parties and a coordinator as processes: a fit survives kills of any of them, and charges once."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from benchmarks.federated.chaos import _trees, body, measure
from benchmarks.federated.deployment import Deployment, wait_for
from benchmarks.harness.results import Results


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    fit = Deployment(tmp_path_factory.mktemp("alone") / "files", n_trees=4)
    try:
        fit.train()
    finally:
        fit.stop()
    return fit


def test_the_commands_train_a_model_that_lightgbm_loads(alone):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(500, 3))
    found = lightgbm.Booster(model_str=alone.model).predict(X)
    assert np.corrcoef(found, X[:, 0])[0, 1] > 0.5
    # The noise is from a seed here.
    assert "No privacy" in alone.log("coordinator")
    log = alone.log("party0")
    assert "party 0 listens at 127.0.0.1:" in log
    # Numbers of messages, and nothing else.
    rest = [line for line in log.splitlines() if "listens" not in line]
    assert rest == [f"message {number + 1} answered" for number in range(len(rest))]


@pytest.mark.parametrize("name", ["party1", "coordinator"])
def test_who_is_killed_half_way_goes_on(alone, tmp_path, name):
    fit = Deployment(tmp_path / "files", n_trees=4)
    try:
        for each in fit.names:
            fit.start(each)
        wait_for(lambda: fit.exchanges >= alone.exchanges // 2)
        assert fit.kill(name)
        fit.start(name)
        assert fit.code("coordinator", seconds=300) == 0, fit.log("coordinator")
    finally:
        fit.stop()
    assert _trees(fit.model) == _trees(alone.model)
    assert fit.charged() == alone.charged()
    if name == "coordinator":
        assert "goes on after" in fit.log("coordinator")


def test_a_second_process_with_the_same_folder_is_refused(tmp_path):
    fit = Deployment(tmp_path / "files", n_trees=4)
    other = Deployment.start
    try:
        fit.start("party0")
        wait_for(lambda: "listens" in fit.log("party0"))
        first = fit._processes.pop("party0")
        other(fit, "party0")
        assert fit.code("party0", seconds=60) == 2
        assert "no other process holds" in fit.log("party0")
        first.kill()
        first.wait()
    finally:
        fit.stop()


def test_the_page_counts_what_was_measured():
    rows = list(measure(0, 2, n_trees=2))
    found = {row.measure: row.value for row in rows}
    assert found["same trees"] == 1
    assert found["same charges"] == 1
    text = "\n".join(body(Results(rows=rows)))
    assert "| fits | 1 |" in text
