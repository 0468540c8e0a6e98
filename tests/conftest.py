"""Settings of the whole suite."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from dpboost import _kernels

ROOT = Path(__file__).resolve().parent.parent


def stale_kernels() -> list[str]:
    """Names of kernels whose source is newer than one of its builds."""
    stale = []
    headers = max(path.stat().st_mtime for path in (ROOT / "cython_ext").glob("*.pxd"))
    for source in sorted((ROOT / "cython_ext").glob("*.pyx")):
        spec = util.find_spec(f"dpboost._kernels.{source.stem}")
        if spec is None or spec.origin is None:
            stale.append(source.stem)
            continue
        builds = {Path(spec.origin), *Path(_kernels.__file__).parent.rglob(Path(spec.origin).name)}
        if min(path.stat().st_mtime for path in builds) < max(source.stat().st_mtime, headers):
            stale.append(source.stem)
    return stale


def pytest_configure(config: pytest.Config) -> None:
    stale = stale_kernels()
    if stale:
        raise pytest.UsageError(
            f"kernels {', '.join(stale)} are older than their sources; "
            "run `python -m pip install -e .` again"
        )
