"""What people read: text, Markdown and pages, of reports and of models."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpboost import DPBoostClassifier, DPBoostRegressor, DPTreeClassifier, DPTreeRegressor
from dpboost.reporting.document import Answers, Document, Grid, Paragraph
from dpboost.reporting.privacy_report import PrivacyReport

HOSTILE = "<script>alert('x')</script> | *bold* & \"quoted\""
VOID = {"meta", "br", "img", "link", "input"}


class Page(HTMLParser):
    """Collects tags, and refuses those that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.data = [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data += data


def check_alone(text):
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "srcset"} & {name for name, _ in page.attributes}
    assert "url(" not in text
    assert "@import" not in text
    assert "//" not in text
    return page


def answer(text, question):
    """Return the words beside a question, on one line."""
    found = re.search(rf"^{question} .*(?:\n {{10,}}.*)*", text, re.MULTILINE)
    return " ".join(found.group().split())


@pytest.mark.parametrize(
    ("relation", "rows", "expected"),
    [
        ("add_remove", None, "Each individual with one row in the table: the presence and"),
        ("replace", None, "Each individual with one row in the table: the content of the row"),
        ("add_remove", 3, "Each user with all rows: their presence and their content"),
        ("replace", 3, "Each user with all rows: their content. The number of rows"),
    ],
)
def test_who_is_protected(model, relation, rows, expected):
    report = replace(model.privacy_report_, neighbors=relation, rows_per_user=rows)
    told = answer(str(report), "Who is protected")
    assert expected in told
    assert ("At most 3 rows" in told) == (rows == 3)
    assert ("k times epsilon" in told) == (rows is None)


def test_gaussian_and_pure_say_how_much(model, table):
    told = answer(str(model.privacy_report_), "How much")
    mu = float(model.privacy_report_.spent) ** 0.5
    assert f"mu = {mu:.4g}" in told
    assert "epsilon = 2, delta = 1e-05" in told
    pure = DPTreeClassifier(epsilon=1).fit(*table).privacy_report_
    told = answer(str(pure), "How much")
    assert "mu =" not in told
    assert "attacker is at most 2.719 %; at 5 %" in told  # e times 1 %, rounded up


def test_mu_of_users_is_that_of_all_their_rows(table):
    report = (
        DPBoostClassifier(epsilon=2, delta=1e-5, n_estimators=5, rows_per_user=2)
        .fit(*table, user_ids=np.arange(300) // 2)
        .privacy_report_
    )
    assert report.mu == pytest.approx(2 * float(report.spent) ** 0.5)


def test_a_continued_model_counts_both_fits(model, table):
    report = DPBoostClassifier(epsilon=1, n_estimators=3).fit(*table, init_model=model)
    report = report.privacy_report_
    assert report.mu is None
    assert "epsilon = 3" in str(report).splitlines()[0]
    assert "and the fits that it continues" in answer(str(report), "For how many fits")


def test_no_guarantee_says_why(table):
    report = DPTreeClassifier(epsilon=1, noise_seed=1).fit(*table).privacy_report_
    assert str(report).startswith("No privacy guarantee\n")
    assert "No one" in answer(str(report), "Who is protected")
    assert "drawn from a seed" in answer(str(report), "What would break it")
    assert "false-positive rate" not in str(report)


def test_assumptions_and_releases_are_told(model):
    report = model.privacy_report_
    text = str(report)
    assumed = " ".join(answer(text, "Assumed").split())
    assert "column types, set of class labels" in assumed
    assert "The guarantee compares tables with the same column types." in assumed
    assert "pandas.read_csv" in assumed
    for line in report.releases:
        assert re.search(rf"^{line.label} +{line.releases} ", text, re.MULTILINE)
    assert re.search(r"^all .* 100 %$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 96


def test_the_booster_has_the_same_report(model):
    report = model.booster_.privacy_report
    assert isinstance(report, PrivacyReport)
    assert report == model.privacy_report_
    assert report.to_html() == model.privacy_report_.to_html()


def test_pages_are_alone_and_escape_what_they_show(model, tmp_path):
    report = replace(
        model.privacy_report_,
        assumed_public=(HOSTILE,),
        releases=tuple(replace(line, label=HOSTILE) for line in model.privacy_report_.releases),
    )
    for text in (report.to_html(), report._repr_html_()):
        assert HOSTILE in check_alone(text).data
    assert report.to_html(tmp_path / "report.html") is None
    assert (tmp_path / "report.html").read_text("utf-8") == report.to_html()
    shown = report.to_markdown()
    assert "<script>" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_tables_fit_on_a_phone_and_long_words_break():
    digest = "0123456789abcdef" * 4
    wide = Grid(("a", "b", "c", "d", "e"), (("1", "2", "3", "4", digest),), frozenset({1}))
    page = Document("Title", (wide, Grid(("a", "b"), (("x", "1"),), frozenset({1})))).page()
    assert 'data-label="e"><span class="long">' + digest in page
    assert '<table class="figures">' in page


@pytest.mark.parametrize("kind", [DPBoostClassifier, DPBoostRegressor, DPTreeClassifier])
@pytest.mark.filterwarnings("ignore")
def test_a_model_shows_itself(kind, table, tmp_path):
    X, y = table
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(X, columns=["age &amp; co", "height", "weight"])
    model = kind(epsilon=5.5, noise_seed=987654321)
    with pytest.raises(NotFittedError):
        model.to_html()
    if kind is DPTreeClassifier:
        model.set_params(epsilon=200.0)
    model.fit(X, y)
    text = model.to_html()
    page = check_alone(text)
    assert "No privacy guarantee" in page.data
    assert "987654321" not in text
    assert "max_depth" in page.data
    assert str(model.max_depth_) in page.data
    names = model.booster_.feature_name()
    for name, importance in zip(names, model.feature_importances_, strict=True):
        assert (name in page.data) == (importance > 0)
    assert "at 0x" not in text
    assert model.to_html(tmp_path / "model.html") is None
    assert (tmp_path / "model.html").read_text("utf-8") == text


def test_bars_are_shares_of_the_widest():
    grid = Grid(("a", "b"), (("x", "1"), ("y", "2")), numbers=frozenset({1}), bars=(0.5, 1.0))
    text = Document("t", (grid, Paragraph("end"))).page()
    assert re.findall(r'style="width: ([\d.]+)%', text) == ["50.0", "100.0"]


def test_numbers_stay_on_one_line_with_what_belongs_to_them():
    text = "At 1 % and 1e-06, mu = 0.2367 (epsilon = 1) of 2026-11-22T08:00:23+00:00; 30 & 1.0"
    page = Document("numbers", (Paragraph(text), Answers((("how much", ("at most 5 %",)),))))
    found = page.fragment()
    for whole in ("1 %", "1e-06", "mu = 0.2367", "epsilon = 1", "2026-11-22T08:00:23+00:00", "5 %"):
        assert f'<span class="whole">{whole}</span>' in found
    assert found.count('<span class="whole">') == 6
    assert "30 &amp; 1.0" in found
    assert text in page.text()


def test_a_notebook_shows_the_guarantee_of_a_fitted_estimator():
    from sklearn import config_context

    X = np.linspace(0, 1, 300)[:, None]
    schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    for kind in (DPBoostRegressor, DPTreeRegressor):
        model = kind(epsilon=1.0, schema=schema)
        assert "Privacy:" not in model._repr_html_()
        model.fit(X, X[:, 0])
        for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
            assert kind.__name__ in shown
            assert "<b>Privacy: epsilon = 1" in shown
            assert "Spent: epsilon = 1. Each individual with one row" in shown
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
