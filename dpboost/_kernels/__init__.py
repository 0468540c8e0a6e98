"""Compiled kernels: functions over typed views that know no epsilon and no policy.

Only ``dpboost.privacy`` and ``dpboost.random`` may import the noise, selection, coin and entropy
kernels; a test walks every file for imports that break this rule.
"""

from __future__ import annotations

from importlib import util

if util.find_spec("dpboost._kernels.histogram") is None:
    raise ImportError(
        "The compiled kernels of dpboost are missing. In a checkout run "
        "`python -m pip install -e .` first; it needs a C compiler and the Python headers."
    )
