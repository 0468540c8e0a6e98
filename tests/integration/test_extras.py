"""What needs a package that is not installed says which extra brings it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, {root!r})
try:
    {statement}
except Exception as error:
    print(type(error).__name__, error)
"""


def without(absent, statement):
    script = WITHOUT.format(absent=absent, root=str(ROOT), statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("absent", "statement", "extra"),
    [
        (("dask", "distributed"), "import dpboost.dask", "dask"),
        (("dask",), "import dpboost; dpboost.DaskLGBMRegressor", "dask"),
        (("pyspark",), "import dpboost.spark", "spark"),
        (("pyarrow",), "import dpboost.spark", "spark"),
        (
            ("pandas",),
            "import dpboost.data.containers as c; c._pandas('pyarrow')",
            "pandas",
        ),
    ],
)
def test_the_error_names_the_extra(absent, statement, extra):
    assert f"pip install 'dpboost[{extra}]'" in without(absent, statement)


def test_the_package_needs_no_extra():
    extras = (
        "pandas",
        "pyarrow",
        "polars",
        "dask",
        "distributed",
        "pyspark",
        "flwr",
        "matplotlib",
        "graphviz",
    )
    assert without(extras, "import dpboost; print(dpboost.__version__)").strip()
