"""The page on deployment, followed step by step by five hospitals and a coordinator."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest

from benchmarks.federated.deployment import free_ports

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "howto" / "deploy-parties.md"
NAMES = ("a", "b", "c", "d", "e")


def blocks(kind):
    text = PAGE.read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(command, folder, **options):
    words = shlex.split(command)
    if words[0] == "dpboost":
        words = [sys.executable, "-m", *words]
    given = {"cwd": folder, "env": {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}}
    if options.pop("goes_on", False):
        return subprocess.Popen(words, **given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = subprocess.run(words, **given, capture_output=True, text=True, check=False, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def certificates(folder, command, name):
    """Follow the second and third command for one side; the coordinator is at 127.0.0.1."""
    key, signing = command
    own = key.replace("hospital0", name)
    if name == "coordinator":
        own = own.replace("DNS:coordinator.example", "DNS:coordinator.example,IP:127.0.0.1")
    for text in (own, signing):
        for word in ("party.key", "party.csr", "party.pem"):
            text = text.replace(word, word.replace("party", name))
        run(text, folder)


def sockets_of(pid):
    """Return the states of the TCP sockets of a process, and its UDP sockets (Linux)."""
    names = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(entry)
            if target.startswith("socket:"):
                names.add(target[8:-1])
    found = []
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            words = line.split()
            if words[9] in names:
                found.append((kind, words[3]))
    return found


LISTENS = "0A"


def configured(folder, change, party_config, coordinator_config, port):
    for index, name in enumerate(NAMES):
        own = {**party_config, "party": index, "coordinator": f"127.0.0.1:{port}", **change}
        (folder / name / "party.json").write_text(json.dumps(own))
    own = {**coordinator_config, "listen": f"127.0.0.1:{port}", **change}
    own |= {"record": f"{change.get('agreement', 'first')}.log"}
    (folder / "coordinator.json").write_text(json.dumps(own))


def session(folder, serve, coordinate):
    """Start all six; return what the coordinator and the hospitals say."""
    first = run(coordinate.strip(), folder, goes_on=True)
    processes = [run(serve.strip(), folder / name, goes_on=True) for name in NAMES]
    seen = []
    try:
        while first.poll() is None:
            for process in processes:
                if process.poll() is None:
                    with contextlib.suppress(OSError):
                        seen += sockets_of(process.pid)
            time.sleep(0.2)
        said = [process.communicate(timeout=120)[0].decode() for process in (first, *processes)]
        assert [process.returncode for process in (first, *processes)] == [0] * 6, said
    finally:
        for process in (first, *processes):
            process.kill()
    return said, seen


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("openssl") is None, reason="the program 'openssl' is missing")
def test_five_hospitals_follow_the_page(tmp_path):
    (port,) = free_ports(1)
    (identity,) = blocks("console")
    (python,), (judging,) = blocks("python"), blocks("py")
    coordinator_config, party_config = (json.loads(text) for text in blocks("json"))
    openssl, coordinate, serve = blocks("sh")
    authority, *signed = [line for line in openssl.replace("\\\n", "").splitlines() if line]
    signed = [text.replace("hospital0.example", "coordinator.example") for text in signed]

    run(authority, tmp_path)
    rng = np.random.default_rng(0)
    keys = []
    for name in NAMES:
        folder = tmp_path / name
        folder.mkdir()
        keys.append(run(identity.removeprefix("$ "), folder).strip())
        age, days = rng.integers(18, 111, 400), rng.integers(0, 40, 400)
        back = np.where(age + days + rng.normal(0, 10, 400) > 80, "yes", "no")
        table = pd.DataFrame({"patient": range(400), "age": age, "days": days, "came_back": back})
        table.to_csv(folder / "stays.csv", index=False)

    line = next(line for line in python.splitlines() if line.startswith("public_keys"))
    previous = Path.cwd()
    os.chdir(tmp_path)
    names = {}
    try:
        exec(compile(python.replace(line, f"public_keys = {keys!r}"), str(PAGE), "exec"), names)
    finally:
        os.chdir(previous)

    for name in (*NAMES, "coordinator"):
        texts = signed
        if name != "coordinator":
            texts = [text.replace("coordinator.example", f"{name}.example") for text in signed]
        certificates(tmp_path, texts, name)
    for name in NAMES:
        folder = tmp_path / name
        shutil.copy(tmp_path / "agreement.json", folder)
        shutil.copy(tmp_path / "authority.pem", folder)
        for ending in ("pem", "key"):
            shutil.copy(tmp_path / f"{name}.{ending}", folder / f"party.{ending}")
    configured(tmp_path, {}, party_config, coordinator_config, port)
    said, sockets = session(tmp_path, serve, coordinate)
    assert "Privacy: epsilon = 2, delta = 1e-07" in said[0]
    # No party opens a port: all of their sockets are connections to the coordinator.
    if sys.platform.startswith("linux"):
        assert sockets
        assert {kind for kind, _ in sockets} <= {"tcp", "tcp6"}
        assert LISTENS not in {state for _, state in sockets}
    texts = {(tmp_path / name / "model.txt").read_text() for name in (*NAMES, ".")}
    assert len(texts) == 1
    for name, own in zip(NAMES, said[1:], strict=True):
        assert "connected to 'coordinator'" in own
        (charges,) = (tmp_path / name / "records").glob("*/charges.txt")
        assert "leaf sums" in charges.read_text()
    model = lightgbm.Booster(model_file=str(tmp_path / "model.txt"))
    young, old = model.predict(np.array([[25.0, 5.0], [100.0, 30.0]]))
    assert young < old

    # The same processes with another agreement.
    previous = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(compile(judging, str(PAGE), "exec"), names)
    finally:
        os.chdir(previous)
    for name in NAMES:
        shutil.copy(tmp_path / "evaluation.json", tmp_path / name)
    change = {"agreement": "evaluation.json"}
    configured(tmp_path, change, party_config, coordinator_config, port)
    figures = [command.replace("model.txt", "figures.txt") for command in (serve, coordinate)]
    said, _ = session(tmp_path, *figures)
    assert "Privacy: epsilon = 1" in said[0]
    texts = {(tmp_path / name / "figures.txt").read_text() for name in (*NAMES, ".")}
    assert len(texts) == 1
    assert "auc" in texts.pop()
    health = re.findall(r"`(curl [^`]*)`", PAGE.read_text("utf-8"))
    assert "https://coordinator.example:8443/health" in health[0]
