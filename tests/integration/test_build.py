"""What the build reads from a list is the whole list."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10, where pytest brings the package the module grew from
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
PACKAGE_DATA = PROJECT["tool"]["setuptools"]["package-data"]


def test_every_package_is_installed():
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "dpboost").rglob("__init__.py")
    }
    assert found == set(PACKAGES)
    assert len(PACKAGES) == len(set(PACKAGES))


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in (ROOT / "dpboost").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_kernel_has_a_stub_and_every_stub_a_kernel():
    kernels = {path.stem for path in (ROOT / "cython_ext").glob("*.pyx")}
    stubs = {path.stem for path in (ROOT / "dpboost" / "_kernels").glob("*.pyi")}
    assert kernels == stubs


@pytest.mark.parametrize("pattern", ["*.pyi", "py.typed"])
def test_type_information_is_installed(pattern):
    found = set((ROOT / "dpboost").rglob(pattern))
    installed = {
        path
        for package, patterns in PACKAGE_DATA.items()
        for glob in patterns
        for path in ROOT.joinpath(*package.split(".")).glob(glob)
    }
    assert found
    assert found <= installed


def test_the_supported_pythons_are_named_alike():
    classifiers = PROJECT["project"]["classifiers"]
    prefix = "Programming Language :: Python :: 3."
    minors = sorted(int(line[len(prefix) :]) for line in classifiers if line.startswith(prefix))
    lowest = f"3.{minors[0]}"
    assert PROJECT["project"]["requires-python"] == f">={lowest}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert PROJECT["tool"]["mypy"]["python_version"] == lowest


def requirements(*extras):
    """Lines of the dependencies and of some extras."""
    optional = PROJECT["project"]["optional-dependencies"]
    return [
        *PROJECT["project"]["dependencies"],
        *(line for name in extras for line in optional[name]),
    ]


def test_the_lowest_versions_are_the_declared_ones():
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = {line.replace("==", ">=") for line in lines if not line.startswith("#")}
    asked = requirements("pandas", "arrow", "polars", "dask", "plot")
    asked = [line for line in asked if "win32" not in line]
    assert lowest == {re.sub(r"\[.*\]|,.*", "", line) for line in asked}


def test_an_extra_for_all_names_every_extra_of_users():
    optional = PROJECT["project"]["optional-dependencies"]
    (line,) = optional["all"]
    named = re.fullmatch(r"dpboost\[(.*)\]", line)[1].split(",")
    own = {"all", "audit-peers", "benchmarks", "docs", "lint", "lleaves", "oracle", "test"}
    assert set(named) == set(optional) - own


def test_lightgbm_has_an_upper_pin():
    (line,) = (line for line in requirements() if line.startswith("lightgbm"))
    assert re.fullmatch(r"lightgbm>=[\d.]+,<[\d.]+", line)


def test_an_extra_that_a_message_names_is_there():
    named = {
        name
        for folder in ("dpboost", "examples", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for extras in re.findall(r"dpboost\[([\w,-]+)\]", path.read_text(encoding="utf-8"))
        for name in extras.split(",")
    }
    assert {"dask", "pandas"} <= named
    assert named <= set(PROJECT["project"]["optional-dependencies"])


def test_the_recipe_for_conda_forge_asks_for_the_same():
    text = (ROOT / ".ci" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8")

    def listed(start, end):
        part = text.partition(f"\n  {start}:\n")[2].partition(f"\n{end}:")[0]
        return {line.strip(" -").replace(" ", "") for line in part.splitlines() if line.strip()}

    asked = [line for line in requirements() if "win32" not in line]
    assert listed("run", "tests") == {"python", *asked}
    assert set(PROJECT["build-system"]["requires"]) <= listed("host", "  run")
    assert f"dpboost = {PROJECT['project']['scripts']['dpboost']}" in text


def test_the_recipe_for_conda_forge_has_the_address_of_the_project():
    recipe = (ROOT / ".ci" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8")
    homepage = re.findall(r"^  homepage: (\S+)$", recipe, re.MULTILINE)
    assert homepage == [*PROJECT["project"].get("urls", {}).values()][:1]
    has_maintainers = "\nextra:\n  recipe-maintainers:\n    - " in recipe
    assert has_maintainers == bool(homepage)


def test_the_page_of_the_package_index_leads_to_no_file_beside_it():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = runpy.run_path(str(ROOT / "setup.py"))["index_page"]
    link = re.compile(r"\]\((?!https?://)")
    assert link.search(readme)
    shown = page(readme)
    assert not link.search(shown)
    assert "\n*Accuracy against epsilon on two tables" in shown
    assert "Read the known limits." in shown
    assert shown.count("```") == readme.count("```")
    assert (
        page("[a](https://a.org/b) and [c](#c), [d](d.md#e)")
        == "[a](https://a.org/b) and [c](#c), d"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="a shell of Unix, and /proc")
def test_a_release_that_fails_has_a_record(tmp_path):
    record = tmp_path / "release.txt"
    done = subprocess.run(
        [ROOT / ".ci" / "release", "v0.0.0-no-such-tag", record], capture_output=True, text=True
    )
    assert done.returncode != 0
    said = "FAILED in the checks of the tag; nothing after it was done.\n"
    assert record.read_text(encoding="utf-8") == said


def test_actions_are_pinned_by_commit():
    used = [
        line
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses: " in line and "uses: ./" not in line
    ]
    assert used
    pinned = re.compile(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+")
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_free_threaded_python_is_refused_before_anything_is_built(tmp_path):
    program = (
        "import runpy, sys, sysconfig\n"
        "sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n"
        "sys.argv = ['setup.py', 'build_ext']\n"
        f"runpy.run_path({str(ROOT / 'setup.py')!r}, run_name='__main__')\n"
    )
    # Elsewhere than in the checkout, so that a build would find no sources.
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "dpboost is not built for free-threaded Python" in done.stderr
    assert list(tmp_path.iterdir()) == []
