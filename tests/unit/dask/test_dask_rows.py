"""What goes to workers, how much of it, and what becomes of a fit that loses some of them."""

from __future__ import annotations

import gc
import os
import signal
import time
import uuid
import zlib
from dataclasses import replace

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="the extra 'dask' is not installed")

from dpboost import DPBoostRegressor, InvalidParameterError  # noqa: E402
from dpboost.cluster.partial_sums import Partial, merge  # noqa: E402
from dpboost.cluster.partition_reader import Fingerprint, Site  # noqa: E402
from dpboost.cluster.partition_state import WorkerMessage  # noqa: E402
from dpboost.dask import DaskDPBoostRegressor, FitFailedError, dask_rows  # noqa: E402
from dpboost.privacy.ledger import Ledger  # noqa: E402
from dpboost.training.privacy_params import NotPrivateWarning  # noqa: E402
from dpboost.training.public_schema import UndeclaredWarning  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore", category=each)
    for each in (NotPrivateWarning, UndeclaredWarning)
]

X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
Y = X[:, 0] + X[:, 1] ** 2
SCHEMA = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-1, 2)}
ROWS, LABELS = da.from_array(X, chunks=(90, 3)), da.from_array(Y, chunks=90)
BEST = {"noise_seed": 1, "n_estimators": 6, "verbosity": -1, "schema": SCHEMA}
# Rounds of some rows as well, whose scores are brought up to date later.
ROUNDS = {**BEST, "recipe": "dpboost", "max_depth": 2, "trees_per_ensemble": 2}


HASH = Fingerprint(table=b"", beside=b"")
SITES = [Site(partition=number, first_row=0, first_taken=0, fingerprint=HASH) for number in (0, 4)]


def text(model):
    return model.booster_.model_to_string()


@pytest.fixture
def messages(monkeypatch):
    """Everything that the client sends, as bytes."""
    sent = []

    def listen(name):
        method = getattr(distributed.Client, name)

        def listening(self, *arguments, **options):
            kept = [each for each in arguments if not _are_futures(each)]
            sent.append((name, len(kept) < len(arguments), cloudpickle.dumps(kept)))
            return method(self, *arguments, **options)

        monkeypatch.setattr(distributed.Client, name, listening)

    listen("submit")
    listen("compute")
    return sent


def _are_futures(argument):
    listed = argument if isinstance(argument, list) else [argument]
    return any(isinstance(each, distributed.Future) for each in listed)


def longest_message(messages, client, n_rows):
    """Return the bytes that one worker is sent for one tree."""
    messages.clear()
    rows = da.from_array(np.resize(X, (n_rows, 3)), chunks=(n_rows // 2, 3))
    labels = da.from_array(np.resize(Y, n_rows), chunks=n_rows // 2)
    # Rules of the recipe look at the released number of rows: depth and bins are given here.
    edges = dict.fromkeys(range(3), np.linspace(-0.9, 0.9, 31).tolist())
    schema = {"edges": edges, "label_bounds": (-1, 2)}
    options = {**BEST, "max_depth": 4, "features_per_tree": 2, "schema": schema}
    DaskDPBoostRegressor(**options, client=client).fit(rows, labels)
    return max(len(each) for name, asked, each in messages if name == "submit" and asked)


def test_the_bytes_of_a_tree_do_not_depend_on_the_number_of_rows(client, messages):
    few, many = (longest_message(messages, client, n_rows) for n_rows in (200, 200_000))
    assert 500 < many < 10_000
    assert many == pytest.approx(few, rel=0.2)


@pytest.mark.parametrize("options", [BEST, ROUNDS], ids=["best", "dpboost"])
def test_no_secret_but_the_key_of_coins_is_sent(client, messages, options):
    DaskDPBoostRegressor(**options, client=client).fit(ROWS, LABELS)
    assert {name for name, _, _ in messages} == {"submit", "compute"}
    for name, asked, message in messages:
        if asked:
            (message,) = cloudpickle.loads(message)[1:]
            message = zlib.decompress(message)
        for name in (b"Entropy", b"Ledger", b"BitGenerator", b"Accountant", b"Sensitive"):
            assert name not in message


def test_a_linear_model_does_not_depend_on_partitions(client):
    options = {**BEST, "n_estimators": 20, "epsilon": 4.0, "max_weight": 1.0}
    weights = np.arange(len(X)) % 4 / 3
    expected = DPBoostRegressor(**options).fit(X, Y, sample_weight=weights)
    assert "second moments" in {line.label for line in expected.privacy_report_.releases}
    parts = da.from_array(weights, chunks=90)
    model = DaskDPBoostRegressor(**options, client=client).fit(ROWS, LABELS, sample_weight=parts)
    assert text(model) == text(expected)


def poison():
    """Make every draw of noise fail in the process that calls this."""
    from dpboost._kernels import entropy, noise, selection
    from dpboost.privacy import ledger, randomness

    def fail(*arguments, **options):
        raise AssertionError("noise was drawn on a worker")

    for module in (entropy, noise, selection):
        for name in dir(module):
            if callable(getattr(module, name)) and not name.startswith("__"):
                setattr(module, name, fail)
    for kind in (ledger.Ledger, randomness.Entropy):
        kind.__init__ = fail
    return True


@pytest.mark.parametrize("options", [BEST, ROUNDS], ids=["best", "dpboost"])
def test_workers_draw_no_noise(processes, options):
    assert all(processes.run(poison).values())
    model = DaskDPBoostRegressor(**options, client=processes).fit(ROWS, LABELS)
    assert text(model) == text(DPBoostRegressor(**options).fit(X, Y))


class Kill:
    """Kill a worker after some of the rounds."""

    def __init__(self, client, rounds):
        self.client = client
        self.rounds = rounds
        self.n_times = 0

    def __call__(self, env):
        if env.iteration in self.rounds:
            self.n_times += 1
            process = next(iter(self.client.run(os.getpid).values()))
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize(
    ("options", "rounds"),
    [(BEST, [0, 3]), (ROUNDS, [3])],
    ids=["twice", "between ensembles"],
)
def test_a_lost_worker_changes_nothing(processes, monkeypatch, options, rounds):
    charged = []
    release = Ledger.release
    monkeypatch.setattr(
        Ledger, "release", lambda *each, **more: charged.append(1) or release(*each, **more)
    )
    expected = DPBoostRegressor(**options).fit(X, Y)
    n_charged = len(charged)
    kill = Kill(processes, rounds)
    model = DaskDPBoostRegressor(**options, client=processes)
    model.fit(ROWS, LABELS, callbacks=[kill])
    assert kill.n_times == len(rounds)
    assert text(model) == text(expected)
    # Each release was charged once.
    assert len(charged) == 2 * n_charged
    assert model.privacy_report_.to_dict() == expected.privacy_report_.to_dict()


def dies_once(mark, first):
    """Return rows, at the second reading only after the worker has died of it."""
    readings = len(list(mark.iterdir()))
    (mark / str(readings)).touch()
    if readings == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return X[first : first + 200]


def test_a_worker_lost_while_rows_are_read_changes_nothing(processes, tmp_path):
    parts = [dask.delayed(dies_once, pure=True)(tmp_path, first) for first in (0, 200)]
    rows = da.concatenate([da.from_delayed(part, (200, 3), float) for part in parts])
    model = DaskDPBoostRegressor(**BEST, client=processes)
    model.fit(rows, da.from_array(Y, chunks=200))
    assert len(list(tmp_path.iterdir())) > 4
    assert text(model) == text(DPBoostRegressor(**BEST).fit(X, Y))


def stored(seed, first):
    """Rows from somewhere that somebody may write to."""
    return np.random.default_rng((int(seed.read_text()), first)).uniform(-1, 1, (100, 3))


@pytest.fixture
def seed(tmp_path):
    path = tmp_path / "seed"
    path.write_text("1")
    return path


def test_a_fit_leaves_no_rows_on_the_workers(client):
    def held():
        return {key for keys in client.has_what().values() for key in keys}

    before = held()
    DaskDPBoostRegressor(**BEST, client=client).fit(ROWS, LABELS)
    end = time.monotonic() + 10
    while held() - before and time.monotonic() < end:
        gc.collect()
        time.sleep(0.05)
    assert not held() - before


@pytest.mark.parametrize("objective", ["regression", "quantile"])
def test_questions_of_labels_do_not_read_the_table(client, tmp_path, objective):
    """A table is checked, counted once or twice, and binned; for the start it rests."""
    parts = [dask.delayed(counted, pure=True)(tmp_path, first) for first in (0, 200)]
    rows = da.concatenate([da.from_delayed(part, (200, 3), float) for part in parts])
    model = DaskDPBoostRegressor(**BEST, objective=objective, client=client)
    model.fit(rows, da.from_array(Y, chunks=200))
    assert len(list(tmp_path.iterdir())) in (3 * len(parts), 4 * len(parts))


def counted(folder, first):
    (folder / uuid.uuid4().hex).touch()
    return X[first : first + 200]


def rows_stored_by(seed):
    parts = [dask.delayed(stored, pure=True)(seed, first) for first in (0, 100)]
    return da.concatenate([da.from_delayed(part, (100, 3), float) for part in parts])


def test_rows_that_change_before_they_are_binned_end_the_fit(client, seed, monkeypatch):
    look = dask_rows.DaskRows

    def looked(*arguments):
        seed.write_text("2")
        return look(*arguments)

    monkeypatch.setattr(dask_rows, "DaskRows", looked)
    model = DaskDPBoostRegressor(**BEST, client=client)
    with pytest.raises(InvalidParameterError, match="held other rows"):
        model.fit(rows_stored_by(seed), da.zeros(200, chunks=100))


def test_rows_that_are_others_when_a_worker_is_lost_end_the_fit(processes, seed):
    def change(env):
        if env.iteration == 2:
            seed.write_text("2")
            held = processes.has_what().items()
            worker = next(own for own, keys in held if any(str(k).startswith("hold") for k in keys))
            (process,) = processes.run(os.getpid, workers=[worker]).values()
            os.kill(process, signal.SIGKILL)

    model = DaskDPBoostRegressor(**BEST, client=processes)
    with pytest.raises(InvalidParameterError, match="held other rows"):
        model.fit(rows_stored_by(seed), da.zeros(200, chunks=100), callbacks=[change])
    assert not getattr(model, "fitted_", False)


def test_a_fit_that_never_gets_its_sums_fails(client, monkeypatch):
    """Partitions that are always behind, as if their workers died each time."""
    monkeypatch.setattr(dask_rows, "ask", _always_behind)
    with pytest.raises(FitFailedError, match="again and again"):
        DaskDPBoostRegressor(**BEST, client=client).fit(ROWS, LABELS)


def _always_behind(cells, packed):
    behind = {cell.partition: 0 for cell in cells}
    release = WorkerMessage.unpack(packed).release
    return Partial(release=release, counted=frozenset(), answer=None, behind=behind)


def test_a_client_that_is_closed_during_the_fit_ends_it():
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as workers:
        own = distributed.Client(workers, set_as_default=False)
        model = DaskDPBoostRegressor(**BEST, client=own)
        with pytest.raises(FitFailedError, match="closed in the meantime"):
            model.fit(ROWS, LABELS, callbacks=[lambda env: own.close()])
        assert not getattr(model, "fitted_", False)


def test_a_sum_without_some_partition_is_refused(client):
    """As if a task had lost a partition without saying so."""
    rows = dask_rows.DaskRows(client, [None, None], [None, None], None, SITES)
    half = Partial(release=0, counted=frozenset([0]), answer=np.array([1]))
    with pytest.raises(FitFailedError, match="lacks some partitions"):
        rows._complete(half)
    assert rows._complete(merge(half, replace(half, counted=frozenset([4])))) == [2]
