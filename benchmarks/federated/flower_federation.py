"""Parties and a coordinator as processes of this machine, by Flower."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.federated.deployment import ROOT, free_ports, wait_for
from benchmarks.federated.process_watch import processes_of
from benchmarks.federated.relay import Relay
from dpboost.federated import Agreement, Identity, Party

APP = ROOT / "examples" / "06_federated_flower"
_PROGRAMS = Path(sys.executable).parent


def needs_flower() -> None:
    """Refuse where Flower is not there.

    Raises
    ------
    BenchmarkError
    """
    programs = ("flower-superlink", "flower-supernode", "flwr")
    if find_spec("flwr") is None or None in [which(x, path=_PROGRAMS) for x in programs]:
        raise BenchmarkError(
            "federated-flower needs Flower and its programs beside this Python: "
            "pip install 'dpboost[federated]'."
        )


class FlowerFederation:
    """A link, a node for each party, and the app of the example.

    Parameters
    ----------
    folder : Path
        For logs and settings.
    work : Path
        What the example's ``prepare.py`` writes: ``agreement.json``, and for each party
        ``rows0.npz`` and ``identity0``. Records and models go there too.

    Attributes
    ----------
    agreement : Agreement
    relays : list of Relay
        What the node of each party connects through.
    """

    def __init__(self, folder: Path, work: Path) -> None:
        self._folder = folder
        self._work = work
        self._home = folder / "flower"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.relays: list[Relay] = []
        self.agreement = Agreement.from_json((work / "agreement.json").read_text("utf-8"))
        self._rows = [
            dict(np.load(work / f"rows{index}.npz")) for index in range(self.agreement.n_parties)
        ]
        sizes = [len(rows["y"]) for rows in self._rows]
        self._first_rows = np.cumsum([0, *sizes]).tolist()

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes that were started; they start others."""
        return [process.pid for process in self._processes]

    def start(self) -> None:
        """Start everything but the app."""
        self._home.mkdir()
        link, *ports = free_ports(1 + self.agreement.n_parties)
        settings = f'[superlink.loopback]\naddress = "127.0.0.1:{link}"\ninsecure = true\n'
        (self._home / "config.toml").write_text(settings)
        self._start("link", "flower-superlink", "--port", str(link))
        wait_for(lambda: _listens(link), 600.0)
        for index, port in enumerate(ports):
            relay = Relay(link)
            self.relays.append(relay)
            self._start_party(index)
            node = ("--superlink", f"127.0.0.1:{relay.port}", "--port", str(port))
            config = f"party={index} socket='{self._work / f'socket{index}'}'"
            self._start(f"node{index}", "flower-supernode", *node, "--node-config", config)

    def run(self, seconds: float) -> str:
        """Run the app and return the model text.

        Raises
        ------
        BenchmarkError
            If there is none.
        """
        model = self._work / "model.txt"
        config = f"agreement='{self._work / 'agreement.json'}' model='{model}'"
        words = ["run", str(APP), "loopback", "--stream", "--run-config", config]
        done = subprocess.run(
            [str(_PROGRAMS / "flwr"), *words],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if not model.exists():
            raise BenchmarkError(f"Flower gave no model: {done.stdout}{done.stderr}")
        return model.read_text("utf-8")

    def parties(self) -> list[Party]:
        """Return the same parties, in this process."""
        return [
            Party(
                index,
                rows["X"],
                rows["y"],
                agreement=self.agreement,
                identity=Identity((self._work / f"identity{index}").read_bytes()),
                first_row=self._first_rows[index],
            )
            for index, rows in enumerate(self._rows)
        ]

    def stop(self) -> None:
        """End every process, and those that it has started."""
        for process in self._processes:
            stop(process)
        for relay in self.relays:
            relay.close()

    def _start_party(self, index: int) -> None:
        """Start the process of a hospital, as the example does."""
        settings = {"first_row": self._first_rows[index]}
        (self._work / f"party{index}.json").write_text(json.dumps(settings), "utf-8")
        path = self._folder / f"party{index}.log"
        with path.open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "hospitals.party", str(self._work), str(index)],
                    cwd=APP,
                    env=self._environment(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        wait_for(lambda: b"waits" in path.read_bytes(), 600.0)

    def _start(self, name: str, program: str, *words: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "hospitals.warm", program),
                        *("--insecure", "--host", "127.0.0.1", *words),
                    ],
                    cwd=APP,
                    env=self._environment(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "FLWR_HOME": str(self._home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
        }


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started, first by asking."""
    # Flower's server starts its app in a session of its own, which would go on.
    sessions = {int(fields[3]) for _, fields in processes_of([process.pid])} - {process.pid}
    _end(process)
    for session in sessions:
        with suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
