"""Noise of real fits: independent between leaves, trees, fits and processes, and of any seed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dpboost
from dpboost import DPBoostRegressor
from dpboost.audit.run_trace import Recorder
from dpboost.privacy.randomness import Entropy

ALARM = 1e-6
PACKAGE = Path(dpboost.__file__).parent
X, Y = np.random.default_rng(0).random((300, 2)), np.linspace(-1, 1, 300)
SETTINGS = {
    "schema": {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (-1, 1)},
    "n_estimators": 3,
    "max_depth": 11,
    "max_bin": 3,
    "recipe": "seq",
    "verbosity": 0,
}


def leaf_noise(**changes):
    """What was added to the leaves of one fit, by tree and leaf, in noise scales."""
    recorder = Recorder(np.arange(len(Y)))
    with recorder.watching() as transcript:
        DPBoostRegressor(**{**SETTINGS, **changes}).fit(X, Y)
    lines = [line for line in transcript.lines if line.entry.label == "leaf values"]
    return np.array([line.calls[0].outcome - line.calls[0].given for line in lines])


def assert_independent(first, second):
    """Chi-square of the quarters of one sample against those of the other."""
    quarters = [
        np.searchsorted(np.quantile(part, [0.25, 0.5, 0.75]), part) for part in (first, second)
    ]
    table = np.zeros((4, 4))
    np.add.at(table, tuple(quarters), 1)
    assert stats.chi2_contingency(table).pvalue > ALARM


@pytest.fixture(scope="module")
def noises():
    return [leaf_noise(n_jobs=n_jobs) for n_jobs in (1, 2, 2)]


def test_leaves_and_trees_and_fits_are_independent(noises):
    noise = noises[0]
    assert noise.shape == (3, 2048)
    for lag in (1, 2, 1024):
        assert_independent(noise[:, :-lag].ravel(), noise[:, lag:].ravel())
    assert_independent(noise[0], noise[1])
    assert_independent(noise[:-1].ravel(), noise[1:].ravel())
    for other in noises[1:]:
        assert_independent(noise.ravel(), other.ravel())
        assert (noise != other).any()


def test_noise_has_the_law_that_the_ledger_booked(noises):
    recorder = Recorder(np.arange(len(Y)))
    with recorder.watching() as transcript:
        DPBoostRegressor(**SETTINGS).fit(X, Y)
    line = transcript.lines[-1]
    numerator, denominator = line.calls[0].integers
    drawn = (line.calls[0].outcome - line.calls[0].given) * (numerator / denominator)
    assert stats.kstest(drawn, "laplace").pvalue > ALARM


SCRIPT = """
import numpy as np
from dpboost import DPBoostRegressor
np.random.seed(0)
model = DPBoostRegressor(random_state=0, n_estimators=1, max_depth=2, n_jobs=1, verbosity=0)
model.set_params(schema={"bounds": {0: (0, 1)}, "label_bounds": (-1, 1)})
print(model.fit(np.zeros((9, 1)), np.zeros(9)).booster_.model_to_string())
"""


def test_two_processes_differ():
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        for _ in range(2)
    }
    assert len(texts) == 2
    assert all("leaf_value" in text for text in texts)


def test_a_private_fit_never_touches_a_seed(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a private fit asked for seeded noise")

    monkeypatch.setattr(Entropy, "seeded", refuse)
    for name in ("PCG64", "SeedSequence", "seed", "laplace", "normal"):
        monkeypatch.setattr(np.random, name, refuse)
    DPBoostRegressor(**{**SETTINGS, "max_depth": 2}).fit(X, Y)
    with pytest.raises(AssertionError, match="seeded"):
        DPBoostRegressor(noise_seed=1, **{**SETTINGS, "max_depth": 2}).fit(X, Y)


def random_uses(source):
    """Return what a source takes from ``np.random``, beyond names of types."""
    return {
        ast.unparse(node).rpartition(".")[2]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value) in ("np.random", "numpy.random")
    }


#: Public randomness of fits and of the auditor, and the seeded source that says it is not private.
TYPES = {"BitGenerator", "Generator", "RandomState"}
ALLOWED = {
    "privacy/randomness.py": {"PCG64", "SeedSequence"},
    "training/fit.py": {"default_rng"},
    "audit/hill_climbing.py": {"default_rng"},
    "local/default_sizes.py": {"default_rng"},  # halves of public rows
    "losses/custom.py": {"default_rng"},  # order of public probes
    "losses/custom_classes.py": {"default_rng"},  # public probes
    # Tables and parameters of the auditor's own, and NumPy's state before and after a fit.
    "audit/cluster_audit.py": {"default_rng"},
    "audit/dropout_audit.py": {"default_rng"},
    "audit/far_rows.py": {"default_rng"},
    "audit/fit_variety.py": {"default_rng"},
    "audit/network_audit.py": {"default_rng"},
    "compacting/compact.py": {"default_rng"},  # rows drawn from released numbers
    "cli/parity_command.py": {"default_rng"},  # generated rows
    "audit/noise_independence.py": {"default_rng"},
    "audit/non_interference.py": {"default_rng"},
    "audit/own_estimators.py": {"default_rng"},
    "audit/recorded_calls.py": {"default_rng"},
    "model_selection/fold_rounds.py": {"default_rng"},  # synthetic rows for functions of metrics
    "model_selection/forecasting.py": {"default_rng"},  # samples of public rows
    "explain/explanation.py": {"default_rng"},
    "audit/rare_outcomes.py": {"PCG64"},
    "explain/noise_paths.py": {"default_rng"},  # what known noise does to a released model
    "audit/random_audit.py": {"default_rng"},
    "audit/tree_audit.py": {"default_rng"},
    "audit/released_surface.py": {"get_state"},
}


def test_sources_take_nothing_else_from_numpy_random():
    found = {
        path.relative_to(PACKAGE).as_posix(): uses
        for path in PACKAGE.rglob("*.py")
        if (uses := random_uses(path.read_text()))
    }
    assert {name: uses - TYPES - ALLOWED.get(name, set()) for name, uses in found.items()} == {
        name: set() for name in found
    }
    assert random_uses("import numpy as np\nnp.random.laplace(size=3)") == {"laplace"}
