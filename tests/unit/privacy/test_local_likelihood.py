"""The likelihood ratio of every local mechanism, by enumeration in exact numbers."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from dpboost._kernels.entropy import SystemEntropy
from dpboost._utils.validation import InvalidParameterError
from dpboost.local.exact_probability import ONE, exp_below
from dpboost.local.frequency_oracles import GeneralizedResponse, UnaryEncoding, unpack
from dpboost.local.label_levels import POSITION_BITS, ClassLabels, NumericLabels
from dpboost.local.lpdt_mechanism import LABEL_UNITS
from dpboost.local.randomizer import ONE_RECORD
from dpboost.local.registry import find_randomizer
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.randomness import Entropy

EPSILONS = (Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(6), Fraction(20))
TIGHT = Fraction(999_999, 1_000_000)


def exponential(epsilon):
    """Return e^epsilon to 120 digits, by another way than the library's series."""
    with localcontext() as context:
        context.prec = 120
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


def response_law(oracle, symbol):
    """Return the probability of each report of generalized randomized response."""
    return {
        answer: oracle.own if answer == symbol else oracle.other
        for answer in range(oracle.n_symbols)
    }


def unary_law(oracle, symbol):
    """Return the probability of each report of unary encoding."""
    law = {}
    for bits in product((0, 1), repeat=oracle.n_symbols):
        probability = Fraction(1)
        for position, bit in enumerate(bits):
            one = oracle.own if position == symbol else oracle.other
            probability *= one if bit else 1 - one
        law[bits] = probability
    return law


LAWS = {GeneralizedResponse: response_law, UnaryEncoding: unary_law}


def largest_ratio(laws):
    return max(a[report] / b[report] for a in laws for b in laws for report in a)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_symbols", [2, 3, 7])
@pytest.mark.parametrize("kind", LAWS)
def test_no_report_of_an_oracle_tells_more_than_epsilon(kind, n_symbols, epsilon):
    oracle = kind(epsilon=epsilon, n_symbols=n_symbols)
    laws = [LAWS[kind](oracle, symbol) for symbol in range(n_symbols)]
    assert all(sum(law.values()) == 1 for law in laws)
    ratio = largest_ratio(laws)
    assert TIGHT * exponential(epsilon) <= ratio <= exponential(epsilon)


def test_a_response_that_lies_too_often_is_refused():
    """With so many symbols a lie was likelier than the truth by more than epsilon."""
    least = Fraction(1, 10**6)
    for n_symbols in (2, 10**6, 4_294_967):
        oracle = GeneralizedResponse(epsilon=least, n_symbols=n_symbols)
        assert 1 <= oracle.own / oracle.other <= exponential(least)
    with pytest.raises(InvalidParameterError, match="among 10000019 pairs.*mechanism='unary'"):
        GeneralizedResponse(epsilon=least, n_symbols=10_000_019)


def test_an_own_bit_without_its_coin_would_be_found():
    oracle = UnaryEncoding(epsilon=Fraction(1), n_symbols=3)
    laws = []
    for symbol in range(3):
        law = dict.fromkeys(product((0, 1), repeat=3), Fraction(1))
        for bits in law:
            for position, bit in enumerate(bits):
                one = 1 - oracle.other if position == symbol else oracle.other
                law[bits] *= one if bit else 1 - one
        laws.append(law)
    assert largest_ratio(laws) > exponential(Fraction(1))


def test_a_report_that_spends_all_of_epsilon_on_the_label_would_be_found(monkeypatch):
    labels = NumericLabels(lower=0, upper=1)
    randomizer = find_randomizer("paper", Fraction(1), labels, 3, "test")
    ends = np.array([[0, 0], [0, 1 << POSITION_BITS]])
    payload = randomizer.draw(ends, ONE_RECORD, Entropy.seeded(0))

    def losses():
        far = payload.copy()
        far[:, 1:] = np.array([-(10**7)] * 2, dtype="<i8").view(np.uint8).reshape(2, 8)
        one, other = (
            randomizer.log_probability(far[:1], record[np.newaxis], ONE_RECORD) for record in ends
        )
        return one - other

    assert losses() <= 0.5
    noise = DiscreteLaplace(epsilon=Fraction(1))
    monkeypatch.setattr(type(randomizer), "_label_noise", noise)
    assert losses() > 0.9


def record_law(randomizer, cell, position):
    """Return the law of the reports of a record: rounding of the label, then the oracle."""
    labels, oracle = randomizer.labels, randomizer.oracle
    up = Fraction(position % (1 << POSITION_BITS), 1 << POSITION_BITS)
    level = position >> POSITION_BITS
    weights = [(level, 1 - up), (level + 1, up)]
    if position < 0:
        weights = [(level, Fraction(1, labels.n_levels)) for level in range(labels.n_levels)]
    total = {}
    for level, weight in weights:
        if weight:
            law = LAWS[type(oracle)](oracle, cell * labels.n_levels + level)
            for report, probability in law.items():
                total[report] = total.get(report, 0) + weight * probability
    return total


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(6)])
@pytest.mark.parametrize("mechanism", ["signed_cell", "unary", "response"])
@pytest.mark.parametrize(
    "labels",
    [
        NumericLabels(lower=-1, upper=3),
        NumericLabels(lower=0, upper=1, n_levels=3),
        ClassLabels(classes=("a", "b")),
    ],
    ids=["sign", "levels", "classes"],
)
def test_no_report_of_a_record_tells_more_than_epsilon(labels, mechanism, epsilon):
    randomizer = find_randomizer(mechanism, epsilon, labels, 3, "test")
    step = 1 << POSITION_BITS
    positions = [0, 1, step // 3, (labels.n_levels - 1) * step]
    if isinstance(labels, ClassLabels):
        positions = [-1, 0, step]
    laws = [record_law(randomizer, cell, position) for cell in range(3) for position in positions]
    assert all(sum(law.values()) == 1 for law in laws)
    ratio = largest_ratio(laws)
    assert TIGHT * exponential(epsilon) <= ratio <= exponential(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_report_of_the_paper_tells_more_than_epsilon(epsilon):
    labels = NumericLabels(lower=0, upper=1)
    randomizer = find_randomizer("paper", epsilon, labels, 3, "test")
    flip = randomizer.flip
    laws = []
    for cell in range(3):
        law = {}
        for bits in product((0, 1), repeat=3):
            law[bits] = Fraction(1)
            for position, bit in enumerate(bits):
                law[bits] *= 1 - flip if bit == (position == cell) else flip
        assert sum(law.values()) == 1
        laws.append(law)
    of_bits = largest_ratio(laws)
    # log P(z) = c - |z - y| * rate: the largest difference of two labels' exponents.
    units, numerator, denominator = randomizer.parameters(ONE_RECORD)
    assert units == randomizer.flip_units
    ends = randomizer.label_units(np.array([0, 1 << POSITION_BITS]))
    answers = np.array([-(10**9), *range(-LABEL_UNITS - 2, LABEL_UNITS + 3, 17), 10**9])
    gaps = np.abs(answers[:, np.newaxis] - ends)
    exponent = int((gaps[:, 0] - gaps[:, 1]).max()) * Fraction(numerator, denominator)
    assert TIGHT * epsilon / 2 <= exponent <= epsilon / 2
    assert TIGHT * exponential(epsilon / 2) <= of_bits <= exponential(epsilon / 2)
    # Independent parts: the ratios multiply.
    assert of_bits * exponential(exponent) <= exponential(epsilon)


def scripted(words):
    """Return entropy that hands out these words, then zeros."""
    content = b"".join(int(word).to_bytes(8, "little") for word in words)

    def read(n_bytes):
        nonlocal content
        block, content = content[:n_bytes], content[n_bytes:]
        return block.ljust(n_bytes, b"\0")

    return Entropy(SystemEntropy(read=read), private=False)


@pytest.mark.parametrize("n_symbols", [2, 3, 300])
def test_the_response_kernel_has_the_stated_law(n_symbols):
    oracle = GeneralizedResponse(epsilon=Fraction(1), n_symbols=n_symbols)
    units, symbol = oracle.other_units, n_symbols // 2
    others = [position for position in range(n_symbols) if position != symbol]
    # The words of each answer are an interval: its first and last word say how many there are.
    words = [rank * units + edge for rank in range(n_symbols - 1) for edge in (0, units - 1)]
    words += [(n_symbols - 1) * units, ONE - 1]
    payload = oracle.draw(np.full(len(words), symbol), scripted(words))
    expected = [*np.repeat(others, 2), symbol, symbol]
    assert oracle.answers(payload).tolist() == expected
    assert oracle.own == 1 - Fraction((n_symbols - 1) * units, ONE)


def sliced(numbers):
    """Return the words that give lane k of 64 the number k, the highest digit first."""
    return [
        sum((number >> position & 1) << lane for lane, number in enumerate(numbers))
        for position in range(63, -1, -1)
    ]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_unary_kernel_compares_every_lane_with_the_probability(epsilon):
    oracle = UnaryEncoding(epsilon=epsilon, n_symbols=64)
    limit = oracle.other_units
    random = np.random.default_rng(0)
    numbers = [0, 1, limit - 1, limit, limit + 1, ONE - 1]
    numbers += [limit ^ (1 << position) for position in range(58)]
    random.shuffle(numbers)
    payload = oracle.draw(np.array([63]), scripted(sliced(numbers)))
    ones = unpack(payload, 64)[0]
    assert ones[:63].tolist() == [number < limit for number in numbers[:63]]


@pytest.mark.parametrize(("word", "bit"), [(ONE // 2 - 1, True), (ONE // 2, False)])
def test_the_own_bit_is_a_fair_coin(word, bit):
    oracle = UnaryEncoding(epsilon=Fraction(1), n_symbols=5)
    # All lanes are decided by the first word: their highest digit is one, the probability's zero.
    payload = oracle.draw(np.array([2]), scripted([ONE - 1, word, 0]))
    decided = unpack(payload, 5)[0]
    assert oracle.other_units < ONE // 2
    assert decided.tolist() == [False, False, bit, False, False]


def test_the_series_is_just_below():
    for epsilon in (*EPSILONS, Fraction(40), Fraction(1, 10**6)):
        exact = exponential(epsilon)
        assert exact * (1 - Fraction(1, 10**30)) < exp_below(epsilon) <= exact


@pytest.mark.parametrize("mechanism", ["unary", "response"])
def test_log_probabilities_are_those_of_the_law(mechanism):
    labels = NumericLabels(lower=0, upper=1, n_levels=3)
    randomizer = find_randomizer(mechanism, Fraction(3, 2), labels, 2, "test")
    position = (1 << POSITION_BITS) // 4
    law = record_law(randomizer, 1, position)
    for report, probability in law.items():
        if mechanism == "unary":
            payload = np.packbits([report], axis=1, bitorder="little")
        else:
            payload = np.array([[report]], dtype=np.uint8)
        found = randomizer.log_probability(payload, np.array([[1, position]]), ONE_RECORD)
        assert found == pytest.approx(float(np.log(float(probability))), abs=1e-12)


@pytest.mark.parametrize("mechanism", ["unary", "response", "paper"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_from_outside_a_report_tells_about_epsilon_and_no_more(mechanism, epsilon):
    """Real draws of two records at the ends, told apart by the most telling event."""
    labels = NumericLabels(lower=0, upper=1)
    randomizer = find_randomizer(mechanism, epsilon, labels, 2, "test")
    n = 400_000
    ends = [np.tile(record, (n, 1)) for record in ([[0, 0]], [[1, 1 << POSITION_BITS]])]
    reports = [randomizer.draw(records, ONE_RECORD, Entropy.secure()) for records in ends]
    if mechanism == "response":
        event = [report[:, 0] == 0 for report in reports]
    else:
        bits = [unpack(report[:, :1], 4 if mechanism == "unary" else 2) for report in reports]
        last = 3 if mechanism == "unary" else 1
        event = [bit[:, 0] & ~bit[:, last] for bit in bits]
    if mechanism == "paper":
        noisy = [randomizer._parts(report)[1] for report in reports]
        event = [both & (label < -LABEL_UNITS) for both, label in zip(event, noisy, strict=True)]
    often, seldom = (int(hits.sum()) for hits in event)
    # Clopper and Pearson at one in a million each.
    low = beta.ppf(1e-6, often, n - often + 1)
    high = beta.ppf(1 - 1e-6, seldom + 1, n - seldom)
    assert 0.85 * epsilon < np.log(low / high) <= epsilon


@pytest.mark.parametrize("mechanism", ["unary", "response"])
def test_draws_follow_the_law(mechanism):
    labels = NumericLabels(lower=0, upper=1, n_levels=3)
    randomizer = find_randomizer(mechanism, Fraction(1), labels, 2, "test")
    position = (1 << POSITION_BITS) * 5 // 4
    n = 200_000
    records = np.tile(np.array([[1, position]]), (n, 1))
    payload = randomizer.draw(records, ONE_RECORD, Entropy.seeded(3))
    reports, counts = np.unique(payload[:, 0], return_counts=True)
    law = record_law(randomizer, 1, position)
    expected = {
        int(np.packbits([report], axis=1, bitorder="little")[0, 0])
        if mechanism == "unary"
        else report: float(probability)
        for report, probability in law.items()
    }
    mean = np.array([expected[int(report)] for report in reports]) * n
    statistic = float(((counts - mean) ** 2 / mean).sum())
    degrees = len(expected) - 1
    assert len(reports) == len(expected)
    assert abs(statistic - degrees) < 6 * np.sqrt(2 * degrees)
