from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import meter as module
from benchmarks.meter import Meter

ROOT = Path(__file__).parents[2]


def test_seconds_are_those_inside():
    with Meter() as meter:
        time.sleep(0.02)
    time.sleep(0.02)
    assert 0.02 <= meter.seconds < 0.04


def test_memory_is_what_was_taken_at_once_and_not_what_was_there():
    code = (
        "from benchmarks.meter import Meter\n"
        "kept = bytearray(60_000_000)\n"
        "gone = bytearray(120_000_000); del gone\n"
        "with Meter() as meter:\n"
        "    for _ in range(3): block = bytearray(30_000_000); del block\n"
        "print(meter.peak_mb)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    if done.stdout.strip() == "None":
        pytest.skip("this system does not count")
    if not module._RESET.exists():
        pytest.skip("the mark cannot be reset here")
    assert 29 <= float(done.stdout) <= 35


def test_without_a_counter_nothing_is_claimed(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(module, "_RESET", tmp_path / "none" / "none")
    monkeypatch.setattr(module, "resource", None)
    with Meter() as meter:
        pass
    assert meter.peak_mb is None


def test_elsewhere_than_on_linux_the_mark_of_the_process_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(module, "_RESET", tmp_path / "none" / "none")
    if module.resource is None:
        pytest.skip("no counter")
    with Meter() as meter:
        block = bytearray(1000)
    assert meter.peak_mb >= 0
    assert len(block) == 1000
