"""Recorded sessions: real runs in session files, which play from memory and are imported when a person wants
one of their own.

Knows which there are, and what of an edited one runs on a pool; `session_file` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from conductor.runs.replay import Recording
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workflow.matching import places_in
from conductor.workflow.model import Step, Workflow
from storage.records import Revision, RunRecord, Session
from storage.store import SessionStore
from studio.gallery.workflows import workers_for
from studio.session_file import import_sessions
from studio.session_file.reading import raw_entries

TAG = "recording"
"""Of sessions that were made of a recording: what they have from it stands until an edit touches it."""

_FILES = Path(__file__).parent / "recorded"


class Recorded(NamedTuple):
    """A recorded session. `title` is the session's own, `topic` that of a session that is made of it; `label`
    names who answered.
    """

    name: str
    title: str
    topic: str
    sentence: str
    label: str


RECORDED = (
    Recorded(
        "report",
        "Recorded: a report of three readers and an editor",
        "Free buses for a town",
        "A run to watch: streaming words, a broken connection, a retried step.",
        "simulated workers, texts written by hand",
    ),
)


@dataclass(frozen=True)
class RecordedRun:
    """A recorded session in memory, with its one run. Its ids are the file's; no store has them."""

    session: Session
    head: Revision
    run: RunRecord
    recording: Recording


@cache
def recorded_run(recorded: Recorded) -> RecordedRun:
    """The session as its file has it, read once."""
    entries: dict[str, list[Any]] = {"event": []}
    with _path(recorded).open("rb") as file:
        for entry in raw_entries(file):
            entries.setdefault(entry.kind, []).append(entry.checked())
    [session], [head], [run] = (entries[kind] for kind in ("session", "revision", "run"))
    of = {"session": session.id}
    named = {name: value for name, value in dict(session).items() if name in Session.model_fields}
    return RecordedRun(
        session=Session(**named, deleted_at=None, origin="import"),
        head=Revision(**dict(head), **of, number=1),
        run=RunRecord(**dict(run), **of, owner=""),
        recording=Recording.of(entries["event"]),
    )


def import_recorded(store: SessionStore, recorded: Recorded) -> Session:
    """The recorded session as a new one. Raises `StorageError`."""
    with _path(recorded).open("rb") as file:
        (session,) = import_sessions(store, file)
    return store.sessions.find(session)


def open_recorded(store: SessionStore, recorded: Recorded) -> Session:
    """The recorded session: the one that was imported before, if it is not deleted, else a new one.

    Raises `StorageError`.
    """
    before = store.sessions.titled(recorded.title)
    return import_recorded(store, recorded) if before is None else store.sessions.find(before)


def with_recorded_pins(workflow: Workflow, recorded: Workflow, outputs: Mapping[int, Output]) -> Workflow:
    """`workflow`, an edit of `recorded`, with recorded outputs, by position, pinned to its steps."""
    for at, to in places_in(recorded, workflow).items():
        if at in outputs:
            workflow = workflow.with_pin(to, outputs[at])
    return workflow


def release(edited: Workflow, *, before: Workflow, pool: Pool) -> Workflow:
    """`edited` ready to run on `pool`: of the steps that the edit touches, themselves or through what they
    read, those go that were pinned to an output of a worker that the pool does not have.

    Such a step, too, goes to one of the pool's workers, unless it names one.
    """
    came_from = {to: at for at, to in places_in(before, edited).items()}
    touched: set[int] = set()
    for to, step in enumerate(edited.steps):
        old = before.steps[came_from[to]] if to in came_from else None
        reads = {came_from.get(read) for read in step.access}
        same = old is not None and reads == {*old.access} and _alike(old, step)
        if not same or not touched.isdisjoint(step.access):
            touched.add(to)
    for to in touched & came_from.keys():
        pin = edited.steps[to].pin
        if pin is not None and pin.worker not in pool.cards and pin == before.steps[came_from[to]].pin:
            edited = edited.with_pin(to, None)
    missing = edited.missing_workers(pool.cards)
    own = edited.with_workers(workers_for(missing, pool))
    return Workflow.of(own.steps[to] if step.pin is None else step for to, step in enumerate(edited.steps))


def _alike(old: Step, new: Step) -> bool:
    """Whether they differ at most in what they read, in a gate and in what is done on a failure."""
    return old.model_copy(update={"access": new.access}).unguarded == new.unguarded


def _path(recorded: Recorded) -> Path:
    return _FILES / f"{recorded.name}.jsonl"
