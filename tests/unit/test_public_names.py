"""The page of public names is what the package has."""

import importlib
import inspect

import pytest

from tests.stored import names


@pytest.fixture(autouse=True)
def _everything_is_installed():
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")


def test_the_page_is_that_of_the_package():
    written = names.PAGE.read_text(encoding="utf-8")
    assert written == names.page(), "python -m tests.stored names"


def test_of_the_audit_some_names_are_promised():
    left_out = names.PAGE.read_text(encoding="utf-8").partition("## Not promised")[2]
    (line,) = (line for line in left_out.splitlines() if line.startswith("* Of `dpboost.audit`"))
    rest = line.partition(":")[2].replace("`", "").strip(" .").split(", ")
    assert sorted((*names.OF_AUDIT, *rest)) == sorted(
        importlib.import_module("dpboost.audit").__all__
    )


def test_what_is_not_promised_of_a_class_is_there():
    classes = {name: thing for _, name, thing in names.things() if inspect.isclass(thing)}
    for name, left_out in names.INTERNAL.items():
        assert [each for each in left_out if not hasattr(classes[name], each)] == []


def test_methods_attributes_and_options_are_held():
    held = names.public_names()
    assert "budget" in held["dpboost.DPBoostClassifier.fit"]
    assert held["dpboost.DPBoostClassifier.n_estimators_"] == []
    assert held["dpboost.Budget.save"] == ["path"]
    assert held["dpboost.spark.SparkDPClassificationModel.to_local"] == []
    assert {"DATA", "--epsilon", "-o"} <= set(held["the command fit"])
    assert not [name for name in held if "._" in name and not name.endswith("__version__")]


def test_a_member_that_goes_away_is_missed():
    class Before:
        """Of the package, as far as its module says.

        Attributes
        ----------
        fitted_, other_ : float
            Known after a fit.
        """

        def save(self, path, again=False):
            """Save."""

        @classmethod
        def load(cls, path):
            """Load."""

        @property
        def left(self):
            """What is left."""

        def _hidden(self):
            """Nobody's."""

    Before.__module__ = "dpboost.somewhere"
    found = names.members(Before)
    assert found["save"] == ["path", "again"]
    assert found["load"] == ["path"]
    assert {"left": found["left"], "fitted_": found["fitted_"], "other_": found["other_"]} == {
        "left": [],
        "fitted_": [],
        "other_": [],
    }
    assert set(found) == {"save", "load", "left", "fitted_", "other_"}
    del Before.load
    assert set(names.members(Before)) == {"save", "left", "fitted_", "other_"}
