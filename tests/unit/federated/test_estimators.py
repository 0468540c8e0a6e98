from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import dpboost
from dpboost import Budget
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    FederatedTreeClassifier,
    Identity,
    outcome_of,
)
from tests.unit.federated.channels import Losing, parties_of, run, tables, without_report

BOUNDS = {0: (-3, 3), 1: (-3, 3)}
QUIET = {"verbosity": 0, "n_estimators": 3, "max_depth": 2, "epsilon": 3.0}
GIVEN = tables((50, 0, 30), n_classes=2)


def classifier(**parameters):
    schema = {"bounds": BOUNDS, "classes": [0, 1]}
    return FederatedBoostingClassifier(**(QUIET | {"schema": schema} | parameters))


def test_a_fitted_model_is_a_lightgbm_model():
    model = classifier().fit(GIVEN)
    X = GIVEN[0][0]
    probability = model.predict_proba(X)
    assert probability.shape == (50, 2)
    assert set(model.predict(X)) <= {0, 1}
    text = model.booster_.model_to_string()
    again = dpboost.Booster(model_str=text)
    assert np.array_equal(again.predict(X), probability[:, 1])
    assert model.privacy_report_.private
    assert [report.spent for report in model.party_reports_] == [model.privacy_report_.spent] * 3


def test_regression_learns_bounds_that_are_not_declared():
    model = FederatedBoostingRegressor(schema={"label_bounds": (0, 1)}, **QUIET)
    with pytest.warns(dpboost.UndeclaredWarning):
        model.fit(GIVEN)
    assert model.predict(GIVEN[0][0]).shape == (50,)
    assert "bounds of 2 numeric columns" in model.privacy_report_.facts["learned"]


def test_parameters_are_those_of_the_signature():
    model = classifier(colluding=2, recipe="seq")
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert "assume_public" not in model.get_params()
    assert model.get_params()["class_weight"] is None


def test_in_a_session_the_agreement_decides():
    identities = [Identity() for _ in range(3)]
    terms = classifier(noise_seed=4).agreement(3, ["a", "b"], [own.public for own in identities])
    found = run(terms, parties_of(terms, GIVEN, identities))
    for one in (found.coordinator, *found.parties):
        model = outcome_of(one)
        assert isinstance(model, FederatedBoostingClassifier)
        assert model.agreement_ == terms
        assert model.feature_name_ == ["a", "b"]
        with pytest.warns(dpboost.NotPrivateWarning):
            simulated = classifier(noise_seed=4).fit(GIVEN)
        X = GIVEN[0][0]
        assert np.array_equal(model.predict_proba(X), simulated.predict_proba(X))
        facts = model.privacy_report_.facts
        assert "unsigned" not in facts["against coordinator"]
        assert "unsigned" in simulated.privacy_report_.facts["against coordinator"]


def test_a_table_with_names_and_categories():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)

    def table(n):
        values = pandas.Categorical(rng.choice(["no", "yes"], n), categories=["no", "yes"])
        return pandas.DataFrame({"age": rng.uniform(0, 9, n), "smokes": values})

    given = [(table(30), rng.integers(0, 2, 30)) for _ in range(2)]
    schema = {"bounds": {"age": (0, 9)}, "categories": {"smokes": ["no", "yes"]}, "classes": [0, 1]}
    model = classifier(schema=schema).fit(given)
    assert model.feature_name_ == ["age", "smokes"]
    assert model.predict_proba(given[0][0]).shape == (30, 2)
    turned = (given[1][0][["smokes", "age"]], given[1][1])
    with pytest.raises(InvalidParameterError, match="columns of party 1 differ"):
        classifier(schema=schema).fit([given[0], turned])


def test_lists_of_categories_are_declared_and_not_learned():
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame({"smokes": pandas.Categorical(["no", "yes"] * 20)}), [0, 1] * 20
    with pytest.raises(InvalidParameterError, match=r"'smokes' .* Schema\(categories=...\)"):
        classifier(schema={"classes": [0, 1]}).fit([(X, y), (X, y)])


def test_names_with_blanks_are_those_of_the_model_text():
    pandas = pytest.importorskip("pandas")
    given = [(pandas.DataFrame(X, columns=["a 1", "b 2"]), y) for X, y in GIVEN]
    schema = {"bounds": {"a 1": (-3, 3), "b 2": (-3, 3)}, "classes": [0, 1]}
    model = classifier(schema=schema).fit(given)
    assert model.feature_name_ == ["a_1", "b_2"]
    assert model.predict_proba(given[0][0]).shape == (50, 2)


@pytest.mark.parametrize(
    ("parameters", "given", "named"),
    [
        ({"schema": None}, GIVEN, "schema"),
        ({"recipe": "none"}, GIVEN, "recipe"),
        ({"colluding": 3}, GIVEN, "colluding"),
        ({"random_state": "x"}, GIVEN, "random_state"),
        ({}, GIVEN[:1], "at least two pairs"),
        ({}, [GIVEN[0][0], GIVEN[0][1]], "parties"),
        ({}, [GIVEN[0], (np.zeros((3, 5)), np.zeros(3))], "columns of party 1 differ"),
        ({"objective": "lambdarank"}, GIVEN, "lambdarank"),
        ({"objective": lambda y, p: (y, p)}, GIVEN, "run no code of others"),
        ({"objective": "multiclassova", "recipe": "seq"}, GIVEN, "objective"),
        ({"class_weight": {5: 2.0}}, GIVEN, "class_weight"),
        ({"class_weight": "balanced", "recipe": "dpboost"}, GIVEN, "class_weight"),
        ({"alpha": 0.5}, GIVEN, "alpha"),
        ({"scale_pos_weight": 2.0, "schema": {"classes": [0, 1, 2]}}, GIVEN, "scale_pos_weight"),
        ({"schema": {"classes": [0, 1, 2]}, "recipe": "para"}, GIVEN, "multiclass"),
    ],
)
def test_refuses_before_anything_happens(parameters, given, named):
    with pytest.raises(InvalidParameterError, match=named):
        classifier(**parameters).fit(given)


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        (None, None),
        ([np.ones(50), np.ones(0), np.ones(30)], None),
        ([np.ones(50), np.ones(0), np.ones(29)], "same length"),
        ([np.ones(50), np.ones(0), -np.ones(30)], "negative"),
        ([np.ones(50), np.ones(0)], "one array for each party"),
        (np.ones(80), "one array for each party"),
    ],
)
def test_weights_come_party_by_party(weights, named):
    model = classifier(max_weight=2.0)
    if named is None:
        facts = model.fit(GIVEN, sample_weight=weights).privacy_report_.facts
        assert ("weights" in facts) == (weights is not None)
        if weights is None:
            return
        model, named = classifier(), "max_weight"  # they have no bound
    with pytest.raises(InvalidParameterError, match=named):
        model.fit(GIVEN, sample_weight=weights)


@pytest.mark.parametrize("kind", [FederatedBoostingRegressor, FederatedTreeClassifier])
def test_a_budget_has_no_records_at_parties(kind):
    message = f"{kind.__name__} cannot charge a dpboost.Budget"
    budget = Budget(epsilon=1, delta=0)
    with pytest.raises(InvalidParameterError, match=message):
        kind().fit([], budget=budget, fraction=0.5)
    with budget, pytest.raises(InvalidParameterError, match=message):
        kind().fit([])


CONTROLS = {
    "max_delta_step": 0.01,
    "path_smooth": 200.0,
    "min_sum_hessian_in_leaf": 60.0,
    "feature_fraction": 0.5,
    "feature_contri": [1, 0],
    "bagging_fraction": 0.3,
}


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.parametrize("recipe", ["best", "dpboost", "para", "seq"])
def test_controls_of_lightgbm_are_followed_or_refused(recipe):
    followed = {"max_delta_step", "bagging_fraction"} if recipe != "best" else set(CONTROLS)
    options = {"recipe": recipe, "noise_seed": 1, "epsilon": 50.0}
    X = GIVEN[0][0]
    usual = classifier(**options).fit(GIVEN).predict_proba(X)
    for name, value in CONTROLS.items():
        model = classifier(**options, **{name: value})
        if name in followed:
            assert not np.array_equal(model.fit(GIVEN).predict_proba(X), usual)
            assert name in model.privacy_report_.facts
        else:
            with pytest.raises(InvalidParameterError, match=name):
                model.fit(GIVEN)


def test_what_parties_cannot_agree_upon_is_refused():
    model = classifier().set_params(extra_trees=True)
    with pytest.raises(InvalidParameterError, match="extra_trees.*constructor"):
        model.agreement(2, ["a", "b"])


# -- a model that is continued -------------------------------------------------------------------


@pytest.fixture(scope="module")
def first():
    return classifier().fit(GIVEN)


def test_budgets_of_a_model_that_is_continued_add_up(first):
    model = classifier(epsilon=2.0).fit(GIVEN, init_model=first)
    assert model.booster_.num_trees() == 6
    assert len(model.ensemble_.trees) == 3
    reports = (model.privacy_report_, *model.party_reports_)
    assert {report.total[0] for report in reports} == {5.0}
    assert "adds to these numbers" in model.privacy_report_.facts["continues"]
    again = classifier(epsilon=1.0).fit(GIVEN, init_model=model.booster_)
    assert again.privacy_report_.total[0] == 6.0
    assert again.booster_.num_trees() == 9


def test_persons_of_a_model_that_is_continued_are_those_of_the_next_one():
    users = [np.arange(len(y)) // 2 for _, y in GIVEN]
    persons = {"rows_per_user": 2, "parties_per_user": 2}
    earlier = classifier(**persons).fit(GIVEN, user_ids=users)
    model = classifier(**persons).fit(GIVEN, user_ids=users, init_model=earlier)
    for report in (model.privacy_report_, *model.party_reports_):
        assert report.total[0] == 6.0
        assert report.rows_per_user == 4
    one_party = {"rows_per_user": 2, "parties_per_user": 1}
    with pytest.raises(InvalidParameterError, match="rows_per_user"):
        classifier(**one_party).fit(GIVEN, user_ids=users, init_model=earlier)


def test_a_model_without_a_report_is_continued_without_a_guarantee(first):
    import lightgbm

    plain = lightgbm.Booster(model_str=first.booster_.model_to_string())
    with pytest.warns(dpboost.NotPrivateWarning, match="without a privacy report"):
        model = classifier().fit(GIVEN, init_model=plain)
    assert "without a privacy report" in model.privacy_report_.guarantee
    assert not any(report.private for report in model.party_reports_)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"recipe": "para"}, "'init_model' .* recipe='para'"),
        ({"recipe": "dpboost"}, "'init_model' .* recipe='dpboost'"),
        ({"recipe": "seq"}, "'init_model' .* recipe='seq'"),
        ({"objective": "multiclassova"}, "It has 1 instead of 2"),
        ({"schema": {"bounds": BOUNDS, "classes": [0, 2]}}, "same classes"),
        ({"schema": {"bounds": BOUNDS, "classes": [0, 1, 2]}}, "same classes"),
        ({"schema": {"categories": {0: ["a", "b"]}, "classes": [0, 1]}}, "categories"),
        ({"neighbors": "replace"}, "neighbors"),
        ({"rows_per_user": 2}, "rows_per_user"),
        ({"monotone_constraints": [1, -1]}, "'init_model' .* constraints"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_before_anything_happens(parameters, named, first):
    with pytest.raises(InvalidParameterError, match=named):
        classifier(**parameters).agreement(3, ["Column_0", "Column_1"], init_model=first)


def test_the_agreement_alone_continues_a_model_and_parties_may_be_lost(first):
    model = classifier(noise_seed=4)
    with pytest.warns(dpboost.NotPrivateWarning):
        expected = classifier(noise_seed=4).fit(GIVEN, init_model=first)
    terms = model.agreement(3, ["Column_0", "Column_1"], init_model=first)
    found = run(terms, parties_of(terms, GIVEN))
    for one in (found.coordinator, *found.parties):
        texts = [each.booster_.model_to_string() for each in (outcome_of(one), expected)]
        assert without_report(texts[0]) == without_report(texts[1])
    # A party that is lost on the way leaves a fit of the others.
    terms = replace(terms, dropouts=1, noise_seed=None)
    links = {1: lambda hub, index: Losing(hub, index, ("words", 2))}
    model = outcome_of(run(terms, parties_of(terms, GIVEN), links).coordinator)
    assert model.booster_.num_trees() == 6
    assert model.privacy_report_.facts["fewest parties in a release"] == "2 of 3"
