"""Three nodes and a coordinator on the loopback, each a process of its own, through Flower."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpboost.federated import Agreement, Party
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.transport import LocalChannel
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.training.boosting import boost
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.model_text.writer import model_text

pytest.importorskip("flwr", reason="the extra 'federated' is not installed")

ROOT = Path(__file__).resolve().parents[4]
APP = ROOT / "examples" / "06_federated_flower"
N_PARTIES = 3
PATIENCE = 900


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(port):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("Flower's server does not start.")


@pytest.fixture
def federation(tmp_path):
    """Start a link and three nodes, with the example's rows, keys and agreement."""
    programs = Path(sys.executable).parent
    if shutil.which("flower-superlink", path=str(programs)) is None:
        pytest.skip("Flower's programs are not beside this interpreter")
    work, home = tmp_path / "work", tmp_path / "home"
    home.mkdir()
    environment = os.environ | {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
    }
    prepare = [sys.executable, str(APP / "prepare.py"), str(work), "11"]
    subprocess.run(prepare, env=environment, check=True, timeout=120)
    link, *ports = free_ports(1 + N_PARTIES)
    settings = f'[superlink.loopback]\naddress = "127.0.0.1:{link}"\ninsecure = true\n'
    (home / "config.toml").write_text(settings)
    running = []

    def start(name, *arguments):
        log = (tmp_path / f"{name}.log").open("w")
        command = [str(programs / arguments[0]), "--insecure", "--host", "127.0.0.1"]
        running.append(
            subprocess.Popen(
                [*command, *arguments[1:]],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    try:
        start("link", "flower-superlink", "--port", str(link))
        wait_for(link)
        first_row = 0
        for index, port in enumerate(ports):
            config = (
                f"party={index} agreement='{work}/agreement.json' rows='{work}/rows{index}.npz' "
                f"identity='{work}/identity{index}' folder='{work}/party{index}' "
                f"first-row={first_row}"
            )
            node = ("--superlink", f"127.0.0.1:{link}", "--port", str(port))
            start(f"node{index}", "flower-supernode", *node, "--node-config", config)
            first_row += len(np.load(work / f"rows{index}.npz")["y"])
        yield work, environment, programs
    finally:
        for process in running:
            stop(process)


def stop(process):
    """End a process and those that it has started, all in a group of their own."""
    for number in (15, 9):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue


def trees_of(lines):
    return lines[lines.index("Tree=0") : lines.index("end of trees")]


def test_a_network_of_processes_gives_the_model_of_one_process(federation):
    work, environment, programs = federation
    model = work / "model.txt"
    config = f"agreement='{work}/agreement.json' model='{model}'"
    done = subprocess.run(
        [str(programs / "flwr"), "run", str(APP), "loopback", "--stream", "--run-config", config],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert model.exists(), done.stdout + done.stderr
    agreement = Agreement.from_json((work / "agreement.json").read_text("utf-8"))
    parties, first_row = [], 0
    for index in range(N_PARTIES):
        rows = np.load(work / f"rows{index}.npz")
        identity = Identity((work / f"identity{index}").read_bytes())
        parties.append(
            Party(
                index,
                rows["X"],
                rows["y"],
                agreement=agreement,
                identity=identity,
                first_row=first_row,
            )
        )
        first_row += len(rows["y"])
    local = boost(Coordinator(agreement, LocalChannel(parties)))
    found = Booster(model_file=str(model)).model_to_string().splitlines()
    expected = Booster(model_str=model_text(local.ensemble)).model_to_string().splitlines()
    trees = [
        lines[lines.index("Tree=0") : lines.index("end of trees")] for lines in (found, expected)
    ]
    assert trees[0] == trees[1]
    # The records of a party are on its own disk, and complete.
    rows = np.load(work / "rows1.npz")
    identity = Identity((work / "identity1").read_bytes())
    again = Party(1, rows["X"], rows["y"], agreement=agreement, identity=identity)
    with PartyStore(work / "party1").attached(again):
        assert again.ledger.root.total == parties[1].ledger.root.total


@pytest.mark.parametrize("content", [10**15, 2.5, "text", [1, 2]])
def test_what_is_not_bytes_is_no_message(content):
    from dpboost.federated.protocol.flower import _bytes

    assert _bytes(b"message") == b"message"
    assert _bytes(content) == b""
