"""The cost of processes is measured on a small fit."""

from __future__ import annotations

import re
import sys

import pytest

from benchmarks import https_cost


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="no CPU time of children there")
def test_it_is_measured_and_written(monkeypatch, tmp_path, capsys):
    arguments = ["--rows", "100", "--features", "2", "--rounds", "2", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["https_cost", *arguments])
    https_cost.main()
    text = (tmp_path / "https-cost.md").read_text()
    assert text in capsys.readouterr().out
    found = re.findall(r"\| ([\d.]+) \| [\d.]+ \|", text)
    spent, imports, stock = (float(each) for each in found)
    assert spent > imports / 2 > stock / 4 > 0
    assert "2 rounds" in text
