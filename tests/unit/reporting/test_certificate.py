import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPTreeClassifier, InvalidParameterError, LPDTRegressor
from dpboost._utils.version import build_hash
from dpboost.audit import __main__ as audit_command
from dpboost.audit.record import UNSAID, main, read
from dpboost.reporting import audit_record
from dpboost.reporting.attacker import best_true_positive_rate
from dpboost.reporting.certificate import NOT_STATED, schema
from dpboost.reporting.certificate_form import CertificateError, check_form

ROOT = Path(__file__).resolve().parents[3]


def valid(value, rule):
    """Whether a value keeps to a schema."""
    try:
        check_form(value, rule, rule)
    except CertificateError:
        return False
    return True


def plain(record):
    """As it comes back from a strict JSON file."""
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda: DPBoostClassifier(epsilon=2, delta=1e-5, n_estimators=4),
        lambda: DPBoostClassifier(epsilon=np.inf, n_estimators=4),
        lambda: DPBoostClassifier(epsilon=2, neighbors="replace", delta=0, n_estimators=4),
        lambda: DPTreeClassifier(epsilon=1, noise_seed=1),
    ],
)
def test_certificates_keep_to_the_schema(make, table):
    model = make().fit(*table)
    for record in (
        model.privacy_report_.certificate(),
        model.booster_.privacy_report.certificate(model=model),
    ):
        assert plain(record) == record
        assert valid(record, schema())
        assert (record["meaning"] is None) == (not model.privacy_report_.private)


def test_local_reports_have_certificates(table):
    X, y = table

    model = LPDTRegressor(epsilon=1.0).fit(X, y, X_public=X[:50], y_public=y[:50])
    report = model.privacy_report_
    record = report.certificate()
    assert valid(record, schema())
    assert record["trust_model"]["kind"] == "local"


@pytest.mark.parametrize("group", list(schema()["properties"]))
def test_the_schema_refuses_what_misses_a_part(model, group):
    record = model.privacy_report_.certificate()
    less = {name: part for name, part in record.items() if name != group}
    # Certificates of version 0.1.0 do not have these.
    later = {"accounting", "data", "approval", "meaning_of_the_budget", "scores", "asked_for"}
    later.add("scores_outside_the_budget")
    assert valid(less, schema()) == (group in later)
    assert not valid({**record, group: 3}, schema())
    assert not valid({**record, "more": ""}, schema())


def test_the_hash_is_that_of_the_saved_file(model, tmp_path):
    model.booster_.save_model(tmp_path / "model.txt")
    expected = hashlib.sha256((tmp_path / "model.txt").read_bytes()).hexdigest()
    text = (tmp_path / "model.txt").read_bytes().decode()
    for held in (model, model.booster_, text):
        record = model.privacy_report_.certificate(model=held)
        assert record["identity"]["model_sha256"] == expected


def test_claim_and_meaning_are_those_of_the_report(model):
    report = model.privacy_report_
    record = report.certificate()
    claim = record["claim"]
    assert (claim["epsilon"], claim["delta"], claim["mu"]) == (2, 1e-5, report.mu)
    assert [line["times"] for line in claim["releases"]] == [r.releases for r in report.releases]
    assert record["meaning"]["true_positives_at_1_percent_false"] == best_true_positive_rate(
        0.01, epsilon=2, delta=1e-5, mu=report.mu
    )


def test_what_the_user_states_is_in_it_and_nothing_is_left_open(model):
    record = model.privacy_report_.certificate(stated={"contact": "<i>dpo</i>"})
    assert record["life"]["contact"] == "<i>dpo</i>"
    assert record["life"]["legal_basis"] == NOT_STATED
    page = model.privacy_report_.certificate_to_html(model=model, stated={"contact": "<i>dpo</i>"})
    assert "&lt;i&gt;dpo&lt;/i&gt;" in page
    assert "<i>" not in page
    assert page.count(NOT_STATED) == 15


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"stated": {"contakt": "x"}}, "contakt"),
        ({"stated": {"contact": 3}}, "contact"),
        ({"model": 3}, "model"),
    ],
)
def test_bad_statements_and_models_are_refused(model, bad, name):
    with pytest.raises(InvalidParameterError, match=name):
        model.privacy_report_.certificate(**bad)


def test_the_audit_is_that_of_the_stored_run(model):
    audit = model.privacy_report_.certificate()["correctness"]["audit"]
    assert audit["covers_installed_version"] == (dpboost.__version__ == audit["audited_version"])
    text = (ROOT / audit["record"]).read_text("utf-8")
    # `python -m dpboost.audit.record` takes another run into the package.
    assert read(text, audit["date"]) == audit_record.stored()
    assert audit["verdict"] == "no claim was refuted"
    assert len(audit["checks"]) == len(re.findall(r"  ok\b", text))
    assert {check["verdict"] for check in audit["checks"]} == {"passed"}


EMPTY = ("",) * 5
ROW = "{:<14} {:<46} {:>8} {:>10} {:>8} {:>8}  {}"
ROWS = [
    ("recipe", "audit", "claimed", "measured", "runs", "seconds", "verdict"),
    ("best, delta 0", "replay: largest total loss", "1.000", "0.955", "256", "12.7", "ok"),
    ("best, delta 0", "  leaf sums, part of its charge", "1.000", "1.000", "", "", ""),
    (
        *("tree:dp_topdown", "black box, n_estimators 5, max_depth 1"),
        *("1.000", ">=0.053", "10000", "483.4", "VIOLATION"),
    ),
    ("samplers", "forced outcomes", "", "", "", "2.5", "ok"),
]
HEAD = "dpboost 1.2.3, epsilon 1, delta 1e-06 or 0"
RUN = (
    "\n".join([HEAD, *(ROW.format(*row) for row in ROWS)])
    + """
VIOLATION: at least one claim is false, see the lines above
not audited:
  more than 1e9 rows
"""
)


def test_a_run_is_read():
    found = read(RUN, "2026-01-02")
    assert found == {
        "version": "1.2.3",
        "build_sha256": None,
        "date": "2026-01-02",
        "verdict": "a claim was refuted",
        "checks": [
            {
                "audited": "best, delta 0",
                "check": "replay: largest total loss",
                "runs": 256,
                "verdict": "passed",
            },
            {
                "audited": "tree:dp_topdown",
                "check": "black box, n_estimators 5, max_depth 1",
                "runs": 10000,
                "verdict": "failed",
            },
            {"audited": "samplers", "check": "forced outcomes", "runs": 1, "verdict": "passed"},
        ],
        "releases": ["leaf sums"],
        "not_audited": ["more than 1e9 rows"],
    }


def test_a_run_says_its_build_and_which_releases_it_has_seen():
    rows = [
        ("budget session", "replay of all calls under one budget", "", "", 40, "17.3", "ok"),
        ("budget session", "  rows by bin, part of its charge", "1.000", "0.936", "", "", ""),
        (
            "other fits, delta 1e-06",
            "  label range, part of its charge",
            "1.000",
            "1.000",
            *" " * 3,
        ),
        ("samplers", "  reports, audited", *" " * 5),
    ]
    wide = ROW.replace("<14", "<24")
    lines = [HEAD, f"build {'0f' * 32}", *(wide.format(*row).rstrip() for row in rows)]
    found = read("\n".join(lines), "2026-01-02")
    assert found["build_sha256"] == "0f" * 32
    assert found["releases"] == ["label range", "reports", "rows by bin"]
    assert [check["runs"] for check in found["checks"]] == [40]


def test_the_command_prints_what_is_read(capsys):
    assert audit_command.main(["--quick", "--recipe", "budget session"]) == 0
    found = read(capsys.readouterr().out, "2026-01-02")
    assert found["build_sha256"] == build_hash()
    assert {"change of the loss", "rows by bin", "scores by label"} <= set(found["releases"])
    assert any(line.startswith("not asked for: best") for line in found["not_audited"])


def audit_of(model, monkeypatch, **record):
    """What a certificate says of an audit with another record, and its page."""
    stored = audit_record.stored() | record
    monkeypatch.setattr(audit_record, "stored", lambda: stored)
    found = model.privacy_report_.certificate()
    assert valid(found, schema())
    page = html.unescape(model.privacy_report_.certificate_to_html(model=model))
    return found["correctness"]["audit"], page


@pytest.mark.parametrize(
    ("audited", "covers", "words"),
    [
        (build_hash(), True, "the installed build"),
        ("0f" * 32, False, "a different build from the installed one"),
        (None, False, "build not recorded"),
    ],
)
def test_the_certificate_says_whether_this_build_was_audited(
    model, monkeypatch, audited, covers, words
):
    audit, page = audit_of(model, monkeypatch, build_sha256=audited)
    assert audit["audited_build_sha256"] == audited
    assert audit["covers_installed_build"] is covers
    assert words in page


def test_a_release_that_the_record_does_not_know_is_named(model, monkeypatch):
    labels = {line.label for line in model.privacy_report_.releases}
    assert {"leaf sums", "start value"} <= labels
    audit, page = audit_of(model, monkeypatch, releases=sorted(labels))
    assert audit["releases_not_audited"] == []
    assert "Releases of this model" not in page
    audit, page = audit_of(model, monkeypatch, releases=sorted(labels - {"leaf sums"}))
    assert audit["releases_not_audited"] == ["leaf sums"]
    assert "Releases of this model that were not audited: leaf sums." in page


def test_a_run_that_says_nothing_of_what_it_left_out_is_read_so():
    sound = RUN.replace("VIOLATION\n", "ok\n").partition("VIOLATION:")[0]
    assert read(sound, "2026-01-02")["not_audited"] == [UNSAID]
    whole = read(f"{sound}every claim stands\n", "2026-01-02")
    assert whole["not_audited"] == []
    assert whole["verdict"] == "no claim was refuted"


@pytest.mark.parametrize("text", ["", "hello", HEAD])
def test_what_is_no_run_is_refused(text):
    with pytest.raises(ValueError, match="no output"):
        read(text, "2026-01-02")


def test_a_run_is_taken_into_a_file(tmp_path):
    source, target = tmp_path / "run.txt", tmp_path / "record.json"
    source.write_text(RUN)
    assert main([str(source), "--output", str(target)]) == 0
    found = json.loads(target.read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert found == read(RUN, found["date"])


def test_proofs_of_every_release_are_named_and_there(model):
    correctness = model.privacy_report_.certificate()["correctness"]
    labels = {line.label for line in model.privacy_report_.releases}
    assert {each["kind"] for each in correctness["proofs"]} == labels | {"all"}
    for each in correctness["proofs"]:
        assert each["pages"]
        assert all((ROOT / page).is_file() for page in each["pages"])


def test_what_a_computer_has_checked_is_named_with_what_it_assumes(model):
    found = model.privacy_report_.certificate()["correctness"]["machine_checked"]
    assert (ROOT / found["page"]).is_file()
    assert found["checked"]
    assert any("Gaussian" in line for line in found["assumed"])
    page = model.privacy_report_.certificate_to_html()
    assert all(html.escape(line) in page for line in found["checked"] + found["assumed"])


def test_the_page_lists_the_first_of_many_things_that_were_left_out(model, monkeypatch):
    left_out = [f"thing {number}" for number in range(9)]
    record = {**audit_record.stored(), "not_audited": left_out}
    monkeypatch.setattr(audit_record, "stored", lambda: record)
    text = model.privacy_report_.certificate_to_html()
    assert "thing 0; thing 1; thing 2; thing 3; and 5 more, in the record." in text
    found = model.privacy_report_.certificate()["correctness"]["audit"]["not_audited"]
    assert found == left_out


def test_the_page_says_what_was_audited(model):
    text = model.privacy_report_.certificate_to_html()
    audit = audit_record.stored()
    assert f"{audit['date']}: {audit['verdict']}" in text
    assert "Not audited:" in text
    other = audit["version"] != dpboost.__version__
    assert (f"Version {dpboost.__version__} was not audited." in text) is other
    assert f"{audit_record.SOURCE} of the source distribution" in text
    assert f"docs/proofs of the source distribution, dpboost-{dpboost.__version__}.tar.gz" in text
    assert "machine-checked.md of the same folder" in text


DECLARED = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}


def declared_table():
    X = np.random.default_rng(0).uniform(size=(600, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def test_a_model_in_a_budget_has_a_guarantee_of_its_own_and_names_its_scores():
    X, y = declared_table()
    budget = dpboost.Budget(epsilon=2, delta=1e-6)
    model = dpboost.DPBoostClassifier(schema=DECLARED, n_estimators=3, verbosity=-1)
    model.fit(X, y, budget=budget, fraction=0.5)
    report = model.privacy_report_
    epsilon, delta = report.own
    assert report.epsilon_spent <= epsilon <= report.epsilon_spent + 1e-3 < 2
    assert str(report).startswith(f"Privacy: epsilon = {epsilon:.6g}, delta = 1e-06, in a budget")
    record = report.certificate(model=model)
    assert (record["claim"]["epsilon"], record["claim"]["own_epsilon"]) == (2, epsilon)
    assert record["utility_and_bias"].startswith("not known")
    assert f"epsilon = {epsilon:.6g}" in report.certificate_to_html()
    whole = report.certificate(model=model, budget=budget)
    assert whole["utility_and_bias"] == "no score was released under the budget"
    for fraction in (0.1, 0.2):
        dpboost.evaluate(model, X, y, budget=budget, fraction=fraction, metrics=["accuracy"])
    whole = report.certificate(model=model, budget=budget)
    assert "evaluate, 2 times" in whole["utility_and_bias"]
    assert valid(whole, schema())
    alone = dpboost.DPBoostClassifier(schema=DECLARED, n_estimators=3, verbosity=-1).fit(X, y)
    assert alone.privacy_report_.own == alone.privacy_report_.total
    assert "no budget" in alone.privacy_report_.certificate()["utility_and_bias"]


def test_a_budget_of_gaussian_noise_has_the_bounds_of_its_mu():
    X, y = declared_table()
    model = dpboost.DPBoostClassifier(schema=DECLARED, n_estimators=3, verbosity=-1)
    budget = dpboost.Budget(epsilon=3, delta=1e-6)
    model.fit(X, y, budget=budget, fraction=0.5)
    found = model.privacy_report_.certificate(model=model)["meaning_of_the_budget"]
    whole = dpboost.explain_epsilon(recipe="best", budget=budget, fraction=1)
    assert found["true_positives_at_5_percent_false"] == pytest.approx(
        whole.true_positives(0.05), rel=1e-3
    )
    pair = dpboost.explain_epsilon(3, 1e-6)
    assert found["true_positives_at_5_percent_false"] < 0.5 * pair.true_positives(0.05)
    page = model.privacy_report_.certificate_to_html(model=model)
    assert f"by mu = {whole.mu:.4g}" in page
    mixed = dpboost.Budget(epsilon=3, delta=1e-6, pure_epsilon=1)
    model.fit(X, y, budget=mixed, fraction=0.5)
    found = model.privacy_report_.certificate(model=model)["meaning_of_the_budget"]
    assert found["true_positives_at_5_percent_false"] == pytest.approx(
        pair.true_positives(0.05), rel=1e-3
    )
    assert "by epsilon and delta" in model.privacy_report_.certificate_to_html(model=model)


def test_scores_outside_the_budget_are_added_up():
    X, y = declared_table()
    model = dpboost.DPBoostClassifier(schema=DECLARED, n_estimators=3, verbosity=-1).fit(X, y)
    scores = []
    for epsilon in (0.5, 1.5):
        own = dpboost.Budget(epsilon=epsilon, delta=0)
        scores.append(dpboost.evaluate(model, X, y, budget=own, fraction=1))
    record = model.privacy_report_.certificate(model=model, scores=scores)
    assert record["scores_outside_the_budget"] == {"evaluations": 2, "epsilon": 2.0, "delta": 0.0}
    assert valid(record, schema())
    page = model.privacy_report_.certificate_to_html(model=model, scores=scores)
    text = re.sub("<[^>]*>", "", page)
    assert "2 evaluations: epsilon = 2" in text
    assert "everything together has epsilon = 3" in text
    assert model.privacy_report_.certificate(model=model)["scores_outside_the_budget"] is None


def test_what_was_declared_is_said_in_words(tmp_path):
    lines = "name,type,lower,upper,values,role\nage,integer,0,120,,\nweight,number,,,,\n"
    (tmp_path / "d.csv").write_text(f"{lines}ward,category,,,,\nout,category,,,0|1,target\n")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(0, 90, 600), "weight": rng.uniform(size=600)})
    table["ward"] = rng.choice(["x", "y"], 600)
    table["out"] = (table["age"] > 40).astype(int)
    model = dpboost.DPBoostClassifier(
        schema=tmp_path / "d.csv", n_estimators=3, verbosity=-1, assume_public=()
    )
    text = " ".join(str(model.fit(table).privacy_report_).split())
    assert (
        "Declared public by the user: ranges of columns, which columns hold whole numbers, class "
        "labels, column types. Estimated from the rows with part of the budget: categories"
    ) in text
