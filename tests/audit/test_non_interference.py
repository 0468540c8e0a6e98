"""The audit of non-interference: what it runs, and decisions on exact values that it finds."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost import Budget
from dpboost.audit.call_trace import digest
from dpboost.audit.far_rows import KINDS, far_rows
from dpboost.audit.non_interference import (
    FAR_TABLE,
    OUTCOMES,
    RECORDED,
    REPLAY,
    non_interference,
    transcript_of,
)
from dpboost.audit.recorded_calls import (
    BOUNDS,
    LABELS,
    N_ROWS,
    NUMBERS,
    X,
    classifier,
    frame,
    recorded_calls,
    regressor,
)
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import _reveal, store_of
from dpboost.privacy.recording import ReplayError
from dpboost.training import conformal, local_fit, private_stopping, public_schema
from dpboost.training import fit as fit_module
from dpboost.training.label_range import LabelRange
from tests.every_replay import ReplayDiffersError, visible
from tests.every_replay import compare as compare_with_replay

pytestmark = pytest.mark.filterwarnings("ignore")


def audited(call, **options):
    """Return the names of the checks that a call fails, under recorded outcomes."""
    given = {"outcomes": (RECORDED,), "every_size": False, **options}
    return {found.check for found in non_interference(call, N_ROWS, **given).violations}


BOTH = {REPLAY, FAR_TABLE}
QUICK = [call for call in recorded_calls(quick=True) if call.kind != "objectives"]
#: A few of each kind; the nightly tests have them all.
FEW = [call for call in QUICK if call.name in ("best, regressor", "users", "tree:best, add_remove")]


@pytest.mark.parametrize("call", FEW, ids=lambda call: call.name)
def test_a_call_is_a_function_of_what_is_public_and_released(call) -> None:
    found = non_interference(call.make(), N_ROWS, given=dict(call.given), every_size=False)
    assert found.violations == ()
    assert found.n_runs == 1 + len(OUTCOMES) * (1 + len(KINDS))
    assert found.n_steps > 5
    assert found.n_errors == 0


@pytest.mark.nightly
@pytest.mark.parametrize(
    "call", list(recorded_calls()), ids=lambda call: f"{call.kind}, {call.name}"
)
def test_every_call(call) -> None:
    found = non_interference(call.make(), N_ROWS, given=dict(call.given))
    assert found.violations == ()
    assert found.n_errors == 0


def test_far_tables_share_columns_and_classes_alone() -> None:
    model = classifier(schema=None, epsilon=40.0).fit(frame(), LABELS, sample_weight=LABELS + 1.0)
    call = transcript_of(model).call
    tables = far_rows(call, 10)
    assert len({each.name for each in tables}) == 12
    for rows in tables:
        labels = rows.labels(call.labels)
        table = rows.table(call.tables["X"], labels)
        assert table.dtypes.astype(str).tolist() == frame().dtypes.astype(str).tolist()
        assert set(labels) == {0, 1}
        assert len(labels) == len(table) == len(rows.numbers(call.numbers["sample_weight"]))
    extreme = next(each for each in tables if each.kind == "extreme" and each.size == 20)
    assert np.isinf(extreme.table(call.tables["X"], None)["a"]).any()


def test_a_digest_tells_contents_and_no_coins() -> None:
    one = SimpleNamespace(values=np.arange(3), name="a")
    assert digest(one) == digest(SimpleNamespace(values=np.arange(3), name="a"))
    assert digest(one) != digest(SimpleNamespace(values=np.arange(3.0), name="a"))
    assert digest(one) != digest(SimpleNamespace(values=np.arange(3), name="b"))
    assert digest([one]) != digest((one,))


# -- decisions on exact values beside those that are paid for ----------------------------------


def stopped():
    # So large that the losses fall for certain, and the fit goes on.
    budget = Budget(epsilon=400, delta=1e-5)
    model = regressor(epsilon=1.0, delta=1e-6, early_stopping_round=1, n_estimators=32)
    return model.fit(X, NUMBERS, budget=budget, fraction=0.5, holdout=0.5)


def with_intervals():
    return regressor(epsilon=40.0).fit(X, NUMBERS, conformal=0.9)


def undeclared():
    return regressor(schema=None, epsilon=40.0).fit(frame(), NUMBERS)


def of_wide_labels():
    schema = {**BOUNDS, "label_bounds": (-90.0, 90.0)}
    return regressor(schema=schema, objective="l1", epsilon=40.0).fit(X, NUMBERS)


CALLS = {call.__name__: call for call in (stopped, with_intervals, undeclared, of_wide_labels)}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_found_as_it_is(name) -> None:
    assert audited(CALLS[name]) == set()


def exact_stopping(monkeypatch) -> None:
    is_better = private_stopping.StoppingRows._is_better

    def exactly(rows, losses):
        is_better(rows, losses)  # paid for, and then not used
        return float(np.sum(rows._best - losses)) > 0

    monkeypatch.setattr(private_stopping.StoppingRows, "_is_better", exactly)


def exact_last_steps(monkeypatch) -> None:
    release, seen = Ledger.release, []

    def exactly(ledger, mechanism, sensitive, *, label, **options):
        drawn = release(ledger, mechanism, sensitive, label=label, **options)
        seen.append(label)
        late = (seen.count(label) - 1) % 12 > 2
        return _reveal(sensitive) if label == "conformal balance" and late else drawn

    monkeypatch.setattr(Ledger, "release", exactly)


def exact_order_statistic(monkeypatch) -> None:
    release = conformal.release_quantile

    def exactly(source, *, level, grid, **options):
        release(source, level=level, grid=grid, **options)
        scores = np.append(np.sort(store_of(source)._rows.scores), grid[-1])
        own = scores[min(int(level * len(scores)), len(scores) - 1)]
        return float(grid[min(np.searchsorted(grid, own), len(grid) - 1)])

    monkeypatch.setattr(conformal, "release_quantile", exactly)


def exact_number_of_bins(monkeypatch) -> None:
    release = fit_module.release_bins

    def exactly(binner, rows, *, n_bins, **options):
        n_rows = len(store_of(rows)._rows.targets)
        return release(binner, rows, n_bins=min(n_bins, 2 + n_rows // 30), **options)

    monkeypatch.setattr(fit_module, "release_bins", exactly)


def exact_regularization(monkeypatch) -> None:
    fit, setting, counted = local_fit.fit, fit_module.Setting, []

    def counting(rows, *arguments):
        counted.append(len(store_of(rows)._rows.labels))
        return fit(rows, *arguments)

    def exactly(*, hyper, **options):
        return setting(hyper=replace(hyper, reg_lambda=counted[-1] / 10), **options)

    monkeypatch.setattr(local_fit, "fit", counting)
    monkeypatch.setattr(fit_module, "Setting", exactly)


def warning_that_counts(monkeypatch) -> None:
    begin = private_stopping.StoppingRows.begin

    def telling(rows, *arguments):
        warnings.warn(f"{len(rows.rows.labels)} rows are held out", UserWarning, stacklevel=2)
        return begin(rows, *arguments)

    monkeypatch.setattr(private_stopping.StoppingRows, "begin", telling)


def exact_label_range(monkeypatch) -> None:
    learn = public_schema.learn_label_range

    def exactly(bounds, source, **options):
        found = learn(bounds, source, **options)
        own = store_of(source)._rows.labels
        return LabelRange(bounds=(float(own.min()), float(own.max())), looked=found.looked)

    monkeypatch.setattr(public_schema, "learn_label_range", exactly)


def types_from_cells(monkeypatch) -> None:
    read = local_fit.read

    def looking(*given):
        table = read(*given)
        cells = ((number, table.column(number)) for number in range(table.n_features))
        numbers = [(number, own) for number, own in cells if number not in table.categorical]
        whole = {number for number, own in numbers if np.array_equal(own, np.rint(own))}
        table.columns = replace(table.columns, integer=frozenset(whole))
        return table

    monkeypatch.setattr(local_fit, "read", looking)


#: What is planted, the call that shows it, and the checks that see it. A replay has blank rows, all
#: of them whole numbers.
PLANTED = {
    "early stopping by exact losses": (exact_stopping, "stopped"),
    "last steps of a conformal search by exact means": (exact_last_steps, "with_intervals"),
    "a threshold by an exact order statistic": (exact_order_statistic, "with_intervals"),
    "the number of bins by the exact number of rows": (exact_number_of_bins, "undeclared"),
    "a regularization by the exact number of rows": (exact_regularization, "undeclared"),
    "a warning that counts held rows": (warning_that_counts, "stopped"),
    "a label range by exact extremes": (exact_label_range, "of_wide_labels"),
    "integer types by cells": (types_from_cells, "undeclared"),
}


#: A decision on an exact value may agree with that of another table, once in hundred times.
TRIES = 4


@pytest.mark.parametrize("bug", PLANTED)
def test_a_decision_on_an_exact_value_is_found(bug, monkeypatch) -> None:
    plant, name = PLANTED[bug]
    plant(monkeypatch)
    assert any(audited(CALLS[name]) == BOTH for _ in range(TRIES))


def differs_from_its_replay(call) -> bool:
    model = call()
    try:
        compare_with_replay(visible(model), model.transcript_)
    except (ReplayDiffersError, ReplayError):
        return True
    return False


@pytest.mark.parametrize("bug", [bug for bug in PLANTED if "warning" not in bug])
def test_the_replay_of_every_test_finds_it_too(bug, monkeypatch) -> None:
    plant, name = PLANTED[bug]
    assert not differs_from_its_replay(CALLS[name])
    plant(monkeypatch)
    assert any(differs_from_its_replay(CALLS[name]) for _ in range(TRIES))
