"""Compiled kernels: functions over typed views that know no epsilon and no policy.

Only ``dpboost.privacy`` and ``dpboost.random`` may import the noise, selection, coin and entropy
kernels; a test walks every file for imports that break this rule.

Kernels that pass over rows are built twice, the second time for x86-64-v3 into the folder ``v3``,
which is searched first where the machine runs that. Both builds give the same bits.
"""

from __future__ import annotations

from importlib import util
from pathlib import Path

if util.find_spec("dpboost._kernels.machine") is None:
    raise ImportError(
        "The compiled kernels of dpboost are missing. In a checkout run "
        "`python -m pip install -e .` first; it needs a C compiler and the Python headers."
    )

from dpboost._kernels import machine

if machine.has_v3():
    __path__.insert(0, str(Path(__file__).parent / "v3"))
