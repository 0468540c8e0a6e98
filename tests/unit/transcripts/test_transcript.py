"""Files of transcripts: read as written, refused where they are damaged or of another kind."""

import io
import json
import zipfile
from fractions import Fraction

import numpy as np
import pytest

from dpboost import DPBoostRegressor, Transcript, replay
from dpboost._utils.validation import InvalidParameterError
from dpboost.transcripts.encoding import Decoder, Encoder

RNG = np.random.default_rng(6)
X = RNG.uniform(size=(300, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}


@pytest.fixture(scope="module")
def model():
    model = DPBoostRegressor(n_estimators=5, schema=SCHEMA, verbosity=-1)
    return model.fit(X, X[:, 0], eval_set=[(X[:20], X[:20, 0])])


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "fit.transcript"
    model.transcript_.save(path)
    return path


def rewritten(path, change):
    """Write the archive again with changed members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def with_head(path, change):
    """Write the archive again with another head."""

    def changed(members):
        head = json.loads(members["transcript.json"])
        change(head)
        members["transcript.json"] = json.dumps(head).encode()

    rewritten(path, changed)


def test_a_file_gives_the_model_again(model, saved):
    with pytest.warns(UserWarning, match="public"):
        again = replay(Transcript.load(saved))
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    assert again.evals_result_ == model.evals_result_


def test_equal_transcripts_have_equal_files(model, saved):
    assert Transcript.load(saved).to_bytes() == saved.read_bytes()


def test_it_takes_at_most_ten_bytes_for_each_integer():
    whole = DPBoostRegressor(schema=SCHEMA, verbosity=-1).fit(X, X[:, 0]).transcript_
    assert len(whole.to_bytes()) < 10 * whole.n_integers


def test_every_public_value_is_read_as_it_was():
    values = {
        "a": (1, 2.5, float("inf"), None, True, "text"),
        "b": [Fraction(1, 3), b"bytes", 1 << 100, {1: "one", "1": 1}],
        "c": np.arange(6.0).reshape(2, 3),
        "d": frozenset({1, 2}),
        "e": np.float32(0.1),
    }
    encoder = Encoder()
    text = json.dumps(encoder.value("x", values))
    files = {}
    for number, array in enumerate(encoder.arrays):
        file = io.BytesIO()
        np.save(file, array)
        files[f"public-{number}.npy"] = file.getvalue()
    found = Decoder(files).value(json.loads(text))
    np.testing.assert_array_equal(found.pop("c"), values.pop("c"))
    assert found == values


def test_code_is_named_and_asked_for(tmp_path):
    calls = []

    def look_on(env):
        calls.append(env.iteration)

    model = DPBoostRegressor(n_estimators=3, schema=SCHEMA, verbosity=-1)
    model.fit(X, X[:, 0], callbacks=[look_on])
    model.transcript_.save(tmp_path / "t")
    loaded = Transcript.load(tmp_path / "t")
    with pytest.raises(InvalidParameterError, match=r"'callbacks'.*look_on \(code"):
        replay(loaded)
    again = replay(loaded, callbacks=[look_on])
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    assert calls == [0, 1, 2, 0, 1, 2]


def test_a_class_of_ones_own_is_refused_by_name(tmp_path):
    class Mine(DPBoostRegressor):
        pass

    model = Mine(n_estimators=2, schema=SCHEMA, verbosity=-1).fit(X, X[:, 0])
    assert replay(model.transcript_).booster_.model_to_string()
    with pytest.raises(InvalidParameterError, match="Mine"):
        model.transcript_.save(tmp_path / "t")


@pytest.mark.parametrize("cut", [0, 10, 300, -40])
def test_a_cut_file_is_refused(saved, cut):
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(InvalidParameterError, match=r"fit\.transcript"):
        Transcript.load(saved)


def test_flipped_bytes_are_refused(saved):
    whole = saved.read_bytes()
    for place in range(40, len(whole) - 200, max(1, len(whole) // 60)):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = Transcript.load(saved)
        except InvalidParameterError:
            continue
        # A byte that zip itself does not look at.
        assert found.to_bytes() == whole


def test_a_newer_format_is_refused_by_its_number(saved):
    with_head(saved, lambda head: head.update(format=2))
    with pytest.raises(InvalidParameterError, match="format 2.*update"):
        Transcript.load(saved)


def test_changed_outcomes_are_refused(saved):
    def change(members):
        members["integers.npy"] = members["integers.npy"][:-1] + b"\x01"

    rewritten(saved, change)
    with pytest.raises(InvalidParameterError, match=r"integers\.npy is not what was written"):
        Transcript.load(saved)


@pytest.mark.parametrize("head", [b"{}", b"[]", b"nothing", b'{"kind": 1, "format": 1}'])
def test_other_archives_are_refused(saved, head):
    rewritten(saved, lambda members: members.update({"transcript.json": head}))
    with pytest.raises(InvalidParameterError, match="not a transcript"):
        Transcript.load(saved)


@pytest.mark.parametrize("part", ["call", "values", "ledgers", "reasons", "sha256"])
def test_missing_parts_are_refused(saved, part):
    with_head(saved, lambda head: head.pop(part))
    with pytest.raises(InvalidParameterError, match="damaged"):
        Transcript.load(saved)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidParameterError, match="does not exist"):
        Transcript.load(tmp_path / "none")
