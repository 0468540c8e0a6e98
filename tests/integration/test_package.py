"""What the package promises at its top."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import lightgbm
import pytest

import dpboost

ROOT = Path(__file__).resolve().parents[2]


NAMES = """
AssumedPublicWarning Booster Budget BudgetExceededError BudgetForecast BudgetWarning CVBooster
CVResults ConstraintCheck DPBoostClassifier DPBoostRegressor DPTreeClassifier DPTreeRegressor
DataDictionary Dataset EarlyStopException EpsilonExplanation EpsilonSumWarning Evaluation
FeatureHistograms Forecast InvalidParameterError LGBMClassifier LGBMModel LGBMRanker LGBMRegressor
LPDTAggregator LPDTClassifier LPDTPartition LPDTRegressor LargeDeltaWarning LargeEpsilonWarning
NextFit NotPrivateWarning ParameterWarning PrivacyReport PrivacyWarning PublicRowsWarning
PublicSizeWarning Schema ScoreWarning SecretKFold Sequence SkippedRowsWarning Transcript
UnboundedWeightsWarning UndeclaredWarning UserObjectiveWarning __version__ as_opendp_measurement
check_constraints compact create_tree_digraph cv early_stopping evaluate explain_epsilon
feature_histograms forecast log_evaluation plot_accuracy_vs_epsilon plot_importance
plot_interactions plot_metric plot_privacy_budget plot_shape_compare plot_shapes
plot_split_value_histogram plot_tree record_evaluation refit_leaves register_logger replay
reset_parameter schema_template train
"""


def test_top_level_names():
    assert sorted(dpboost.__all__) == NAMES.split()
    for name in dpboost.__all__:
        assert getattr(dpboost, name) is not None


def test_each_name_of_lightgbm_is_here():
    names = set(lightgbm.__all__)
    if not find_spec("distributed"):
        for name in {name for name in names if name.startswith("Dask")}:
            with pytest.raises(AttributeError, match=f"{name}.*: .*"):
                getattr(dpboost, name)
            names.remove(name)
    assert [name for name in names if getattr(dpboost, name, None) is None] == []


def test_the_version_is_the_same_everywhere():
    latest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest is not None
    assert dpboost.__version__ == latest.group(1) == metadata.version("dpboost")


def test_it_loads_little_beyond_lightgbm():
    """A party is a process that lasts as long as one fit, and most of its time is imports."""

    def loaded(modules):
        program = f"import sys, {modules}; print(*sys.modules)"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return {name.partition(".")[0] for name in done.stdout.split()}

    more = loaded("dpboost.cli.main, dpboost.federated") - loaded("lightgbm")
    more = {name for name in more - set(sys.stdlib_module_names) if not name.startswith("_")}
    # Optional libraries, and those of pictures, come when they are asked for.
    assert more <= {"dpboost", "cryptography", "tqdm"}
    assert "dpboost" in more


@pytest.fixture
def checkout_without_kernels(tmp_path):
    shutil.copytree(
        ROOT / "dpboost",
        tmp_path / "dpboost",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    return tmp_path


def test_a_checkout_without_kernels_says_what_to_do(checkout_without_kernels):
    done = subprocess.run(
        [sys.executable, "-c", "import dpboost"],
        cwd=checkout_without_kernels,
        env=os.environ | {"PYTHONPATH": str(checkout_without_kernels)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: The compiled kernels of dpboost are missing.")
    assert "python -m pip install -e ." in last
