"""What turns pages into the site: links between folders, sections of docstrings, terms."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dpboost

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    yield
    for name in (
        "outside_pages",
        "privacy_sections",
        "glossary_links",
        "parameter_ranges",
        "stacked_tables",
        "breakable_names",
        "mathml",
    ):
        sys.modules.pop(name, None)


def turned(text, page="howto/budget.md"):
    import outside_pages

    return outside_pages.turned(text, DOCS / page, DOCS / page, outside_pages.copies())


def test_links_to_pages_outside_lead_to_their_copies():
    assert turned("[a](../../SECURITY.md)") == "[a](../outside/SECURITY.md)"
    assert turned("[a](../../benchmarks/results/best.md#how)") == (
        "[a](../outside/benchmarks/results/best.md#how)"
    )
    assert turned("[`a`](../../README.md)") == "[`a`](../index.md)"
    assert turned("[a](../../dpboost/audit)") == "[a](../outside/dpboost/audit/README.md)"


def test_a_copy_of_a_page_that_is_no_more_goes(tmp_path, monkeypatch):
    import outside_pages

    source = tmp_path / "a.md"
    source.write_text("# A")
    kept, gone = tmp_path / "outside" / "a.md", tmp_path / "outside" / "old" / "b.md"
    gone.parent.mkdir(parents=True)
    gone.write_text("# B")
    monkeypatch.setattr(outside_pages, "COPIES", tmp_path / "outside")
    monkeypatch.setattr(outside_pages, "copies", lambda: {source: kept})
    outside_pages.copy(None, None)
    assert kept.read_text() == "# A"
    assert not gone.exists()


def test_other_links_stay():
    for link in ("[a](evaluate.md)", "[a](https://flower.ai)", "[a](#top)", "`[a](../../x.md)`"):
        assert turned(link) == link
    assert turned("[a](../../benchmarks/results/audit.txt)") == (
        "[a](../../benchmarks/results/audit.txt)"
    )


def test_links_of_a_copy_are_those_of_its_origin():
    import outside_pages

    known = outside_pages.copies()
    origin = outside_pages.ROOT / "CONTRIBUTING.md"
    text = outside_pages.turned("[a](docs/glossary.md)", origin, known[origin], known)
    assert text == "[a](../glossary.md)"


def test_a_small_picture_leads_to_its_page():
    import outside_pages

    known = outside_pages.copies()
    origin = outside_pages.ROOT / "benchmarks" / "results" / "README.md"
    text = origin.read_text(encoding="utf-8")
    link = re.search(r'<a href="figure2.md"><img src="figure2.png" alt="[^"]+" .*?</a>', text)[0]
    words = link.partition('alt="')[2].partition('"')[0]
    assert outside_pages.turned(link, origin, known[origin], known) == (
        f"[![{words}](../../../../benchmarks/results/figure2.png){{width=90px}}](figure2.md)"
    )


def test_the_section_privacy_stands_among_the_notes():
    from privacy_sections import moved

    text = ["Do.", "", "Privacy", "-------", "Nothing.", "", "Notes", "-----", "More.", ""]
    assert [line for line in moved(text) if line] == [
        "Do.", "Notes", "-----", ".. rubric:: Privacy", "Nothing.", ".. rubric:: Details", "More.",
    ]  # fmt: skip
    alone = ["Do.", "", "Privacy", "-------", "Nothing.", "", "Examples", "--------", ">>> 1"]
    assert [line for line in moved(alone) if line] == [
        "Do.", "Notes", "-----", ".. rubric:: Privacy", "Nothing.", "Examples", "--------", ">>> 1",
    ]  # fmt: skip
    assert moved(["Do."]) == ["Do."]


def test_every_public_name_of_ours_is_on_the_pages_of_the_api():
    import lightgbm

    text = (DOCS / "reference" / "api.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([A-Za-z_]+)$", text, re.MULTILINE))
    of_lightgbm = {*lightgbm.__all__, "__version__"} - {"Booster", "Dataset", "cv", "train"}
    assert set(dpboost.__all__) - of_lightgbm <= listed
    for name in re.findall(r"^   ([A-Za-z_.]+)$", text, re.MULTILINE):
        if not name.startswith("dask."):  # optional
            module, _, last = f"dpboost.{name}".rpartition(".")
            assert hasattr(import_module(module), last), name


def test_every_entry_of_the_glossary_has_an_anchor():
    import glossary_links

    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    anchored = glossary_links.anchored(text)
    assert anchored.count("(term-") == len(glossary_links.entries(text)) > 30
    assert "\n\n(term-accountant)=\n**Accountant.**" in anchored


def test_the_first_mention_of_a_term_in_prose_is_a_link():
    import glossary_links

    known = {"stability histogram": "term-stability-histogram"}
    text = "# A stability histogram\n\n`stability histogram`, stability histograms, the "
    text += "stability histogram\n\n```python\nstability histogram\n```\n"
    found = glossary_links.linked(text, known)
    link = "[stability histograms](#term-stability-histogram)"
    assert found == text.replace("stability histograms", link)
    table = "| stability histogram |\n\n[a stability histogram](a.md)\n"
    assert glossary_links.linked(table, known) == table


def test_every_linked_term_is_in_the_glossary():
    import glossary_links

    known = glossary_links.terms((DOCS / "glossary.md").read_text(encoding="utf-8"))
    assert set(known) == set(glossary_links.WORDS)


def test_the_table_of_ranges_has_every_parameter_of_ours():
    import inspect

    import lightgbm
    from parameter_ranges import EFFECTS, rows

    from dpboost.recipes import ALGORITHMS
    from dpboost.recipes.recipe import DOMAINS
    from dpboost.recipes.single_tree import TREE_ALGORITHMS

    listed = {name: (given, default) for name, given, default, *_ in rows()}
    assert set(EFFECTS) == set(listed)
    assert all(len(effect) >= 4 for line in rows() for effect in line[-2:])
    of_lightgbm = set(inspect.signature(lightgbm.LGBMClassifier.__init__).parameters)
    for estimator in (
        dpboost.DPBoostClassifier,
        dpboost.DPBoostRegressor,
        dpboost.DPTreeClassifier,
        dpboost.DPTreeRegressor,
    ):
        own = set(inspect.signature(estimator.__init__).parameters) - of_lightgbm - {"self"}
        assert own <= set(listed)
    assert set(DOMAINS) <= set(listed)
    assert listed["reg_lambda"] == ("[1e-06, 1e+12]", "by the recipe")
    assert listed["max_bin"] == ("whole number, 2 to 255", "by the recipe")
    assert listed["hessian_share"][0] == "(0, 0.99]"
    deepest = {
        recipe: found[recipe].most_depth
        for found in (ALGORITHMS, TREE_ALGORITHMS)
        for recipe in found
    }
    others = {most for recipe, most in deepest.items() if recipe != "dp_topdown"}
    assert listed["max_depth"][0] == (
        f"whole number, 0 to {max(others)}; with dp_topdown 0 to {deepest['dp_topdown']}"
    )
    assert listed["epsilon"][1] == "1.0"
    page = (DOCS / "reference" / "parameters.md").read_text(encoding="utf-8")
    assert "```{parameter-ranges}" in page


def test_a_wide_table_names_the_column_of_each_cell():
    from stacked_tables import stacked

    def table(n):
        head = "".join(f"<th class='head'><p>c{k} &amp;</p></th>" for k in range(n))
        row = "".join(f"<td><p>{k}</p></td>" for k in range(n))
        body = f"<thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody>"
        return f'<table class="table">{body}</table>'

    assert stacked(table(2)) == table(2)
    found = stacked(f"before {table(4)} after")
    assert found.startswith('before <table class="stacked table">')
    assert found.endswith("</table> after")
    assert [f'<td data-label="c{k} &amp;"><p>{k}</p>' in found for k in range(4)] == [True] * 4
    merged = table(4).replace("<td>", '<td colspan="2">', 1)
    assert stacked(merged) == merged


def test_authors_begin_no_list_and_versions_of_lightgbm_are_left_out():
    from privacy_sections import process

    lines = ["Notes", "-----", "J. Dong, GDP.", "", ".. versionadded:: 4.0.0", ">>> A. B"]
    process(None, "function", "f", None, None, lines)
    assert lines == ["Notes", "-----", "\\J. Dong, GDP.", "", ">>> A. B"]


def test_a_long_name_breaks_between_its_parts_only():
    from breakable_names import breakable

    def code(name):
        return f'<span class="pre">{name}</span>'

    assert breakable(code("short_name")) == code("short_name")
    assert breakable(code("privacy/constants.py")) == code("privacy/<wbr>constants.<wbr>py")
    assert breakable(code("DPBoostClassifier")) == code("DPBoost<wbr>Classifier")
    assert breakable(code("__version_of_format__ = 1.25")) == code(
        "__version_<wbr>of_<wbr>format__ = 1.25"
    )
    option = '<span class="option">--period-column</span>'
    assert breakable(code("--period-column")) == code(option)
    cell = '<td title="a_long_name_here">a_long_name_here, of 1/2</td>'
    assert (
        breakable(cell)
        == '<td title="a_long_name_here">a_<wbr>long_<wbr>name_<wbr>here, of 1/2</td>'
    )
    entity = "<td>&ApplyFunction;</td>"
    assert breakable(entity) == entity
    assert breakable("<p>a_long_name_here</p>") == "<p>a_long_name_here</p>"


def test_the_list_of_versions_names_folders_beside_each_other():
    names = json.loads((DOCS / "_static" / "versions.json").read_text(encoding="utf-8"))
    assert dpboost.__version__ in names
    assert not [name for name in names if set(name) & set("/:\\")]
    script = (DOCS / "_static" / "versions.js").read_text(encoding="utf-8")
    assert re.findall(r'"(\S+json)"', script) == ["../versions.json", "_static/versions.json"]


def test_formulas_of_the_pages_are_set_as_mathematics():
    pytest.importorskip("docutils")
    from mathml import _markup

    found = 0
    for path in sorted(DOCS.glob("*/*.md")):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.S)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, re.S):
            assert "<math" in _markup((block or inline).strip(), block=bool(block)), path.name
            found += 1
    assert found > 200


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("install", "install.md"),
        ("early stopping", "howto/early-stopping.md"),
        ("how many rows", "howto/few-rows.md"),
        ("tuning", "howto/tuning.md"),
        ("faq", "faq.md"),
    ],
)
def test_what_is_often_searched_for_is_the_title_of_one_page(asked, page):
    # The search of the site puts a page whose title is the query first.
    titles = {
        path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8").splitlines()[0]
        for path in DOCS.rglob("*.md")
        if path.relative_to(DOCS).parts[0] not in ("_build", "gallery", "outside")
    }
    named = [path for path, title in titles.items() if title.lower() == f"# {asked}"]
    assert named == [page]
