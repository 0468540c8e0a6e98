"""What the published sources of other libraries show to anyone who reads them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

_LOOKUP_SECONDS = 60

LookUp = Callable[[str], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A library and where its promise fails by its own sources.

    Attributes
    ----------
    library : str
        Its name.
    package : str
        Under which name it would be on the package index.
    version : str
        Release or commit that was read.
    measured_as : str
        Name of the method in ``run peers``; empty where it is not measured.
    reasons : tuple of str
        One sentence each.
    """

    library: str
    package: str
    version: str
    measured_as: str = ""
    reasons: tuple[str, ...]


READINGS: tuple[Reading, ...] = (
    Reading(
        library="interpret",
        package="interpret-core",
        version="release 0.7.8",
        measured_as="DP-EBM",
        reasons=(
            "A regression takes the distance of a label from the score for no larger than the "
            "range of the labels; the score is noisy and begins at 0, and nothing is clipped.",
            "A categorical column has the categories that are found in the rows.",
            "Bins end where their noisy weights pass a share of the exact number of rows, which "
            "the model also publishes if no bin gets there.",
        ),
    ),
    Reading(
        library="dp-xgboost",
        package="dp-xgboost",
        version="release 0.2.10",
        measured_as="dp-xgboost",
        reasons=(
            "All noise of a tree has the second of the clock as its seed, so trees of one second "
            "share theirs and anyone who knows the time of a fit can remove the noise.",
            "The noise of a leaf is as small as min_child_weight rows allow, and whether a node "
            "has as many is decided by its exact weight.",
            "Rows with large gradients are left out of the histograms but not of the totals of "
            "the nodes, from which the right-hand sums follow.",
            "The share of the budget for the histograms is spent again at every depth.",
            "The rows of each tree are drawn with seed 0 unless another is given: the gain from "
            "sampling needs a secret sample.",
        ),
    ),
    Reading(
        library="diffprivlib",
        package="diffprivlib",
        version="release 0.6.6",
        measured_as="diffprivlib forest",
        reasons=(
            "Rows are assigned to the trees by index and by their exact number: one row less "
            "moves others from tree to tree, and each tree spends the whole budget.",
            "The vote of a leaf is drawn as if only one count could change, which is so when a "
            "row is added or removed and not when it is replaced.",
        ),
    ),
    Reading(
        library="PrivaTree",
        package="privatree",
        version="commit 2aff7a0",
        reasons=(
            "The histogram of every column spends the budget of the whole node, although a row is "
            "in a cell of each: the budget of the splits is exceeded by as many times as there "
            "are columns.",
            "A node is a leaf as soon as all of its rows have one label or fewer than two are "
            "left, which is counted exactly.",
            "The exact number of rows divides the budget between splits and leaves.",
            "The labels are those of the rows.",
        ),
    ),
    Reading(
        library="S-BDT",
        package="sbdt",
        version="as published in 2024",
        reasons=(
            "The start value of a regression is a mean of labels clipped to [-t, t] with noise "
            "of scale t/(n epsilon), about half of what it needs, and n is the exact number of "
            "rows.",
            "Boosting ends when no row has budget of its own left, which is for the rows to tell.",
        ),
    ),
    Reading(
        library="Boosted trees of Maddock et al.",
        package="federated-boosted-dp-trees",
        version="commit 37f7117",
        reasons=(
            "Split candidates lie between the smallest and the largest value of the rows.",
            "The noise of the histogram for candidates has the scale epsilon, not 1/epsilon.",
        ),
    ),
)


def look_up(package: str) -> subprocess.CompletedProcess[str]:
    """Ask the package index which releases there are; nothing is downloaded or run."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions"]
    return subprocess.run(
        [*pip, package], capture_output=True, text=True, timeout=_LOOKUP_SECONDS, check=False
    )


def availability(package: str, look_up: LookUp = look_up) -> str:
    """Return in words whether a package is on the index of this machine; never raises.

    Parameters
    ----------
    package : str
        Name on the index.
    look_up : callable, optional
        Asks for it.
    """
    try:
        done = look_up(package)
    except (OSError, subprocess.SubprocessError) as error:
        return f"the index did not answer ({type(error).__name__})"
    if done.returncode == 0:
        return done.stdout.strip().splitlines()[0]
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return lines[-1] if lines else "the index did not answer"


def releases(look_up: LookUp = look_up) -> dict[str, str]:
    """Return what the index says of each package that is read and not measured, by its name."""
    return {
        item.package: availability(item.package, look_up)
        for item in READINGS
        if not item.measured_as
    }
