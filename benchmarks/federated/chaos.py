"""Processes of a federated fit are killed in all its phases; most start again, some do not."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.federated.deployment import N_PARTIES, Deployment, wait_for
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table

KILLS = 200
KILLS_A_FIT = 10
#: Of all kills, those after which one party, or two, do not come back.
ONE_LOST, TWO_LOST = 4, 4
N_TREES = 10
DROPOUTS = 1
#: Seconds that the coordinator waits where somebody does not come back.
PATIENCE = 4.0
#: Part of the kills that come shortly after another, whatever goes on then.
_HASTY, _HASTE = 0.25, 1.5
_DEADLINE = 900.0
_STARTING = "starting again"
#: What is going on until a reply is given, by its kind.
_PHASES = {
    "hello": "keys are exchanged",
    "deposit": "shares of keys are distributed",
    "words": "words are drawn",
    "endorsed": "who is present is signed",
    "unlocked": "masks are taken off",
    "done": "results are compared",
}
AGAIN, ONE, TWO = "all start again", "one party is lost", "two parties are lost"
SAME, OTHER, ERROR, NEITHER = "same model", "a model", "a clear error", "neither"
_CHECKED, _SHORT = "books looked at", "books that show less than was released"


@dataclass
class Story:
    """What happened to a fit.

    Parameters
    ----------
    outcome : str
    kills : list of (str, str)
        Who was killed in which phase.
    checked, short : int
        How often a killed party's records were looked at, and how often they showed less than
        the coordinator had received.
    """

    outcome: str = NEITHER
    kills: list[tuple[str, str]] = field(default_factory=list)
    checked: int = 0
    short: int = 0


class Torturer:
    """Kills the processes of a fit.

    Parameters
    ----------
    fit : Deployment
    course : Course
        Of the same fit when it was left alone.
    seed : int
    """

    def __init__(self, fit: Deployment, course: Course, seed: int) -> None:
        self._fit, self._model = fit, course.model
        self._course, self._seconds = course.phases, course.seconds
        self._random = np.random.default_rng(seed)
        self._until = time.monotonic() + _DEADLINE
        self._begun: dict[str, tuple[int, int]] = {}
        self.story = Story()
        self._lost: set[int] = set()
        *parties, coordinator = fit.names
        self._start(coordinator)
        wait_for(lambda: fit.said(coordinator, "listens"), _DEADLINE)
        for name in parties:
            self._start(name)

    def kill_and_start(self, n_kills: int) -> None:
        """Kill processes one after the other, each of which starts again at once."""
        for left in range(n_kills, 0, -1):
            if left < n_kills and self._random.random() < _HASTY:
                time.sleep(self._random.uniform(0, _HASTE))
            elif not self._wait(self._target(left)):
                return
            if self._fit.code("coordinator") is not None:
                return
            name = str(self._random.choice(self._fit.names))
            self._kill(name)
            self._start(name)

    def lose(self, names: Sequence[str]) -> None:
        """Kill parties that do not come back."""
        position = self._target(2)
        for name in names:
            self._wait(position)
            self._lost.add(int(name.removeprefix("party")))
            self._kill(name)
            position += 1

    def end(self) -> Story:
        """Wait for the end of the fit and return its story."""
        fit, story = self._fit, self.story
        code = fit.code("coordinator", seconds=max(self._until - time.monotonic(), 0.001))
        fit.stop()
        for index in range(N_PARTIES):
            self._look_at(index)
        last = fit.log("coordinator").strip().splitlines()[-1:]
        if code == 0:
            story.outcome = SAME if _trees(fit.model) == _trees(self._model) else OTHER
        elif code == 3 and last and last[0].startswith("dpboost coordinate: "):
            story.outcome = ERROR
        return story

    def _target(self, left: int) -> int:
        """Return an exchange that is to come, of a phase by chance, early enough for the rest."""
        now = self._fit.exchanges
        ahead = self._course[now:]
        if not ahead:
            return now
        wanted = self._random.choice(sorted(set(ahead)))
        spots = [now + step for step, phase in enumerate(ahead) if phase == wanted]
        soon = [spot for spot in spots if (spot - now) * left <= len(ahead)]
        return int(self._random.choice(soon or spots[:1]))

    def _wait(self, position: int) -> bool:
        """Wait until an exchange is under way; say whether it came to that."""
        while self._fit.exchanges < position:
            if self._fit.code("coordinator") is not None or time.monotonic() > self._until:
                return False
            time.sleep(0.002)
        time.sleep(self._random.uniform(0, self._seconds))
        return True

    def _start(self, name: str) -> None:
        self._begun[name] = self._said(name)
        self._fit.start(name)

    def _said(self, name: str) -> int:
        return self._fit.said(name, "listens" if name == "coordinator" else "connects")

    def _kill(self, name: str) -> None:
        done = self._fit.exchanges
        is_party = name != "coordinator"
        is_new = self._said(name) == self._begun[name]
        if not self._fit.kill(name):
            return  # It has ended, by itself.
        phase = self._course[min(done, len(self._course) - 1)]
        self.story.kills.append((name, _STARTING if is_new and done else phase))
        if is_party:
            self._look_at(int(name.removeprefix("party")))

    def _look_at(self, index: int) -> None:
        """Compare a party's own records with what has come from it."""
        booked = len(self._fit.book(index))
        # A party that is there has sent words before its sum came; others may not have.
        came = sum(key.kind == "unlocked" for key in self._fit.replies)
        came = came if index not in self._lost else 0
        self.story.checked += 1
        self.story.short += booked < came


@dataclass(frozen=True)
class Course:
    """What a fit comes to that is left alone.

    Parameters
    ----------
    model : str
    charged : list
        Total of each party's records.
    phases : list of str
        What goes on in each exchange.
    seconds : float
        Of an exchange, about.
    """

    model: str
    charged: list[Any]
    phases: list[str]
    seconds: float


@lru_cache(maxsize=1)
def left_alone(n_trees: int) -> Course:
    """Return what happens where no one is killed; the noise is from a seed."""
    with tempfile.TemporaryDirectory() as folder:
        fit = Deployment(Path(folder) / "alone", n_trees, dropouts=DROPOUTS, forked=True)
        try:
            for name in fit.names:
                fit.start(name)
            wait_for(lambda: fit.exchanges, _DEADLINE)
            begin = time.monotonic()
            if fit.code("coordinator", seconds=_DEADLINE) != 0:
                raise RuntimeError(fit.log("coordinator"))
            for name in fit.names[:-1]:
                fit.code(name, seconds=_DEADLINE)
            seconds = time.monotonic() - begin
        finally:
            fit.stop()
        course = [_PHASES[key.kind] for key in fit.replies]
        return Course(fit.model, fit.charged(), course, seconds / len(course))


def measure(
    position: int, n_kills: int, lost: Sequence[str] = (), n_trees: int = N_TREES
) -> Iterator[Result]:
    """Compare a tortured fit with one that was left alone."""
    course = left_alone(n_trees)
    patience = PATIENCE if lost else 120.0
    with tempfile.TemporaryDirectory() as folder:
        fit = Deployment(
            Path(folder) / "files", n_trees, dropouts=DROPOUTS, timeout=patience, forked=True
        )
        try:
            torturer = Torturer(fit, course, position)
            torturer.kill_and_start(n_kills)
            torturer.lose(lost)
            story = torturer.end()
        finally:
            fit.stop()
        if story.outcome == NEITHER:
            raise RuntimeError(f"{fit.log('coordinator')}\n{story}")
        same = course.charged == fit.charged()
    method = (AGAIN, ONE, TWO)[len(lost)]
    numbers: Counter[tuple[str, str]] = Counter()
    for name, phase in story.kills:
        numbers["kills", "the coordinator" if name == "coordinator" else "a party"] += 1
        numbers["kills in a phase", phase] += 1
    numbers["outcome", story.outcome] += 1
    numbers[_CHECKED, ""] = story.checked
    numbers[_SHORT, ""] = story.short
    numbers["same charges", ""] = int(same)
    for (measured, part), value in numbers.items():
        yield Result(
            part=part,
            data=f"{N_PARTIES} parties",
            method=method,
            measure=measured,
            value=float(value),
            draw=position,
        )


def _trees(text: str) -> str:
    return text[: text.index("end of trees")]


def plan(request: Request) -> Plan:
    """Return fits with ten kills each, and some with parties that are lost.

    ``repeats`` is the number of kills.
    """
    n_kills = request.repeats or (2 * KILLS_A_FIT if request.quick else KILLS)
    n_one = max(1, n_kills * ONE_LOST // KILLS)
    n_two = max(1, n_kills * TWO_LOST // KILLS // 2)
    left = max(n_kills - n_one - 2 * n_two, 1)
    whole, rest = divmod(left, KILLS_A_FIT)
    numbers = [KILLS_A_FIT] * whole + [rest] * bool(rest)
    parties = [f"party{index}" for index in range(N_PARTIES)]
    one = [(parties[number % N_PARTIES],) for number in range(n_one)]
    two = [(*own, parties[(number + 1) % N_PARTIES]) for number, own in enumerate(one[:n_two])]
    works = [(AGAIN, [(own, ()) for own in numbers])]
    works += [
        (method, [(0, lost) for lost in losses]) for method, losses in ((ONE, one), (TWO, two))
    ]
    settings = {"trees": N_TREES, "dropouts": DROPOUTS, "versions": dpboost_recipes.versions()}
    units = [
        Unit(
            name=f"{method}, {number}, {own} kills",
            settings=digest(settings),
            measure=partial(measure, number, own, lost),
        )
        for method, fits in works
        for number, (own, lost) in enumerate(fits)
    ]
    return Plan(units=units)


def _sum(rows: Sequence[Result], **wanted: object) -> int:
    return int(sum(row.value for row in pick(rows, **wanted)))


def body(results: Results) -> list[str]:
    """Return the tables."""
    rows = results.rows
    outcomes = (SAME, OTHER, ERROR)
    fits = []
    for method in distinct(rows, "method"):
        own = pick(rows, method=method)
        ended = [str(_sum(own, measure="outcome", part=outcome)) for outcome in outcomes]
        n_fits = _sum(own, measure="outcome")
        fits.append([method, str(n_fits), str(_sum(own, measure="kills")), *ended])
    total = _sum(rows, measure="kills")
    kills = [["all", str(total)]]
    for measured in ("kills", "kills in a phase"):
        for part in dict.fromkeys(row.part for row in pick(rows, measure=measured)):
            head = "of" if measured == "kills" else "while"
            kills.append([f"{head} {part}", str(_sum(rows, measure=measured, part=part))])
    again = pick(rows, method=AGAIN)
    books = [
        [_CHECKED, str(_sum(rows, measure=_CHECKED))],
        [_SHORT, str(_sum(rows, measure=_SHORT))],
        [
            "fits of processes that all start again",
            str(_sum(again, measure="outcome")),
        ],
        [
            "of them with the same charges as a fit that was left alone",
            str(_sum(again, measure="same charges")),
        ],
    ]
    return [
        f"{N_PARTIES} processes of `dpboost party`, and one of `dpboost coordinate`, "
        f"over HTTPS on this machine; at most {DROPOUTS} party may be lost. All are forked from a "
        "process that has imported the library. One of the "
        "processes is killed (SIGKILL) in a phase of the fit that is drawn, or shortly after "
        f"another kill, and started again with the same command, about {KILLS_A_FIT} times a fit. "
        "In some fits one party, or two, are killed for good. The noise is from a seed, so that "
        "the model of a fit that was left alone is known.",
        "",
        *table(["fits", "number", "kills", *outcomes], fits),
        "",
        "A clear error is one line that names what happened, and exit code 3.",
        "",
        *table(["kills", "number"], kills),
        "",
        "A party's own records, on its disk, are looked at whenever it was killed and at the end: "
        "they show at least what sums it is in.",
        "",
        *table(["books", "number"], books),
    ]


def finding(results: Results) -> str:
    """Return how fits ended, and whether records missed anything."""
    rows = results.rows
    again = pick(rows, method=AGAIN)
    same, fits = _sum(again, measure="outcome", part=SAME), _sum(again, measure="outcome")
    return (
        f"After {_sum(rows, measure='kills')} kills, {same} of {fits} fits whose processes all "
        f"start again end in the same model, and {_sum(rows, measure=_SHORT)} of "
        f"{_sum(rows, measure=_CHECKED)} records show less than was released."
    )


FEDERATED_CHAOS = Run(
    name="federated-chaos",
    title="Federated training whose processes are killed",
    group=Group.FEDERATED,
    description="Parties and coordinator that are killed in all phases of a fit; most start again.",
    plan=plan,
    body=body,
    finding=finding,
    noise="The noise is from a seed in each fit; the moments of the kills are the clock's.",
)
