"""Reports that were damaged on their way, or made up: a clear error, or a report like any other."""

import functools
import pickle
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost import InvalidParameterError
from dpboost.local import LPDTAggregator, LPDTPartition, MalformedReportError, MemoizedReports
from dpboost.local.collection import HEADER_BYTES, ReportPlan
from dpboost.local.memoised_reports import ReportFile
from dpboost.privacy.randomness import Entropy

MECHANISMS = ["signed_cell", "unary", "response", "paper"]
EPSILON = 2.0


@functools.cache
def partition(kind):
    random = np.random.default_rng(0)
    X = random.uniform(size=(200, 2))
    if kind == "regression":
        y, more = X[:, 0], {"label_bounds": (-1, 2), "n_levels": 3}
    else:
        y, more = (3 * X[:, 0]).astype(int), {"classes": [0, 1, 2]}
    return LPDTPartition.from_public(X, y, max_depth=2, min_samples_leaf=20, **more)


@functools.cache
def reports(kind, mechanism):
    random = np.random.default_rng(1)
    X = random.uniform(size=(30, 2))
    y = X[:, 0] if kind == "regression" else (3 * X[:, 0]).astype(int)
    plan = ReportPlan.of(partition(kind), EPSILON, mechanism)
    return plan.encode(X, y, Entropy.seeded(1))


def supported(kind, mechanism):
    try:
        ReportPlan.of(partition(kind), EPSILON, mechanism)
    except InvalidParameterError:
        return False
    return True


COLLECTIONS = [
    (kind, mechanism)
    for kind in ("regression", "classification")
    for mechanism in MECHANISMS
    if supported(kind, mechanism)
]


@st.composite
def damaged(draw, good):
    """Bytes of a report after some accidents."""
    report = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        size = len(report)
        kind = draw(st.sampled_from(["flip", "cut", "insert", "repeat", "swap", "random"]))
        at = draw(st.integers(0, max(size - 1, 0)))
        if kind == "flip" and size:
            report[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del report[at : at + draw(st.integers(1, 8))]
        elif kind == "insert":
            report[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "repeat":
            report += report[at:]
        elif kind == "swap" and size:
            other = draw(st.integers(0, size - 1))
            report[at], report[other] = report[other], report[at]
        elif kind == "random":
            report[HEADER_BYTES:] = draw(
                st.binary(min_size=max(size - HEADER_BYTES, 0), max_size=max(size, 1))
            )
    return bytes(report)


@pytest.mark.parametrize(("kind", "mechanism"), COLLECTIONS)
@given(st.data())
def test_a_damaged_report_is_refused_or_counts_as_one(kind, mechanism, data):
    good = reports(kind, mechanism)
    report = data.draw(damaged(good[data.draw(st.integers(0, len(good) - 1))].tobytes()))
    server = LPDTAggregator(partition(kind), EPSILON, mechanism=mechanism)
    server.add_many(good)
    before = pickle.dumps(server)
    header = good[0, :HEADER_BYTES].tobytes()
    fits = len(report) == good.shape[1] and report.startswith(header)
    try:
        server.add(report)
    except MalformedReportError:
        assert pickle.dumps(server) == before
        # Together with good ones it takes them along.
        with pytest.raises(MalformedReportError):
            server.add_many([good[0].tobytes(), report])
        assert pickle.dumps(server) == before
        return
    assert fits
    assert server.n_reports == len(good) + 1
    model = server.to_model()
    text = model.model_to_string()
    X = np.random.default_rng(2).uniform(size=(20, 2))
    found = lightgbm.Booster(model_str=text).predict(X)
    assert np.isfinite(found).all()
    assert np.array_equal(found, model.predict(X))


@given(st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.lists(st.integers(0, 255))))
def test_what_is_no_bytes_is_refused(odd):
    server = LPDTAggregator(partition("regression"), EPSILON)
    before = pickle.dumps(server)
    with pytest.raises(MalformedReportError):
        server.add(odd)
    with pytest.raises(MalformedReportError):
        server.add_many([odd])
    assert pickle.dumps(server) == before


@given(st.binary(max_size=200))
def test_made_up_bytes_are_refused(report):
    server = LPDTAggregator(partition("regression"), EPSILON)
    with pytest.raises(MalformedReportError):
        server.add(report)


@given(st.binary(max_size=200))
def test_a_file_of_made_up_bytes_holds_no_report(content):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports"
        path.write_bytes(content)
        # What is too short to be a file of reports may be taken for an empty one.
        with suppress(InvalidParameterError):
            MemoizedReports(partition("regression"), EPSILON, path=path)
            assert ReportFile(path).reports() == []


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def positions(plain, path=()):
    """Return the paths of everything inside."""
    if path:
        yield path
    pairs = plain.items() if isinstance(plain, dict) else enumerate(plain)
    if isinstance(plain, (dict, list)):
        for key, value in pairs:
            yield from (
                positions(value, (*path, key))
                if isinstance(value, (dict, list))
                else [(*path, key)]
            )


@pytest.mark.parametrize("kind", ["regression", "classification"])
@given(st.data())
def test_a_damaged_partition_is_refused_or_is_one(kind, data):
    plain = pickle.loads(pickle.dumps(partition(kind).to_dict()))
    *above, last = data.draw(st.sampled_from(list(positions(plain))))
    holder = plain
    for step in above:
        holder = holder[step]
    if data.draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = data.draw(PLAIN)
    try:
        taken = LPDTPartition.from_dict(plain)
        report = taken.encode([0.3, 0.4], 0.5 if kind == "regression" else 1, epsilon=EPSILON)
    except InvalidParameterError:
        return
    server = LPDTAggregator(taken, EPSILON)
    server.add(report)
    assert np.isfinite(server.to_model().predict(np.array([[0.3, 0.4]]))).all()
