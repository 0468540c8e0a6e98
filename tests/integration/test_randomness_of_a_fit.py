"""What seeds and threads do to a model, and what they must not do."""

import math
import multiprocessing
import os

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor, NotPrivateWarning
from dpboost.recipes import ALGORITHMS

SCHEMA = {"bounds": dict.fromkeys(range(4), (-3, 3)), "label_bounds": (-4, 4), "classes": [0, 1]}


def rows(n_rows=3000):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 4))
    return X, X[:, 0] - X[:, 1]


def text_of(recipe="dpboost", estimator=DPBoostRegressor, **options):
    X, y = rows()
    labels = y if estimator is DPBoostRegressor else (y > 0).astype(int)
    settings = {"schema": SCHEMA, "n_estimators": 6, "max_depth": 4, "recipe": recipe, **options}
    return estimator(**settings).fit(X, labels).booster_.model_to_string()


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_a_noise_seed_gives_one_model_for_any_number_of_threads(recipe, estimator):
    texts = {text_of(recipe, estimator, noise_seed=3, n_jobs=n_jobs) for n_jobs in (1, 2, 3, 1)}
    assert len(texts) == 1
    assert text_of(recipe, estimator, noise_seed=4) not in texts


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("recipe", ALGORITHMS.names)
def test_without_a_noise_seed_two_fits_differ(recipe, random_state):
    options = {"random_state": random_state, "n_estimators": 1}
    assert text_of(recipe, **options) != text_of(recipe, **options)


def send_text(pipe):
    pipe.send(text_of(n_estimators=1))
    pipe.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_forked_children_differ_from_their_parent_and_each_other():
    here = text_of(n_estimators=1, n_jobs=2)
    context = multiprocessing.get_context("fork")
    texts = {here}
    for _ in range(2):
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=send_text, args=(send,))
        child.start()
        assert receive.poll(60), "a fit in a forked child hangs"
        texts.add(receive.recv())
        child.join()
    texts.add(text_of(n_estimators=1))
    assert len(texts) == 4


@pytest.mark.parametrize("option", [{"noise_seed": 0}, {"epsilon": math.inf}], ids=str)
def test_what_is_not_private_says_so(option):
    X, y = rows(100)
    with pytest.warns(NotPrivateWarning, match=next(iter(option))):
        model = DPBoostRegressor(schema=SCHEMA, n_estimators=2, **option).fit(X, y)
    for report in (model.privacy_report_, model.booster_.privacy_report):
        assert report.private is False
        assert report.epsilon == option.get("epsilon", 1)
    assert "no privacy guarantee" in str(model.privacy_report_).lower()


def test_a_private_model_says_so_and_gives_no_warning(recwarn):
    X, y = rows(3000)  # few rows bring a warning of their own
    schema = {name: value for name, value in SCHEMA.items() if name != "classes"}
    model = DPBoostRegressor(schema=schema, n_estimators=2).fit(X, y)
    assert model.privacy_report_.private is True
    assert model.booster_.privacy_report.private is True
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]
