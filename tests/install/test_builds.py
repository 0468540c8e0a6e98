"""Wheels: small, always the same bytes, from the source distribution alone, and again in part."""

import hashlib
import subprocess
import sys
import tarfile
import time

import pytest

from dpboost.reporting.audit_record import SOURCE
from dpboost.reporting.proof_pages import FOLDER, MACHINE_CHECKED, OF_ALL, PAGES

MEGABYTE = 10**6
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
OFFLINE = ["--no-index", "--no-build-isolation", "--no-deps"]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def build_wheel(source, out):
    run([*PIP, "wheel", *OFFLINE, "--wheel-dir", str(out), str(source)], out)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def built(clone, tmp_path_factory):
    """A clone and its wheel, built without network by what is installed here."""
    folder = clone()
    return folder, build_wheel(folder, tmp_path_factory.mktemp("wheel"))


def test_a_wheel_is_small_and_soon_installed(built, tmp_path):
    _, wheel = built
    assert wheel.stat().st_size < 5 * MEGABYTE
    start = time.perf_counter()
    run([*PIP, "install", "--no-deps", "--target", str(tmp_path), str(wheel)], tmp_path)
    assert time.perf_counter() - start < 10


def test_two_builds_have_the_same_bytes(built, clone, tmp_path):
    again = build_wheel(clone(), tmp_path)
    first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (built[1], again))
    assert first == second


def test_a_source_distribution_builds_from_its_own_contents(built, tmp_path):
    folder, wheel = built
    hook = "from setuptools import build_meta as b; print(b.build_sdist({!r}))"
    run([sys.executable, "-c", hook.format(str(tmp_path))], folder)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = file.getnames()
    assert [name for name in names if name.endswith((".c", ".so", ".pyd"))] == []
    assert any(name.endswith("cython_ext/gain.pyx") for name in names)
    assert any(name.endswith("checker/check_certificate.py") for name in names)
    # What the page of a certificate names.
    inside = {name.partition("/")[2] for name in names}
    pages = {f"{FOLDER}/{page}" for own in (*PAGES.values(), OF_ALL) for page in own}
    assert inside >= {*pages, MACHINE_CHECKED["page"], SOURCE, "proofs/Makefile"}
    out = tmp_path / "wheel"
    out.mkdir()
    assert build_wheel(archive, out).read_bytes() == wheel.read_bytes()


def test_generated_c_is_not_committed(clone):
    tracked = run(["git", "ls-files"], clone()).splitlines()
    assert tracked
    assert [name for name in tracked if name.endswith((".c", ".cpp", ".so"))] == []


def test_a_build_compiles_what_has_changed(clone):
    folder = clone()
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    run(build, folder)
    objects = sorted((folder / "build").rglob("*.o"))
    times = {path: path.stat().st_mtime_ns for path in objects}
    kernel = folder / "cython_ext" / "leaf.pyx"
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text.replace('"""', '"""Anew. ', 1), encoding="utf-8")
    (folder / "cython_ext" / "gain.pyx").touch()  # the same C as before
    run(build, folder)
    changed = {path.stem for path in objects if path.stat().st_mtime_ns != times[path]}
    assert changed == {"leaf"}
