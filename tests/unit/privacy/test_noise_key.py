from __future__ import annotations

import copy
import multiprocessing
import pickle
import secrets
import warnings

import numpy as np
import pytest

from dpboost import (
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    ParameterWarning,
)
from dpboost.privacy.noise_key import NoiseKey

X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
Y = X[:, 0]
SCHEMA = {"bounds": dict.fromkeys(range(2), (-1, 1))}
NUMBERS = SCHEMA | {"label_bounds": (-1, 1)}
CLASSES = SCHEMA | {"classes": [False, True]}
SETTINGS = {"schema": NUMBERS, "n_estimators": 3, "verbosity": -1}

pytestmark = pytest.mark.filterwarnings("ignore:This noise_key was used before")


def text(key: bytes | None, rows=X, labels=Y, **settings) -> str:
    model = DPBoostRegressor(**SETTINGS | settings).fit(rows, labels, noise_key=key)
    return model.booster_.model_to_string()


def words(key: bytes, context: str = "fit") -> list[int]:
    return NoiseKey(key).entropy(context).bit_generator.random_raw(8).tolist()


def test_the_same_fit_gives_the_same_model_and_is_private() -> None:
    key = secrets.token_bytes(32)
    assert text(key) == text(key)
    assert text(None) != text(None)
    model = DPBoostRegressor(**SETTINGS).fit(X, Y, noise_key=key)
    assert model.privacy_report_.private
    fact = model.privacy_report_.facts["noise key"]
    assert NoiseKey(key).commitment in str(fact)
    for hidden in (key, key.hex().encode()):
        assert hidden not in pickle.dumps(model)
        assert hidden.hex() not in str(model.get_params()) + model.privacy_report_.details()


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 1.1},
        {"random_state": 3},
        {"n_estimators": 4},
        {"schema": NUMBERS | {"label_bounds": (-1, 2)}},
    ],
)
def test_other_public_parameters_have_other_noise(other, monkeypatch) -> None:
    key, seen = secrets.token_bytes(32), []
    entropy = NoiseKey.entropy
    monkeypatch.setattr(
        NoiseKey, "entropy", lambda own, context: seen.append(context) or entropy(own, context)
    )
    text(key)
    text(key, **other)
    text(key, n_jobs=1)
    assert seen[0] == seen[2] != seen[1]
    assert words(key, seen[0]) != words(key, seen[1])


def test_other_fractions_of_a_budget_have_other_noise(monkeypatch) -> None:
    key, seen = secrets.token_bytes(32), []
    monkeypatch.setattr(NoiseKey, "entropy", lambda own, context: _stop(seen, context))
    for fraction, holdout in ((0.1, None), (0.2, None), (0.1, 0.5)):
        with pytest.raises(_StopError):
            DPBoostRegressor(**SETTINGS).fit(
                X,
                Y,
                noise_key=key,
                budget=Budget(epsilon=1, delta=1e-6),
                fraction=fraction,
                holdout=holdout,
            )
    assert len(set(seen)) == 3


class _StopError(Exception):
    pass


def _stop(seen: list[str], context: str) -> None:
    seen.append(context)
    raise _StopError


def test_single_trees_and_classifiers_repeat() -> None:
    key = secrets.token_bytes(32)
    trees = [
        DPTreeClassifier(schema=CLASSES, max_depth=2).fit(X, Y > 0, noise_key=key) for _ in range(2)
    ]
    first, second = (tree.booster_.model_to_string() for tree in trees)
    assert first == second
    forests = [
        DPBoostClassifier(schema=CLASSES, n_estimators=2, recipe="dpboost", delta=0, verbosity=-1)
        .fit(X, Y > 0, noise_key=key)
        .booster_.model_to_string()
        for _ in range(2)
    ]
    assert forests[0] == forests[1]


def test_held_rows_repeat() -> None:
    key = secrets.token_bytes(32)
    held = []
    for _ in range(2):
        budget = Budget(epsilon=1, delta=1e-6)
        model = DPBoostRegressor(**SETTINGS)
        model.fit(X, Y, noise_key=key, budget=budget, fraction=0.5, holdout=0.5)
        held.append(budget.held_out(model)[0].y.tolist())
    assert held[0] == held[1]


@pytest.mark.filterwarnings("default")
def test_a_second_use_is_warned_of() -> None:
    key = secrets.token_bytes(32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text(key)
        text(key, epsilon=0.9)
    with pytest.warns(ParameterWarning, match="used before with the same parameters"):
        text(key, rows=X[:-1], labels=Y[:-1])


@pytest.mark.parametrize("key", [b"", b"x" * 31, "x" * 32, 7, bytearray(32)])
def test_what_is_no_key_is_refused_and_not_shown(key) -> None:
    with pytest.raises(InvalidParameterError, match="must be 32 secret bytes") as error:
        text(key)
    assert "xxx" not in str(error.value)


def test_a_seed_or_a_generator_beside_a_key_is_refused() -> None:
    key = secrets.token_bytes(32)
    with pytest.raises(InvalidParameterError, match="'noise_seed'"):
        text(key, noise_seed=1)
    with pytest.raises(InvalidParameterError, match="'random_state'"):
        text(key, random_state=np.random.default_rng(0))


def test_a_key_shows_and_copies_nothing() -> None:
    key = NoiseKey(secrets.token_bytes(32))
    assert repr(key) == "NoiseKey(<hidden>)"
    for spread in (copy.copy, copy.deepcopy, pickle.dumps, hash):
        with pytest.raises(TypeError):
            spread(key)


def test_streams_look_random_and_differ() -> None:
    key = NoiseKey(secrets.token_bytes(32))
    drawn = key.entropy("a").bit_generator.random_raw(20_000)
    bits = np.unpackbits(drawn.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.003
    assert not set(drawn) & set(key.entropy("b").bit_generator.random_raw(20_000))
    assert len(set(drawn)) == 20_000


def _draw_in_child(pipe, source) -> None:
    try:
        pipe.send(source.bit_generator.random_raw(1).tolist())
    except (OSError, SystemError):  # which numpy makes of it
        pipe.send("refused")


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes fork on Unix alone"
)
def test_a_forked_child_draws_nothing() -> None:
    source = NoiseKey(secrets.token_bytes(32)).entropy("fit")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_draw_in_child, args=(theirs, source))
    child.start()
    assert ours.poll(60)
    assert ours.recv() == "refused"
    child.join()
