import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.mechanisms import DiscreteLaplace, ExponentialMechanism
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts, gain_score
from dpboost.reporting.privacy_report import PrivacyReport

SECRET = 424242
PUBLIC = ("column types", "set of labels")


def fit(ledger):
    """Spend like a fit: a start, then two ensembles of trees on disjoint rows."""
    both = (*counts(Neighbors.ADD_REMOVE, 2**16), gain_score(8, Neighbors.ADD_REMOVE))
    hidden = Sensitive(np.full((1, 3), SECRET, dtype=np.int64), both, 2.0**-16)
    whole = ledger.capacity
    ledger.release(ledger.accountant.noise(whole / 10), hidden, label="start")
    for ensemble in range(2):
        with ledger.parallel(f"ensemble {ensemble}"):
            for tree in range(3):
                with ledger.sequential(f"tree {tree}"):
                    part = whole / 5 if tree == 1 else whole / 50
                    noise = ledger.accountant.noise(part)
                    ledger.release(noise, hidden, label="leaves")
                    ledger.release(noise, hidden, label="splits")
    return ledger


@pytest.fixture(params=[PureAccountant(), ZCDPAccountant(), GDPAccountant()])
def report(open_ledger, request):
    delta = Fraction(1, 10**6)
    ledger = open_ledger(accountant=request.param, delta=delta, entropy=Entropy.secure())
    return PrivacyReport.from_ledger(
        fit(ledger), assumed_public=PUBLIC, facts={"trees": 6, "rate": 0.1, "loss": "squared"}
    )


def test_shares_add_up_along_the_costliest_path(report):
    shares = {release.label: release.share for release in report.releases}
    assert shares == {"start": Fraction(1, 10), "leaves": Fraction(2, 5), "splits": Fraction(2, 5)}
    assert sum(shares.values()) == report.spent / report.capacity


def test_round_trip_through_json(report):
    text = report.to_json()
    assert "\n" not in text
    assert PrivacyReport.from_dict(json.loads(text)) == report
    assert json.loads(text) == report.to_dict()


def test_dict_is_made_of_plain_scalars(report):
    def walk(part):
        if isinstance(part, (dict, list)):
            for child in part.values() if isinstance(part, dict) else part:
                walk(child)
        else:
            assert part is None or type(part) in (str, int, float, bool)

    plain = report.to_dict()
    walk(plain)
    assert plain["epsilon"] == "1"
    assert plain["epsilon_float"] == 1.0
    assert plain["releases"][0]["share"] == "1/10"
    assert plain["releases"][0]["share_float"] == 0.1


def test_table_for_people(report):
    lines = report.details().splitlines()
    assert "epsilon = 1" in lines[0]
    assert "one added or removed row" in lines[0]
    assert "same column types and the same set of labels" in lines[0]
    head = "\n".join(lines[1:8])
    assert "spent of 1" in head
    assert "private          yes" in head
    start = lines.index("") + 1
    columns = lines[start]
    leaves = next(line for line in lines if line.startswith("leaves"))
    assert leaves.index("ensemble */tree *") == columns.index("scope")
    assert "40 %" in leaves
    assert "65536 x 2^-16" in leaves
    assert " 6 " in leaves


def test_nothing_private_is_in_it(report):
    for text in (str(report), report.to_html(), report.details(), report.to_json(), repr(report)):
        assert str(SECRET) not in text
        assert str(3 * SECRET) not in text


def test_kind_and_delta(open_ledger):
    entropy = Entropy.secure()
    pure = PrivacyReport.from_ledger(fit(open_ledger(entropy=entropy, delta=0.1)))
    assert (pure.kind, pure.delta_spent) == ("pure", 0)
    assert "delta" not in pure.guarantee
    ledger = open_ledger(entropy=entropy, delta=0.1)
    value = Sensitive(np.zeros(1, dtype=np.int64), (Sensitivity("l1", 1, "test"),))
    ledger.release(DiscreteLaplace(epsilon=1), value, label="x", delta=0.01)
    mixed = PrivacyReport.from_ledger(ledger)
    assert (mixed.kind, mixed.delta_spent) == ("approximate", Fraction(1, 100))
    assert "delta = 0.1" in mixed.guarantee
    ledger = open_ledger(entropy=entropy, delta=0.1, accountant=ZCDPAccountant())
    concentrated = PrivacyReport.from_ledger(fit(ledger))
    assert (concentrated.kind, concentrated.delta_spent) == ("approximate", Fraction(1, 10))


def test_infinite_epsilon(open_ledger):
    ledger = open_ledger(epsilon=math.inf, entropy=Entropy.secure())
    scores = Sensitive(np.zeros((2, 3), dtype=np.int64), (Sensitivity("range", 4, "test"),))
    ledger.release(ExponentialMechanism(epsilon=math.inf), scores, label="splits")
    report = PrivacyReport.from_ledger(ledger)
    assert (report.kind, report.private) == ("none", False)
    assert report.guarantee.startswith("No privacy guarantee")
    plain = json.loads(report.to_json())
    assert [plain[name] for name in ("epsilon", "epsilon_spent", "capacity", "spent")] == [
        "inf"
    ] * 4
    assert PrivacyReport.from_dict(plain) == report
    assert "inf spent of inf" in report.details()


def test_seeded_noise_and_other_reasons(open_ledger):
    seeded = PrivacyReport.from_ledger(open_ledger(entropy=Entropy.seeded(1)))
    assert not seeded.private
    assert "seed" in seeded.guarantee
    assert "no (the noise was drawn from a seed)" in seeded.details()
    ledger = open_ledger(entropy=Entropy.secure())
    other = PrivacyReport.from_ledger(ledger, not_private=["init_model has no report"])
    assert not other.private
    assert "init_model" in other.guarantee


def test_replace_is_said_so(open_ledger):
    ledger = open_ledger(neighbors=Neighbors.REPLACE, entropy=Entropy.secure())
    assert "the content of one row" in PrivacyReport.from_ledger(ledger).guarantee


def test_malformed_parts_are_refused(open_ledger):
    report = PrivacyReport.from_ledger(open_ledger())
    for wrong in ({}, {"epsilon": "one"}, {"releases": [{}]}, None, "text"):
        plain = report.to_dict() | wrong if wrong and isinstance(wrong, dict) else wrong
        with pytest.raises(InvalidParameterError, match="report's dict"):
            PrivacyReport.from_dict(plain)
    for fact in (math.inf, [1], None):
        with pytest.raises(InvalidParameterError, match="facts"):
            PrivacyReport.from_ledger(open_ledger(), facts={"x": fact})
