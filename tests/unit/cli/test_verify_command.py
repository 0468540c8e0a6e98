"""Keys, signed certificates, and what ``dpboost verify`` accepts and refuses."""

import json
from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from dpboost import Booster, Budget, DPBoostClassifier, Transcript
from dpboost._utils.version import build_hash
from dpboost.cli.main import main
from dpboost.lightgbm.model_text.syntax import text_of_parts, text_parts
from dpboost.lightgbm.model_text.writer import REPORT_KEY
from tests.permissions import owner_alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, its certificate, signed and not, and the keys."""
    where = tmp_path_factory.mktemp("office")
    X = np.random.default_rng(0).uniform(size=(300, 2))
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    model = DPBoostClassifier(epsilon=1.0, n_estimators=5, schema=schema, verbosity=-1)
    model.fit(X, (X[:, 0] > 0.5).astype(int))
    model.booster_.save_model(where / "model.txt")
    model.transcript_.save(where / "fit.transcript")
    other = DPBoostClassifier(epsilon=1.0, n_estimators=5, schema=schema, verbosity=-1)
    other.fit(X, (X[:, 0] > 0.5).astype(int)).transcript_.save(where / "other.transcript")
    with Budget(epsilon=2.0, delta=1e-6) as budget:
        budget.save(where / "two.budget")
        for name in ("first.txt", "second.txt"):
            other.fit(X, (X[:, 0] > 0.5).astype(int), fraction=0.5)
            other.booster_.save_model(where / name)
    assert main(["keygen", str(where / "signing.key")]) == 0
    model_text = str(where / "model.txt")
    assert main(["report", model_text, "--certificate", str(where / "certificate.json")]) == 0
    more = ["--certificate", str(where / "signed.json"), "--sign", str(where / "signing.key")]
    assert main(["report", model_text, *more]) == 0
    return where


def verify(folder, certificate="certificate.json", model="model.txt", *more):
    return main(["verify", str(folder / certificate), str(folder / model), *more])


def with_key(folder, name="signing.key.pub"):
    return ["--key", str(folder / name)]


def test_a_certificate_is_verified(folder, capsys):
    assert verify(folder) == 0
    out = capsys.readouterr().out
    assert "within epsilon = 1, delta = 1e-06" in out
    assert "not signed" in out
    assert "complete" in out
    assert verify(folder, "signed.json", "model.txt", *with_key(folder)) == 0
    assert "a signature is by the key" in capsys.readouterr().out
    assert verify(folder, "signed.json") == 0
    assert "not verified" in capsys.readouterr().out


def test_keys_are_made_for_their_owner_and_never_replaced(folder, capsys):
    assert owner_alone(folder / "signing.key")
    assert not owner_alone(folder / "signing.key.pub")
    before = (folder / "signing.key").read_bytes()
    assert main(["keygen", str(folder / "signing.key")]) == 2
    assert "never replaced" in capsys.readouterr().err
    assert (folder / "signing.key").read_bytes() == before
    (folder / "other.pub").write_text("")
    assert main(["keygen", str(folder / "other")]) == 2
    assert not (folder / "other").exists()
    assert main(["keygen", str(folder / "nowhere" / "key")]) == 2


def test_other_keys_and_unsigned_certificates_are_refused(folder, capsys):
    assert main(["keygen", str(folder / "stranger.key")]) == 0
    capsys.readouterr()
    for certificate, key, why in (
        ("signed.json", "stranger.key.pub", "No signature"),
        ("certificate.json", "signing.key.pub", "is not signed"),
    ):
        assert verify(folder, certificate, "model.txt", *with_key(folder, key)) == 1
        assert why in capsys.readouterr().out
    assert verify(folder, "signed.json", "model.txt", *with_key(folder, "signing.key")) == 2
    assert "public key" in capsys.readouterr().err


def test_another_model_is_refused(folder, capsys):
    text = (folder / "model.txt").read_text()
    (folder / "changed.txt").write_text(text.replace("leaf_value=", "leaf_value=1", 1))
    assert verify(folder, "certificate.json", "changed.txt") == 1
    assert "of another model" in capsys.readouterr().out
    stock = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(np.eye(30), np.arange(30)), 1)
    stock.save_model(folder / "stock.txt")
    assert main(["report", str(folder / "stock.txt"), "--registry", str(folder / "x.yaml")]) == 2


def test_what_the_report_of_the_model_does_not_say_is_refused(folder, capsys):
    plain = json.loads((folder / "certificate.json").read_text())
    plain["claim"]["epsilon"] = 0.5
    (folder / "lower.json").write_text(json.dumps(plain))
    assert verify(folder, "lower.json") == 1
    assert "differs from the report of the model in 'claim'" in capsys.readouterr().out
    del plain["accounting"]
    plain["claim"]["epsilon"] = 1.0
    (folder / "less.json").write_text(json.dumps(plain))
    assert verify(folder, "less.json") == 1
    (folder / "no.json").write_text("{")
    assert verify(folder, "no.json") == 1
    (folder / "list.json").write_text("[]")
    assert verify(folder, "list.json") == 1
    assert "does not match its schema" in capsys.readouterr().out
    assert verify(folder, "nothing.json") == 2


def test_less_noise_is_refused_where_model_and_certificate_agree_on_it(folder, capsys):
    text = (folder / "model.txt").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith(REPORT_KEY))
    report = json.loads(line.removeprefix(REPORT_KEY))
    noise = report["accounting"]["lines"][-1]["noise"]
    noise[0] = noise[0] * 9 // 10
    new = text.replace(line, REPORT_KEY + json.dumps(report))
    (folder / "noisy.txt").write_text(new, newline="\n")
    model, certificate = str(folder / "noisy.txt"), str(folder / "noisy.json")
    assert main(["report", model, "--certificate", certificate]) == 0
    capsys.readouterr()
    assert verify(folder, "noisy.json", "noisy.txt") == 1
    assert "this noise costs" in capsys.readouterr().out


def test_signing_needs_a_certificate_and_a_key(folder, capsys):
    model = str(folder / "model.txt")
    assert main(["report", model, "--sign", str(folder / "signing.key")]) == 2
    assert "--certificate" in capsys.readouterr().err
    more = ["--certificate", str(folder / "never.json"), "--sign", str(folder / "signing.key.pub")]
    assert main(["report", model, *more]) == 2
    assert not (folder / "never.json").exists()


def test_the_record_of_the_registry_is_written(folder):
    path = folder / "deployment.yaml"
    assert main(["report", str(folder / "model.txt"), "--registry", str(path)]) == 0
    assert 'status: "Draft"' in path.read_text()


def test_a_transcript_shows_that_the_list_is_complete(folder, capsys):
    names = ("certificate.json", "model.txt", "--transcript")
    assert verify(folder, *names, str(folder / "fit.transcript")) == 0
    out = capsys.readouterr().out
    assert "gives this model and this list" in out
    assert "complete" not in out
    assert verify(folder, *names, str(folder / "other.transcript")) == 1
    assert "produces another model" in capsys.readouterr().out
    assert verify(folder, *names, str(folder / "model.txt")) == 2


def test_all_lines_of_a_budget_are_listed(folder, capsys):
    path = str(folder / "budgeted.json")
    report = ["report", str(folder / "second.txt"), "--certificate", path]
    assert main(report) == 0
    assert verify(folder, "budgeted.json", "second.txt") == 0
    assert "not listed" in capsys.readouterr().out
    assert main([*report, "--budget", str(folder / "two.budget")]) == 0
    lines = json.loads((folder / "budgeted.json").read_text())["accounting"]["budget"]["lines"]
    assert len(lines) == 2
    assert verify(folder, "budgeted.json", "second.txt") == 0
    assert "not listed" not in capsys.readouterr().out
    lost = ["report", str(folder / "model.txt"), "--certificate", path]
    assert main([*lost, "--budget", str(folder / "two.budget")]) == 2


def certified_again(folder, change):
    """Write a changed model text with a certificate of its own."""
    text = change((folder / "model.txt").read_text())
    (folder / "changed.txt").write_text(text, newline="\n")
    path = str(folder / "changed.json")
    assert main(["report", str(folder / "changed.txt"), "--certificate", path]) == 0
    return "changed.json", "changed.txt", "--transcript", str(folder / "fit.transcript")


def nudged(text, n_units):
    """Move the first leaf that is not zero by so many units in the last place."""
    line = next(line for line in text.splitlines() if line.startswith("leaf_value="))
    leaves = [float(leaf) for leaf in line.removeprefix("leaf_value=").split()]
    place = next(place for place, leaf in enumerate(leaves) if leaf != 0)
    leaves[place] += n_units * np.spacing(abs(leaves[place]))
    changed = text.replace(line, "leaf_value=" + " ".join(repr(float(leaf)) for leaf in leaves), 1)
    # As LightGBM writes it.
    return Booster(model_str=text_of_parts(*text_parts(changed))).model_to_string()


def test_last_digits_of_leaves_may_be_those_of_another_machine(folder, capsys):
    names = certified_again(folder, lambda text: nudged(text, 2))
    assert verify(folder, *names) == 0
    out = capsys.readouterr().out
    assert "the structure of this model, with leaves within 2 units in the last place" in out
    assert "the last digits of the leaves" in out
    assert "gives this model and this list" not in out
    names = certified_again(folder, lambda text: nudged(text, 1000))
    assert verify(folder, *names) == 1
    assert "produces another model" in capsys.readouterr().out


def test_a_transcript_of_another_build_leaves_it_open(folder, capsys):
    loaded = Transcript.load(folder / "fit.transcript")
    assert loaded.build_sha256 == build_hash()
    foreign = replace(loaded, build="0.9.0", build_sha256="0" * 64)
    foreign.save(folder / "foreign.transcript")
    names = ("certificate.json", "model.txt", "--transcript", str(folder / "foreign.transcript"))
    assert verify(folder, *names) == 0  # the replay is equal, whoever recorded it
    names = certified_again(folder, lambda text: nudged(text, 1000))[:3]
    assert verify(folder, *names, str(folder / "foreign.transcript")) == 1
    assert "Cannot tell" in capsys.readouterr().out
