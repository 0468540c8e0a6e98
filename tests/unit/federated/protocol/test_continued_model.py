"""The text of a model that is continued is a part of the terms, and fits them."""

import pytest
from lightgbm import LGBMRegressor

from dpboost import Booster
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Agreement
from dpboost.federated.protocol.agreement import continued_model, text_of_model
from tests.unit.federated.channels import agreement, without_report
from tests.unit.federated.evaluated import BOUNDS, KINDS, model_of

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": BOUNDS, "classes": [0, 1]}


def text():
    return model_of("two classes").booster_.model_to_string()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_continued_whatever_holds_it(kind, tmp_path):
    model = model_of(kind)
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    classes = sorted(model.classes_) if "classes" in kind else None
    found = {text_of_model(one, classes) for one in (model, model.booster_, path, str(path))}
    assert len(found) == 1
    earlier = continued_model(found.pop())
    assert earlier.report.epsilon == 20
    assert earlier.n_rounds == 4
    assert text_of_model(None, classes) is None


@pytest.mark.parametrize("given", ["nowhere.txt", 3, LGBMRegressor()])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(InvalidParameterError, match="'init_model'"):
        text_of_model(given, None)


def test_an_estimator_of_other_classes_is_refused():
    with pytest.raises(InvalidParameterError, match="same classes"):
        text_of_model(model_of("two classes"), ["no", "yes"])


def test_it_is_a_part_of_the_terms():
    terms = agreement(schema=SCHEMA, init_model=text())
    again = Agreement.from_json(terms.to_json())
    assert again.digest == terms.digest != agreement(schema=SCHEMA).digest
    continuation = again.continuation
    assert continuation.continues
    assert continuation.given
    assert continuation.report.epsilon == 20
    assert agreement(schema=SCHEMA).continued is None


def words():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": [0.0, 1.0] * 20, "dose": ["low", "high"] * 20})
    schema = {"bounds": {"age": (0, 1)}, "categories": {"dose": ["low", "high"]}}
    model = type(model_of("two classes"))(
        schema=schema | {"classes": [0, 1]}, n_estimators=1, verbosity=-1
    )
    return model.fit(table, [0, 1] * 20).booster_.model_to_string()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init_model": 3}, "init_model"),
        ({"init_model": b"tree"}, "init_model"),
        ({"init_model": "tree"}, "must be a model text"),
        ({"features": ("age", "dose", "height")}, "3 features, not of 2"),
        ({"features": ("age",), "schema": {"classes": [0, 1]}}, "1 features, not of 2"),
        ({"schema": {"categories": {"dose": ["a", "b"]}, "classes": [0, 1]}}, "categories"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        agreement(**({"schema": SCHEMA, "init_model": text()} | options))


def test_lists_of_categories_are_those_of_the_model():
    own, other = (
        {"categories": {"dose": listed}, "classes": [0, 1]}
        for listed in (["low", "high"], ["high", "low"])
    )
    assert agreement(schema=own, init_model=words()).continued.n_rounds == 1
    for schema in (other, SCHEMA):
        with pytest.raises(InvalidParameterError, match="categories"):
            agreement(schema=schema, init_model=words())


def test_a_text_without_a_report_gives_no_guarantee():
    terms = agreement(schema=SCHEMA, init_model="\n".join(without_report(text())))
    assert terms.continuation.report is None
    assert isinstance(terms.continued.booster, Booster)
