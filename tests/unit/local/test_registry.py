"""Estimates from reports are unbiased and as noisy as the formulas say."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost import InvalidParameterError
from dpboost.local.frequency_oracles import GeneralizedResponse, UnaryEncoding
from dpboost.local.label_levels import ClassLabels, NumericLabels
from dpboost.local.randomizer import ONE_RECORD, MalformedReportError
from dpboost.local.registry import MECHANISMS, find_randomizer, response_is_better
from dpboost.privacy.randomness import Entropy

SIGN = NumericLabels(lower=-2.0, upper=2.0)
LEVELS = NumericLabels(lower=-2.0, upper=2.0, n_levels=5)
CLASSES = ClassLabels(classes=("a", "b", "c"))
CASES = [
    (mechanism, labels)
    for labels in (SIGN, LEVELS, CLASSES)
    for mechanism in MECHANISMS
    if mechanism != "paper" or labels is SIGN
]
N, RUNS = 400, 400


def simulate(mechanism, labels, epsilon, records):
    """Return counts and sums of many collections of the same records."""
    randomizer = find_randomizer(mechanism, epsilon, labels, 4, "test")
    entropy = Entropy.seeded(1)
    found = []
    for _ in range(RUNS):
        payload = randomizer.draw(records, ONE_RECORD, entropy)
        randomizer.check_payload(payload)
        totals = randomizer.new_totals()
        randomizer.add(payload, totals)
        counts, sums = randomizer.estimate(totals, len(records))
        whole, _ = randomizer.whole_sum(totals, len(records))
        moment = randomizer.second_moment(totals, len(records))
        found.append((counts, sums, whole, moment))
    parts = zip(*found, strict=True)
    return randomizer, [np.array(part) for part in parts]


@pytest.mark.parametrize(("mechanism", "labels"), CASES)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_estimates_are_unbiased_with_the_stated_variance(mechanism, labels, epsilon):
    random = np.random.default_rng(0)
    cells = random.integers(0, 3, N)  # nobody in cell 3
    if labels is CLASSES:
        private = np.array(["a", "b", "c"])[random.integers(0, 3, N)]
    else:
        # In a cell all labels are the same, so that no spread of labels comes in.
        private = np.array([-1.0, 0.5, 1.0])[cells]
    records = np.column_stack([cells, labels.positions(private)])
    randomizer, (counts, sums, whole, _) = simulate(mechanism, labels, epsilon, records)
    noise = randomizer.noise()
    truth = np.bincount(cells, minlength=4)
    unit_value = labels.targets(private)
    true_sums = np.array([unit_value[cells == cell].sum(axis=0) for cell in range(4)])
    error = np.sqrt(np.maximum(counts.var(axis=0), 1e-9) / RUNS)
    assert (np.abs(counts.mean(axis=0) - truth) < 5 * error).all()
    assert (np.abs(sums.mean(axis=0) - true_sums) < 5 * sums.std(axis=0) / RUNS**0.5).all()
    assert (
        np.abs(whole.mean(axis=0) - true_sums.sum(axis=0)) < 5 * whole.std(axis=0) / RUNS**0.5
    ).all()
    spread = 5 * np.sqrt(2 / RUNS)  # of a variance that is estimated from the runs
    outside = sums[:, 3].var(axis=0).sum()
    # The paper's mechanism reckons with the largest labels.
    least = (
        (0.25 + randomizer.label_variance) / (1 + randomizer.label_variance)
        if (mechanism == "paper")
        else 1.0
    )
    assert counts[:, 3].var() == pytest.approx(N * noise.count, rel=spread)
    assert N * noise.sums * least * (1 - spread) <= outside <= N * noise.sums * (1 + spread)
    both = ((counts[:, 3:] - truth[3]) * (sums[:, 3] - true_sums[3])).mean(axis=0)
    allowed = spread * N * np.sqrt(noise.count * noise.sums)
    assert (np.abs(both - N * noise.cross) < allowed).all()


@pytest.mark.parametrize("mechanism", ["unary", "response", "paper"])
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_the_variance_of_a_mean_is_that_of_reports_inside_and_outside(mechanism, epsilon):
    random = np.random.default_rng(0)
    cells = random.integers(0, 4, N)
    private = random.choice([-1.5, 0.0, 1.0], N)
    records = np.column_stack([cells, LEVELS.positions(private)])
    randomizer, (counts, sums, _, moment) = simulate(mechanism, LEVELS, epsilon, records)
    noise, scaled = randomizer.noise(), private / 2
    inside = cells == 0
    mean, spread = scaled[inside].mean(), scaled[inside].var()
    position = (scaled + 1) * 2
    rounding = ((position % 1) * (1 - position % 1)).mean() / 4
    # The labels are fixed here: their own spread is no noise, what the oracle adds to it is.
    per_record = noise.of_record(spread) - spread - noise.inside * (1 + noise.own)
    per_record += noise.inside if mechanism == "paper" else (1 + noise.own) * rounding
    expected = N * noise.of_mean(np.array([mean])) + inside.sum() * per_record
    found = (sums[:, 0, 0] - mean * counts[:, 0]).var()
    low = 0.4 if mechanism == "paper" else 1.0  # labels are not all at the bounds
    band = 5 * np.sqrt(2 / RUNS)
    assert low * expected * (1 - band) <= found <= expected * (1 + band)
    if mechanism != "paper":
        square = (scaled**2).mean() + rounding
        assert moment.mean() == pytest.approx(square, abs=5 * moment.std() / RUNS**0.5 + 0.02)


@pytest.mark.parametrize(
    ("oracle", "formula"),
    [
        (GeneralizedResponse, lambda e, k: (k - 2 + e) / (e - 1) ** 2),
        (UnaryEncoding, lambda e, k: 4 * e / (e - 1) ** 2),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 2, 5])
def test_the_variance_of_a_count_is_the_published_one(oracle, formula, epsilon):
    found = oracle(epsilon=Fraction(epsilon), n_symbols=9).variance(np.eye(9)[4])
    assert found == pytest.approx(formula(np.exp(epsilon), 9), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3])
def test_the_signed_cell_takes_the_better_oracle(epsilon):
    for n_symbols in range(2, 80):
        variances = [
            kind(epsilon=Fraction(epsilon), n_symbols=n_symbols).variance(np.eye(n_symbols)[0])
            for kind in (GeneralizedResponse, UnaryEncoding)
        ]
        assert response_is_better(n_symbols, Fraction(epsilon)) == (variances[0] < variances[1])


def test_the_signed_cell_is_far_less_noisy_than_the_paper():
    for epsilon, least in ((1, 50), (2, 15), (4, 12), (6, 15)):
        sums = [
            find_randomizer(mechanism, epsilon, SIGN, 32, "test").noise().sums
            for mechanism in ("paper", "signed_cell")
        ]
        assert sums[0] / sums[1] > least


@pytest.mark.parametrize(("mechanism", "labels"), CASES)
def test_without_noise_the_estimates_are_exact(mechanism, labels):
    private = np.array(["a", "b", "c", "c"]) if labels is CLASSES else np.array([-2.0, 2, 2, -2])
    cells = np.array([0, 1, 3, 3])
    records = np.column_stack([cells, labels.positions(private)])
    randomizer = find_randomizer(mechanism, float("inf"), labels, 4, "test")
    payload = randomizer.draw(records, ONE_RECORD, Entropy.secure())
    totals = randomizer.new_totals()
    randomizer.add(payload, totals)
    counts, sums = randomizer.estimate(totals, 4)
    unit_value = labels.targets(private)
    assert counts.tolist() == [1, 1, 0, 2]
    assert sums[3] == pytest.approx(unit_value[2] + unit_value[3])
    assert randomizer.log_probability(payload, records, ONE_RECORD) == 0


@pytest.mark.parametrize(
    ("mechanism", "payload"),
    [("response", [[12]]), ("unary", [[0, 1 << 4]]), ("paper", [[16, *[0] * 8]])],
)
def test_payloads_outside_the_alphabet_are_refused(mechanism, payload):
    labels = NumericLabels(lower=0, upper=1, n_levels=3)
    randomizer = find_randomizer(mechanism, 1.0, labels, 4, "test")
    with pytest.raises(MalformedReportError):
        randomizer.check_payload(np.array(payload, dtype=np.uint8))


def test_a_label_no_device_can_draw_is_refused():
    randomizer = find_randomizer("paper", 1.0, SIGN, 4, "test")
    for label in (randomizer.largest_label + 1, -(2**62)):
        payload = np.zeros((1, 9), dtype=np.uint8)
        payload[0, 1:] = np.frombuffer(np.int64(label).tobytes(), dtype=np.uint8)
        with pytest.raises(MalformedReportError, match="label"):
            randomizer.check_payload(payload)


@pytest.mark.parametrize("epsilon", [0, -1.0, 1e-9, 41, float("nan"), "1", True, None])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidParameterError, match="'epsilon'"):
        find_randomizer("unary", epsilon, SIGN, 4, "test")


def test_bad_names_are_refused():
    with pytest.raises(InvalidParameterError, match="one of 'signed_cell'"):
        find_randomizer("laplace", 1.0, SIGN, 4, "test")
    with pytest.raises(InvalidParameterError, match="Use 'signed_cell'"):
        find_randomizer("paper", 1.0, CLASSES, 4, "test")
