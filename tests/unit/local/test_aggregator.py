import pickle

import lightgbm
import numpy as np
import pytest

from dpboost import InvalidParameterError, LPDTAggregator, LPDTPartition
from dpboost.local import MalformedReportError, MemoizedReports
from dpboost.local.collection import ReportPlan
from dpboost.privacy.randomness import Entropy

MECHANISMS = ["signed_cell", "unary", "response", "paper"]


def reports_of(partition, rows, mechanism, seed=1, epsilon=2.0, n=500):
    X, y = rows(seed, n)
    plan = ReportPlan.of(partition, epsilon, mechanism)
    return plan.encode(X, y, Entropy.seeded(seed))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_by_one_together_and_merged_are_the_same(partition, rows, mechanism):
    reports = reports_of(partition, rows, mechanism)
    servers = [LPDTAggregator(partition, 2.0, mechanism=mechanism) for _ in range(4)]
    for report in reports:
        servers[0].add(report.tobytes())
    servers[1].add_many(reports)
    servers[2].add_many(row.tobytes() for row in reports[:200])
    servers[3].add_many(reports[200:])
    servers[2].merge(pickle.loads(pickle.dumps(servers[3])))
    texts = {server.to_model().model_to_string() for server in servers[:3]}
    assert [server.n_reports for server in servers] == [500, 500, 500, 300]
    assert len(texts) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_model_is_one_that_lightgbm_reads(partition, rows, mechanism, tmp_path):
    server = LPDTAggregator(partition, 2.0, mechanism=mechanism)
    server.add_many(reports_of(partition, rows, mechanism))
    X, _ = rows(4)
    model = server.to_model()
    model.save_model(tmp_path / "model.txt")
    stock = lightgbm.Booster(model_file=tmp_path / "model.txt")
    own = server.to_ensemble().predict(partition.read(X))
    assert np.array_equal(stock.predict(X), own)
    assert (own >= partition.labels.lower).all()
    assert (own <= partition.labels.upper).all()
    assert model.privacy_report.epsilon == 2
    assert "2-locally differentially private" in model.privacy_report.facts["local privacy"]
    assert np.isfinite(model.predict(X, pred_contrib=True)).all()


def test_more_reports_lead_to_the_truth(partition, rows):
    X, y = rows(5, 100_000)
    server = LPDTAggregator(partition, 3.0)
    server.add_many(ReportPlan.of(partition, 3.0, "signed_cell").encode(X, y, Entropy.seeded(0)))
    cells = partition.cells(partition.read(X))
    means = np.bincount(cells, weights=y) / np.bincount(cells)
    assert server.to_ensemble().predict(partition.read(X)) == pytest.approx(means[cells], abs=0.05)


def test_memory_does_not_grow_with_reports(partition, rows):
    server = LPDTAggregator(partition, 2.0)
    sizes = []
    for seed in (1, 2):
        server.add_many(reports_of(partition, rows, "signed_cell", seed))
        sizes.append(len(pickle.dumps(server)))
    assert abs(sizes[0] - sizes[1]) < 8


def flipped(report, position):
    return bytes(byte ^ (1 if k == position else 0) for k, byte in enumerate(report))


def test_malformed_reports_are_refused_and_change_nothing(partition, rows):
    reports = reports_of(partition, rows, "unary")
    good = reports[0].tobytes()
    server = LPDTAggregator(partition, 2.0, mechanism="unary")
    server.add(good)
    before = pickle.dumps(server)
    other = LPDTPartition.from_public(
        *rows(9), max_depth=2, min_samples_leaf=20, n_levels=3, label_bounds=(-1, 2)
    )
    wrong = [
        b"",
        good[:-1],
        good + b"\0",
        flipped(good, 0),
        flipped(good, 8),
        good[:-1] + b"\xff",
        partition.encode([0.1, 0.2], 0.3, 2.5, mechanism="unary"),
        other.encode([0.1, 0.2], 0.3, 2.0, mechanism="unary"),
    ]
    for report in wrong:
        with pytest.raises(MalformedReportError):
            server.add(report)
    bad = reports.copy()
    bad[-1, 3] ^= 1
    for batch in (bad, bad.astype(np.int64), bad[0], bad[:, :-1]):
        with pytest.raises(MalformedReportError):
            server.add_many(batch)
    with pytest.raises(MalformedReportError):
        server.add_many([good, good[:-2]])
    for odd in (None, good.hex(), 7, list(good)):
        with pytest.raises(MalformedReportError, match=type(odd).__name__):
            server.add(odd)
        with pytest.raises(MalformedReportError, match=type(odd).__name__):
            server.add_many([good, odd])
    assert pickle.dumps(server) == before


def test_only_the_same_collection_merges(partition):
    server = LPDTAggregator(partition, 2.0)
    for other in (
        LPDTAggregator(partition, 1.0),
        LPDTAggregator(partition, 2.0, mechanism="paper"),
    ):
        with pytest.raises(InvalidParameterError, match="merge"):
            server.merge(other)
    with pytest.raises(InvalidParameterError, match="merge"):
        server.merge(None)


def test_an_aggregator_does_not_merge_with_itself(partition, rows):
    server = LPDTAggregator(partition, 2.0)
    server.add_many(reports_of(partition, rows, "signed_cell"))
    before = pickle.dumps(server)
    with pytest.raises(InvalidParameterError, match="with itself"):
        server.merge(server)
    assert pickle.dumps(server) == before


def test_a_server_without_reports_has_no_model(partition):
    with pytest.raises(InvalidParameterError, match="no report yet"):
        LPDTAggregator(partition, 1.0).to_model()


@pytest.mark.parametrize("kind", [LPDTAggregator, MemoizedReports])
def test_a_partition_is_needed(kind):
    with pytest.raises(InvalidParameterError, match="'partition'"):
        kind("partition.json", 1.0)
