"""Transcripts of calls, and what is in them."""

import pickle

import numpy as np
import pandas as pd
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor, Transcript, replay
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.recording import ReplayError, Step

pytestmark = pytest.mark.filterwarnings("ignore")

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


def test_why_a_fit_was_not_private_cannot_be_left_out():
    with pytest.warns(UserWarning, match="not private"):
        transcript = DPBoostRegressor(**FEW, noise_seed=1).fit(X, X[:, 0]).transcript_
    silent = Transcript(
        call=transcript.call, values=transcript.values, ledgers=transcript.ledgers, build="other"
    )
    with pytest.warns(UserWarning, match="not private"), pytest.raises(ReplayError, match="why"):
        replay(silent)


class OwnSettings(DPBoostRegressor):
    def __init__(self):
        super().__init__(**FEW)


FORMS = {
    "a subclass without parameters": lambda: OwnSettings().fit(X, X[:, 0]),
    "a sparse frame": lambda: DPBoostRegressor(**FEW).fit(
        pd.DataFrame({0: pd.arrays.SparseArray(X[:, 0].round(), fill_value=0.0), 1: X[:, 1]}), Y
    ),
    "a sparse frame of missing values": lambda: DPBoostRegressor(**FEW).fit(
        pd.DataFrame({0: pd.arrays.SparseArray(np.where(Y, X[:, 0], np.nan)), 1: X[:, 1]}), Y
    ),
    "a sparse frame of truth values": lambda: DPBoostRegressor(**FEW).fit(
        pd.DataFrame({0: pd.arrays.SparseArray(Y == 1, fill_value=False), 1: X[:, 1]}), X[:, 0]
    ),
    "scores of classes": lambda: DPBoostClassifier(**FEW).fit(
        X, np.arange(400) % 3, init_score=np.zeros((400, 3))
    ),
    "scores of one class after the other": lambda: DPBoostClassifier(**FEW).fit(
        X, np.arange(400) % 3, init_score=np.zeros(1200)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_calls_of_every_form_are_replayed(form, tmp_path):
    model = FORMS[form]()
    transcripts = [model.transcript_]
    if type(model) is not OwnSettings:  # of which a file cannot tell
        model.transcript_.save(tmp_path / "t")
        transcripts.append(Transcript.load(tmp_path / "t"))
    for transcript in transcripts:
        again = replay(transcript)
        assert again.booster_.model_to_string() == model.booster_.model_to_string()
        assert again.privacy_report_.to_dict() == model.privacy_report_.to_dict()
