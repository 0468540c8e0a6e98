"""Charges of other libraries: the rules by brute force, and OpenDP's own accounts."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostClassifier,
    DPTreeClassifier,
    InvalidParameterError,
    as_opendp_measurement,
)
from dpboost.budgeting.charges import Guarantee, guarantees_of, mu_of_epsilon
from dpboost.privacy.accounting import GDPAccountant, ZCDPAccountant

pytestmark = pytest.mark.filterwarnings("ignore")

CLASSES = {"bounds": {0: (-1, 1)}, "classes": [0, 1]}
X = np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
Y = (X[:, 0] > 0).astype(int)


def boosting(**changes):
    settings = {"schema": CLASSES, "n_estimators": 2, "verbosity": -1, "n_jobs": 1}
    return DPBoostClassifier(**(settings | changes))


# -- the worst mechanism of each guarantee -------------------------------------------------------


def worst_response(epsilon, delta=0.0):
    """The laws of the mechanism that all (epsilon, delta)-private ones come from."""
    told, lied = np.array([math.exp(epsilon), 1]) / (1 + math.exp(epsilon)) * (1 - delta)
    return np.array([delta, told, lied, 0.0]), np.array([0.0, lied, told, delta])


def shifted_normal(mu, n_parts=9):
    """The laws of a normal number with and without a shift, in parts of the line."""
    ends = np.concatenate([[-np.inf], ndtri(np.arange(1, n_parts) / n_parts), [np.inf]])
    return np.diff(ndtr(ends)), np.diff(ndtr(ends - mu))


def delta_of(laws, epsilon):
    first, second = laws
    return max(
        float(np.maximum(one - math.exp(epsilon) * two, 0).sum())
        for one, two in ((first, second), (second, first))
    )


def all_outcomes(budget_terms, plan, first_lines=()):
    """Return the laws of all outcomes, where what comes next depends on those before.

    Each path charges its own copy of the budget until that refuses the next release.
    """
    found = [[], []]

    def walk(path, outcomes, one, two):
        budget = Budget(**budget_terms)
        for given, _ in path:
            budget.charge("release", **given)
        given, laws = plan(outcomes)
        try:
            budget.charge("release", **given)
        except BudgetExceededError:
            found[0].append(one)
            found[1].append(two)
            return
        for number, (p, q) in enumerate(zip(*laws, strict=True)):
            if p or q:
                walk([*path, (given, number)], (*outcomes, number), one * p, two * q)

    walk(list(first_lines), (), 1.0, 1.0)
    return np.array(found[0]), np.array(found[1])


def with_failures(outcomes):
    """Larger releases after a lie, smaller ones after the truth; some fail."""
    epsilon = 0.9 if outcomes and outcomes[-1] == 2 else 0.6
    delta = 0.004 if len(outcomes) % 2 == 0 else 0.0
    return {"epsilon": epsilon, "delta": delta}, worst_response(epsilon, delta)


def of_both_kinds(outcomes):
    """A normal number first, then answers as strong as that was large."""
    if not outcomes:
        return {"mu": 0.7}, shifted_normal(0.7)
    epsilon = 0.5 + 0.08 * outcomes[0]
    return {"epsilon": epsilon}, worst_response(epsilon)


def alone(outcomes):
    """One answer that is a little too strong: its mu is 2.65, and there is one of 2.43."""
    return {"epsilon": 2.3}, worst_response(2.3)


SESSIONS = {
    "pure": ({"epsilon": 2, "delta": 0}, lambda path: of_both_kinds((*path, 1))),
    "pure with failures": ({"epsilon": 2, "delta": 0.05, "pure_epsilon": 2}, with_failures),
    "Gaussian with failures": ({"epsilon": 1.2, "delta": 0.2}, with_failures),
    "Gaussian of both kinds": ({"epsilon": 0.8, "delta": 0.3}, of_both_kinds),
    "Gaussian, one strong answer": ({"epsilon": 0.01, "delta": 0.97}, alone),
}


def excess(name):
    """Return by how much a session passes the delta of its budget, with none set aside unused."""
    terms, plan = SESSIONS[name]
    laws = all_outcomes(terms, plan)
    assert laws[0].sum() == pytest.approx(1)
    assert len(laws[0]) > 1 or "strong" in name
    budget = Budget(**terms)
    allowed = float(budget.delta if "failures" in name else budget._conversion_delta)
    return delta_of(laws, float(budget.epsilon)) - allowed


@pytest.mark.parametrize("name", SESSIONS)
def test_what_follows_earlier_outcomes_keeps_to_the_one_guarantee(name):
    assert excess(name) <= 1e-12


def forgets_failures(monkeypatch):
    charge = Budget.charge

    def without(self, what, *, epsilon=None, delta=0, **given):
        return charge(self, what, epsilon=epsilon, **given)

    monkeypatch.setattr(Budget, "charge", without)
    return "pure with failures"


def takes_epsilon_for_mu(monkeypatch):
    monkeypatch.setattr("dpboost.budgeting.charges.mu_of_epsilon", lambda epsilon: epsilon)
    return "Gaussian, one strong answer"


def forgets_who_comes_first(monkeypatch):
    # Each charge is checked against an empty budget.
    monkeypatch.setattr(Budget, "lines", property(lambda own: ()))
    reserve = Budget.reserve

    def alone_in_it(self, *given, **more):
        if len(self._records.lines) >= 6:
            raise BudgetExceededError
        kept, self._records.lines = self._records.lines, []
        reserve(self, *given, **more)
        self._records.lines = [*kept, *self._records.lines]

    monkeypatch.setattr(Budget, "reserve", alone_in_it)
    return "pure"


@pytest.mark.parametrize("bug", [forgets_failures, takes_epsilon_for_mu, forgets_who_comes_first])
def test_a_charge_that_is_too_small_would_be_found(bug, monkeypatch):
    name = bug(monkeypatch)
    if bug is forgets_failures:
        SESSIONS["many failures"] = (
            {"epsilon": 2, "delta": 0.005, "pure_epsilon": 2},
            lambda outcomes: ({"epsilon": 0.5, "delta": 0.004}, worst_response(0.5, 0.004)),
        )
        name = "many failures"
    assert excess(name) > 1e-3


# -- the rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 1e-3, 0.02, 0.5, 2.0, 8.0, 30.0])
def test_the_mu_of_an_epsilon_is_the_least_one(epsilon):
    mu = float(mu_of_epsilon(Fraction(epsilon)))
    if epsilon >= 0.02:
        # The corner of the curve of pure privacy lies on that of the normal law.
        corner = 1 / (1 + math.exp(epsilon))
        assert ndtr(-mu / 2) <= corner
        assert ndtr(-mu * (1 - 1e-6) / 2) > corner
    assert mu <= math.sqrt(math.pi / 2) * epsilon * (1 + 1e-8)
    # Everywhere: nobody does better against the answer than against the normal number.
    wrong = np.linspace(1e-6, 1 - 1e-6, 2001)
    missed = ndtr(ndtri(1 - wrong) - mu)
    pure = np.maximum(1 - math.exp(epsilon) * wrong, math.exp(-epsilon) * (1 - wrong))
    assert np.all(missed <= pure + 1e-9)


def test_an_account_is_charged_in_what_it_counts_in():
    half = Fraction(1, 2)
    assert Guarantee(kind="epsilon", amount=half).cost("rho") == Fraction(1, 8)
    assert Guarantee(kind="mu squared", amount=half, times=3).cost("rho") == Fraction(3, 4)
    assert Guarantee(kind="epsilon", amount=half, times=3).cost("epsilon") == Fraction(3, 2)
    assert Guarantee(kind="rho", amount=half).cost("mu squared") is None
    budget = Budget(epsilon=1, delta=1e-6)
    part = budget.charge("mean", mu=0.1)
    assert part == Fraction(1, 100) / GDPAccountant().capacity(Fraction(1), Fraction(8, 10**7))
    assert budget.remaining["Gaussian"] == 1 - part
    assert budget.charge("median", epsilon=0.001, delta=1e-8) == Fraction(1, 20)
    assert [line.what for line in budget.lines] == ["mean (charged)", "median (charged)"]
    with pytest.raises(InvalidParameterError, match="a rho has none"):
        budget.charge("mode", rho=0.01)
    both = Budget(epsilon=1, delta=1e-6, pure_epsilon=0.5)
    assert both.charge("median", epsilon=0.1) == Fraction(1, 5)
    assert both.remaining["Gaussian"] == 1


def test_fits_count_in_rho_after_a_charge_that_does():
    budget = Budget(epsilon=2, delta=1e-6, table="ward")
    part = budget.charge("synthetic rows", rho=0.02)
    assert part == Fraction(1, 50) / ZCDPAccountant().capacity(Fraction(2), Fraction(8, 10**7))
    report = boosting().fit(X, Y, budget=budget, fraction=0.5).privacy_report_
    assert report.accounting["measure"] == "rho"
    plain = report.certificate(budget=budget)
    lines = plain["accounting"]["budget"]["lines"]
    assert [line["what"] for line in lines] == ["synthetic rows (charged)", "DPBoostClassifier"]
    from tests.checker.test_check_certificate import agreed

    assert agreed(plain)[0] is None
    lines[0]["fraction"] = "51/100"
    assert agreed(plain)[0]
    with pytest.raises(BudgetExceededError, match="'ward'"):
        boosting().fit(X, Y, budget=budget, fraction=0.5)


def test_a_fit_in_rho_is_replayed_without_the_lines_before():
    from dpboost import replay

    budget = Budget(epsilon=2, delta=1e-6)
    budget.charge("synthetic rows", rho=0.02)
    model = boosting().fit(X, Y, budget=budget, fraction=0.5)
    again = replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()


def test_a_charge_that_does_not_fit_leaves_everything_as_it_was(tmp_path):
    budget = Budget(epsilon=1, delta=1e-6)
    budget.save(tmp_path / "ward.budget")
    budget.charge("mean", mu=0.2)
    other = Budget.load(tmp_path / "ward.budget")
    assert other.remaining == budget.remaining
    for given in ({"mu": 0.2}, {"epsilon": 3}, {"epsilon": 0.001, "delta": 1e-6}):
        with pytest.raises(BudgetExceededError):
            other.charge("too much", **given)
    assert len(budget.lines) == 1


@pytest.mark.parametrize(
    ("terms", "given", "words"),
    [
        ({}, {}, "takes one of epsilon, rho, mu and event"),
        ({}, {"epsilon": 1, "mu": 1}, "takes one of"),
        ({}, {"mu": 1, "delta": 1e-9}, "'delta'.*0 without epsilon"),
        ({}, {"epsilon": 1, "delta": 1}, "'delta'"),
        ({}, {"mu": 0}, "'mu'.*positive"),
        ({}, {"rho": math.inf}, "'rho'.*finite"),
        ({}, {"epsilon": 1, "periods": ("q0",)}, "needs a budget with periods"),
        ({"delta": 0}, {"mu": 1}, "pure account alone"),
        ({"delta": 0}, {"epsilon": 0.1, "delta": 1e-9}, "must be 0 under a budget"),
        ({"periods": 1}, {"mu": 0.1}, "'periods'"),
        ({"periods": 2}, {"epsilon": 0.1, "delta": 1e-9, "periods": ("a", "b")}, "'delta'"),
        ({"periods": 2}, {"mu": 0.1, "periods": "ab"}, "'periods'.*sequence"),
    ],
)
def test_what_no_rule_covers_is_refused(terms, given, words):
    budget = Budget(**({"epsilon": 1, "delta": 1e-6} | terms))
    with pytest.raises(InvalidParameterError, match=words):
        budget.charge("release", **given)
    assert budget.lines == ()


def test_a_charge_is_for_the_periods_that_it_names():
    budget = Budget(epsilon=1, delta=1e-6, periods=2)
    part = budget.charge("mean", mu=0.1, periods=["q0", "q1"])
    assert budget.remaining["Gaussian"] == 1 - 4 * part
    assert budget.left_of_periods["Gaussian"] == {"q0": 1 - 4 * part, "q1": 1 - 4 * part}


# -- events and measurements of others ---------------------------------------------------------


def test_events_are_charged_by_what_dominates_them():
    events = pytest.importorskip("dp_accounting").dp_event
    mean, tail = events.GaussianDpEvent(4.0), events.LaplaceDpEvent(20.0)
    both = events.ComposedDpEvent([mean, events.SelfComposedDpEvent(tail, 3)])
    assert guarantees_of(both) == (
        Guarantee(kind="mu squared", amount=Fraction(1, 16)),
        Guarantee(kind="epsilon", amount=Fraction(1, 20), times=3),
    )
    assert guarantees_of(events.SelfComposedDpEvent(mean, 1)) == guarantees_of(mean)
    budget = Budget(epsilon=2, delta=1e-5)
    part = budget.charge("another library", event=both)
    square = Fraction(1, 16) + 3 * mu_of_epsilon(Fraction(1, 20)) ** 2
    assert part == square / GDPAccountant().capacity(Fraction(2), Fraction(8, 10**6))
    # What dp-accounting finds for the whole is never more.
    from dp_accounting.pld import PLDAccountant

    whole = PLDAccountant().compose(both).get_epsilon(8e-6)
    assert whole <= GDPAccountant().epsilon(square, Fraction(8, 10**6))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("NoOpDpEvent", ()),
        ("NonPrivateDpEvent", ()),
        ("UnsupportedDpEvent", ()),
        ("ZCDpEvent", (0.1,)),
        ("DiscreteLaplaceDpEvent", (0.1, 1)),
        ("PoissonSampledDpEvent", "inner"),
    ],
)
def test_other_events_are_refused_by_name(name, given):
    events = pytest.importorskip("dp_accounting").dp_event
    if not hasattr(events, name):
        pytest.skip("not in this version")
    given = (0.1, events.GaussianDpEvent(1.0)) if given == "inner" else given or ()
    event = getattr(events, name)(*given)
    budget = Budget(epsilon=2, delta=1e-5)
    for each in (event, events.ComposedDpEvent([events.GaussianDpEvent(9.0), event])):
        with pytest.raises(InvalidParameterError, match=f"is or holds a {name}"):
            budget.charge("another library", event=each)

    class GaussianDpEvent:
        noise_multiplier = 100.0

    with pytest.raises(InvalidParameterError, match="is or holds a GaussianDpEvent"):
        budget.charge("an impostor", event=GaussianDpEvent())
    with pytest.raises(InvalidParameterError, match="'event'.*positive"):
        budget.charge("no noise", event=events.GaussianDpEvent(0.0))
    assert budget.lines == ()


def test_odometers_and_filters_of_opendp_see_a_fit():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib", "honest-but-curious")
    pure = as_opendp_measurement(DPTreeClassifier(epsilon=0.5, delta=0, schema=CLASSES))
    assert pure.map(1) == 0.5
    assert pure.map(3) == 1.5
    trees = opendp.c.make_fully_adaptive_composition(
        pure.input_domain, pure.input_metric, pure.output_measure
    )
    own = trees((X, Y))
    assert own(pure).predict(X).shape == (300,)
    own(pure)
    assert own.privacy_loss(1) == 1.0
    model = boosting(epsilon=1.0, delta=1e-6)
    wrapped = as_opendp_measurement(model)
    rho, failure = wrapped.map(1)
    capacity = GDPAccountant().capacity(Fraction(1), Fraction(1, 10**6))
    assert Fraction(rho) >= capacity / 2 > Fraction(rho) * Fraction(999, 1000)
    assert failure == pytest.approx(2e-7)
    # What a fit has really spent is not more.
    fitted = wrapped((X, Y))
    assert not hasattr(model, "ensemble_")
    assert fitted.privacy_report_.spent / 2 <= Fraction(rho)
    odometer = opendp.c.make_fully_adaptive_composition(
        wrapped.input_domain, wrapped.input_metric, wrapped.output_measure
    )
    most = (2.5 * rho, 1e-6)
    kept = opendp.c.make_privacy_filter(odometer, d_in=1, d_out=most)((X, Y))
    kept(wrapped)
    kept(wrapped)
    with pytest.raises(opendp.OpenDPException):
        kept(wrapped)
    with pytest.raises(opendp.OpenDPException, match="distance of 1"):
        wrapped.map(2)


def test_users_and_replaced_rows_have_distances_of_their_own():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib", "honest-but-curious")
    settings = {"epsilon": 1.0, "schema": CLASSES}
    of_users = as_opendp_measurement(
        boosting(rows_per_user=2, **settings),
        fit=lambda model, X, y, users: model.fit(X, y, user_ids=users),
    )
    assert str(of_users.input_metric) == str(opendp.user_distance("users"))
    fitted = of_users((X, Y, np.arange(300) // 2))
    assert fitted.privacy_report_.private
    replaced = as_opendp_measurement(boosting(neighbors="replace", **settings))
    assert replaced.input_metric == opendp.change_one_distance()
    bad = {"epsilon": math.inf}, {"noise_seed": 1}
    for changes in bad:
        with pytest.raises(InvalidParameterError, match="must be private"):
            as_opendp_measurement(boosting(**changes))
    with pytest.raises(InvalidParameterError, match="'model'"):
        as_opendp_measurement(itertools.count())


def test_the_figures_of_the_page_on_budgets():
    """docs/howto/budget.md: a fifth of a budget alone, and the noise of an account in rho."""
    fifth = Budget(epsilon=1, delta=1e-5).account(GDPAccountant(), Fraction(1, 5))
    assert round(fifth.epsilon(fifth.allowance, fifth.least_delta), 2) == 0.41
    more = []
    for epsilon, delta in itertools.product((0.1, 0.5, 1, 2, 4, 8), (1e-8, 1e-6, 1e-5)):
        budget = Budget(epsilon=epsilon, delta=delta)
        mu, rho = (
            budget.account(accountant, Fraction(1)).allowance
            for accountant in (GDPAccountant(), ZCDPAccountant())
        )
        more.append(math.sqrt(mu / (2 * rho)) - 1)
    assert (round(min(more), 2), round(max(more), 2)) == (0.05, 0.1)
