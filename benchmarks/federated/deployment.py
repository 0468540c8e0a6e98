"""Parties and a coordinator as processes of this machine, started by the command line."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.certificates import write_certificates
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.main import main
from dpboost.federated import FederatedBoostingClassifier, Identity
from dpboost.federated.party.party_session import folder_of
from dpboost.federated.party.record_log import RecordLog
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.messages import Key

N_PARTIES = 4
SIZES = (300, 500, 200, 100)
N_FEATURES = 3
NOISE_SEED = 11
ROOT = Path(__file__).resolve().parents[2]


class Deployment:
    """Files of a fit, and its processes.

    Parameters
    ----------
    folder : Path
        New; everything is written there.
    n_trees : int
    dropouts : int, default=0
        Parties that may be lost.
    timeout : float, default=120
        Seconds that the coordinator waits for a reply.
    forked : bool, default=False
        Whether processes come of one that has imported the library, which takes them most of
        their time to start; otherwise each is a new interpreter.
    sizes : sequence of int, optional
        Rows of each party.
    n_features : int, optional
    """

    def __init__(
        self,
        folder: Path,
        n_trees: int,
        *,
        dropouts: int = 0,
        timeout: float = 120,
        forked: bool = False,
        sizes: Sequence[int] = SIZES,
        n_features: int = N_FEATURES,
    ) -> None:
        self.folder = folder
        self._forked = forked
        self._processes: dict[str, subprocess.Popen[bytes] | _Forked] = {}
        folder.mkdir(parents=True)
        names = [f"party{index}" for index in range(len(sizes))]
        write_certificates(folder, [*names, "coordinator"])
        identities = [Identity() for _ in names]
        features = [f"x{column}" for column in range(n_features)]
        terms = FederatedBoostingClassifier(
            epsilon=4.0,
            delta=1e-6,
            schema={"bounds": dict.fromkeys(features, (0, 1)), "classes": ["no", "yes"]},
            n_estimators=n_trees,
            random_state=0,
            noise_seed=NOISE_SEED,
        ).agreement(len(sizes), features, [each.public for each in identities])
        terms = dataclasses.replace(terms, dropouts=dropouts, coordinator="coordinator")
        self.terms = terms
        (folder / "agreement.json").write_text(terms.to_json(), "utf-8")
        rng = np.random.default_rng(0)
        (port,) = free_ports(1)
        for index, name in enumerate(names):
            (folder / f"identity{index}").write_bytes(identities[index].secret)
            X = rng.uniform(size=(sizes[index], n_features))
            y = np.where(X[:, 0] + rng.normal(0, 0.2, len(X)) > 0.5, "yes", "no")
            rows = [",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)]
            (folder / f"rows{index}.csv").write_text("\n".join([",".join([*features, "y"]), *rows]))
            self._write(
                name,
                {
                    "party": index,
                    "agreement": "agreement.json",
                    "data": f"rows{index}.csv",
                    "target": "y",
                    "folder": f"state{index}",
                    "identity": f"identity{index}",
                    "coordinator": f"127.0.0.1:{port}",
                    "certificate": f"{name}.pem",
                    "key": f"{name}.key",
                    "authority": "authority.pem",
                },
            )
        self._write(
            "coordinator",
            {
                "agreement": "agreement.json",
                "listen": f"127.0.0.1:{port}",
                "record": "session.log",
                "certificate": "coordinator.pem",
                "key": "coordinator.key",
                "authority": "authority.pem",
                "timeout": timeout,
            },
        )
        self.names = (*names, "coordinator")

    def start(self, name: str) -> None:
        """Start a process, or start it again."""
        config = str(self.folder / f"{name}.json")
        command = ["party", "--config", config]
        if name == "coordinator":
            command = ["coordinate", "--config", config, "-o", str(self.folder / "model.txt")]
        if self._forked:
            self._processes[name] = _Forked(command, str(self.folder / f"{name}.log"))
            return
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "dpboost", *command],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            )

    def kill(self, name: str) -> bool:
        """Kill a process at once (SIGKILL); say whether it was still running."""
        process = self._processes[name]
        if process.poll() is not None:
            return False
        process.kill()
        process.wait()
        return True

    def code(self, name: str, *, seconds: float | None = None) -> int | None:
        """Return the exit code of a process; nothing while it runs, for so long at most."""
        try:
            return self._processes[name].wait(seconds or 0.001)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """Kill whatever is left."""
        for name in self._processes:
            self.kill(name)

    def train(self, seconds: float = 600.0) -> None:
        """Start everything and wait for the model.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        for name in self.names:
            self.start(name)
        if self.code("coordinator", seconds=seconds) != 0:
            raise RuntimeError(self.log("coordinator"))

    @property
    def model(self) -> str:
        """The model text."""
        return (self.folder / "model.txt").read_text("utf-8")

    @property
    def replies(self) -> list[Key]:
        """The keys to whose messages the coordinator has replied, in their order."""
        path = self.folder / "session.log"
        try:
            return [
                Key(record["step"], record["kind"])
                for content in RecordLog(path).read()
                for record in [m.decode(content, dict)]
            ]
        except InvalidParameterError:  # It is being written.
            return []

    @property
    def exchanges(self) -> int:
        """Replies in the coordinator's record."""
        return len(self.replies)

    def log(self, name: str) -> str:
        """Return what a process has printed."""
        return (self.folder / f"{name}.log").read_text("utf-8")

    def said(self, name: str, word: str) -> int:
        """Return how often a process has printed a word."""
        path = self.folder / f"{name}.log"
        return path.read_text("utf-8").count(word) if path.exists() else 0

    def book(self, index: int) -> list[str]:
        """Return the lines of a party's own records."""
        path = folder_of(self.folder / f"state{index}", self.terms.digest) / "charges.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def charged(self) -> list[list[str]]:
        """Return what each party has recorded, without the digests of steps."""
        return [
            [line.rpartition(", ")[0] for line in self.book(index)] for index in range(N_PARTIES)
        ]

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(content), "utf-8")


class _Forked:
    """A process of `multiprocessing` that runs a command, with the methods of ``Popen``."""

    def __init__(self, command: list[str], log: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._process = context.Process(target=_run, args=(command, log), daemon=True)
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("dpboost", timeout or 0.0)
        return self._process.exitcode


def _run(command: list[str], log: str) -> None:
    """Run a command of ``dpboost`` as the process that this is."""
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.exit(main(command))


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    """Wait until a condition holds.

    Raises
    ------
    TimeoutError
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


def free_ports(n: int) -> list[int]:
    """Return ports of this machine that no one listens to."""
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
