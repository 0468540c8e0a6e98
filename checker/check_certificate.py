#!/usr/bin/env python3
"""Recompute the privacy guarantee of a DPBoost certificate with Python's standard library alone.

usage: python3 -I -S check_certificate.py CERTIFICATE [MODEL]

CERTIFICATE is what `dpboost report --certificate` writes, signed or not; MODEL is the model text.
The program shares no code with DPBoost. It computes each charge from the integers of the noise,
adds them up, and turns the total into epsilon and delta by enclosures that are rounded outwards.
Exit code 0: the claim follows from what is printed as taken on trust; 1: refused.
"""

import base64
import hashlib
import json
import sys
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, isqrt
from pathlib import Path

LAPLACE, GAUSSIAN, EXPONENTIAL = "discrete Laplace", "discrete Gaussian", "exponential mechanism"
NORMS = {LAPLACE: "l1", GAUSSIAN: "l2", EXPONENTIAL: "range", "permute-and-flip": "range"}
# What an added row moves at least, by label: constant times unit of a count, constant of a choice.
COUNTS = """categories;cell sizes;class counts;class labels;common feature bound;feature bounds
fine histograms;impurity bounds;label bounds;label range;leaf counts;magnitudes of errors
node sizes;range of scores;row count;rows by bin;scores;scores by label;start value
sums of errors"""
LEAST = dict.fromkeys(COUNTS.replace("\n", ";").split(";"), 1) | {"level histograms": 2}
CHOICES = dict.fromkeys(["split choice", "threshold choice", "split gain"], 1026)
NEVER_PARALLEL = {"", "training", "preparation", "evaluation", "drift", "splits", "ensemble *"}
REASONS = {"random assignment", "holdout", "nodes by content"}
FOLDS, RANGE = "all children but the cheapest", {"rho": 8, "mu squared": Fraction(904, 355)}
LATTICE = {"least_sigma": 2**16, "epsilon": "1/1000000", "delta": "1/100000000000000000000"}


class RefusedError(Exception):
    """The claim does not follow from the certificate."""


def demand(condition, message):
    """Refuse the certificate unless a condition holds."""
    if not condition:
        raise RefusedError(message)


def exp(x, b):
    """Enclose e**x of a fraction. As below, by two integers times 2**-b."""
    if x < 0:
        low, high = exp(-x, b)
        return (1 << 2 * b) // high, ceil(Fraction(1 << 2 * b, low))
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
    w = b + 2 * halvings + 3 * int(x) + 40
    y, ends = (x.numerator << w) // (x.denominator << halvings), []  # at most 1/2
    for more in (0, 1):
        total, term, n = 1 << w, 1 << w, 0
        while term > 3 * more:
            n += 1
            term = ((term * (y + more) >> w) + more) // n + more
            total += term
        total += more * term  # later terms at least halve; without them it is a lower end
        for _ in range(halvings):
            total = (total * total >> w) + more
        ends.append((total >> w - b) + more)
    return ends


def atanh(z, b):
    """Enclose the inverse hyperbolic tangent of a fraction in [0, 1/3]."""
    ends = []
    for more in (0, 1):
        total = power = (z.numerator << b) // z.denominator + more
        square, n = (power * power >> b) + more, 1
        while power > 3 * more:
            power, n = (power * square >> b) + more, n + 2
            total += power // n + more
        ends.append(total + more * power)
    return ends


def ln(x, b):
    """Enclose the logarithm of a positive fraction: that of a power of 2, and of the rest."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    z = (x - Fraction(2) ** k) / (x + Fraction(2) ** k)
    two, ends = atanh(Fraction(1, 3), b), atanh(abs(z), b)
    ends = ends if z >= 0 else (-ends[1], -ends[0])
    return 2 * (ends[0] + k * two[k < 0]), 2 * (ends[1] + k * two[k >= 0])


def pi(b):
    """Enclose pi by Machin's formula, each term of which errs by less than three units."""
    total = errors = 0
    for factor, q in ((16, 5), (-4, 239)):
        power, n = (factor << b) // q, 1
        while power not in (0, -1):
            total += power // n * (1 if n % 4 == 1 else -1)
            power, n, errors = power // (q * q), n + 2, errors + 3
    return total - errors - 9, total + errors + 9


def normal(x, b):
    """Enclose the normal distribution function at a fraction."""
    if x < 0:
        low, high = normal(-x, b)
        return (1 << b) - high, (1 << b) - low
    if x > 40:  # the tail is below exp(-x**2 / 2)
        return (1 << b) - exp(Fraction(-800), b)[1], 1 << b
    square = x * x
    w = b + 2 * int(square) + 60
    density, circle, ends = exp(-square / 2, w), pi(w), []
    root = isqrt(circle[0] << w + 1), isqrt(circle[1] << w + 1) + 1  # of 2 pi
    q = (square.numerator << w) // square.denominator
    for more in (0, 1):  # the sum over n of x**(2 n + 1) / (1 * 3 * ... * (2 n + 1))
        total = term = (x.numerator << w) // x.denominator + more
        n = 1
        while term > 3 * more or n <= 2 * square:
            n += 2
            term = (term * (q + more) >> w) // n + more
            total += term
        product = (total + more * term) * density[more] // root[1 - more] + more
        ends.append(((1 << w - 1) + product >> w - b) + more)
    return ends


def gaussian_holds(mu_squared, epsilon, delta):
    """Whether mu-Gaussian privacy, whose delta rises with mu, is (epsilon, delta), for certain."""
    low, high, b = Fraction(0), Fraction(mu_squared > 0), 128 + 2 * delta.denominator.bit_length()
    while low <= delta < high and b < 20_000:
        b, ends = 2 * b + 3 * int(epsilon), []
        root = isqrt((mu_squared.numerator << 2 * b) // mu_squared.denominator)
        for more in (0, 1):
            mu = Fraction(max(root + more, 1), 1 << b)
            first = Fraction(ceil((mu / 2 - epsilon / mu) * (1 << b)) - 1 + more, 1 << b)
            second = Fraction(ceil((-mu / 2 - epsilon / mu) * (1 << b)) - more, 1 << b)
            other = exp(epsilon, b)[1 - more] * normal(second, b)[1 - more]
            ends.append(((normal(first, b)[more] << b) - other >> b) + more)
        low, high = (Fraction(end, 1 << b) for end in ends)
    return high <= delta


def converts(measure, lattice, total, alpha, epsilon, delta):
    """Whether a total gives (epsilon, delta); Gaussian accounting leaves room for the lattice."""
    cost, _, slack = total
    demand(epsilon <= 10_000, "epsilon is beyond what this program computes")
    if measure == "epsilon" or cost == 0:
        return cost <= epsilon
    demand(measure in ("rho", "mu squared"), "the measure is unknown")
    if measure == "rho":
        alpha, b = Fraction(alpha), 256 + 2 * delta.denominator.bit_length()
        demand(alpha > 1 and delta > 0, "the witness alpha is not above 1, or no delta is left")
        high = (ln(1 / delta, b)[1] - ln(alpha, b)[0]) / (alpha - 1) + ln(1 - 1 / alpha, b)[1]
        return alpha * cost + high / (1 << b) <= epsilon
    room, failure = Fraction(lattice["epsilon"]), Fraction(lattice["delta"])
    known = lattice["least_sigma"] >= 2**16 and room > 0 and failure >= Fraction(1, 10**20)
    tail = max(60, ceil(epsilon) + 47)
    fine = slack + Fraction(9 * tail, 8 * lattice["least_sigma"] ** 2) <= room
    demand(known and fine, "the lattice is too coarse for Gaussian accounting")
    left = (1 - room) * delta - failure
    return epsilon > room and left > 0 and gaussian_holds(cost, epsilon - room, left)


def most_booked(parts, most=None, power=1):
    """Return the most that anybody has paid: by `most` periods, or one part of each division."""
    if most:
        windows = {}
        for part, fraction in parts:
            names = frozenset(name for division, name in part if division == "periods")
            rest = [pair for pair in part if pair[0] != "periods"]
            windows.setdefault(names, []).append((rest, fraction))
        sums, names = {w: most_booked(windows[w]) for w in windows}, set().union(*windows)
        demand(comb(len(names), most) < 10**5 and frozenset() not in windows, "too many periods")
        sets = map(set, combinations(names, min(most, len(names))))
        return max(sum(sums[w] * len(w & own) ** power for w in windows if w & own) for own in sets)
    total, divisions = sum((fraction for part, fraction in parts if not part), Fraction(0)), {}
    for (first, *rest), fraction in (each for each in parts if each[0]):
        divisions.setdefault(first[0], {}).setdefault(first[1], []).append((rest, fraction))
    return total + sum(max(map(most_booked, each.values())) for each in divisions.values())


class Certificate:
    """A certificate, and what had to be taken on trust so far."""

    def __init__(self, plain):
        self.claim, self.account, self.trusted = plain["claim"], plain.get("accounting"), {}
        self.trust = self.trusted.setdefault  # notes a sentence once

    def cost(self, line, square):
        """Return what one release costs by the noise that was drawn, at a squared sensitivity."""
        label, noise, measure = line["label"], line["noise"], self.account["measure"]
        if line["mechanism"] == GAUSSIAN:
            demand(measure != "epsilon", f"{label}: Gaussian noise has no pure epsilon")
            least = self.account["lattice"]["least_sigma"] if measure == "mu squared" else 1
            demand(noise[0] >= least, f"{label}: the noise is too fine for Gaussian accounting")
            return Fraction(square, noise[0] ** 2 * (1 if measure == "mu squared" else 2))
        rate, by = Fraction(*noise), RANGE.get(measure) if line["mechanism"] == EXPONENTIAL else 2
        demand(by != 2 or measure != "mu squared", f"{label}: the mechanism has no mu")
        return rate * isqrt(square) if measure == "epsilon" else rate**2 * square / by

    def charge(self, line):
        """Return charge, delta and lattice error of a line of releases, or refuse it."""
        label, name, noise, constant = map(line.get, ("label", "mechanism", "noise", "constant"))
        demand(line["norm"] == NORMS.get(name), f"{label}: the mechanism or its norm is unknown")
        demand(len(noise) == (1 if name == GAUSSIAN else 2), f"{label}: parameters of other noise")
        size, touched = line["sizes"][1], line["coordinates"] or line["sizes"][1]
        for number in (*noise, constant, touched, line["added"] or 1):
            demand(type(number) is int and number > 0, f"{label}: {number!r} is no count")
        unit = Fraction(line["unit"]) * (1 + Fraction(1, 2**40))  # a float, perhaps rounded
        least = max(LEAST.get(label, 0) / unit, CHOICES.get(label, 0)) ** 2
        least *= (2 if line["norm"] == "l2" else 4) if self.account["relation"] == "replace" else 1
        demand(constant**2 >= least, f"{label}: a row moves more than {constant} units")
        booked, failure = Fraction(line["cost"]), Fraction(line["delta"])
        demand(booked >= self.cost(line, constant**2), f"{label}: the charge is below its cost")
        flag = line["delta_alone"] == (failure > 0 and booked == 0)
        demand(flag and 0 <= failure < 1, f"{label}: its delta is malformed")
        if line["share"] is not None:
            self.check_share(line, size)
        if line["threshold"] is not None or failure:
            self.check_threshold(line, failure * 2**512 / size)
        slack = Fraction(10 * touched, 8 * noise[0] ** 2) if name == GAUSSIAN else Fraction(0)
        return booked, failure, slack if self.account["measure"] == "mu squared" else 0

    def check_threshold(self, line, failure):
        """Refuse a threshold that a name of one row passes with more than the charged delta."""
        above = line["threshold"] - round(1 / Fraction(line["unit"]))
        if line["mechanism"] == GAUSSIAN:
            tail = exp(-Fraction(above**2, 2 * line["noise"][0] ** 2), 512)[1]
        else:
            rate = Fraction(*line["noise"])
            tail = Fraction(exp(-rate * above, 512)[1] << 512, (1 << 512) + exp(-rate, 512)[0])
        demand(above > 0 and tail <= failure, f"{line['label']}: the threshold fails more often")

    def check_share(self, line, size):
        """Refuse shares of discrete Gaussian noise whose sum is not what is charged."""
        honest, s = line["share"]["honest"], line["share"]["sigma"]
        demand(honest in range(1, 2**16 + 1), f"{line['label']}: shares of nobody")
        if honest == 1 or line["mechanism"] == LAPLACE:
            return  # each adds all of it, or shares add up to the discrete Laplace law exactly
        square = Fraction(pi(256)[0] ** 2 * s * s, 1 << 512)
        known = range(1, honest) if s < 16 else [1] * (honest - 1)  # the first term is the largest
        rest = {k: exp(-min(2 * square * k / (k + 1), Fraction(900)), 1400)[1] for k in set(known)}
        tau = 10 * Fraction(sum(rest[k] for k in known), 1 << 1400)
        less = Fraction(1, line["noise"][0] ** 2) - Fraction(1, honest * s * s)
        carries, near = tau * size / 2 <= less * line["constant"] ** 2, 2 * tau <= less * 10 / 8
        demand(carries and near, f"{line['label']}: the shares do not carry the noise")

    def total(self, scope, charges, content=False):
        """Add up a scope: charge, delta and lattice error."""
        name, kind, reason = scope["name"], scope["kind"], scope.get("because")
        releases, below = scope.get("releases", []), scope.get("scopes", [])
        counts = [times for _, times in releases] + [each["times"] for each in below]
        demand(all(type(n) is int and n > 0 for n in counts), f"{name!r}: a count is malformed")
        content = content or reason == "nodes by content"
        sums = [Fraction(0)] * 3
        for number, times in releases:
            line = self.account["lines"][number]
            if content and self.account["relation"] == "replace":
                square = (line["added"] or 0) ** (1 if line["norm"] == "l2" else 2)
                covered = square and 2 * self.cost(line, square) <= Fraction(line["cost"])
                demand(covered, f"{line['label']}: a replaced row in two nodes costs more")
            sums = [sums[i] + times * charges[number][i] for i in range(3)]
        parts = [(self.total(each, charges, content), each["times"]) for each in below]
        if kind == "parallel":
            known = reason in REASONS and name not in NEVER_PARALLEL and not releases
            demand(known, f"{name!r}: no reason why its parts hold disjoint rows")
            self.trust(f"the parts of {name!r} hold disjoint rows: {reason}")
            return [max((part[i] for part, _ in parts), default=Fraction(0)) for i in range(3)]
        demand(kind in ("sequential", FOLDS), f"{name!r}: the kind {kind!r} is unknown")
        if kind == FOLDS:
            self.trust("each row takes part in all fits of a cross-validation but one, at random")
            sums[0] -= min(part[0] for part, _ in parts)
        if "cap" in scope:
            self.trust(f"the cap of {name!r}: at most {scope['cap']} of the budget")
        return [a + sum(n * part[i] for part, n in parts) for i, a in enumerate(sums)]

    def check_budget(self, budget, claim, totals, sides):
        """Check the fit against its lines, these against the accounts, and these to the claim."""
        whole, pure, delta = (Fraction(budget[k]) for k in ("epsilon", "pure_epsilon", "delta"))
        demand((whole, delta) == claim, "the budget has another epsilon or delta")
        lines, left = budget["lines"], Fraction(budget["conversion_delta"])
        most, of_users = map(budget.get("periods", {}).get, ("most", "of_users"))
        demand(0 <= pure <= whole and 0 <= left <= delta, "the budget is divided into too much")
        closed = {line["closes"] for line in lines} - {None}
        for line in lines:
            old = line if line["closes"] is None else lines[line["closes"]]
            same = all(line[k] == old[k] for k in ("account", "measure", "part", "own"))
            less = 0 <= Fraction(line["fraction"]) <= Fraction(old["fraction"])
            demand(same and less, f"{line['what']}: its line of the budget is malformed")
        counted = [line for number, line in enumerate(lines) if number not in closed]
        mine = [Fraction(line["fraction"]) for line in counted if line["own"]]
        demand(mine, "the budget has no line of this fit")
        for each in budget["accounts"]:
            name, measure, capacity = each["account"], each["measure"], Fraction(each["capacity"])
            power = 0 if of_users else 1 + (name == "Gaussian")
            own = [line for line in counted if line["account"] == name]
            parts = [(line["part"], Fraction(line["fraction"])) for line in own]
            demand(most_booked(parts, most, power) <= 1, f"more than all of the {name} account")
            here = any(line["own"] for line in own)
            slack = totals[2] / max(mine) if here else Fraction(0)  # as if all fits were as coarse
            epsilon, total = pure if name == "pure" else whole - pure, (capacity, 0, slack)
            holds = converts(measure, LATTICE, total, each["alpha"], epsilon, left)
            demand(holds, f"the {name} account holds more than its epsilon")
            for line in own:
                allowed, side = Fraction(line["fraction"]) * capacity, totals
                for division, part in line["part"]:
                    side = sides.get(part, totals) if division.startswith("holdout") else side
                    demand(most or division != "periods", f"{line['what']}: periods of nobody")
                    number = most if division == "periods" else 1
                    self.trust(f"anybody's rows in the budget: {number} of {division.split()[0]!r}")
                stated = Fraction(line["allowance"]) == allowed
                kept = side[0] <= allowed and measure == self.account["measure"]
                demand(stated and (kept or not line["own"]), f"{line['what']}: above its fraction")
        known = {line["account"] for line in counted} <= {e["account"] for e in budget["accounts"]}
        failing = (delta - left) / ((pure > 0) + (pure < whole)) * max(mine)
        demand(known and totals[1] <= failing, "the fit may fail more than its fraction")
        others = "kept to their lines" if budget["all_lines"] else "took what this one leaves"
        self.trust(f"other fits of the budget {others}, as their certificates show")

    def check(self):
        """Refuse a certificate whose claim does not follow; return epsilon and delta."""
        claim, account = self.claim, self.account
        demand(claim["private"] is True, "it claims no guarantee")
        demand(account is not None and account["format"] == 1, "its releases cannot be read")
        demand(account["relation"] == claim["neighbours"], "its relation is not that of the claim")
        demand(account["relation"] in ("add_remove", "replace"), "its relation is unknown")
        charges = [self.charge(line) for line in account["lines"]]
        root, used, sides, rows = account["scopes"], [], {}, 1
        for scope in (waiting := [root]):
            used += [number for number, _ in scope.get("releases", [])]
            waiting += scope.get("scopes", [])
            if scope.get("because") == "holdout":
                sides = {each["name"]: self.total(each, charges) for each in scope["scopes"]}
        demand(set(used) == set(range(len(charges))), "a line is in no scope")
        totals = self.total(root, charges)
        spent = [Fraction(account["spent"][name]) for name in ("cost", "delta")]
        demand(spent == totals[:2], "what is spent is not the sum of the releases")
        for each in account["multiples"]:
            times = Fraction(each["factor"]), each["fits"], each["coordinates"]
            if each["of"] == "rows of a user":
                rows = times[2]
                power = 1 if account["measure"] == "epsilon" else 2
                demand(times == (rows**power, 1, rows), "rows of a user count by another factor")
                self.trust(f"at most {rows} rows of a user take part")
            demand(times[0] >= 1 and times[2] >= times[1] >= 1, "a factor is below 1")
            totals = [totals[i] * times[i] for i in range(3)]
            sides = {name: [side[i] * times[i] for i in range(3)] for name, side in sides.items()}
        demand(rows == claim["rows_per_person"], "the claim is for another number of rows")
        epsilon, delta = Fraction(account["epsilon"]), Fraction(account["delta"])
        if account["budget"] is not None:
            self.check_budget(account["budget"], (epsilon, delta), totals, sides)
        else:
            terms = account["alpha"], epsilon, delta - totals[1]
            holds = converts(account["measure"], account["lattice"], totals, *terms)
            demand(totals[1] <= delta and holds, "the total is above the claim")
        added = Fraction(account["earlier"]["epsilon"])
        epsilon, delta = epsilon + added, delta + Fraction(account["earlier"]["delta"])
        if claim["definition"] == "pure":
            demand(account["measure"] == "epsilon" and not totals[1], "the guarantee is not pure")
            delta = Fraction(0)
        for stated, number in ((claim["epsilon"], epsilon), (claim["delta"], delta)):
            demand(abs(Fraction(stated) - number) * 2**50 <= number, "it claims another total")
        if claim["continued_model"]:
            demand(added or account["budget"], "nothing covers the model that is continued")
            self.trust(f"the continued model has {'its own proof' if added else 'a line here'}")
        if (parties := account["parties"]) is not None:
            self.trust("{honest} of {parties} parties are honest and not lost".format(**parties))
        if labels := {line["label"] for line in account["lines"]} - set(LEAST) - set(CHOICES):
            self.trust("no lower bound of sensitivity is known here: " + ", ".join(sorted(labels)))
        self.trust("sensitivities: their lower bounds alone are checked, by a table of labels")
        self.trust("the list of releases is complete: only a replay of the transcript shows it")
        self.trust("the samplers draw the discrete laws exactly, from secret random bits")
        return epsilon, delta


def main(paths):
    """Check the files of the command line and return the exit code."""
    if not 1 <= len(paths) <= 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        plain = json.loads(Path(paths[0]).read_bytes(), parse_float=Fraction)
        if signed := "payloadType" in plain:
            payload = base64.b64decode(plain["payload"], validate=True)
            plain = json.loads(payload, parse_float=Fraction)["predicate"]
        certificate = Certificate(plain)
        certificate.trust("the signature, not checked here" if signed else "it is not signed")
        found = [hashlib.sha256(Path(each).read_bytes()).hexdigest() for each in paths[1:]]
        demand(found in ([], [plain["identity"]["model_sha256"]]), "it is of another model")
        if not found:
            certificate.trust("the model: its hash was compared with no file")
        epsilon, delta = certificate.check()
    except (RefusedError, OSError) as refusal:
        return print(f"refused: {refusal}") or 1
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return print(f"refused: the certificate is malformed ({error!r})") or 1
    print(f"accepted: epsilon = {float(epsilon):.6g}, delta = {float(delta):.6g}")
    print("\n  ".join(["taken on trust:", *certificate.trusted]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
