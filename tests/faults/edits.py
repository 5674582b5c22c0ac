"""Kills amid edits: whatever the workbench returned from is there, and nothing is there by halves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from conductor.planner.rule_planner import OfflineConductor
from conductor.values.presets import Settings
from conductor.workers.pool.pool import built_in_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.faults.ledger import Ledger
from tests.faults.soundness import check_soundness
from tests.faults.victim import Say, Work, killed

SPAN = 0.4
"""Seconds within which the process is killed: it has opened the store after a tenth of them."""

_EDITS = 12
"""Revisions after which a session is left for a new one."""

Shape = dict[str, Any]


def work(say: Say, url: str, seed: int) -> None:
    """Edit until killed: before each change send the request, after it what the session holds then."""
    rng = Random(seed)
    bench = Workbench.over(SessionStore.open(url), pool=built_in_pool(), conductor=OfflineConductor())
    while True:
        say(asks={"does": "ask"})
        session = bench.ask(f"What is {rng.random()}?").id
        say(holds=shape_of(bench.store, session))
        for _ in range(_EDITS):
            change = _change(rng)
            say(asks={"session": session, **change})
            _perform(bench, session, change)
            say(holds=shape_of(bench.store, session))


def _change(rng: Random) -> Shape:
    match rng.choice(("edit", "edit", "edit", "undo", "redo", "rename", "settings", "delete", "restore")):
        case "edit":
            return {"does": "edit", "workflow": workflow(rng.random()).model_dump(mode="json")}
        case "rename":
            return {"does": "rename", "title": f"Called {rng.random()}"}
        case "settings":
            return {"does": "settings", "rounds": rng.randint(1, 3)}
        case other:
            return {"does": other}


def workflow(number: float) -> Workflow:
    """Three steps that no other number has."""
    return Workflow.of(Step(instruction=f"{step}. {number}", worker="smol") for step in range(3))


def _perform(bench: Workbench, session: str, change: Mapping[str, Any]) -> None:
    match change["does"]:
        case "edit":
            edited = Workflow.model_validate(change["workflow"])
            bench.editing.edit(session, edited, note="Changed", head=bench.store.revisions.head(session))
        case "undo":
            bench.store.revisions.undo(session)
        case "redo":
            bench.store.revisions.redo(session)
        case "rename":
            bench.store.sessions.rename(session, change["title"])
        case "settings":
            bench.store.sessions.set_settings(session, Settings(rounds=change["rounds"]))
        case "delete":
            bench.store.sessions.delete(session)
        case "restore":
            bench.store.sessions.restore(session)


def shape_of(store: SessionStore, session: str) -> Shape:
    """All that a person's edits leave in a session, but for the time of its last change."""
    fields = store.sessions.find(session).model_dump(mode="json", exclude={"updated_at"})
    revisions = [revision.model_dump(mode="json") for revision in store.revisions.of_session(session)]
    return {"session": fields, "revisions": revisions}


@dataclass
class Edits:
    """One store that is killed again and again; `shapes` is what each session was last seen to hold."""

    folder: Path
    work: Work = work
    _file: ClassVar[str] = "edits.db"
    ledger: Ledger = field(default_factory=lambda: Ledger("edits"))
    shapes: dict[str, Shape] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The store that all kills share."""
        return f"sqlite:///{self.folder / self._file}"

    def kill(self, rng: Random) -> None:
        """Kill once, open again, and compare what was edited with what was acknowledged."""
        after = rng.uniform(0, SPAN) * self.ledger.slack()
        printed = killed(self.work, self.url, rng.getrandbits(32), after=after)
        request: Shape | None = None
        edited = set()
        for line in printed:
            if "asks" in line:
                request = line["asks"]
            else:
                edited.add(self._heard(line["holds"], request))
                request = None
        self.ledger.kills += 1
        check_soundness(self.folder / self._file, self.ledger)
        with SessionStore.open(self.url) as store:
            self.ledger.restarts += 1
            self._expect_no_others(store, request)
            self._compare(store, edited, request)

    def _heard(self, holds: Shape, request: Shape | None) -> str:
        """Take the reported state of a session for acknowledged if it was requested; returns the session."""
        session: str = holds["session"]["id"]
        before = self.shapes.get(session)
        done = before is None or (
            request is not None and (idle(before, holds, request) or follows(before, holds, request))
        )
        self.ledger.check(done, f"{session} was not changed when the workbench said so: {request}")
        self.shapes[session] = holds
        return session

    def finish(self) -> None:
        """Compare all that was ever acknowledged, as the last kill left it."""
        with SessionStore.open(self.url) as store:
            self._compare(store, set(self.shapes), None)

    def _compare(self, store: SessionStore, sessions: set[str], request: Shape | None) -> None:
        for session in sessions:
            before, after = self.shapes[session], shape_of(store, session)
            self.ledger.require(whole(after), f"{session} holds half a revision")
            if after == before:
                continue
            came_true = (
                request is not None and request.get("session") == session and follows(before, after, request)
            )
            self.ledger.require(
                came_true, f"{session} is neither as it was left nor one change further: {request}"
            )
            self.shapes[session] = after

    def _expect_no_others(self, store: SessionStore, request: Shape | None) -> None:
        """A session without an acknowledgement may be there where one was just asked for."""
        listed = {summary.id for summary in store.sessions.listed(limit=100_000)}
        others = listed - self.shapes.keys()
        allowed = 1 if request is not None and request["does"] == "ask" else 0
        self.ledger.require(len(others) <= allowed, f"sessions came from nowhere: {sorted(others)}")
        self.shapes |= {session: shape_of(store, session) for session in others}


def whole(shape: Shape) -> bool:
    """Whether the revisions are numbered without a gap, each under an earlier one, and the head is among
    them.
    """
    seen: set[str | None] = {None}
    for number, revision in zip(count(1), shape["revisions"], strict=False):
        if revision["number"] != number or revision["parent"] not in seen:
            return False
        if not revision["workflow"]["steps"]:
            return False
        seen.add(revision["id"])
    return shape["session"]["head"] in seen


def idle(before: Shape, after: Shape, change: Shape) -> bool:
    """Whether there was nothing to undo or to redo, and nothing was done."""
    return before == after and change["does"] in ("undo", "redo")


def follows(before: Shape, after: Shape, change: Shape) -> bool:
    """Whether the change that was under way came true, as a whole, and nothing else did."""
    old, new = before["session"], after["session"]
    additions = after["revisions"][len(before["revisions"]) :]
    if after["revisions"][: len(before["revisions"])] != before["revisions"]:
        return False
    if change["does"] == "edit":
        (only,) = additions if len(additions) == 1 else (None,)
        placed = only is not None and only["parent"] == old["head"] and only["id"] == new["head"]
        return placed and only["workflow"] == change["workflow"] and new == {**old, "head": new["head"]}
    if additions:
        return False
    parents = {revision["id"]: revision["parent"] for revision in before["revisions"]}
    match change["does"]:
        case "undo":
            return new == {**old, "head": parents.get(old["head"])}
        case "redo":
            return parents.get(new["head"]) == old["head"] and new == {**old, "head": new["head"]}
        case "rename":
            return new == {**old, "title": change["title"]}
        case "settings":
            settings = Settings(rounds=change["rounds"]).model_dump(mode="json")
            return new == {**old, "settings": settings}
        case "delete":
            return new["deleted_at"] is not None and new == {**old, "deleted_at": new["deleted_at"]}
        case _:
            return new == {**old, "deleted_at": None}
