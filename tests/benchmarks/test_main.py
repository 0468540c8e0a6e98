from __future__ import annotations

import sys
import warnings

import pytest

pytest.importorskip("pandas")

from benchmarks import __main__ as command_line
from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.harness.claims import Claim, finding, judged, sections
from benchmarks.harness.groups import Group
from benchmarks.harness.record import STALE, UNKNOWN
from benchmarks.harness.results import Result
from benchmarks.harness.run import Plan, Request, Run, Unit
from benchmarks.problems import PROBLEMS
from benchmarks.registry import runs
from benchmarks.reproductions.inventory import HEADLINES, ITEMS


def test_list_names_everything(capsys):
    assert main(["list", "--all"]) == 0
    shown = capsys.readouterr().out.splitlines()
    for name in [*PROBLEMS, *runs()]:
        assert any(line.split()[:1] == [name] for line in shown)
    for item in ITEMS:
        assert sum(f"{item.paper}, {item.name} (" in line for line in shown) == 1


def test_the_short_list_is_one_screen_with_every_run_under_its_paper(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 44
    assert max(map(len, shown)) <= 160
    words = " ".join(line for line in shown if line[:2] == "  ").replace("*", "").split()
    for name in runs():
        assert words.count(name) == 1, name
    for paper, name in HEADLINES.items():
        head = next(k for k, line in enumerate(shown) if line.startswith(paper))
        assert f"{name}*" in shown[head + 1].split()
    assert sum(line.startswith("  claims: ") for line in shown) == len(HEADLINES)


def test_the_list_names_records_of_other_code(monkeypatch, capsys):
    monkeypatch.setattr(
        command_line, "state_of", lambda name, folder: STALE if name == "figure2" else UNKNOWN
    )
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert f"{STALE[0].upper()}{STALE[1:]}: figure2\n" in told
    assert f" records: {UNKNOWN}." in told
    assert main(["list", "papers"]) == 0
    assert capsys.readouterr().out.count(f"({STALE})") == 1


@pytest.mark.parametrize("group", Group, ids=lambda group: group.word)
def test_the_list_of_a_group_is_one_screen_of_titles(group, capsys):
    assert main(["list", group.word]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == group.value
    assert len(shown) <= 44
    assert max(map(len, shown)) <= 160
    for run in runs().values():
        lines = [line for line in shown if line.split()[0] == run.name and run.title in line]
        assert len(lines) == (run.group is group), run.name


def test_help_of_a_run_describes_it(capsys):
    assert main(["run", "friedman-schuster", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for part in (
        runs()["friedman-schuster"].description,
        "Data: ",
        "40 minutes in full",
        "friedman-schuster.png",
        "--quick takes under a minute",
    ):
        assert part in told


def test_help_without_a_run_lists_the_options(capsys):
    assert main(["run", "--help"]) == 0
    assert "--quick" in capsys.readouterr().out
    assert main(["run"]) == 1
    assert "benchmarks list" in capsys.readouterr().err


def test_main_results_are_runs_with_a_picture():
    for name in HEADLINES.values():
        assert runs()[name].draw is not None


def test_runs_have_names_of_their_own():
    for name, run in runs().items():
        assert run.name == name
        assert run.description.endswith(".")


def test_without_pandas_the_command_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(["run", "smoke", "--quick"]) == 1
    assert "dpboost[benchmarks]" in capsys.readouterr().err


def test_without_data_the_command_fails_with_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DPBOOST_DATA", str(tmp_path))
    assert main(["run", "smoke", "--output", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "DPBOOST_DATA" in error
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_run_is_refused(capsys):
    assert main(["run", "nonsense"]) == 1
    assert "python -m benchmarks list" in capsys.readouterr().err


@pytest.fixture
def trial(monkeypatch):
    asked = []

    def plan(request):
        asked.append(request)
        rows = [Result(measure="m", value=1.0, method="a", x="1")]
        return Plan(units=[Unit(name="u", settings="", measure=lambda: rows)])

    run = Run(
        name="trial",
        title="Accuracy of a trial",
        group=Group.ACCURACY,
        description="A trial.",
        plan=plan,
        body=lambda results: [f"{len(results.rows)} results"],
        finding=lambda results: f"The first value is {results.rows[0].value:g}.",
        draw=lambda results: b"an image",
    )
    monkeypatch.setattr(command_line, "runs", lambda: {"trial": run})
    return asked


def test_options_are_handed_on_and_files_written(trial, tmp_path, capsys):
    folder = ["--output", str(tmp_path)]
    options = ["--quick", "--repeats", "2", "--n-jobs", "3", "--problem", "adult"]
    assert main(["run", "trial", *options, *folder]) == 0
    assert trial == [Request(quick=True, repeats=2, n_jobs=3, problem="adult")]
    page = (tmp_path / "trial-quick.md").read_text()
    assert capsys.readouterr().out == f"{page}\n"
    assert f"`python -m benchmarks run trial {' '.join(options)}`" in page
    (tmp_path / "trial-quick.md").unlink()
    (tmp_path / "trial-quick.png").unlink()
    assert main(["pages", *folder]) == 0
    assert (tmp_path / "trial-quick.md").read_text() == page
    assert not (tmp_path / "trial-quick.png").exists()
    assert main(["pages", "--figures", *folder]) == 0
    assert (tmp_path / "trial-quick.png").read_bytes() == b"an image"


def test_what_cannot_be_run_says_so(monkeypatch, capsys):
    def refuse():
        raise BenchmarkError("Not here.")

    monkeypatch.setattr(command_line, "runs", refuse)
    assert main(["run", "trial"]) == 1
    assert capsys.readouterr().err == "Not here.\n"


def test_a_run_with_claims_ends_with_its_verdict_and_without_warnings(
    monkeypatch, tmp_path, capsys
):
    claim = Claim(text="a above b", above="a", below="b")

    def measure():
        warnings.warn("advice to a fit", UserWarning, stacklevel=1)
        return [
            Result(measure="m", value=value + repeat / 100, method=method, x="1", repeat=repeat)
            for method, value in (("a", 1.0), ("b", 0.5))
            for repeat in range(10)
        ]

    run = Run(
        name="trial",
        title="Accuracy of a trial",
        group=Group.ACCURACY,
        description="A trial.",
        plan=lambda request: Plan(units=[Unit(name="u", settings="", measure=measure)]),
        body=lambda results: sections(judged([claim], results.rows)),
        finding=lambda results: finding(judged([claim], results.rows)),
        draw=lambda results: b"an image",
    )
    monkeypatch.setattr(command_line, "runs", lambda: {"trial": run})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["run", "trial", "--quick", "--output", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "What the paper reports: 1 confirmed." in told
    assert "  confirmed: a above b: +0.5, +0.5 to +0.5" in told
    assert f"picture: {tmp_path / 'trial-quick.png'}" in told
    assert len(told.splitlines()) < 10


def test_a_short_form_judges_only_what_it_has_measured():
    claims = [
        Claim(text="a above b", above="a", below="b"),
        Claim(text="c above b", above="c", below="b"),
    ]
    rows = [
        Result(measure="m", value=value, method=method, x="1", repeat=repeat)
        for method, value in (("a", 1.0), ("b", 0.5))
        for repeat in range(3)
    ]
    assert [each.word for each in judged(claims, rows)] == ["undecided", "not measured"]
    assert [each.word for each in judged(claims, rows, only_measured=True)] == ["undecided"]


def test_help_of_a_run_gives_no_time_that_is_not_that_of_the_whole(tmp_path, monkeypatch, capsys):
    import urllib.request

    from benchmarks.harness.describe import _time
    from benchmarks.harness.results import Results

    def refuse(*args, **kwargs):
        raise AssertionError("a description fetches nothing")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DPBOOST_DATA", raising=False)
    assert main(["run", "few-rows", "--help", "--output", str(tmp_path)]) == 0
    assert "Time: not known: no results of the full form are stored" in capsys.readouterr().out
    stopped = Results(rows=(), facts={"seconds": "0 since it went on"})
    assert _time(stopped) == "not known: the full form was run in several parts, or was not timed"
