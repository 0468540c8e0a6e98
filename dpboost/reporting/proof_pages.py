"""Proof pages in the sources by kind of release.

``tests/unit/test_proofs.py`` compares them with the pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

FOLDER = "docs/proofs"

#: Pages about all releases.
OF_ALL = (
    "accountants.md",
    "composition.md",
    "integers.md",
    "mechanisms.md",
    "samplers.md",
)

#: A label may end in a star.
PAGES: dict[str, tuple[str, ...]] = {
    "change of the loss": ("early-stopping.md",),
    "conformal balance": ("conformal.md",),
    "rows by bin": ("evaluation.md",),
    "categories": ("categories.md",),
    "cell sizes": ("counts.md",),
    "class counts": ("counts.md",),
    "class labels": ("categories.md",),
    "column choice": ("column-choice.md",),
    "common feature bound": ("learned-bounds.md",),
    "feature bounds": ("learned-bounds.md",),
    "fine histograms": ("fine-histograms.md",),
    "gradient moments": ("linear-start.md",),
    "impurity bounds": ("impurity-bounds.md",),
    "label bounds": ("learned-bounds.md",),
    "label range": ("label-range.md", "learned-bounds.md"),
    "leaf counts": ("counts.md",),
    "leaf sums": ("leaf-sums.md",),
    "leaf values": ("leaf-values.md",),
    "level histograms": ("level-histograms.md",),
    "magnitudes of errors": ("evaluation.md",),
    "node sizes": ("counts.md",),
    "range of scores": ("evaluation.md",),
    "reports": ("local-reports.md",),
    "row count": ("counts.md",),
    "scores": ("evaluation.md",),
    "scores by label": ("evaluation.md",),
    "second moments": ("linear-start.md",),
    "split choice": ("gain-choice.md", "impurity-choice.md"),
    "split gain": ("split-gain.md",),
    "start value": ("start-value.md",),
    "sums of errors": ("evaluation.md",),
    "threshold choice": ("impurity-choice.md",),
}


#: Machine-checked theorems, for the certificate.
MACHINE_CHECKED: dict[str, Any] = {
    "page": f"{FOLDER}/machine-checked.md",
    "checked": [
        "sensitivities of sums of integers, for 24 of the 26 kinds of queries",
        "sums in 64-bit words, and packed words",
        "composition with the ledger's filter, in pure privacy and zCDP",
        "samplers of discrete Laplace and discrete Gaussian noise, on ideal bits",
    ],
    "assumed": [
        "zCDP of one discrete Gaussian number",
        "Gaussian differential privacy and its lattice condition",
        "that the code is what tests compare it with",
    ],
}


def pages_of(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Return the proof pages of each kind of release, and those of all releases.

    Each has a ``kind`` and its ``pages``, paths in the sources; the pages of all releases are last.
    """
    found = {
        label: tuple(
            page for known, own in PAGES.items() if fnmatchcase(label, known) for page in own
        )
        for label in labels
    }
    return [
        {"kind": kind, "pages": [f"{FOLDER}/{page}" for page in pages]}
        for kind, pages in {**found, "all": OF_ALL}.items()
    ]
