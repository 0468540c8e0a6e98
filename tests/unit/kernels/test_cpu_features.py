"""The two builds of the kernels: the same bits from both."""

import hashlib
import subprocess
import sys
from importlib import machinery, util
from pathlib import Path

import numpy as np
import pytest

from dpboost import _kernels
from dpboost._kernels import cpu_features

FOLDER = Path(_kernels.__file__).parent
TWICE = sorted(path.name.partition(".")[0] for path in (FOLDER / "v3").glob("*.*"))

needs_both = pytest.mark.skipif(
    not (cpu_features.has_v3() and TWICE), reason="the kernels are not built for this processor too"
)

FITS = """
import importlib.machinery
import pathlib
import sys
import warnings

folder = pathlib.Path(sys.argv[1])


class Baseline:
    def find_spec(self, name, path=None, target=None):
        room, _, kernel = name.rpartition(".")
        if room == "dpboost._kernels":
            return importlib.machinery.PathFinder.find_spec(name, [str(folder)])


if sys.argv[2] == "baseline":
    sys.meta_path.insert(0, Baseline())

import numpy as np
import scipy.sparse

import dpboost
from dpboost._kernels import training_pass

assert (pathlib.Path(training_pass.__file__).parent == folder) == (sys.argv[2] == "baseline")
warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(3_000, 7))
X[random.random(X.shape) < 0.05] = np.nan
X[:, 2] = np.trunc(X[:, 2] * 3) + 9
label = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
several = np.digitize(label, [0.0, 1.0])
sparse = scipy.sparse.random(3_000, 40, density=0.1, random_state=1, format="csr")
same = {"noise_seed": 1, "random_state": 2, "verbosity": 0, "epsilon": 4.0}


def show(estimator, X, y, **kwargs):
    model = estimator(**same, **kwargs).fit(X, y)
    print(model.booster_.model_to_string())
    print(model.predict(X).tolist())


show(dpboost.DPBoostClassifier, X, several, n_estimators=7)
show(dpboost.DPBoostClassifier, X, several > 0, n_estimators=20)
show(dpboost.DPBoostRegressor, X, label, n_estimators=20)
show(dpboost.DPBoostRegressor, X, label, n_estimators=9, objective="huber")
for recipe in ("dpboost", "seq"):
    show(dpboost.DPBoostRegressor, X, label, n_estimators=5, recipe=recipe, delta=0.0)
    show(dpboost.DPBoostClassifier, sparse, several > 0, n_estimators=5, recipe=recipe, delta=0.0)
"""


def _models(build):
    return subprocess.run(
        [sys.executable, "-c", FITS, str(FOLDER), build],
        check=True,
        capture_output=True,
        text=True,
        env=None,
    ).stdout


@pytest.mark.integration
@needs_both
def test_both_builds_give_the_same_models():
    found = {build: _models(build) for build in ("baseline", "v3")}
    digests = {build: hashlib.sha256(text.encode()).hexdigest() for build, text in found.items()}
    assert len(found["v3"]) > 10_000
    assert digests["baseline"] == digests["v3"]


@needs_both
def test_hot_kernels_come_from_the_second_build():
    for name in TWICE:
        spec = util.find_spec(f"dpboost._kernels.{name}")
        assert Path(spec.origin).parent.name == "v3"


def _build_of(name, folder):
    spec = machinery.PathFinder.find_spec(f"dpboost._kernels.{name}", [str(folder)])
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_both
@pytest.mark.parametrize("n_rows", [1, 3, 511, 512, 2_000])
def test_both_builds_give_a_row_the_same_words(n_rows):
    random = np.random.default_rng(n_rows)
    scores = random.integers(-(2**26), 2**26, n_rows)
    labels = random.integers(-(2**22), 2**22, n_rows)
    rows = np.arange(n_rows, dtype=np.int32)
    found = []
    for folder in (FOLDER, FOLDER / "v3"):
        words = np.empty(n_rows, dtype=np.int64)
        _build_of("newton", folder).squared(scores, labels, rows, 0.031, 60_000, words, 1)
        found.append(words)
    np.testing.assert_array_equal(*found)
