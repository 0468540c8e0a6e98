"""Transcripts of calls, and what is in them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor, Transcript, replay
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.recording import ReplayError, Step

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(400, 2))
Y = (X[:, 0] > 0.5).astype(int)
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}}
FEW = {"n_estimators": 4, "schema": SCHEMA, "verbosity": -1}


@pytest.fixture(scope="module")
def model():
    return DPBoostClassifier(**FEW).fit(X, Y)


def changed(transcript, number, **parts):
    """Return the transcript with one release changed."""
    steps = list(transcript.ledgers[0])
    old = steps[number]
    kept = {"line": old.line, "shape": old.shape, "outcome": old.outcome}
    steps[number] = Step(**{**kept, **parts})
    return Transcript(
        call=transcript.call, values=transcript.values, ledgers=(tuple(steps),), build="other"
    )


def test_a_fit_has_a_transcript_of_all_its_releases(model):
    transcript = model.transcript_
    assert transcript.private
    assert len(transcript.releases) == len(transcript.ledgers[0]) > 4
    labels = [step.line["label"] for step in transcript.releases]
    reported = {line.label: line.releases for line in model.privacy_report_.releases}
    assert {label: labels.count(label) for label in reported} == reported
    assert transcript.call.parameters["n_estimators"] == 4
    assert "400" not in repr(transcript)


def test_no_row_and_no_secret_is_in_a_transcript(model, tmp_path):
    model.transcript_.save(tmp_path / "t")
    again = Transcript.load(tmp_path / "t")
    for form in again.call.tables.values():
        assert form.n_columns == 2
        assert not hasattr(form, "n_rows")
    assert again.call.labels.classes == (0, 1)
    assert {name for name, _ in again.values} == {"public seed"}


def test_a_pickle_of_the_model_does_not_hold_it(model):
    assert not hasattr(pickle.loads(pickle.dumps(model)), "transcript_")
    assert hasattr(model, "transcript_")


def test_generators_are_replaced_by_one_seed():
    own = np.random.default_rng(3)
    model = DPBoostRegressor(random_state=own, **FEW).fit(X, X[:, 0])
    assert model.transcript_.call.parameters["random_state"] is None
    ((_, seed),) = model.transcript_.values
    assert 0 <= seed < 2**128
    again = replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()


@pytest.mark.parametrize("seed", [{"noise_seed": 1}, {"epsilon": float("inf")}])
def test_a_transcript_says_that_a_fit_was_not_private(seed):
    with pytest.warns(UserWarning, match="not private"):
        model = DPBoostRegressor(**FEW, **seed).fit(X, X[:, 0])
    assert not model.transcript_.private
    with pytest.warns(UserWarning, match="not private"):
        again = replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()


def test_another_line_of_the_ledger_is_refused(model):
    transcript = model.transcript_
    line = {**transcript.ledgers[0][1].line, "constant": 1}
    with pytest.raises(ReplayError, match=r"Release 2 .* 'constant' is 1"):
        replay(changed(transcript, 1, line=line))


def test_outcomes_of_another_form_are_refused(model):
    transcript = model.transcript_
    outcome = transcript.ledgers[0][1].outcome
    for other in (outcome.astype(np.int32), outcome[..., :1], outcome.tolist()):
        with pytest.raises(ReplayError, match="damaged"):
            replay(changed(transcript, 1, outcome=other))


def test_a_selection_outside_the_candidates_is_refused():
    model = DPBoostClassifier(recipe="dpboost", **FEW).fit(X, Y)
    steps = model.transcript_.ledgers[0]
    number = next(n for n, step in enumerate(steps) if step.line["bound"] == "range")
    outcome = np.full_like(steps[number].outcome, 10**6)
    with pytest.raises(ReplayError, match="damaged"):
        replay(changed(model.transcript_, number, outcome=outcome))


def test_missing_and_surplus_releases_are_refused(model):
    transcript = model.transcript_
    steps = transcript.ledgers[0]
    for ledger, message in ((steps[:-1], "ends before"), ((*steps, steps[-1]), "does not make")):
        other = Transcript(call=transcript.call, values=transcript.values, ledgers=(ledger,))
        with pytest.raises(ReplayError, match=message):
            replay(other)


def test_the_outcomes_decide_the_model(model):
    transcript = model.transcript_
    last = len(transcript.ledgers[0]) - 1
    outcome = transcript.ledgers[0][last].outcome + (1 << 22)
    again = replay(changed(transcript, last, outcome=outcome))
    assert again.booster_.model_to_string() != model.booster_.model_to_string()


def test_replay_takes_a_transcript():
    with pytest.raises(InvalidParameterError, match="'transcript'"):
        replay("model.txt")


def test_arguments_that_the_call_does_not_have_are_refused(model):
    with pytest.raises(InvalidParameterError, match="callbacks"):
        replay(model.transcript_, callbacks=[])
