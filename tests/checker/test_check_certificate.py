"""The independent checker: its arithmetic, certificates of fits, and ten thousand random ones."""

from __future__ import annotations

import ast
import copy
import json
import math
import subprocess
import sys
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib import util
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, DPTreeClassifier
from dpboost.cli.main import main
from dpboost.reporting.certificate_form import CertificateError
from dpboost.reporting.proof_pages import PAGES
from tests.checker.random_certificates import (
    all_scopes,
    claimed,
    cost_of_line,
    epsilon_of,
    random_account,
    settled,
    total,
)

FILE = Path(__file__).parents[2] / "checker" / "check_certificate.py"
SPEC = util.spec_from_file_location("check_certificate", FILE)
checker = util.module_from_spec(SPEC)
SPEC.loader.exec_module(checker)

X = np.random.default_rng(0).uniform(size=(400, 3))
Y = (X[:, 0] > 0.5).astype(int)
CLASSES = {"bounds": dict.fromkeys(range(3), (0, 1)), "classes": [0, 1]}
NUMBERS = {"bounds": dict.fromkeys(range(3), (0, 1)), "label_bounds": (0, 1)}
FEW = {"n_estimators": 6, "max_depth": 3, "verbosity": -1, "n_jobs": 1}


def verdict(plain):
    """Return why a certificate is refused, or None, and what is taken on trust."""
    certificate = checker.Certificate(plain)
    try:
        certificate.check()
    except checker.RefusedError as refusal:
        return str(refusal), certificate.trusted
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return f"malformed: {error}", certificate.trusted  # as `main` says
    return None, certificate.trusted


def of_file(document):
    return json.loads(json.dumps(document), parse_float=Fraction)


# -- the file -------------------------------------------------------------------------------------


def test_it_is_one_file_of_the_standard_library():
    text = FILE.read_text()
    assert len(text.splitlines()) <= 400
    assert [path.name for path in FILE.parent.iterdir() if path.suffix == ".py"] == [FILE.name]
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        node.module.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
    }
    assert names <= set(sys.stdlib_module_names)


def test_its_table_knows_every_label():
    known = set(checker.LEAST) | set(checker.CHOICES)
    unknown = {
        "change of the loss",
        "column choice",
        "conformal balance",
        "gradient moments",
        "leaf sums",
        "leaf values",
        "second moments",
    }
    # Reports of devices have no ledger.
    assert known | unknown | {"reports"} == set(PAGES)


def test_it_runs_without_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = DPBoostClassifier(epsilon=1.0, schema=CLASSES, **FEW).fit(X, Y)
    model.booster_.save_model(tmp_path / "model.txt")
    record = model.privacy_report_.certificate(model=model)
    (tmp_path / "certificate.json").write_text(json.dumps(record))

    def run(*arguments):
        command = [sys.executable, "-I", "-S", str(FILE), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    found = run("certificate.json", "model.txt")
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith("accepted: epsilon = 1, delta = 1e-06\ntaken on trust:\n")
    assert "complete" in found.stdout
    text = (tmp_path / "model.txt").read_bytes()
    (tmp_path / "model.txt").write_bytes(text.replace(b"leaf_value=0", b"leaf_value=1", 1) + b" ")
    assert run("certificate.json", "model.txt").stdout.startswith("refused: it is of another model")
    main(["keygen", "signing.key"])
    (tmp_path / "model.txt").write_bytes(text)
    main(["report", "model.txt", "--certificate", "signed.json", "--sign", "signing.key"])
    found = run("signed.json", "model.txt")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "signature" in found.stdout.partition("taken on trust:")[2]
    assert run("nothing.json").returncode == 1
    assert run().returncode == 2
    (tmp_path / "bad.json").write_text("[1]")
    assert "malformed" in run("bad.json").stdout


# -- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [64, 200, 900])
def test_enclosures_hold_the_number_and_are_narrow(bits):
    rng = np.random.default_rng(bits)
    for _ in range(60):
        x = Fraction(float(rng.normal() * 10 ** rng.uniform(-3, 1.2))).limit_denominator(10**9)
        with localcontext() as context:
            context.prec = 700
            number = Decimal(x.numerator) / x.denominator
            for low, high, exact in (
                (*checker.exp(x, bits), number.exp()),
                (*checker.ln(abs(x) + Fraction(1, 10**6), bits), None),
            ):
                if exact is None:
                    argument = abs(x) + Fraction(1, 10**6)
                    exact = (Decimal(argument.numerator) / argument.denominator).ln()
                scaled = exact * 2**bits
                assert low <= scaled <= high
                assert high - low <= 40 * bits
            low, high = checker.normal(x, bits)
            assert low <= _normal(number) * 2**bits <= high
            assert high - low <= 8
        assert abs(low / 2**bits - ndtr(float(x))) < 1e-13


def _normal(x):
    """The normal distribution function by Taylor's series, which alternates, with many digits."""
    term = total = x
    n = 0
    while abs(term) > Decimal(10) ** -500:
        n += 1
        term *= -x * x / (2 * n)
        total += term / (2 * n + 1)
    return Decimal(1) / 2 + total / (2 * _pi()).sqrt()


def _pi():
    low, high = checker.pi(2200)
    assert high - low < 10**4
    return Decimal(low) / 2**2200


def test_pi_is_enclosed():
    low, high = checker.pi(170)
    digits = 31415926535897932384626433832795028841971
    assert low - 2**38 <= digits * 2**170 // 10**40 <= high + 2**38
    assert high - low < 2000


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.3), (1.0, 4.0), (3.0, 20.0), (0.01, 0.05)])
def test_deltas_of_gaussian_privacy_are_those_of_dp_accounting(mu, epsilon):
    gaussian = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    loss = gaussian.GaussianPrivacyLoss(1 / mu)
    delta = loss.get_delta_for_epsilon(epsilon)
    square, exact = Fraction(mu) ** 2, Fraction(epsilon)
    assert checker.gaussian_holds(square, exact, Fraction(delta) * Fraction(1000001, 1000000))
    assert not checker.gaussian_holds(square, exact, Fraction(delta) * Fraction(999999, 1000000))


def test_the_conversion_of_zcdp_is_near_that_of_dp_accounting():
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = np.array([1 + step / 50 for step in range(1, 5000)])
    for rho in (0.01, 0.3, 2.0):
        found, order = rdp.compute_epsilon(orders, orders * rho, 1e-6)
        terms = ("rho", None, (Fraction(rho), 0, 0), Fraction(float(order)))
        delta = Fraction(1, 10**6)
        assert checker.converts(*terms, Fraction(found) * Fraction(1000001, 1000000), delta)
        assert not checker.converts(*terms, Fraction(found) * Fraction(99, 100), delta)


# -- certificates of fits -------------------------------------------------------------------------


def reports():
    """Return reports of every accountant, relation and kind of scope, by name."""
    budget = dpboost.Budget(epsilon=8.0, delta=1e-5, pure_epsilon=2.0)
    users = np.arange(400) // 3
    first = DPBoostRegressor(epsilon=1.0, schema=NUMBERS, **FEW).fit(X, Y)
    found = {
        "best": first,
        "continued": DPBoostRegressor(epsilon=1.0, schema=NUMBERS, **FEW).fit(
            X, Y, init_model=first
        ),
        "undeclared": DPBoostRegressor(epsilon=4.0, neighbors="replace", **FEW).fit(X, Y),
        "learned classes": DPBoostClassifier(epsilon=8.0, delta=1e-4, assume_public=(), **FEW).fit(
            X, Y
        ),
        "large epsilon": DPBoostRegressor(epsilon=300.0, **FEW).fit(X, Y),
        "pure": DPBoostRegressor(epsilon=1.0, delta=0, schema=NUMBERS, **FEW).fit(X, Y),
        "users": DPBoostRegressor(epsilon=1.0, schema=NUMBERS, rows_per_user=2, **FEW).fit(
            X, Y, user_ids=users
        ),
        "dpboost": DPBoostRegressor(
            recipe="dpboost", epsilon=2.0, neighbors="replace", schema=NUMBERS, **FEW
        ).fit(X, Y),
        "top down": DPTreeClassifier(
            recipe="dp_topdown", epsilon=4.0, neighbors="replace", schema=CLASSES
        ).fit(X, Y),
        "tree": DPTreeClassifier(epsilon=1.0, delta=1e-6, schema=CLASSES).fit(X, Y),
        "tree of a budget": DPTreeClassifier(schema=CLASSES).fit(X, Y, budget=budget, fraction=0.5),
        "held out": DPBoostClassifier(schema=CLASSES, **FEW).fit(
            X, Y, budget=budget, fraction=0.3, holdout=0.3
        ),
        "stopped": DPBoostRegressor(schema=NUMBERS, early_stopping_round=1, **FEW).fit(
            X, Y, budget=budget, fraction=0.3, holdout=0.3
        ),
    }
    found = {name: model.privacy_report_ for name, model in found.items()} | {"whole": budget}
    params = {"objective": "binary", "epsilon": 4.0, "schema": CLASSES, "verbosity": -1}
    for name, more in (
        ("cv", {}),
        ("cv, pure", {"delta": 0.0}),
        ("cv, users", {"rows_per_user": 2}),
    ):
        rows = dpboost.Dataset(X, Y, user_ids=users if "rows_per_user" in more else None)
        result = dpboost.cv(params | more, rows, num_boost_round=3, nfold=3, return_cvbooster=True)
        found[name] = result.privacy_report
        found[f"{name}, a fit"] = result["cvbooster"].boosters[0].privacy_report
    return found


@pytest.fixture(scope="module")
def certificates():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = reports()
        plain = {name: report.certificate() for name, report in found.items() if name != "whole"}
        whole = found["held out"].certificate(budget=found["whole"])
        return plain | {"held out, all lines": whole}


NAMES = ("best", "continued", "undeclared", "learned classes", "large epsilon", "pure", "users")
NAMES += ("dpboost", "top down", "tree", "tree of a budget", "held out", "stopped", "cv")
NAMES += (
    "held out, all lines",
    "cv, a fit",
    "cv, pure",
    "cv, pure, a fit",
    "cv, users",
    "cv, users, a fit",
)


def agreed(plain):
    """Return why a certificate is refused by the checker and by the library: neither, or both."""
    from dpboost.budgeting.verification import verify_accounting

    refused, trusted = verdict(of_file(plain))
    try:
        verify_accounting(json.loads(json.dumps(plain)))
        fault = None
    except CertificateError as error:
        fault = str(error)
    assert (refused is None) == (fault is None), (refused, fault)
    return refused, trusted


@pytest.mark.parametrize("name", NAMES)
def test_certificates_of_fits_are_accepted_here_and_by_the_library(certificates, name):
    assert set(NAMES) == set(certificates)
    refused, trusted = agreed(certificates[name])
    assert refused is None
    assert any("complete" in sentence for sentence in trusted)


@pytest.mark.parametrize("name", NAMES)
def test_less_noise_and_larger_sensitivities_are_refused(certificates, name):
    plain = certificates[name]
    for number, line in enumerate(plain["accounting"]["lines"]):
        changes = [("constant", 2 * line["constant"])]
        if line["mechanism"] == "discrete Gaussian":
            changes.append(("noise", [line["noise"][0] // 2]))
        else:
            changes.append(("noise", [line["noise"][0] * 2, line["noise"][1]]))
        for key, value in changes:
            changed = copy.deepcopy(plain)
            changed["accounting"]["lines"][number][key] = value
            assert agreed(changed)[0], (number, key)


@pytest.mark.parametrize("name", NAMES)
def test_more_releases_and_a_smaller_epsilon_are_refused(certificates, name):
    plain = certificates[name]
    for number, scope in enumerate(all_scopes(plain["accounting"]["scopes"])):
        if "releases" in scope:
            changed = copy.deepcopy(plain)
            inner = all_scopes(changed["accounting"]["scopes"])[number]
            inner["releases"][0][1] *= 1000
            changed["claim"]["number_of_releases"] += 999 * scope["releases"][0][1]
            assert agreed(changed)[0]
    changed = copy.deepcopy(plain)
    changed["claim"]["epsilon"] *= 0.9
    assert agreed(changed)[0]
    changed["accounting"]["epsilon"] = str(Fraction(str(changed["claim"]["epsilon"])))
    assert agreed(changed)[0]


@pytest.mark.parametrize("name", ["tree of a budget", "held out", "held out, all lines", "stopped"])
def test_lines_of_a_budget_are_counted(certificates, name):
    plain = certificates[name]
    lines = plain["accounting"]["budget"]["lines"]
    changed = copy.deepcopy(plain)
    changed["accounting"]["budget"]["lines"] = [line for line in lines if not line["own"]]
    assert agreed(changed)[0]
    # A line of another fit takes all of it as well.
    changed = copy.deepcopy(plain)
    new = copy.deepcopy(lines[-1])
    capacity = {
        each["measure"]: Fraction(each["capacity"])
        for each in plain["accounting"]["budget"]["accounts"]
    }
    measure = plain["accounting"]["measure"]
    new |= {"account": "pure" if measure == "epsilon" else "Gaussian", "measure": measure}
    new |= {"own": False, "part": [], "fraction": "1", "closes": None, "state": "booked"}
    new["allowance"] = str(capacity[new["measure"]])
    changed["accounting"]["budget"]["lines"].append(new)
    assert "more than all" in agreed(changed)[0]
    # The fit takes less of the budget than it costs.
    changed = copy.deepcopy(plain)
    for line in changed["accounting"]["budget"]["lines"]:
        if line["own"]:
            line["fraction"] = str(Fraction(line["fraction"]) / 2)
            line["allowance"] = str(Fraction(line["allowance"]) / 2)
    assert agreed(changed)[0]


def test_a_replaced_row_in_two_nodes_is_charged_twice(certificates):
    plain = copy.deepcopy(certificates["top down"])
    for line in plain["accounting"]["lines"]:
        line["added"] = line["constant"]
    assert "two nodes" in agreed(plain)[0]
    plain = copy.deepcopy(certificates["top down"])
    for line in plain["accounting"]["lines"]:
        line["added"] = None
    assert agreed(plain)[0]


def test_the_other_measure_the_other_relation_and_fewer_rows_are_refused(certificates):
    for name, path, value in (
        ("pure", "measure", "rho"),
        ("best", "measure", "rho"),
        ("best", "relation", "replace"),
        ("users", "multiples", []),
        ("best", "lattice", {"least_sigma": 2, "epsilon": "1/10", "delta": "1/100000"}),
        ("best", "format", 2),
    ):
        changed = copy.deepcopy(certificates[name])
        changed["accounting"][path] = value
        assert agreed(changed)[0], (name, path)
    changed = copy.deepcopy(certificates["best"])
    changed["claim"]["private"] = False
    assert "no guarantee" in agreed(changed)[0]
    changed["claim"]["private"], changed["accounting"] = True, None
    assert agreed(changed)[0]


# -- shares of noise ------------------------------------------------------------------------------


def test_shares_of_parties_are_computed_again():
    from dpboost.privacy.noise_shares import share_sigma

    for sigma, honest, size in ((70_000, 3, 40), (5, 2, 3), (9, 7, 100), (2**20, 2, 1)):
        line = {"label": "x", "mechanism": "discrete Gaussian", "noise": [sigma], "constant": sigma}
        least = share_sigma(sigma, sigma, honest, size)
        line["share"] = {"honest": honest, "sigma": least}
        checker.Certificate({"claim": {}}).check_share(line, size)
        line["share"] = {"honest": honest, "sigma": least - 1}
        with pytest.raises(checker.RefusedError, match="do not carry"):
            checker.Certificate({"claim": {}}).check_share(line, size)


# -- random certificates --------------------------------------------------------------------------


def check_random(seed):
    """Check one random certificate and what somebody might change in it."""
    rng = np.random.default_rng(seed)
    account = random_account(rng)
    margin = 0 if account["measure"] == "epsilon" else 1e-9
    epsilon = epsilon_of(account, margin)
    plain = claimed(account, epsilon)
    refused, _ = verdict(plain)
    twice = any(
        scope.get("because") == "nodes by content" for scope in all_scopes(account["scopes"])
    )
    if refused is not None and "two nodes" in refused:
        # Two selections of half the range cost a half of one by the textbook, or as much.
        assert twice
        assert account["relation"] == "replace"
        return
    assert refused is None, (seed, refused)
    if epsilon == 0:
        return  # every row is in the cheapest fit: nothing is below
    # A claim below the total.
    below = epsilon * (1 - Fraction(1, 10**6)) if margin == 0 else epsilon_of(account, -1e-6)
    assert verdict(claimed(account, below))[0], seed
    # Less noise, at the charge that was booked; with the charge that it costs; more releases.
    number = int(rng.integers(len(account["lines"])))
    for booked in (False, True):
        changed = copy.deepcopy(account)
        noise = changed["lines"][number]["noise"]
        noise[0] = max(noise[0] // 2, 1) if len(noise) == 1 else noise[0] * 2
        check_changed(settled(changed, costs=booked), epsilon, seed, refused=not booked)
    changed = copy.deepcopy(account)
    scopes = all_scopes(changed["scopes"])
    scopes[int(rng.integers(len(scopes) - 1)) + 1 if len(scopes) > 1 else 0]["times"] += 3
    check_changed(settled(changed), epsilon, seed)
    if account["lines"][0]["threshold"] is not None:
        changed = copy.deepcopy(account)
        line = changed["lines"][0]
        line["threshold"] -= max(line["threshold"] // 1000, 2)
        assert "threshold" in verdict(claimed(changed, epsilon))[0], seed
    # A larger sensitivity with its charge.
    changed = copy.deepcopy(account)
    changed["lines"][number]["constant"] *= 2
    check_changed(settled(changed), epsilon, seed)
    check_dropped(account, number, epsilon, seed)
    check_swapped(account, rng, epsilon, seed)
    check_lowered(account, number, epsilon, seed)


def check_changed(changed, epsilon, seed, *, refused=False):
    """Refused exactly where the true total is above the claim."""
    plain = claimed(changed, epsilon)
    plain["accounting"]["alpha"] = changed["alpha"]
    if not refused:
        again = copy.deepcopy(changed)
        needed = epsilon_of(again)  # also finds the best witness
        plain["accounting"]["alpha"] = again["alpha"]
        refused = needed > epsilon
    found, _ = verdict(plain)
    lattice = found is not None and "lattice" in found
    fine = found is not None and "too fine" in found
    # A threshold is for the noise and the units that it was computed for.
    other = found is not None and ("two nodes" in found or "threshold" in found)
    assert lattice or fine or other or (found is not None) == refused, (seed, found, refused)


def check_dropped(account, number, epsilon, seed):
    """A line is dropped: the sum shows it, or completeness is named as trusted."""
    changed = copy.deepcopy(account)
    for scope in all_scopes(changed["scopes"]):
        if "releases" in scope:
            scope["releases"] = [each for each in scope["releases"] if each[0] != number]
            for each in scope["releases"]:
                each[0] -= each[0] > number
    del changed["lines"][number]
    same = [str(each) for each in total(changed)] == list(changed["spent"].values())
    found, trusted = verdict(claimed(changed, epsilon))
    assert same or found, seed
    found, trusted = verdict(claimed(settled(changed), epsilon))
    if found is None:
        assert any("complete" in sentence for sentence in trusted)


def check_swapped(account, rng, epsilon, seed):
    """A scope changes its kind: refused, or its reason is named as trusted."""
    changed = copy.deepcopy(account)
    scopes = [each for each in all_scopes(changed["scopes"]) if each["kind"] != "parallel"]
    scope = scopes[int(rng.integers(len(scopes)))]
    scope["kind"] = "parallel"
    releases = scope.get("releases")
    assert verdict(claimed(settled(changed), epsilon))[0], seed  # no reason is given
    scope["because"] = "random assignment"
    found, trusted = verdict(claimed(settled(changed), epsilon))
    if releases or scope["name"] == "":
        assert found, seed
    elif found is None:
        assert any(repr(scope["name"]) in sentence for sentence in trusted)


def check_lowered(account, number, epsilon, seed):
    """A constant is lowered: refused by the table, or sensitivities are named as trusted."""
    changed = copy.deepcopy(account)
    line = changed["lines"][number]
    line["constant"] = max(line["constant"] // 4, 1)
    known = line["label"] in (*checker.LEAST, *checker.CHOICES)
    least = checker.CHOICES.get(line["label"], line["constant"] * 4 if known else 0)
    found, trusted = verdict(claimed(settled(changed), epsilon))
    rows = 1 if account["relation"] == "add_remove" else 2
    if known and line["constant"] < least * rows / (2 if line["norm"] == "l2" else 1):
        assert found, seed
    elif found is None:
        assert any("sensitivities" in sentence for sentence in trusted)


def test_the_cost_of_a_line_is_what_the_textbook_says():
    line = {"mechanism": "exponential mechanism", "noise": [1, 100], "constant": 50}
    assert cost_of_line(line, "epsilon") == Fraction(1, 2)
    assert cost_of_line(line, "rho") == Fraction(1, 32)
    assert cost_of_line(line, "mu squared") == pytest.approx(math.pi / 32)
    line = {"mechanism": "discrete Gaussian", "noise": [100], "constant": 50}
    assert (cost_of_line(line, "rho"), cost_of_line(line, "mu squared")) == (
        Fraction(1, 8),
        Fraction(1, 4),
    )


def test_random_certificates():
    for seed in range(200):
        check_random(seed)


@pytest.mark.nightly
def test_ten_thousand_random_certificates():
    for seed in range(200, 10_200):
        check_random(seed)
