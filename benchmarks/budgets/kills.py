"""A budget in a file, whose process is killed at random moments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Children take a ten-thousandth at a time and tell of every draw, before it, through a pipe.
PROGRAM = """
import os, random, signal, sys, time, warnings
from fractions import Fraction

import numpy as np

from dpboost import Budget, DPTreeClassifier
from dpboost.budgeting.claim import Claim
from dpboost.privacy.ledger import Ledger

warnings.simplefilter("ignore")
path, planted, kills = sys.argv[1], sys.argv[2] == "planted", int(sys.argv[3])
part = Fraction(1, 10_000)
Budget(epsilon=1000, delta=0).save(path)
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 1))
y = X[:, 0] > 0
model = DPTreeClassifier(schema=dict(bounds={0: (-3, 3)}, classes=[0, 1]), max_depth=1)
reserve, draw = Claim.reserve, Ledger._draw


def child(pipe):
    if planted:
        late = []
        Claim.reserve = lambda claim: late.append(claim)
    told = []

    def watched(self, entry, value):
        if not told:
            told.append(os.write(pipe, b"."))
        return draw(self, entry, value)

    Ledger._draw = watched
    budget = Budget.load(path)
    while True:
        told.clear()
        model.fit(X, y, budget=budget, fraction=part)
        if planted:
            reserve(late.pop())


released = 0
random.seed(1)
for _ in range(kills):
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            child(theirs)
        finally:
            os._exit(1)
    os.close(theirs)
    released += len(os.read(ours, 1))
    time.sleep(random.uniform(0, 0.05))
    os.kill(process, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    while more := os.read(ours, 4096):
        released += len(more)
    os.close(ours)
    booked = len(Budget.load(path).lines)
    print(released, booked, flush=True)
"""


def runs(path: Path, kills: int, *, planted: bool = False) -> list[tuple[int, int]]:
    """Return how many fits drew, and how many are recorded, after each kill.

    Parameters
    ----------
    path : Path
        Of the new file of the budget.
    kills : int
    planted : bool, default=False
        Whether lines are written after the draws, which has to be seen.
    """
    root = Path(__file__).resolve().parents[2]
    kind = "planted" if planted else "as it is"
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, os.fspath(path), kind, str(kills)],
        capture_output=True,
        text=True,
        timeout=60 + 10 * kills,
        env={**os.environ, "PYTHONPATH": os.fspath(root), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if found.returncode:
        raise RuntimeError(found.stderr)
    lines = [line.split() for line in found.stdout.splitlines()]
    return [(int(released), int(booked)) for released, booked in lines]
