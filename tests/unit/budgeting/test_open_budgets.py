"""Open budgets and other processes: what is sent there is charged or refused."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_backend
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline

import dpboost
from dpboost import (
    Budget,
    BudgetExceededError,
    Dataset,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    LPDTRegressor,
    SecretKFold,
)
from dpboost.budgeting import open_budgets
from dpboost.federated import FederatedBoostingRegressor, FederatedTreeClassifier

pytestmark = pytest.mark.filterwarnings("ignore")

TENTH = Fraction(1, 10)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
SCHEMA = {"bounds": {0: (-3, 3), 1: (-3, 3)}, "classes": [0, 1]}
NUMBERS = {"bounds": SCHEMA["bounds"], "label_bounds": (0, 1)}
BACKENDS = ["loky", "threading"] + (["multiprocessing"] if hasattr(os, "fork") else [])
SPAWN = multiprocessing.get_context("spawn")


def model(**more: object) -> DPBoostClassifier:
    # Far more than any budget here has.
    given = {"epsilon": 8, "schema": SCHEMA, "n_estimators": 2, "verbosity": -1}
    return DPBoostClassifier(**(given | more))


def budget() -> Budget:
    return Budget(epsilon=0.5, delta=1e-6, table="hospital")


@contextmanager
def backend(name: str):
    """A backend of joblib whose workers have been there before any budget."""
    with parallel_backend(name):
        if name == "loky":
            Parallel(n_jobs=2)(delayed(abs)(each) for each in range(4))
        yield


def search(estimator, **options):
    # Errors are told at the end: a pool of processes that is aborted may never come back.
    grid = {"max_depth": [1, 2]}
    return GridSearchCV(estimator, grid, n_jobs=2, **({"cv": 2} | options))


CALLS = {
    "search": lambda **more: search(model()).fit(X, Y, **more),
    "scores": lambda **more: cross_val_score(model(), X, Y, cv=2, n_jobs=2, params=more or None),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize("name", BACKENDS)
def test_workers_do_nothing_without_the_open_budget(name, call) -> None:
    with backend(name), budget() as opened:
        threads = name == "threading"
        with pytest.raises(ValueError, match="needs the 'fraction'" if threads else "n_jobs=1"):
            call()
        assert opened.lines == ()
        if not threads:
            with pytest.raises(ValueError, match="n_jobs=1"):
                call(fraction=TENTH)
            assert opened.lines == ()


@pytest.mark.parametrize("name", BACKENDS)
def test_a_parallel_search_charges_the_file(name, tmp_path) -> None:
    folds = SecretKFold(2)
    with backend(name), budget() as opened:
        opened.save(tmp_path / "budget")
        scorer = folds.scorer("auc", fraction=TENTH / 5)
        found = search(model(), scoring=scorer, cv=folds).fit(X, Y, fraction=TENTH)
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        # Four fits, four scores and the last fit, each line once and none lost.
        whats = sorted(line.what for line in opened.lines)
        assert whats == ["DPBoostClassifier"] * 5 + ["evaluate"] * 4
        assert opened.remaining == {"Gaussian": 1 - 5 * TENTH - 4 * TENTH / 5}
        assert Budget.load(tmp_path / "budget").remaining == opened.remaining
        with pytest.raises(ValueError, match="needs the 'fraction'"):
            search(model()).fit(X, Y)
        # One fit more is paid for, by whichever worker comes first; all others are refused.
        with pytest.raises(BudgetExceededError, match="is left"):
            search(model(), scoring=scorer, cv=folds).fit(X, Y, fraction=Fraction(1, 4))
        assert 0 <= opened.remaining["Gaussian"] <= 1 - 5 * TENTH - 4 * TENTH / 5 - Fraction(1, 4)


def test_estimators_inside_of_others_carry_the_budget(tmp_path) -> None:
    with backend("loky"), budget() as opened:
        inside = make_pipeline("passthrough", model())
        both = np.stack([Y, 1 - Y], axis=1)
        numbers = DPBoostRegressor(schema=NUMBERS, n_estimators=2, verbosity=-1)
        with pytest.raises(InvalidParameterError, match="n_jobs=1"):
            cross_val_score(inside, X, Y, cv=2, n_jobs=2, error_score="raise")
        # This one clones in the worker.
        with pytest.raises(InvalidParameterError, match="n_jobs=1"):
            MultiOutputRegressor(numbers, n_jobs=2).fit(X, both)
        # An estimator that is a value of the grid is cloned there too.
        grid = {"steps": [[("model", model())], [("model", model(max_depth=1))]]}
        with pytest.raises(InvalidParameterError, match="n_jobs=1"):
            GridSearchCV(inside, grid, cv=2, n_jobs=2, error_score="raise").fit(X, Y)
        assert opened.lines == ()
        opened.save(tmp_path / "budget")
        MultiOutputRegressor(numbers, n_jobs=2).fit(X, both, fraction=TENTH)
        found = cross_validate(
            model(),
            X,
            Y,
            cv=(folds := SecretKFold(2)),
            scoring=folds.scorer("auc", fraction=TENTH),
            n_jobs=2,
            error_score="raise",
            return_estimator=True,
            params={"fraction": TENTH},
        )
        assert opened.remaining == {"Gaussian": 1 - 6 * TENTH}
        # What comes back is charged here, as all else in the block.
        with pytest.raises(BudgetExceededError):
            found["estimator"][0].fit(X, Y, fraction=0.9)


def _fitted(estimator, **more):
    return estimator.fit(X, Y, **more).booster_.num_trees()


def _trained(rows, **more):
    params = {"objective": "binary", "epsilon": 8, "schema": SCHEMA, "verbosity": -1}
    return dpboost.train(params, rows, 2, **more).num_trees()


def _validated(rows, **more):
    params = {"objective": "binary", "epsilon": 8, "schema": SCHEMA, "verbosity": -1}
    return len(dpboost.cv(params, rows, 2, nfold=2, **more))


def _scored(estimator, **more):
    return estimator.score(X, Y, **more)


def _forecast(estimator):
    return dpboost.forecast(estimator=estimator, n_rows=1000, epsilon=1)


@pytest.fixture(scope="module")
def spawned():
    """A process that was there before any budget, and shares nothing."""
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        pool.submit(abs, 1).result()
        yield pool


def sent(pool, call, thing, **more):
    return pool.submit(call, thing, **more).result()


TREE = DPTreeClassifier(epsilon=8, schema=SCHEMA, max_depth=1)
USES = {
    "fit": (_fitted, model),
    "single tree": (_fitted, lambda: clone(TREE)),
    "train": (_trained, lambda: Dataset(X, Y)),
    "cv": (_validated, lambda: Dataset(X, Y)),
    "score": (_scored, lambda: model(epsilon=50).fit(X, Y)),
    "evaluate": (partial(_scored, fraction=TENTH), lambda: model(epsilon=50).fit(X, Y)),
}


@pytest.mark.parametrize(("call", "make"), USES.values(), ids=list(USES))
def test_everything_that_is_sent_is_charged_or_refused(spawned, tmp_path, call, make) -> None:
    thing = make()
    with Budget(epsilon=2, delta=1e-6, pure_epsilon=1, table="hospital") as opened:
        with pytest.raises(InvalidParameterError, match="'hospital'|A budget is open"):
            sent(spawned, call, thing)
        opened.save(tmp_path / "budget")
        if "fraction" not in getattr(call, "keywords", {}):
            with pytest.raises(InvalidParameterError, match="fraction"):
                sent(spawned, call, thing)
            assert opened.lines == ()
            sent(spawned, call, thing, fraction=TENTH)
        else:
            sent(spawned, call, thing)
        assert sum(line.fraction for line in opened.lines) == TENTH
        again = pickle.dumps(thing)
    # The block is closed, and what was stored inside is charged wherever it goes.
    without = getattr(call, "func", call)
    with pytest.raises(InvalidParameterError, match="fraction"):
        sent(spawned, without, pickle.loads(again))


@pytest.mark.parametrize(
    "estimator",
    [
        LPDTRegressor(epsilon=1),
        FederatedBoostingRegressor(schema=NUMBERS, verbosity=0),
        FederatedTreeClassifier(epsilon=1, schema=SCHEMA),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_keeps_no_records_is_refused_there_too(estimator) -> None:
    with budget():
        content = pickle.dumps(estimator)
    for found in (pickle.loads(content), clone(pickle.loads(content))):
        with pytest.raises(InvalidParameterError, match="cannot charge a dpboost.Budget"):
            found.fit(X, Y)


def test_forecasts_are_refused_there_too() -> None:
    with budget():
        content = pickle.dumps(model())
    with pytest.raises(InvalidParameterError, match="not pickled inside"):
        _forecast(pickle.loads(content))


def test_rows_held_out_in_a_worker_are_evaluated_there(tmp_path) -> None:
    with budget() as opened:
        opened.save(tmp_path / "budget")
        found = pickle.loads(pickle.dumps(model()))
    open_budgets.KNOWN.discard(opened)  # as in another process
    found.fit(X, Y, fraction=0.5, holdout=0.3)
    result = dpboost.evaluate(found, fraction=0.5)
    assert 0 <= result["auc"].value <= 1
    assert opened.remaining == {"Gaussian": Fraction(1, 2)}


def test_an_estimator_that_was_stored_in_a_block_is_paid_for(tmp_path) -> None:
    with budget() as opened:
        kept, deep = pickle.dumps(model()), copy.deepcopy(model())
    # In this process the very budget pays, block or none; copies are no way around it.
    for found in (pickle.loads(kept), deep, clone(deep), pickle.loads(pickle.dumps(deep))):
        with pytest.raises(InvalidParameterError, match="needs the 'fraction'"):
            found.fit(X, Y)
        found.fit(X, Y, fraction=TENTH)
    assert opened.remaining == {"Gaussian": 1 - 4 * TENTH}
    # What was not pickled is free of it, as ever.
    model().fit(X, Y)
    # The cure for rows of another table.
    type(deep)(**deep.get_params()).fit(X, Y)
    other = budget()
    found.fit(X, Y, budget=other, fraction=TENTH)
    assert (len(other.lines), len(opened.lines)) == (1, 4)


def test_a_model_of_a_block_predicts_anywhere_and_is_fitted_again_by_its_budget(tmp_path) -> None:
    path = tmp_path / "budget"
    with budget() as opened:
        opened.save(path)
        fitted = model().fit(X, Y, fraction=TENTH)
        (tmp_path / "model").write_bytes(pickle.dumps(fitted))
    program = (
        "import json, pickle, sys, warnings\n"
        "import numpy as np\n"
        "warnings.simplefilter('ignore')\n"
        "model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "X = np.array(json.loads(sys.stdin.read()))\n"
        "print(json.dumps(model.predict_proba(X)[:, 1].tolist()))\n"
        "for more in ({}, {'fraction': .1}):\n"
        "    try:\n"
        "        model.fit(X, (X[:, 0] > 0).astype(int), **more)\n"
        "        print('fitted')\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )

    def elsewhere() -> list[str]:
        command = [sys.executable, "-c", program, str(tmp_path / "model")]
        rows = json.dumps(X.tolist())
        return subprocess.run(
            command, input=rows, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    told, without, charged = elsewhere()
    assert json.loads(told) == fitted.predict_proba(X)[:, 1].tolist()
    assert "needs the 'fraction'" in without
    assert charged == "fitted"
    assert opened.remaining == {"Gaussian": 1 - 2 * TENTH}
    path.rename(tmp_path / "moved")
    told, without, charged = elsewhere()
    assert json.loads(told) == fitted.predict_proba(X)[:, 1].tolist()
    for message in (without, charged):
        assert str(path) in message
        assert "does not exist" in message
        assert "type(model)(**model.get_params())" in message
    # A budget of the same name is not the same.
    budget().save(path)
    assert "replaced by another or by an older copy" in elsewhere()[2]


def test_an_older_copy_of_the_file_is_refused(tmp_path) -> None:
    path = tmp_path / "budget"
    opened = budget()
    opened.save(path)
    before = path.read_bytes()
    opened.reserve("fit", "mu squared", TENTH)
    with opened:
        content = pickle.dumps(model())
    path.write_bytes(before)
    open_budgets.KNOWN.discard(opened)  # as in another process
    with pytest.raises(InvalidParameterError, match="an older copy. Restore the file"):
        pickle.loads(content).fit(X, Y, fraction=TENTH)


def test_which_of_two_budgets_pays_must_be_said(tmp_path) -> None:
    with budget() as first:
        content = pickle.dumps(model())
        pickle.loads(content).fit(X, Y, fraction=TENTH)  # both are one
    with budget() as second:
        found = pickle.loads(content)
        with pytest.raises(InvalidParameterError, match="Several budgets are open"):
            found.fit(X, Y, fraction=TENTH)
        with pytest.raises(InvalidParameterError, match="Several budgets are open"):
            pickle.loads(pickle.dumps(found)).fit(X, Y, fraction=TENTH)
        found.fit(X, Y, budget=second, fraction=TENTH)
    assert (len(first.lines), len(second.lines)) == (1, 1)


def test_the_file_that_is_open_here_is_the_one_that_was_open_there(tmp_path) -> None:
    path = tmp_path / "budget"
    with budget() as first:
        first.save(path)
        content = pickle.dumps(model())
    with Budget.load(path) as again:
        pickle.loads(content).fit(X, Y, fraction=TENTH)
    assert first.remaining == again.remaining == {"Gaussian": 1 - TENTH}


def test_outside_of_a_block_nothing_is_carried() -> None:
    with budget():
        pass
    for thing in (model(), TREE, Dataset(X, Y), LPDTRegressor()):
        assert "_open_budgets" not in vars(pickle.loads(pickle.dumps(thing)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", open_budgets.BudgetWarning)
        pickle.loads(pickle.dumps(model())).fit(X.copy(), Y)


def test_a_mark_holds_no_line_of_the_budget() -> None:
    with budget() as opened:
        opened.reserve("secret name of a fit", "mu squared", TENTH)
        content = pickle.dumps(model())
    assert b"secret name" not in content


# -- processes that are forked ------------------------------------------------------------------

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on Unix alone")


def forked(call) -> str:
    """Call in a forked process, and return what it says."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child() -> None:
        try:
            queue.put(f"done {call()}")
        except Exception as error:
            queue.put(f"{type(error).__name__}: {error}")

    process = context.Process(target=child)
    process.start()
    found = queue.get()
    process.join()
    return found


@forks
def test_a_forked_process_charges_the_file_or_is_refused(tmp_path) -> None:
    with budget() as opened:
        for call in (
            lambda: model().fit(X, Y, fraction=TENTH),
            lambda: model().fit(X, Y, budget=opened, fraction=TENTH),
            lambda: _trained(Dataset(X, Y), fraction=TENTH),
        ):
            assert "is usable only in the process that opened it" in forked(call)
        assert opened.lines == ()
        opened.save(tmp_path / "budget")
        for call in (
            lambda: model().fit(X, Y, fraction=TENTH),
            lambda: model().fit(X, Y, budget=opened, fraction=TENTH),
            lambda: _trained(Dataset(X, Y), fraction=TENTH),
        ):
            assert forked(call).startswith("done")
        assert "needs the 'fraction'" in forked(lambda: model().fit(X, Y))
        assert "BudgetExceededError" in forked(lambda: model().fit(X, Y, fraction=0.9))
    assert opened.remaining == {"Gaussian": 1 - 3 * TENTH}


@forks
def test_a_block_that_a_process_has_inherited_does_not_pay_for_another(tmp_path) -> None:
    first, second = budget(), budget()
    first.save(tmp_path / "first")
    second.save(tmp_path / "second")
    context = multiprocessing.get_context("fork")
    with first:
        pool = ProcessPoolExecutor(1, mp_context=context)
        pool.submit(abs, 1).result()
    with pool, second:
        assert sent(pool, _fitted, model(), fraction=TENTH) > 0
    assert (len(first.lines), len(second.lines)) == (0, 1)
