"""Three nodes and a coordinator on the loopback, each a process of its own, through Flower."""

import os
import subprocess
import sys

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.federated.deployment import ROOT
from benchmarks.federated.flower_federation import APP, FlowerFederation, needs_flower
from benchmarks.federated.process_watch import ProcessWatch
from dpboost.federated import outcome_of
from tests.unit.federated.channels import run

pytest.importorskip("flwr", reason="the extra 'federated' is not installed")

PATIENCE = 900


@pytest.fixture
def federation(tmp_path):
    """Start a link, three hospitals and three nodes, with the example's rows and agreement."""
    try:
        needs_flower()
    except BenchmarkError as error:
        pytest.skip(str(error))
    prepare = [sys.executable, str(APP / "prepare.py"), str(tmp_path / "work"), "11"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(prepare, env=environment, check=True, timeout=120)
    found = FlowerFederation(tmp_path, tmp_path / "work")
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_network_of_processes_gives_the_model_of_one_process(federation, tmp_path):
    with ProcessWatch(federation.processes) as watch:
        text = federation.run(PATIENCE)
    result = run(federation.agreement, federation.parties()).coordinator
    outcome_of(result).booster_.save_model(tmp_path / "expected.txt")
    assert text == (tmp_path / "expected.txt").read_text("utf-8")
    # What Flower starts for a message is a fork, not a program that imports Flower again.
    started = set(watch.peaks)
    assert "hospitals.warm flower-supernode" in started
    assert not {"flower-superexec", "flwr-serverapp", "flwr-clientapp"} & started
    # The records of a party are on its own disk, and complete.
    (charges,) = (tmp_path / "work" / "records1").glob("*/charges.txt")
    assert len(charges.read_text("utf-8").splitlines()) == len(result.ledger.entries)
