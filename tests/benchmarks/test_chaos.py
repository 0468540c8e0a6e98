"""Parties and a coordinator as processes: a fit survives kills of any of them, and charges once."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from benchmarks.federated.chaos import ERROR, OTHER, SAME, _trees, body, measure
from benchmarks.federated.deployment import N_PARTIES, Deployment, wait_for
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
    assert "party 0 connects to 127.0.0.1:" in log
    # Who the coordinator is, the report, and nothing else.
    assert "connected to 'coordinator', certificate SHA-256" in log
    assert "party 0 is 'party0', certificate SHA-256" in alone.log("coordinator")


@pytest.mark.parametrize("name", ["party1", pytest.param("coordinator", marks=pytest.mark.nightly)])
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
        assert "resumes after" in fit.log("coordinator")


def test_a_second_process_with_the_same_folder_is_refused(tmp_path):
    fit = Deployment(tmp_path / "files", n_trees=4)
    other = Deployment.start
    try:
        fit.start("coordinator")
        fit.start("party0")
        wait_for(lambda: "connects" in fit.log("party0"))
        first = fit._processes.pop("party0")
        other(fit, "party0")
        assert fit.code("party0", seconds=60) == 2
        assert "no other process holds" in fit.log("party0")
        first.kill()
        first.wait()
    finally:
        fit.stop()


def numbers(rows):
    return {(row.measure, row.part): row.value for row in rows}


def test_the_page_counts_what_was_measured():
    rows = list(measure(0, 2, n_trees=2))
    found = numbers(rows)
    assert found["outcome", SAME] == 1
    assert found["same charges", ""] == 1
    assert found["books looked at", ""] >= N_PARTIES
    assert found["books that show less than was released", ""] == 0
    # A fast fit may have ended before it is killed a second time.
    n_kills = round(sum(row.value for row in rows if row.measure == "kills"))
    assert 1 <= n_kills <= 2
    text = "\n".join(body(Results(rows=rows)))
    assert f"| all start again | 1 | {n_kills} | 1 | 0 | 0 |" in text
    assert f"| all | {n_kills} |" in text


@pytest.mark.nightly
def test_a_party_that_is_lost_leaves_a_model_and_two_an_error():
    one = numbers(measure(0, 0, ("party1",), n_trees=2))
    assert {part for name, part in one if name == "outcome"} <= {OTHER, ERROR, SAME}
    two = numbers(measure(0, 0, ("party1", "party2"), n_trees=2))
    assert two["outcome", ERROR] == 1
    assert one["books that show less than was released", ""] == 0
    assert two["books that show less than was released", ""] == 0


def test_books_that_show_less_are_counted(monkeypatch):
    monkeypatch.setattr(Deployment, "book", lambda fit, index: [])
    found = numbers(measure(0, 1, n_trees=2))
    assert found["books that show less than was released", ""] >= N_PARTIES
