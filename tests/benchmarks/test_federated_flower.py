import socket
import subprocess
import sys
import threading
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from benchmarks.__main__ import main
from benchmarks.federated import flower, flower_federation, process_watch
from benchmarks.federated.deployment import wait_for
from benchmarks.federated.flower_federation import FlowerFederation
from benchmarks.federated.process_watch import ProcessWatch, processes_of
from benchmarks.federated.relay import Relay
from benchmarks.federated.scale import Size
from benchmarks.harness.results import Results
from benchmarks.harness.run import Request, carry_out

TINY = Size(parties=2, rows=60, features=2, rounds=2)


def test_a_relay_counts_what_goes_both_ways():
    server = socket.create_server(("127.0.0.1", 0))
    relay = Relay(server.getsockname()[1])

    def answer():
        one, _ = server.accept()
        one.recv(5, socket.MSG_WAITALL)
        one.sendall(b"x" * 200_000)
        one.close()

    thread = threading.Thread(target=answer)
    thread.start()
    with socket.create_connection(("127.0.0.1", relay.port)) as client:
        client.sendall(b"hello")
        received = b""
        while chunk := client.recv(1 << 16):
            received += chunk
    thread.join()
    relay.close()
    server.close()
    assert received == b"x" * 200_000
    assert (relay.up, relay.down) == (5, 200_000)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", relay.port))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_a_watch_sees_what_a_process_starts(tmp_path):
    child = tmp_path / "child"
    child.write_text("import time; full = bytes(range(256)) * 400_000; time.sleep(600)")
    parent = tmp_path / "parent"
    parent.write_text(
        "import subprocess, sys; "
        f"subprocess.run([sys.executable, {str(child)!r}], start_new_session=True)"
    )
    process = subprocess.Popen([sys.executable, str(parent)], start_new_session=True)
    try:
        with ProcessWatch([process.pid]) as watch:
            wait_for(lambda: watch.peaks["child"] > 102)
            wait_for(lambda: watch.together > watch.peaks["child"])
            assert watch.cpu_seconds() > 0
            started = {int(folder.name) for folder, _ in processes_of([process.pid])}
    finally:
        flower_federation.stop(process)
    assert len(started) == 2
    # One that has ended may be left as a zombie, where nobody asks for its code.
    wait_for(lambda: all(state[0] == "Z" for each in started for _, state in processes_of([each])))
    assert 0 < watch.peaks["parent"] < 102


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_a_module_is_named_with_its_first_word(tmp_path):
    (tmp_path / "waits.py").write_text("import time; time.sleep(600)")
    words = [sys.executable, "-m", "waits", "/some/where", "other"]
    process = subprocess.Popen(words, cwd=tmp_path, start_new_session=True)
    try:
        with ProcessWatch([process.pid]) as watch:
            wait_for(lambda: watch.peaks["waits where"] > 0)
    finally:
        flower_federation.stop(process)


def test_what_is_prepared_is_a_fit_of_parties_with_keys(tmp_path):
    flower.prepare(TINY, tmp_path)
    federation = FlowerFederation(tmp_path, tmp_path)
    assert len(federation.agreement.identities) == TINY.parties
    text, exchanges = flower.fit_here(federation, tmp_path / "here.txt")
    again, _ = flower.fit_here(federation, tmp_path / "again.txt")
    assert text == again
    assert f"Tree={TINY.rounds - 1}\n" in text
    assert len(exchanges) > TINY.rounds


@pytest.mark.parametrize("same", [True, False])
def test_models_and_bytes_are_compared(same, monkeypatch, tmp_path):
    def run(federation, seconds):
        text, _ = flower.fit_here(federation, tmp_path / "there.txt")
        return text if same else text.replace("Tree=1\n", "Tree=2\n")

    def start(federation):
        relays = [SimpleNamespace(down=down, up=9 - down, close=int) for down in (2, 4)]
        federation.relays += relays

    monkeypatch.setattr(FlowerFederation, "run", run)
    monkeypatch.setattr(FlowerFederation, "start", start)
    found = {row.measure: row.value for row in flower.measure(TINY)}
    assert found["same text"] == same
    assert (found["bytes down by Flower"], found["bytes up by Flower"]) == (4, 7)
    assert min(found["bytes down"], found["bytes up"]) > 100
    flower.body(Results(facts={"flower": "1.41.0"}, rows=flower.results_of(TINY, found)))


@pytest.mark.parametrize(("same", "said"), [(True, "the same text"), (False, "ANOTHER")])
def test_the_page_says_whether_the_models_are_equal(same, said):
    found = {**vars(TINY), "seconds": 90, "CPU seconds": 30, "exchanges": 8, "same text": same}
    found |= {"seconds in one process": 6, "bytes down": 4000, "bytes up": 2000}
    found |= {"bytes down by Flower": 9000, "bytes up by Flower": 7000}
    found |= {f"peak MB of {kind}": 12.4 for kind in (*flower.PROGRAMS.values(), "all together")}
    rows = flower.results_of(TINY, found)
    lines = flower.body(Results(facts={"flower": "1.41.0"}, rows=rows))
    assert f"| 2 | 60 x 2 | 2 | 90 | 30 | 6.0 | 4.00 | 2.0 | 1.0 | 4.5 | 3.5 | {said} |" in lines
    assert "| 2 x 60 x 2, 2 rounds | the party | 12 |" in lines
    assert "1.41.0" in lines[0]


@pytest.mark.parametrize("absent", ["package", "programs"])
def test_without_flower_the_command_says_what_brings_it(absent, monkeypatch, tmp_path, capsys):
    name = {"package": "find_spec", "programs": "which"}[absent]
    monkeypatch.setattr(flower_federation, name, lambda *_, **__: None)
    assert main(["run", "federated-flower", "--quick", "--output", str(tmp_path)]) == 1
    assert "pip install 'dpboost[federated]'" in capsys.readouterr().err


def test_where_nothing_tells_the_memory_the_command_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(flower, "needs_flower", lambda: None)
    monkeypatch.setattr(process_watch, "PROC", tmp_path / "none")
    assert main(["run", "federated-flower", "--quick", "--output", str(tmp_path)]) == 1
    assert "/proc: use Linux." in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.skipif(find_spec("flwr") is None, reason="the extra 'federated' is not installed")
def test_a_small_fit_is_measured(tmp_path):
    text = carry_out(flower.FEDERATED_FLOWER, tmp_path, Request(quick=True), progress=False)
    (line,) = (line for line in text.splitlines() if line.startswith("| 2 | 200 x 3 | 1 |"))
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[-1] == "the same text"
    # Flower carries the messages and more.
    assert float(cells[9]) > float(cells[7])
    assert float(cells[10]) > float(cells[8])
