"""The page of tools says what was tried, and names what was not."""

from tests import tools


def test_every_tool_has_tests_that_say_what_they_show():
    modules = set(tools.FOLDER.glob("test_*.py"))
    assert {tools.module_of(tool) for tool in tools.TOOLS} == modules
    for tool in tools.TOOLS:
        assert tools.claims(tool)
        assert all(tools.claims(tool).values()), f"a test of {tool} does not say what it shows"


def test_the_page_is_that_of_the_record():
    record = tools.stored()
    assert tools.PAGE.read_text(encoding="utf-8") == tools.page_of(record)
    assert set(record) <= set(tools.TOOLS)
    for tool, known in record.items():
        assert set(known["tests"]) <= set(tools.claims(tool))
        assert "lightgbm" in known["versions"]


def test_what_fails_or_was_not_tried_is_told():
    (test, claim), *_ = tools.claims("shap").items()
    failed = {"shap": {"versions": {"shap": "0.1"}, "tests": {test: "failed"}}}
    page = tools.page_of(failed)
    assert f"| shap | shap 0.1 | {claim} | **does not hold** |" in page
    assert "| treelite | | " in page
    assert page.count("untried") == sum(map(len, map(tools.claims, tools.TOOLS))) - 1


def test_a_run_keeps_outcomes_by_test():
    class Report:
        nodeid, when, outcome = "tests/x.py::test_a[one]", "call", "passed"

    outcomes = tools.Outcomes()
    outcomes.pytest_runtest_logreport(Report())
    Report.outcome = "failed"
    outcomes.pytest_runtest_logreport(Report())
    assert outcomes.by_test == {"test_a": {"passed", "failed"}}
