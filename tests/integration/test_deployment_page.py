"""The page on deployment, followed step by step by five hospitals and a coordinator."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
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
    """Follow the second and third command for one side, as at 127.0.0.1."""
    key, signing = command
    own = key.replace("DNS:a.example", "IP:127.0.0.1").replace("hospital0", name)
    for text in (own, signing):
        for word in ("party.key", "party.csr", "party.pem"):
            text = text.replace(word, word.replace("party", name))
        run(text, folder)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the program 'openssl' is missing")
def test_five_hospitals_follow_the_page(tmp_path):
    ports = dict(zip(NAMES, free_ports(5), strict=True))
    (identity,) = blocks("console")
    (python,), (judging,) = blocks("python"), blocks("py")
    party_config, coordinator_config = (json.loads(text) for text in blocks("json"))
    openssl, serve, coordinate = blocks("sh")
    authority, *signed = [line for line in openssl.replace("\\\n", "").splitlines() if line]

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
        certificates(tmp_path, signed, name)
    processes = []
    try:
        for index, name in enumerate(NAMES):
            folder = tmp_path / name
            shutil.copy(tmp_path / "agreement.json", folder)
            shutil.copy(tmp_path / "authority.pem", folder)
            for ending in ("pem", "key"):
                shutil.copy(tmp_path / f"{name}.{ending}", folder / f"party.{ending}")
            own = {**party_config, "party": index, "listen": f"127.0.0.1:{ports[name]}"}
            (folder / "party.json").write_text(json.dumps(own))
            processes.append(run(serve.strip(), folder, goes_on=True))
        addresses = [f"127.0.0.1:{ports[each[0]]}" for each in coordinator_config["parties"]]
        config = {**coordinator_config, "parties": addresses}
        (tmp_path / "coordinator.json").write_text(json.dumps(config))
        said = run(coordinate.strip(), tmp_path)
        if shutil.which("curl"):
            (health,) = re.findall(r"`(curl [^`]*)`", PAGE.read_text("utf-8"))
            answer = run(health.replace("a.example:8443", addresses[0]), tmp_path)
            assert json.loads(answer)["messages"] > 0
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert said.startswith("Privacy: epsilon = 2, delta = 1e-07")
    _judge(tmp_path, judging, names, serve, coordinate)
    model = lightgbm.Booster(model_file=str(tmp_path / "model.txt"))
    young, old = model.predict(np.array([[25.0, 5.0], [100.0, 30.0]]))
    assert young < old


def _judge(folder, program, names, serve, coordinate):
    """The same processes with another agreement, new folders and a new journal."""
    previous = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(program, str(PAGE), "exec"), names)
    finally:
        os.chdir(previous)
    changes = {"agreement": "evaluation.json", "folder": "evaluation", "journal": "new.journal"}
    configs = [folder / name / "party.json" for name in NAMES] + [folder / "coordinator.json"]
    for path in configs:
        config = json.loads(path.read_text())
        config |= {name: value for name, value in changes.items() if name in config}
        path.write_text(json.dumps(config))
    processes = []
    try:
        for name in NAMES:
            shutil.copy(folder / "evaluation.json", folder / name)
            processes.append(run(serve.strip(), folder / name, goes_on=True))
        said = run(coordinate.strip().replace("model.txt", "figures.txt"), folder)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert said.startswith("Privacy: epsilon = 1")
    figures = (folder / "figures.txt").read_text()
    auc = float(re.search(r"auc +([0-9.]+) \[", figures).group(1))
    assert 0.8 < auc <= 1
