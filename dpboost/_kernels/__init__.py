"""Compiled kernels: functions on typed views, without privacy parameters or policy.

Only ``dpboost.privacy`` may import the noise, selection, coin and entropy kernels; a test walks
every file for violations.

Kernels that are at least 10 % faster for x86-64-v3 are built a second time, into the folder ``v3``,
which is searched first on machines that support it. Both builds give bit-identical results.

State that is shared between threads:

* Functions write only to the arguments of their caller. Constants of a module (``ROUNDER``,
  ``SIGN``, tables of digits) are never modified.
* ``entropy.SystemEntropy`` has a buffer. Two concurrent draws would return one word twice, so
  every kernel that draws holds the generator's lock for the whole call, as in NumPy. The fork
  counter is written only in a child process, before it has a second thread.
* ``small_tree_gain.FewRows``, and outside of the kernels ``Workspace`` and ``BoostingState``,
  belong to one fit, which uses them from one thread; a Dask cell has a separate lock. A workspace
  reuses memory only if no view of it is left, by reference counts.
* Caches for all fits (tables of losses, children of complete trees) are read-only.

The unit tests of kernels and of ``dpboost.privacy.randomness`` pass under pytest-run-parallel.
``setup.py`` refuses free-threaded Python, because no such build has been tested.
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
