"""Settings of the whole suite: tiers of tests, workers, kernels that are up to date."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path
from typing import Any

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before anything loads OpenMP: the workers share the processors already.
    os.environ["OMP_NUM_THREADS"] = "1"

import pytest

from dpboost import _kernels
from dpboost._utils import warnings as own_warnings
from dpboost.budgeting import claim
from dpboost.privacy.ledger import Ledger
from dpboost.training import privacy_params

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

# Where a test has no marker of a tier itself: by folder or file, and otherwise `unit`.
TIERS = {
    "audit": ("audit/", "unit/privacy/test_local_likelihood.py"),
    "integration": (
        "integration/",
        "unit/dask/",
        "unit/spark/",
        "unit/federated/protocol/test_https.py",
        "unit/local/test_memoised_reports.py",
        "unit/privacy/test_units.py",
        "unit/model_selection/test_forecasting.py",
        "unit/model_selection/test_refitting.py",
    ),
    "benchmarks": ("benchmarks/", "oracles/"),
    "fuzz": ("fuzz/",),
    "install": ("install/",),
    "nightly": (),
}
# Their first test takes more than five seconds.
NO_SMOKE = (
    "audit/test_cluster_audit.py",
    "audit/test_fit_variety.py",
    "audit/test_noise_independence.py",
    "benchmarks/test_chaos.py",
    "benchmarks/test_lightgbm_suite.py",
    "benchmarks/test_timing_leak.py",
    "install/",
    "integration/test_deployment_page.py",
    "integration/test_flower_example.py",
    "unit/local/test_memoised_reports.py",
    "unit/privacy/test_units.py",
    "unit/spark/",
)


@pytest.fixture
def one_process() -> None:
    """Let a test be told once what a process is told once, and hear of the sum of its fits."""
    own_warnings.forget()
    claim.forget()


@pytest.fixture(autouse=True)
def _each_fit_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell each fit of a test everything, as the only one of its process: others ran before."""
    if "one_process" not in request.fixturenames:
        monkeypatch.setattr(own_warnings, "_is_new", lambda *said: True)
        monkeypatch.setattr(privacy_params, "add_fit", lambda *spent: None)


@pytest.fixture
def no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be released or dealt: what is refused costs nothing."""
    for name in ("release", "row_coins"):
        monkeypatch.setattr(Ledger, name, lambda *_, **__: pytest.fail("something was drawn"))


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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--replay",
        action="store_true",
        help="replay every recorded call of every test without its rows, and compare",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--replay"):
        from tests import every_replay

        every_replay.install()
    stale = stale_kernels()
    if stale:
        raise pytest.UsageError(
            f"kernels {', '.join(stale)} are older than their sources; "
            "run `python -m pip install -e .` again"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    """Replay the calls of a test after it, where that is requested."""
    if not item.config.getoption("--replay"):
        return (yield)
    from tests import every_replay

    skip = every_replay.patches_the_package(item)
    result = yield
    every_replay.compare_all(skip=skip)
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """As many workers as processors this process may use, hyper-threads included."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def tier_of(path: Path) -> str:
    """Return the tier of the tests of a file."""
    position = path.relative_to(TESTS).as_posix()
    return next(
        (name for name, positions in TIERS.items() if position.startswith(positions)), "unit"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its tier, and the first of a file of another tier as its smoke."""
    seen = set()
    for item in items:
        if " at 0x" in item.nodeid:
            # Workers of pytest-xdist would disagree about the tests that there are.
            raise pytest.UsageError(f"{item.nodeid}: its name is an address; give it an id")
        tier = tier_of(item.path)
        if not any(item.get_closest_marker(name) for name in TIERS):
            item.add_marker(tier)
        slow = item.path.relative_to(TESTS).as_posix().startswith(NO_SMOKE)
        if tier != "unit" and not slow and item.path not in seen:
            seen.add(item.path)
            item.add_marker("smoke")
