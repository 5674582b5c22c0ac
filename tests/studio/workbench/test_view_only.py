"""Watchers change nothing: whatever could change something refuses, however it is reached."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conductor.engine.experiments import EdgeTest
from conductor.errors import ConductorError, UnknownId, ViewOnly
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import UNKNOWN_ASKER
from conductor.runs.scope import EDITED, FORCE
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.limits import Limits
from studio.gallery import GALLERY
from studio.gallery.recorded import RECORDED
from studio.workbench import Contender, ViewOnlyWorkbench, Workbench

STEPS = Workflow.of(
    [Step(instruction="Find it.", worker="alpha"), Step(instruction="Check.", worker="beta", access=(0,))]
)

EDGES = EdgeTest(edges=((0, 1),))

FILE = write_plan(STEPS, query="Why?", origin="human", workers=("alpha", "beta"), label=None)

REFUSED_ANYWAY = {"planning.ask_again", "planning.take_over_limit"}
"""What is refused for this session in the first place, for every caller."""


class Stage:
    """A session whose workflow has run, in a workbench, and both as a viewer has them."""

    def __init__(self, file: Path) -> None:
        pool = Pool(workers=(SimulatedWorker(name="alpha", tokens=4), SimulatedWorker(name="beta", tokens=4)))
        store = SessionStore.open(f"sqlite:///{file}")
        self.file, self.bench = file, Workbench.over(store, pool=pool, conductor=OfflineConductor())
        self.session = self.bench.ask("Which one?").id
        self.bench.planning.plan(self.session)
        self.head = self.bench.editing.edit(self.session, STEPS, note="Edited")
        self.bench.running.start(self.session)
        self.bench.activities.wait(self.session)
        tried = self.bench.experiments.begin(self.session, EDGES)
        assert tried.work is not None
        tried.work.result()
        self.tried = tried.record.id
        store.sessions.delete(self.bench.ask("Is this gone?").id)
        self.run = self.bench.store.runs.latest(self.session)
        self.token, _ = store.tokens.create("tests")
        self.viewed = ViewOnlyWorkbench(self.bench)

    def stored(self) -> list[str]:
        """All that the file holds."""
        with closing(sqlite3.connect(self.file)) as connection:
            return list(connection.iterdump())

    def parts(self) -> Iterator[tuple[str, Any, type]]:
        """What a page can reach of the workbench: its parts by name, with the class of what stands behind."""
        yield "workbench", self.viewed, type(self.viewed)
        for name in ("planning", "editing", "running", "racing", "experiments", "store"):
            yield name, getattr(self.viewed, name), type(getattr(self.bench, name))
        for name in ("background", "activities", "runner"):
            yield name, getattr(self.viewed, name), type(getattr(self.bench, name))
        for name, part in vars(self.viewed.store).items():
            if not name.startswith("_"):
                yield f"store.{name}", part, type(part)

    def value(self, part: str, method: str, parameter: str) -> Any:
        """What a method of that part is called with."""
        assert self.run is not None
        plan = self.bench.store.plans.latest(self.session)
        values: dict[str, Any] = {
            "session": self.session, "revision": self.head.id, "plan": plan and plan.id, "edited": self.head,
            "run": self.run.id, "workflow": STEPS, "query": "Why?", "question": "Why?", "text": FILE,
            "count": 2, "candidate": 0, "note": "", "origin": "human",
            "entry": GALLERY[0], "recorded": RECORDED[0], "scopes": [EDITED], "step": 0,
            "experiment": self.tried, "base": self.run.id, "sessions": [self.session], "ids": [self.session],
            "texts": ["new"], "tag": "new", "title": "New", "prefix": "a", "search": "one", "moment": 0.0,
            "limit": 8, "containing": "a", "digests": [], "seconds": 1.0,
            "thumbs": "up", "name": "new", "id": self.token.id, "token": self.token,
            "record": self.bench.store.experiments.find(self.tried), "states": {},
            "older_than": 0.0, "task": "tidy", "every": 0.0, "owner": "1-ab",
            "head": self.head, "is_own": bool, "since": 0.0, "by": UNKNOWN_ASKER, "charges": [],
            "evaluation": "1", "plans": [plan and plan.id], "entries": [], "person": "ada", "begin": 1.0,
            "event": next(iter(self.bench.store.runs.events(self.run.id))), "tokens": 1,
            "limits": Limits(tokens_per_minute=1),
        }  # fmt: skip
        contender = Contender(self.session, STEPS, "As edited", self.head.id)
        values |= {"left": contender, "right": contender, "contenders": [contender]}
        ids = {"sessions": "session", "plans": "plan", "revisions": "revision", "runs": "run"}
        if parameter == "id" and (kind := part.removeprefix("store.")) != "tokens":
            return values[ids.get(kind, "experiment")]
        if method == "answered" and parameter in ("token", "begin"):
            return None
        if method in ("is_own", "is_open_to") and parameter == "token":
            return self.token.id
        if part == "workbench" and parameter == "run":
            return self.run
        if part == "runner" and parameter == "revision":
            return self.head
        if parameter == "experiment" and method in ("add", "begin", "estimate"):
            return EDGES
        if part == "experiments" and parameter == "base":
            return self.viewed.experiments.base(self.session)
        return values.get(parameter)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    value = Stage(tmp_path_factory.mktemp("view-only") / "conductor.db")
    yield value
    value.bench.close()


def called(stage: Stage, name: str, part: Any, method: str, kind: type) -> str:
    """Whether a method is refused, or what it does instead."""
    arguments: list[Any] = []
    named = {"session": stage.session} if (name, method) == ("store.requests", "begin") else {}
    for it in inspect.signature(getattr(kind, method)).parameters.values():
        needed = it.default is it.empty and it.kind not in (it.VAR_POSITIONAL, it.VAR_KEYWORD)
        if not needed or it.name in ("self", "connection", "now"):
            continue
        if it.kind is it.KEYWORD_ONLY:
            named[it.name] = stage.value(name, method, it.name)
        else:
            arguments.append(stage.value(name, method, it.name))
    try:
        result = getattr(part, method)(*arguments, **named)
        if inspect.isgenerator(result):
            list(result)
    except ViewOnly:
        return "refused"
    except UnknownId:
        return "read"  # and nothing of that id was found
    except ConductorError:
        return "refused anyway" if f"{name}.{method}" in REFUSED_ANYWAY else "failed"
    return "read"


@pytest.mark.thorough
@pytest.mark.slow
def test_every_public_method_refuses_or_changes_nothing(stage: Stage) -> None:
    before = stage.stored()
    outcomes: dict[str, str] = {}
    for name, part, kind in stage.parts():
        for method in dir(kind):
            code = inspect.getattr_static(kind, method)
            if not method.startswith("_") and inspect.isfunction(code):
                outcomes[f"{name}.{method}"] = called(stage, name, part, method, kind)
                assert stage.stored() == before, f"{name}.{method} wrote"
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    assert failed == [], "called with arguments that are no good: see `Stage.value`"
    refused = {name for name, outcome in outcomes.items() if outcome == "refused"}
    # One of each kind of change, so that this test is known to look everywhere.
    assert refused >= {
        "workbench.ask",
        "planning.begin",
        "editing.edit",
        "running.start",
        "running.stop",
        "racing.start",
        "experiments.stop",
        "background.spawn",
        "activities.claim",
        "runner.begin_plan",
        "store.sessions.rename",
        "store.sessions.revoke_view_links",
        "store.revisions.undo",
        "store.runs.append",
        "store.corrections.rate",
        "store.tokens.create",
        "store.housekeeping.remove_deleted",
        "store.close",
    }
    # And nothing was begun, or kept from being begun.
    assert not stage.bench.activities.busy(stage.session)
    stage.bench.running.start(stage.session, FORCE)
    stage.bench.activities.wait(stage.session)
    assert stage.viewed.store.runs.latest(stage.session) != stage.run
