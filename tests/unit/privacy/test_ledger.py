import copy
import math
import pickle
import random
import threading
from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.accounting import (
    GDPAccountant,
    PureAccountant,
    UnsupportedReleaseError,
    ZCDPAccountant,
    for_group,
    for_part,
)
from dpboost.privacy.ledger import BudgetExceededError, Disjoint, ScopeError
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.sensitivity.bound import Sensitivity

DELTA = Fraction(1, 10**6)


def a_sum(*values, constant=1, kind="l1", coordinates=1):
    bound = Sensitivity(kind, constant, "test", coordinates)
    return Sensitive(np.array(values or [0], dtype=np.int64), (bound,))


def spend(ledger, cost, label="sum", **parameters):
    return ledger.release(DiscreteLaplace(epsilon=cost), a_sum(), label=label, **parameters)


def records(ledger):
    return ledger.spent, ledger.delta_spent, ledger.remaining, ledger.capacity, ledger.entries


# -- composition --------------------------------------------------------------------------------


def test_sequential_adds_and_parallel_takes_the_largest(open_ledger):
    ledger = open_ledger()
    spend(ledger, Fraction(1, 10))
    with ledger.parallel("trees"):
        for tree, cost in enumerate((Fraction(1, 5), Fraction(1, 3), Fraction(1, 4))):
            with ledger.sequential(f"tree {tree}"):
                spend(ledger, cost / 2)
                spend(ledger, cost / 2)
    assert ledger.spent == Fraction(1, 10) + Fraction(1, 3)
    assert ledger.remaining == 1 - ledger.spent
    assert ledger.part_spent == pytest.approx(13 / 30)
    assert ledger.epsilon_spent == pytest.approx(float(ledger.spent))
    assert [entry.scope for entry in ledger.entries[:2]] == [(), ("trees", "tree 0")]


def test_the_part_spent_of_a_capacity_below_the_least_float(open_ledger):
    assert open_ledger(epsilon=Fraction(1, 10**400)).part_spent == 0


def total_by_definition(scope):
    """Cost, delta of a scope, from its entries and children alone."""
    totals = []
    for part in ("cost", "delta"):

        def total(node, part=part):
            own = sum((getattr(entry.charge, part) for entry in node.entries), Fraction(0))
            children = [total(child) for child in node.children.values()]
            return own + (max(children, default=0) if node.parallel else sum(children))

        totals.append(total(scope))
    return tuple(totals)


@pytest.mark.parametrize("seed", range(20))
def test_running_totals_are_those_of_the_definition(open_ledger, seed):
    generator = random.Random(seed)
    ledger = open_ledger(epsilon=1000, delta=Fraction(9, 10))
    for _ in range(60):
        with ExitStack() as stack:
            parallel = False
            for _ in range(generator.randrange(5)):
                parallel = generator.random() < 0.4
                name = f"{'p' if parallel else 's'}{generator.randrange(3)}"
                opened = ledger.parallel if parallel else ledger.sequential
                stack.enter_context(opened(name))
            if parallel:
                stack.enter_context(ledger.sequential("s"))
            cost = Fraction(generator.randrange(1, 9), generator.randrange(1, 9))
            spend(ledger, cost, delta=Fraction(generator.randrange(3), 1000))
        assert (ledger.spent, ledger.delta_spent) == total_by_definition(ledger.root)


def test_a_name_entered_again_adds_up_also_in_a_parallel_scope(open_ledger):
    ledger = open_ledger()
    for _ in range(2):
        with ledger.parallel("blocks"), ledger.sequential("block 0"):
            spend(ledger, Fraction(1, 4))
    assert ledger.spent == Fraction(1, 2)
    with ledger.parallel("blocks"), ledger.sequential("block 1"):
        spend(ledger, Fraction(1, 3))
    assert ledger.spent == Fraction(1, 2)


def test_rows_beside_those_of_the_open_scopes_have_a_scope_and_a_cap_of_their_own(open_ledger):
    ledger = open_ledger()
    quarter = Fraction(1, 4)
    sides = ledger.parallel("sides", Disjoint.HOLDOUT)
    with sides, ledger.sequential("trained"), ledger.parallel("trees"):
        with ledger.beside("sides", "held", most=quarter):
            spend(ledger, quarter)
            with pytest.raises(BudgetExceededError):
                spend(ledger, Fraction(1, 1000))
        with ledger.sequential("tree"):
            spend(ledger, Fraction(1, 2))
    assert [entry.scope for entry in ledger.entries] == [
        ("sides", "held"),
        ("sides", "trained", "trees", "tree"),
    ]
    assert ledger.spent == Fraction(1, 2)

    def fail_beside():
        with ledger.beside("sides", "held", most=quarter):
            raise KeyError

    with ledger.sequential("outer"):
        with pytest.raises(KeyError):
            fail_beside()
        spend(ledger, Fraction(1, 8))
    assert ledger.entries[-1].scope == ("outer",)


def test_folds_cost_what_the_row_of_any_fold_takes_part_in(open_ledger):
    ledger, coin = open_ledger(), random.Random(5)
    parts = parts_of(ledger, 3)
    costs = [Fraction(0)] * 4
    for _ in range(40):
        number, cost = coin.randrange(4), Fraction(coin.randrange(1, 9), 1000)
        with parts[number].parallel("trees"), parts[number].sequential(f"tree {coin.random()}"):
            spend(parts[number], cost)
        costs[number] = max(costs[number], cost)  # disjoint rows inside a fit
        of_a_row = (sum(costs) - costs[own] for own in range(3))
        assert ledger.spent == max(of_a_row) == 1 - ledger.remaining
        assert parts[number].spent == costs[number]
    assert len(ledger.entries) == 40
    assert ledger.entries[-1].scope[:1] in {("fits",), ("metrics",)}


def parts_of(ledger, n_folds, accountant=None):
    """Open the parts of a cross-validation."""
    given = {"accountant": accountant or PureAccountant(), "entropy": Entropy.seeded(1)}
    found = []
    for fold in range(n_folds):
        with ledger.folds("fits", n_folds):
            found.append(ledger.part(f"fold {fold}", **given))
    return [*found, ledger.part("metrics", **given)]


def test_parts_are_opened_once_and_together_keep_to_the_budget(open_ledger):
    ledger = open_ledger()
    *fits, metrics = parts_of(ledger, 3)
    # As if each might take all of it.
    spend(fits[0], Fraction(3, 5))
    before = records(ledger)
    for part in (fits[1], metrics):
        with pytest.raises(BudgetExceededError):
            spend(part, Fraction(1, 2))
        assert (records(ledger), part.entries) == (before, ())
    spend(fits[1], Fraction(2, 5))
    spend(fits[2], Fraction(2, 5))  # the cheapest is another one, and the total what it was
    assert ledger.remaining == 0
    with ledger.folds("fits", 3):
        with pytest.raises(ScopeError, match="opened before"):
            ledger.part("fold 1", accountant=PureAccountant(), entropy=Entropy.seeded(1))
        with pytest.raises(ScopeError, match="released directly"):
            spend(ledger, Fraction(1, 1000))
    with pytest.raises(ScopeError, match="opened before"):
        ledger.part("metrics", accountant=PureAccountant(), entropy=Entropy.seeded(1))


def test_parts_that_cost_infinitely_much_cost_as_much_together(open_ledger):
    ledger = open_ledger(epsilon=math.inf)
    for part in parts_of(ledger, 2)[:2]:
        for _ in range(2):
            spend(part, math.inf)
    assert ledger.spent == math.inf


@pytest.mark.parametrize("n_folds", [2, 4])
def test_parts_share_the_limit_of_gaussian_accounting(open_ledger, n_folds):
    accountant = GDPAccountant()
    ledger = open_ledger(accountant=accountant, delta=DELTA)
    share = for_part(accountant, Fraction(1, n_folds), n_folds, DELTA)
    for part in parts_of(ledger, n_folds, share):
        noise = part.accountant.noise(part.capacity)
        part.release(noise, a_sum(constant=2**20, kind="l2", coordinates=4), label="sum")
    whole = ledger.root.total
    assert whole.cost <= ledger.capacity
    assert whole.lattice_error == 0 < part.root.total.lattice_error


def test_scopes_are_left_by_exceptions_and_keep_their_charges(open_ledger):
    ledger = open_ledger()

    def fail_in_a_block():
        with ledger.sequential("outer"), ledger.parallel("inner"), ledger.sequential("block"):
            spend(ledger, Fraction(1, 4))
            raise KeyError

    with pytest.raises(KeyError):
        fail_in_a_block()
    spend(ledger, Fraction(1, 8))
    assert ledger.entries[-1].scope == ()
    assert ledger.spent == Fraction(3, 8)


def test_a_draw_that_fails_is_not_refunded(open_ledger, monkeypatch):
    ledger = open_ledger()
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        spend(ledger, Fraction(1, 4))
    assert ledger.spent == Fraction(1, 4)
    assert len(ledger.entries) == 1


def test_scopes_used_wrongly(open_ledger):
    ledger = open_ledger()
    with ledger.parallel("blocks"), pytest.raises(ScopeError, match="parallel scope"):
        spend(ledger, Fraction(1, 4))
    with pytest.raises(ScopeError, match="another kind"), ledger.sequential("blocks"):
        pass
    for name in ("", None, 3):
        with pytest.raises(InvalidParameterError, match="name"), ledger.sequential(name):
            pass
    assert ledger.spent == 0
    assert ledger.n_draws == 0


def test_scopes_left_out_of_order_close_the_ledger(open_ledger):
    ledger = open_ledger()
    outer, inner = ledger.sequential("outer"), ledger.sequential("inner")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(ScopeError, match="innermost"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    for use in (lambda: spend(ledger, Fraction(1, 4)), ledger.row_coins):
        with pytest.raises(ScopeError, match="out of order"):
            use()
    assert ledger.n_draws == 0


def test_a_branch_is_opened_again_where_it_was(open_ledger):
    ledger = open_ledger()
    for _ in range(2):
        with ledger.branch(("1", "3")):
            spend(ledger, Fraction(1, 8))
    with ledger.branch(("2",)):
        spend(ledger, Fraction(1, 8))
    with ledger.sequential("inside"), ledger.branch(("1",)):
        spend(ledger, Fraction(1, 8))
    assert [entry.scope for entry in ledger.entries] == [
        ("parts", "1", "parts", "3"),
        ("parts", "1", "parts", "3"),
        ("parts", "2"),
        ("inside", "parts", "1"),
    ]
    assert ledger.spent == Fraction(3, 8)


def test_a_branch_that_is_left_out_of_order_closes_the_ledger(open_ledger):
    ledger = open_ledger()
    branch = ledger.branch(("1",))
    branch.__enter__()
    ledger.sequential("inner").__enter__()
    with pytest.raises(ScopeError, match="innermost"):
        branch.__exit__(None, None, None)
    with pytest.raises(ScopeError, match="out of order"):
        spend(ledger, Fraction(1, 4))


def test_a_branch_that_fails_leaves_the_scope_as_it_was(open_ledger):
    ledger = open_ledger()
    with pytest.raises(InvalidParameterError, match="name"), ledger.branch(("1", "")):
        pass
    with pytest.raises(ValueError, match="inside"), ledger.branch(("1",)):
        raise ValueError("inside")
    spend(ledger, Fraction(1, 4))
    assert ledger.entries[0].scope == ()


def test_another_thread_is_refused(open_ledger):
    ledger, caught = open_ledger(), []

    def work():
        try:
            spend(ledger, Fraction(1, 4))
        except ScopeError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert ledger.entries == ()


# -- refusals -----------------------------------------------------------------------------------


def test_overspending_is_refused_before_any_draw_and_leaves_the_records_unchanged(open_ledger):
    ledger = open_ledger(delta=DELTA)
    spend(ledger, Fraction(2, 3))
    before = records(ledger)
    with ledger.parallel("blocks"), ledger.sequential("block"):
        for cost, delta in ((Fraction(1, 3) + Fraction(1, 10**30), 0), (math.inf, 0)):
            with pytest.raises(BudgetExceededError, match="'sum' would cost"):
                spend(ledger, cost, delta=delta)
        with pytest.raises(BudgetExceededError, match="delta"):
            spend(ledger, Fraction(1, 10), delta=2 * DELTA)
        assert records(ledger) == before
        assert ledger.n_draws == 1
        spend(ledger, Fraction(1, 3), delta=DELTA)
    assert ledger.remaining == 0


def test_a_parallel_sibling_may_use_what_the_costliest_one_used(open_ledger):
    ledger = open_ledger()
    with ledger.parallel("blocks"):
        for block in range(3):
            with ledger.sequential(f"block {block}"):
                spend(ledger, 1)
                with pytest.raises(BudgetExceededError):
                    spend(ledger, Fraction(1, 1000))
    assert ledger.spent == 1


@pytest.mark.parametrize(
    ("mechanism", "value", "message"),
    [
        (DiscreteLaplace(epsilon=1), a_sum(kind="l2"), "'l1'"),
        (ExponentialMechanism(epsilon=1), a_sum(), "'range'"),
        (ExponentialMechanism(epsilon=1), a_sum(1, 2, kind="range"), "n_candidates"),
        (DiscreteGaussian(rho=1), a_sum(kind="l2"), "no pure epsilon"),
        (DiscreteLaplace(epsilon=1), a_sum(constant=2**40), "too large to be drawn"),
        (DiscreteLaplace(epsilon=1), np.array([1]), "Sensitive"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_booked(open_ledger, mechanism, value, message):
    ledger = open_ledger()
    with pytest.raises(InvalidParameterError, match=message):
        ledger.release(mechanism, value, label="x")
    assert ledger.entries == ()
    assert ledger.n_draws == 0


def test_labels_and_deltas_are_checked(open_ledger):
    ledger = open_ledger(delta=DELTA)
    with pytest.raises(InvalidParameterError, match="label"):
        spend(ledger, 1, label="")
    with pytest.raises(InvalidParameterError, match="delta"):
        spend(ledger, 1, delta=-DELTA)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"neighbors": "substitute"}, "neighbors"),
        ({"delta": -0.1}, "delta"),
        ({"accountant": ZCDPAccountant()}, "'delta'"),
        ({"accountant": GDPAccountant()}, "'delta'"),
    ],
)
def test_parameters_are_checked(open_ledger, changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        open_ledger(**changes)


def test_stays_in_its_process(open_ledger):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="secret"):
            attempt(open_ledger())


# -- delta --------------------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", [ZCDPAccountant(), GDPAccountant()])
def test_delta_that_is_spent_does_not_serve_the_conversion(open_ledger, accountant):
    ledger = open_ledger(delta=DELTA, accountant=accountant)
    half = accountant.capacity(Fraction(1), DELTA / 2)
    assert ledger.capacity == accountant.capacity(Fraction(1), DELTA) > half
    bound = Sensitivity("l2", 2**16, "test", 1)
    value = Sensitive(np.zeros(1, dtype=np.int64), (bound,))
    release = {"label": "x", "delta": DELTA / 2}
    before = records(ledger)
    with pytest.raises(BudgetExceededError):  # covered only if delta were used twice
        ledger.release(accountant.noise(half * Fraction(1001, 1000)), value, **release)
    assert records(ledger) == before
    ledger.release(accountant.noise(half), value, **release)
    assert ledger.capacity == half
    assert ledger.remaining == 0
    assert ledger.epsilon_spent == pytest.approx(1, rel=1e-4)


# -- slack of Gaussian accounting ---------------------------------------------------------------


def test_gaussian_accounting_refuses_when_a_row_touches_too_many_entries(open_ledger):
    accountant = GDPAccountant()
    ledger = open_ledger(delta=DELTA, epsilon=8, accountant=accountant)
    limit = accountant.lattice_error_limit(Fraction(8))
    noise = DiscreteGaussian(rho=Fraction(1, 2))
    fitting = int(limit * 8 * 2**32 / 10)

    def touch(coordinates):
        value = a_sum(kind="l2", constant=2**16, coordinates=coordinates)
        ledger.release(noise, value, label="x")

    with pytest.raises(UnsupportedReleaseError, match="one too many for Gaussian accounting"):
        touch(fitting + 1)
    assert ledger.n_draws == 0
    with ledger.parallel("blocks"):
        for block in "ab":
            with ledger.sequential(block):
                touch(fitting)
    with pytest.raises(UnsupportedReleaseError, match="one too many for Gaussian"):
        touch(1)
    assert ledger.n_draws == 2


def test_the_whole_budget_never_reads_as_more_than_was_asked_for(open_ledger):
    # The curve and its inverse both round upwards, which shows at this point.
    accountant = for_group(GDPAccountant(), 7)
    ledger = open_ledger(delta=Fraction(1, 2), epsilon=25.549, accountant=accountant)
    value = a_sum(kind="l2", constant=2**30, coordinates=1)
    ledger.release(DiscreteGaussian(rho=ledger.capacity / 2), value, label="x")
    assert ledger.spent == ledger.capacity
    assert accountant.epsilon(ledger.spent, ledger.delta) > 25.549
    assert ledger.epsilon_spent == 25.549


# -- no privacy ---------------------------------------------------------------------------------


def test_infinite_epsilon_is_exact_and_not_private(open_ledger):
    ledger = open_ledger(epsilon=math.inf)
    noise = DiscreteLaplace(epsilon=math.inf)
    with ledger.parallel("blocks"):
        for block in "ab":
            with ledger.sequential(block):
                for _ in range(2):
                    assert ledger.release(noise, a_sum(41, 42), label="x").tolist() == [41, 42]
    assert (ledger.capacity, ledger.spent, ledger.remaining) == (math.inf,) * 3
    assert not ledger.private
    assert "infinite" in ledger.reasons[0]


def test_seeded_noise_is_not_private(open_ledger):
    assert open_ledger(entropy=Entropy.secure()).private
    ledger = open_ledger(entropy=Entropy.seeded(3))
    assert not ledger.private
    assert "seed" in ledger.reasons[0]
    again = open_ledger(entropy=Entropy.seeded(3))
    assert [spend(ledger, Fraction(1, 99))[0] for _ in range(9)] == [
        spend(again, Fraction(1, 99))[0] for _ in range(9)
    ]


# -- outcomes -----------------------------------------------------------------------------------


def test_releases_are_fresh_arrays_of_the_values_shape(open_ledger):
    ledger = open_ledger()
    value = np.zeros((3, 4), dtype=np.int64)
    bounds = (Sensitivity("l1", 1, "test"), Sensitivity("range", 2, "test"))
    sensitive = Sensitive(value, bounds)
    noisy = ledger.release(DiscreteLaplace(epsilon=Fraction(1, 9)), sensitive, label="x")
    assert (noisy.shape, noisy.dtype) == ((3, 4), np.int64)
    assert len(np.unique(noisy)) > 3
    chosen = ledger.release(ExponentialMechanism(epsilon=Fraction(1, 9)), sensitive, label="y")
    assert (chosen.shape, chosen.dtype) == ((3,), np.int32)
    assert (value == 0).all()


def test_an_auditor_can_replay_outcomes_and_weigh_them(open_ledger):
    """The exact loss of a forced outcome between neighbors is at most the charge."""
    losses = []
    for shift in (0, 3):
        ledger = open_ledger()
        ledger.forced = [np.array([40])]
        mechanism = DiscreteLaplace(epsilon=Fraction(1, 2))
        outcome = ledger.release(mechanism, a_sum(shift, constant=3), label="x")
        assert outcome == 40
        (entry,) = ledger.entries
        losses.append(entry.mechanism.log_probability(outcome, ledger.values[0], entry.bound))
    assert losses[1] - losses[0] == pytest.approx(float(entry.charge.cost))


def test_row_coins_are_new_and_free(open_ledger):
    ledger = open_ledger(entropy=Entropy.secure())
    first, second = ledger.row_coins(), ledger.row_coins()
    assert isinstance(first, RowCoins)
    assert (first.words(0, 4) != second.words(0, 4)).any()
    assert ledger.spent == 0


def test_the_accountant_of_pure_epsilon_is_exact_over_thousands_of_parts(open_ledger):
    ledger = open_ledger(epsilon=Fraction(1, 3), accountant=PureAccountant())
    part = Fraction(1, 3) / 999
    for ensemble in range(3):
        with ledger.sequential(f"ensemble {ensemble}"):
            for _ in range(333):
                spend(ledger, part)
    assert ledger.remaining == 0
    with pytest.raises(BudgetExceededError):
        spend(ledger, Fraction(1, 10**9))
