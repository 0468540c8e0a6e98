"""What a certificate lists of a ledger: every release, each with its noise, folded."""

import json
from fractions import Fraction

import numpy as np
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, DPTreeClassifier

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).uniform(size=(400, 3))
Y = (X[:, 0] > 0.5).astype(int)
NUMBERS = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
FEW = {"n_estimators": 6, "max_depth": 3, "verbosity": -1, "n_jobs": 1}

FITS = {
    **{
        f"{recipe}, {relation}": lambda recipe=recipe, relation=relation: DPBoostRegressor(
            recipe=recipe, epsilon=4.0, neighbors=relation, **FEW
        ).fit(X, Y)
        for recipe in ("best", "dpboost", "seq", "para")
        for relation in ("add_remove", "replace")
    },
    **{
        f"tree {recipe}, {relation}": lambda recipe=recipe, relation=relation: DPTreeClassifier(
            recipe=recipe, epsilon=4.0, neighbors=relation
        ).fit(X, Y)
        for recipe in ("best", "dp_topdown", "sulq_id3", "diffp_id3", "diffp_c45")
        for relation in ("add_remove", "replace")
    },
    "learned classes": lambda: DPBoostClassifier(
        epsilon=8.0, delta=1e-4, assume_public=(), **FEW
    ).fit(X, Y),
}


def releases(record, scope=None, times=1):
    """Return all releases of a record, unfolded, as scopes around them and their line."""
    scope = record["scopes"] if scope is None else scope
    times *= scope["times"]
    found = []
    for number, count in scope.get("releases", ()):
        found += [((scope["name"],), record["lines"][number])] * (count * times)
    for each in scope.get("scopes", ()):
        found += [((scope["name"], *path), line) for path, line in releases(record, each, times)]
    return found


def scopes(scope):
    return [scope, *(inner for each in scope.get("scopes", ()) for inner in scopes(each))]


@pytest.mark.parametrize("name", FITS)
def test_it_lists_every_release_with_its_noise(name, ledgers):
    report = FITS[name]().privacy_report_
    (ledger,) = ledgers
    record = report.accounting
    assert json.loads(json.dumps(record, allow_nan=False)) == record

    def facts(label, mechanism, noise, constant, cost, delta):
        return (label, mechanism, tuple(noise), constant, str(cost), str(delta))

    expected = [
        facts(
            entry.label,
            entry.mechanism.name,
            entry.mechanism.parameters(entry.bound),
            entry.bound.constant,
            entry.charge.cost,
            entry.charge.delta,
        )
        for entry in ledger.entries
    ]
    names = ("label", "mechanism", "noise", "constant", "cost", "delta")
    found = [facts(*(line[name] for name in names)) for _, line in releases(record)]
    assert sorted(found) == sorted(expected)
    assert Fraction(record["spent"]["cost"]) == ledger.spent
    parallel = [scope for scope in scopes(record["scopes"]) if scope["kind"] == "parallel"]
    assert all(scope["because"] != "not stated" for scope in parallel)


@pytest.mark.parametrize("name", [name for name in FITS if "replace" in name])
def test_what_nodes_by_content_release_says_what_an_added_row_moves(name):
    record = FITS[name]().privacy_report_.accounting
    for scope in scopes(record["scopes"]):
        if scope.get("because") == "nodes by content":
            lines = [record["lines"][n] for s in scopes(scope) for n, _ in s.get("releases", ())]
            assert lines
            assert all(line["added"] for line in lines)


def test_a_stability_histogram_has_its_threshold_and_no_length():
    record = FITS["learned classes"]().privacy_report_.accounting
    (line,) = (line for line in record["lines"] if line["label"] == "class labels")
    assert line["sizes"] == [1, 1]  # of columns
    assert Fraction(line["delta"]) > 0
    assert line["threshold"] * line["unit"] > 1
    assert not line["delta_alone"]


def test_four_hundred_trees_are_a_few_lines():
    schema = {"bounds": dict.fromkeys(range(3), (0, 1)), "classes": [0, 1]}
    model = DPBoostClassifier(epsilon=1.0, n_estimators=400, schema=schema, verbosity=-1).fit(X, Y)
    record = model.privacy_report_.accounting
    assert sum(1 for _ in releases(record)) > 400
    assert len(record["lines"]) <= 8
    assert len(json.dumps(record)) < 5000


def test_a_model_text_and_a_file_keep_it(tmp_path):
    model = FITS["best, add_remove"]()
    report = model.privacy_report_
    model.booster_.save_model(tmp_path / "model.txt")
    again = dpboost.Booster(model_file=str(tmp_path / "model.txt")).privacy_report
    assert again.accounting == report.accounting
    assert dpboost.PrivacyReport.from_dict(report.to_dict()).accounting == report.accounting


def test_a_budget_is_in_it_with_its_lines():
    budget = dpboost.Budget(epsilon=8.0, delta=1e-5, pure_epsilon=2.0)
    DPTreeClassifier().fit(X, Y, budget=budget, fraction=0.5)
    model = DPBoostRegressor(schema=NUMBERS, early_stopping_round=1, **FEW)
    model.fit(X, Y, budget=budget, fraction=0.25, holdout=0.3)
    record = model.privacy_report_.accounting["budget"]
    states = ["closed", "closed", "charged", "charged"]
    assert [line["state"] for line in record["lines"]] == states
    assert [line["closes"] for line in record["lines"]] == [None, None, 0, 1]
    assert not record["all_lines"]
    # A replay of the fit, under a budget without the tree, says the same.
    again = dpboost.replay(model.transcript_)
    assert again.privacy_report_.accounting == model.privacy_report_.accounting
    whole = model.privacy_report_.certificate(budget=budget)["accounting"]["budget"]
    assert whole["all_lines"]
    assert [line["state"] for line in whole["lines"]] == ["booked", *states]
    assert [line["own"] for line in whole["lines"]] == [False, True, True, True, True]
    assert {each["account"] for each in whole["accounts"]} == {"pure", "Gaussian"}
    other = dpboost.Budget(epsilon=8.0, delta=1e-5, pure_epsilon=2.0)
    with pytest.raises(dpboost.InvalidParameterError, match="must be the budget of the fit"):
        model.privacy_report_.certificate(budget=other)
    outside = FITS["best, add_remove"]()
    with pytest.raises(dpboost.InvalidParameterError, match="must be the budget of the fit"):
        outside.privacy_report_.certificate(budget=budget)


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_cross_validation_adds_up_all_fits_but_the_cheapest(delta):
    params = {"objective": "binary", "epsilon": 4.0, "delta": delta, "verbosity": -1}
    params["schema"] = {"bounds": dict.fromkeys(range(3), (0, 1)), "classes": [0, 1]}
    result = dpboost.cv(
        params, dpboost.Dataset(X, Y), num_boost_round=3, nfold=3, return_cvbooster=True
    )
    report = result.privacy_report
    record = report.accounting
    fits, metrics = record["scopes"]["scopes"]
    assert fits["kind"] == "all children but the cheapest"
    assert sum(each["times"] for each in fits["scopes"]) == 3
    assert metrics["kind"] == "sequential"
    assert Fraction(record["spent"]["cost"]) == report.spent
    own = [fold.privacy_report.accounting for fold in result["cvbooster"].boosters]
    assert all(each["multiples"][0]["fits"] == 3 for each in own)
