"""The example over NVFlare, with stand-ins for what it takes of NVFlare.

NVFlare has an environment of its own: `README.md` of the example says what its simulator gave.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest

from dpboost.federated import Agreement, outcome_of
from tests.unit.federated.channels import run as run_session

pytestmark = pytest.mark.filterwarnings("ignore")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "06_federated_nvflare"
SITES = ["site-1", "site-2", "site-3", "site-4", "site-5"]
CODES = SimpleNamespace(OK="OK", TASK_UNKNOWN="TASK_UNKNOWN", EXECUTION_EXCEPTION="EXCEPTION")
EVENTS = SimpleNamespace(START_RUN="_start_run", END_RUN="_end_run")


class Shareable(dict):
    """A message of NVFlare."""

    def __init__(self, data=None):
        super().__init__(data or {})
        self.code = CODES.OK

    def get_return_code(self):
        return self.code


def make_reply(code):
    reply = Shareable()
    reply.code = code
    return reply


class Task(SimpleNamespace):
    """What a controller sends."""


class Executor:
    """What a site does with a task."""


class Controller:
    """Hands tasks to the executors of sites in this process."""

    sites: ClassVar[dict] = {}
    task_name = None

    def __init__(self):
        self.panics, self.carried = [], []

    def broadcast_and_wait(self, task, fl_ctx, *, targets, min_responses, abort_signal):
        assert (len(targets), type(task.timeout)) == (min_responses, int)
        for name in targets:
            self.carried.append(dict(task.data))
            if name not in self.sites:
                continue
            # Bytes alone come out on the other side.
            given = Shareable({key: bytes(value) for key, value in task.data.items()})
            result = self.sites[name].execute(self.task_name or task.name, given, None, None)
            self.carried.append(dict(result))
            client = SimpleNamespace(name=name)
            task.result_received_cb(
                client_task=SimpleNamespace(client=client, result=result), fl_ctx=fl_ctx
            )

    def system_panic(self, reason, fl_ctx):
        self.panics.append(reason)

    def log_info(self, fl_ctx, text):
        self.said = text


MODULES = {
    "apis": {},
    "apis.controller_spec": {"ClientTask": SimpleNamespace, "Task": Task},
    "apis.event_type": {"EventType": EVENTS},
    "apis.executor": {"Executor": Executor},
    "apis.fl_constant": {"ReturnCode": CODES},
    "apis.fl_context": {"FLContext": SimpleNamespace},
    "apis.impl": {},
    "apis.impl.controller": {"Controller": Controller},
    "apis.shareable": {"Shareable": Shareable, "make_reply": make_reply},
    "apis.signal": {"Signal": SimpleNamespace},
    "job_config": {},
    "job_config.api": {"FedJob": None},
    "recipe": {},
    "recipe.sim_env": {"SimEnv": None},
}
OWN = ("hospitals", "prepare", "job")


@pytest.fixture
def example(monkeypatch):
    """Import the example's modules; nothing of them stays."""
    monkeypatch.setitem(sys.modules, "nvflare", ModuleType("nvflare"))
    for name, content in MODULES.items():
        module = ModuleType(f"nvflare.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    names = ("hospitals.channel", "hospitals.coordinator", "hospitals.holder", "prepare", "job")
    yield SimpleNamespace(
        **{name.rpartition(".")[2]: importlib.import_module(name) for name in names}
    )
    for name in [each for each in sys.modules if each.partition(".")[0] in OWN]:
        del sys.modules[name]


@pytest.fixture
def run(example, tmp_path, monkeypatch):
    """Prepare, and let the coordinator train with the sites that are there."""
    example.prepare.main(tmp_path, 11)

    def run(sites):
        found = {name: example.holder.HospitalExecutor(str(tmp_path / name)) for name in sites}
        monkeypatch.setattr(Controller, "sites", found)
        for each in found.values():
            each.handle_event(EVENTS.START_RUN, None)
        controller = example.coordinator.HospitalsController(
            SITES, str(tmp_path / "coordinator"), 3.0
        )
        controller.control_flow(None, None)
        for each in found.values():
            each.handle_event(EVENTS.END_RUN, None)
        return controller

    return run


@pytest.mark.nightly
def test_its_model_is_that_of_one_process(example, run, tmp_path):
    controller = run(SITES)
    assert controller.panics == []
    assert controller.said.startswith("No privacy guarantee")  # the noise is from a seed
    agreement = Agreement.from_json((tmp_path / "coordinator/agreement.json").read_text("utf-8"))
    assert len(agreement.identities) == len(SITES)
    parties = [example.holder.party_of(tmp_path / site) for site in SITES]
    for party in parties:
        party._folder = None
    found = outcome_of(run_session(agreement, parties).coordinator)
    found.booster_.save_model(tmp_path / "expected.txt")
    expected = (tmp_path / "expected.txt").read_text("utf-8")
    assert (tmp_path / "coordinator" / "model.txt").read_text("utf-8") == expected
    # Bytes are all that NVFlare is given.
    assert {tuple(one) for one in controller.carried} == {("message",)}
    assert {type(one["message"]) for one in controller.carried} == {bytes}
    # The agreement was used: the same folders begin no second session.
    assert "PartyRefusedError" in run(SITES).panics[0] or "PartyLostError" in run(SITES).panics[0]


def test_a_site_that_does_not_answer_ends_the_run(run, tmp_path):
    (reason,) = run(SITES[:-1]).panics
    assert reason.startswith("PartyLostError: Parties")
    assert not (tmp_path / "coordinator" / "model.txt").exists()


def test_another_task_is_refused_and_is_no_reply(run, monkeypatch):
    monkeypatch.setattr(Controller, "task_name", "train")
    controller = run(SITES)
    assert controller.panics[0].startswith("PartyLostError")


@pytest.mark.parametrize("content", [10**15, "text", [1, 2], None])
def test_what_is_not_bytes_is_no_message(content, example):
    assert example.channel.bytes_of(Shareable({"message": b"message"})) == b"message"
    assert example.channel.bytes_of(Shareable({"message": content})) == b""
    failed = Shareable({"message": b"message"})
    failed.code = CODES.EXECUTION_EXCEPTION
    assert example.channel.bytes_of(failed) == b""


def test_the_job_puts_each_hospital_at_its_site(example, monkeypatch, tmp_path, capsys):
    placed, ran = {}, []

    class FedJob:
        def __init__(self, name, min_clients, mandatory_clients):
            assert (min_clients, mandatory_clients) == (len(SITES), SITES)

        def set_app_packages(self, packages):
            assert packages == ["dpboost"]

        def to(self, component, target, **options):
            placed[target] = vars(component)["_folder"], options

    def simulate(clients, workspace_root):
        assert clients == SITES
        return SimpleNamespace(deploy=ran.append)

    monkeypatch.setattr(example.job, "FedJob", FedJob)
    monkeypatch.setattr(example.job, "SimEnv", simulate)
    example.job.main(tmp_path)
    assert len(ran) == 1
    assert placed.pop("server") == (str(tmp_path / "coordinator"), {})
    assert placed == {site: (str(tmp_path / site), {"tasks": ["dpboost"]}) for site in SITES}
    assert "model.txt" in capsys.readouterr().out
