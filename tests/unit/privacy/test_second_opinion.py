"""Totals of real fits, added up once more by Google's dp-accounting."""

import math

import numpy as np
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, DPTreeClassifier
from dpboost.reporting.privacy_report import PrivacyReport

pytestmark = pytest.mark.filterwarnings("ignore")

dp_accounting = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
rdp = pytest.importorskip("dp_accounting.rdp")
from dp_accounting.pld.common import DifferentialPrivacyParameters  # noqa: E402

INTERVAL = 1e-4
ORDERS = [1 + step / 50 for step in range(1, 5000)]
X = np.random.default_rng(0).uniform(size=(400, 2))
Y = (X[:, 0] > 0.5).astype(int)
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
NUMBERS = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}
FEW = {"n_estimators": 6, "verbosity": -1, "n_jobs": 1}

FITS = {
    "best": lambda: DPBoostClassifier(epsilon=1.0, schema=SCHEMA, **FEW).fit(X, Y),
    "best, replace": lambda: DPBoostRegressor(
        epsilon=2.0, neighbors="replace", schema=NUMBERS, **FEW
    ).fit(X, Y),
    "best, learned classes": lambda: DPBoostClassifier(
        epsilon=3.0, delta=1e-4, assume_public=(), **FEW
    ).fit(X, Y),
    "best, users": lambda: DPBoostRegressor(
        epsilon=1.0, schema=NUMBERS, rows_per_user=2, **FEW
    ).fit(X, Y, user_ids=np.arange(400) // 3),
    "best, large epsilon": lambda: DPBoostRegressor(epsilon=300.0, schema=NUMBERS, **FEW).fit(X, Y),
    "best, pure": lambda: DPBoostRegressor(epsilon=1.0, delta=0, schema=NUMBERS, **FEW).fit(X, Y),
    "dpboost": lambda: DPBoostRegressor(recipe="dpboost", epsilon=2.0, schema=NUMBERS, **FEW).fit(
        X, Y
    ),
    "para": lambda: DPBoostRegressor(recipe="para", epsilon=2.0, schema=NUMBERS, **FEW).fit(X, Y),
    "seq": lambda: DPBoostRegressor(recipe="seq", epsilon=2.0, schema=NUMBERS, **FEW).fit(X, Y),
    "tree": lambda: DPTreeClassifier(epsilon=1.0, max_depth=3, schema=SCHEMA).fit(X, Y),
    "tree, top down": lambda: DPTreeClassifier(
        recipe="dp_topdown", epsilon=4.0, max_depth=3, schema=SCHEMA
    ).fit(X, Y),
}


def costliest(scope):
    """Yield the entries that one row can be in, where it costs most."""
    yield from scope.entries
    children = list(scope.children.values())
    if scope.parallel and children:
        children = [max(children, key=lambda child: sum(e.charge.cost for e in costliest(child)))]
    for child in children:
        yield from costliest(child)


def theirs(ledger, entries, rows):
    """Return the epsilon that dp-accounting finds for these releases, each by itself."""
    left = float(ledger.delta - ledger.delta_spent)
    mechanisms = [entry.mechanism for entry in entries]
    if ledger.accountant.name == "pure":
        laws = [_randomized(rows * float(each.epsilon)) for each in mechanisms]
        return _composed(laws).get_epsilon_for_delta(0.0)
    sigmas = [
        each.parameters(entry.bound)[0] / entry.bound.constant
        for each, entry in zip(mechanisms, entries, strict=True)
    ]
    events = [dp_accounting.GaussianDpEvent(sigma / rows) for sigma in sigmas]
    if ledger.accountant.name == "zCDP":
        accountant = rdp.RdpAccountant(ORDERS)
        for event in events:
            accountant.compose(event)
        return accountant.get_epsilon(left)
    laws = [
        pld.from_gaussian_mechanism(event.noise_multiplier, value_discretization_interval=INTERVAL)
        for event in events
    ]
    return _composed(laws).get_epsilon_for_delta(left)


def _randomized(epsilon):
    return pld.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=INTERVAL
    )


def _composed(laws):
    total = laws[0]
    for law in laws[1:]:
        total = total.compose(law)
    return total


@pytest.mark.parametrize("name", FITS)
def test_dp_accounting_finds_no_larger_epsilon(name, ledgers):
    model = FITS[name]()
    (ledger,) = ledgers
    entries = list(costliest(ledger.root))
    assert entries
    found = theirs(ledger, entries, model.privacy_report_.rows_per_user or 1)
    claimed = float(ledger.epsilon)
    # Each law is rounded up to the grid of losses.
    assert found <= claimed * (1 + 1e-3) + INTERVAL * len(entries)
    assert ledger.epsilon_spent <= claimed
    if not model.privacy_report_.rows_per_user:
        # Neither is ours far above theirs, so that a total which is not added up would show.
        assert found >= 0.97 * ledger.epsilon_spent - INTERVAL * len(entries)


def test_a_total_that_is_too_small_would_be_found(ledgers):
    FITS["seq"]()
    (ledger,) = ledgers
    entries = list(costliest(ledger.root))
    assert theirs(ledger, entries + entries[-2:], 1) > float(ledger.epsilon) + 0.01


@pytest.mark.parametrize("name", FITS)
def test_the_distribution_of_a_report_means_what_the_report_says(name):
    report = FITS[name]().privacy_report_
    law = report.to_pld()
    epsilon, delta = report.total
    assert law.get_epsilon_for_delta(delta) <= epsilon * (1 + 1e-3) + 3 * INTERVAL
    assert law.get_delta_for_epsilon(epsilon + 3 * INTERVAL) <= delta * (1 + 1e-3)
    if report.mu is not None:
        # Of Gaussian noise it knows more than one pair.
        half = law.get_delta_for_epsilon(epsilon / 2)
        assert delta < half < 0.5


def test_distributions_add_up():
    one = FITS["best, users"]().privacy_report_.to_pld()
    two = one.compose(FITS["best, pure"]().privacy_report_.to_pld())
    assert 1.0 < two.get_epsilon_for_delta(1e-5) < 2.0 + 4 * INTERVAL


def test_a_continued_model_and_a_cross_validation_are_one_pair():
    first = DPBoostRegressor(epsilon=1.0, schema=NUMBERS, **FEW).fit(X, Y)
    second = DPBoostRegressor(epsilon=1.0, schema=NUMBERS, **FEW).fit(X, Y, init_model=first)
    law = second.privacy_report_.to_pld()
    assert law.get_epsilon_for_delta(second.privacy_report_.total[1]) == pytest.approx(2, abs=1e-3)
    params = {"objective": "regression", "epsilon": 1.0, "schema": NUMBERS, **FEW}
    found = dpboost.cv(params, dpboost.Dataset(X, Y), 4, nfold=2)
    assert found.privacy_report.to_pld().get_epsilon_for_delta(1e-5) <= 1 + 1e-3


def test_no_guarantee_has_no_distribution():
    model = DPBoostRegressor(schema=NUMBERS, noise_seed=0, **FEW).fit(X, Y)
    none = DPBoostRegressor(schema=NUMBERS, epsilon=math.inf, **FEW).fit(X, Y)
    for report in (model.privacy_report_, none.privacy_report_):
        with pytest.raises(dpboost.InvalidParameterError, match="no guarantee"):
            report.to_pld()


def test_without_dp_accounting_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld", None)
    report = FITS["best, pure"]().privacy_report_
    assert isinstance(report, PrivacyReport)
    with pytest.raises(ImportError, match="pip install dp-accounting"):
        report.to_pld()
