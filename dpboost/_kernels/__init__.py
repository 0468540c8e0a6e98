"""Compiled kernels: functions over typed views that know no epsilon and no policy.

Only ``dpboost.privacy`` may import the noise, selection, coin and entropy kernels; a test walks
every file for imports that break this rule.

Kernels that gain a tenth of their time from it are built twice, the second time for x86-64-v3 into
the folder ``v3``, which is searched first where the machine runs that. Both builds give the same
bits.

What calls from several threads share:

* Functions write to nothing but what their caller gives them. Numbers of a module (``ROUNDER``,
  ``SIGN``, tables of digits) are never written to.
* ``entropy.SystemEntropy`` has a buffer. Two draws at once would hand out one word twice, so
  every kernel that draws holds the generator's lock for the whole call, as numpy does. What
  counts forks is written in a child alone, before it has a second thread.
* ``small_tree_gain.FewRows``, and outside of the kernels ``Workspace`` and ``BoostingState``,
  belong to one fit, which asks them from one thread; a cell of Dask has a lock of its own. Memory
  that a workspace lends again is free when no view of it is left, which reference counts tell
  exactly.
* What is cached for all fits (tables of losses, children of complete trees) cannot be written to.

The unit tests of kernels and of ``dpboost.privacy.randomness`` pass under pytest-run-parallel.
Free-threaded Python is refused by ``setup.py``, because no build there has been tested.
"""

from __future__ import annotations

from importlib import util
from pathlib import Path

if util.find_spec("dpboost._kernels.cpu_features") is None:
    raise ImportError(
        "The compiled kernels of dpboost are missing. In a checkout run "
        "`python -m pip install -e .` first; it needs a C compiler and the Python headers."
    )

from dpboost._kernels import cpu_features

if cpu_features.has_v3():
    __path__.insert(0, str(Path(__file__).parent / "v3"))
