"""Three nodes and a coordinator on the loopback, each a process of its own, through Flower."""

import os
import subprocess
import sys

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.federated.deployment import ROOT
from benchmarks.federated.flower_federation import APP, FlowerFederation, needs_flower
from dpboost.federated import FederatedBoostingClassifier, LocalChannel
from dpboost.federated.party.party_store import PartyStore

pytest.importorskip("flwr", reason="the extra 'federated' is not installed")

PATIENCE = 900


@pytest.fixture
def federation(tmp_path):
    """Start a link and three nodes, with the example's rows, keys and agreement."""
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


@pytest.mark.filterwarnings("ignore")
def test_a_network_of_processes_gives_the_model_of_one_process(federation, tmp_path):
    text = federation.run(PATIENCE)
    parties = federation.parties()
    model = FederatedBoostingClassifier(schema=federation.agreement.schema, verbosity=0)
    model.fit_channel(LocalChannel(parties), federation.agreement)
    model.booster_.save_model(tmp_path / "expected.txt")
    assert text == (tmp_path / "expected.txt").read_text("utf-8")
    # The records of a party are on its own disk, and complete.
    again = federation.parties()[1]
    with PartyStore(tmp_path / "work" / "party1").attached(again):
        assert again.ledger.root.total == parties[1].ledger.root.total


@pytest.mark.parametrize("content", [10**15, 2.5, "text", [1, 2]])
def test_what_is_not_bytes_is_no_message(content):
    from dpboost.federated.protocol.flower import _bytes

    assert _bytes(b"message") == b"message"
    assert _bytes(content) == b""
