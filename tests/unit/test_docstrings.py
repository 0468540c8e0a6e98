"""Examples of docstrings run, and everything that users make has one."""

import doctest
import importlib.util
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpboost
import dpboost.dask
import dpboost.federated
import dpboost.local

pytestmark = pytest.mark.filterwarnings("ignore")

try:
    from dpboost import spark
except ImportError:  # without the extra
    spark = None

#: Made by other calls, classes to derive from, and names that refuse.
NO_EXAMPLE = {
    *("CVBooster", "Link"),
    *("LGBMModel", "LGBMRanker", "DaskLGBMRanker"),
}

#: Its examples stop the session of Spark, which may be that of other tests in the same process.
ON_SPARK = "dpboost.spark.estimators"


def modules_with_examples():
    for found in pkgutil.walk_packages(dpboost.__path__, "dpboost."):
        if found.name.endswith("__main__") or "._kernels" in found.name:
            continue
        # Not imported yet: it may need an extra.
        path = importlib.util.find_spec(found.name).origin
        if found.name != ON_SPARK and ">>>" in Path(path).read_text(encoding="utf-8"):
            yield found.name


def public_names():
    for module in (dpboost, dpboost.federated, dpboost.dask, dpboost.local, spark):
        if module is None:
            continue
        for name in module.__all__:
            thing = getattr(module, name)
            ours = getattr(thing, "__module__", "").startswith("dpboost")
            error = inspect.isclass(thing) and issubclass(thing, BaseException)
            if callable(thing) and ours and not error and name not in NO_EXAMPLE:
                yield f"{module.__name__}.{name}", thing


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(
        importlib.import_module(name),
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert outcome.failed == 0
    assert outcome.attempted > 0


@pytest.mark.nightly
def test_examples_on_spark_run(tmp_path):
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from dpboost.spark.models import has_java

    if not has_java():
        pytest.skip("there is no Java runtime")
    program = (
        "import doctest, importlib, warnings\n"
        "warnings.simplefilter('ignore')\n"
        f"print(*doctest.testmod(importlib.import_module({ON_SPARK!r})))\n"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    failed, attempted = done.stdout.split()[-2:]
    assert (failed, done.returncode) == ("0", 0), done.stdout + done.stderr[-3000:]
    assert int(attempted) >= 4 * len(
        spark.estimators.SparkDPBoostRegressor.__doc__.split(">>>")[1:]
    )


def test_what_users_make_has_an_example():
    things = dict(public_names())
    assert len(things) > 50
    assert [
        name for name, each in things.items() if ">>>" not in (inspect.getdoc(each) or "")
    ] == []


def test_a_wrong_example_fails(capsys):
    def wrong():
        """Say something false.

        >>> 1 + 1
        3
        """

    examples = doctest.DocTestFinder().find(wrong, "wrong", globs={})
    runner = doctest.DocTestRunner()
    assert [runner.run(example).failed for example in examples] == [1]
    assert "Expected" in capsys.readouterr().out
