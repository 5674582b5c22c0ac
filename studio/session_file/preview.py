"""Shows the content of a file before anything of it is imported. Reads all of it and stores nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from os import SEEK_END
from typing import BinaryIO, Literal

from conductor.values.messages import Value
from conductor.values.output import Output
from conductor.workflow.file import FORMAT as PLAN_FORMAT
from conductor.workflow.file import MAX_BYTES as MAX_PLAN_BYTES
from conductor.workflow.file import read_plan
from storage.copies.free_titles import FreeTitles
from storage.session_entries import RevisionEntry, RunEntry, SessionEntry
from studio.session_file.consistency import Consistency
from studio.session_file.format import FORMAT
from studio.session_file.one_file import lines_in
from studio.session_file.reading import RawEntry, check_parts, format_of, raw_entries

_MAX_PLAN_PARTS = 1_000_000
"""So many that a workflow of far too many steps is refused for its steps."""


class SessionPreview(Value):
    """A session of the file: how many of what it has, and the characters of its outputs together.

    `called` is the title that it would get, another one than `title` where that is taken. `unknown_workers`
    are those that its workflows name and the pool does not have. `live` counts runs that would become
    interrupted, `trials` those of experiments.
    """

    title: str
    called: str
    query: str
    created_at: float
    tags: tuple[str, ...] = ()
    plans: int = 0
    revisions: int = 0
    runs: int = 0
    trials: int = 0
    live: int = 0
    outputs: int = 0
    output_characters: int = 0
    events: int = 0
    notes: int = 0
    changes: int = 0
    unknown_workers: tuple[str, ...] = ()


class PlanPreview(Value):
    """The workflow of a workflow file, which is imported as a new session with nothing run."""

    query: str | None
    steps: int
    unknown_workers: tuple[str, ...] = ()


class ImportPreview(Value):
    """What importing the file would do; `size` is in bytes. Either `sessions` or a `plan` is there."""

    format: Literal["conductor-session", "conductor-workflow"]
    size: int
    sessions: tuple[SessionPreview, ...] = ()
    plan: PlanPreview | None = None

    @property
    def unknown_workers(self) -> tuple[str, ...]:
        """Workers that the file names and the pool does not have, in order of first use."""
        named = [session.unknown_workers for session in self.sessions]
        named += [] if self.plan is None else [self.plan.unknown_workers]
        return tuple(dict.fromkeys(name for names in named for name in names))


def holds_sessions(file: BinaryIO) -> bool:
    """Whether a file begins as one of sessions does. Raises `FormatError` for a page that holds none."""
    return format_of(lines_in(file))[0] == FORMAT


def look_into(
    file: BinaryIO, *, workers: Sequence[str], is_taken: Callable[[str], bool] | None = None
) -> ImportPreview:
    """What a file of sessions, of a run in one file, or of a workflow holds; `workers` are the pool's names.

    `is_taken` returns whether another session has a title already (None: all are free). Raises `FormatError`
    with one sentence where the file could not be imported.
    """
    size = file.seek(0, SEEK_END)
    file = lines_in(file)
    form, _ = format_of(file)
    if form == PLAN_FORMAT:
        return ImportPreview(format=PLAN_FORMAT, size=size, plan=_plan(file, workers))
    titles = None if is_taken is None else FreeTitles(is_taken=is_taken)
    sessions: list[SessionPreview] = []
    for _, entries in groupby(raw_entries(file), key=attrgetter("session")):
        session = _session(entries, frozenset(workers))
        called = session.title if titles is None else titles.give(session.title)
        sessions.append(session.model_copy(update={"called": called}))
    return ImportPreview(format=FORMAT, size=size, sessions=tuple(sessions))


def _session(entries: Iterable[RawEntry], workers: Collection[str]) -> SessionPreview:
    check = Consistency()
    own: SessionEntry | None = None
    trials = live = characters = 0
    unknown: dict[str, None] = {}
    for entry in check.checked(entries):
        match entry:
            case SessionEntry():
                own = entry
            case RevisionEntry():
                unknown |= {name: None for name in entry.workflow.workers() if name not in workers}
            case RunEntry():
                trials += entry.experiment is not None
                live += entry.status == "running"
            case Output():
                characters += len(entry.text)
    assert own is not None
    return SessionPreview(
        title=own.title,
        called=own.title,
        query=own.query,
        created_at=own.created_at,
        tags=own.tags,
        plans=check.counts["plan"],
        revisions=check.counts["revision"],
        runs=check.counts["run"] - trials,
        trials=trials,
        live=live,
        outputs=check.counts["output"],
        output_characters=characters,
        events=check.counts["event"],
        notes=check.counts["note"],
        changes=check.counts["change"],
        unknown_workers=tuple(unknown),
    )


def _plan(file: BinaryIO, workers: Sequence[str]) -> PlanPreview:
    file.seek(0)
    data = file.read(MAX_PLAN_BYTES + 1)
    if len(data) <= MAX_PLAN_BYTES:
        check_parts(data, most=_MAX_PLAN_PARTS, where="The file")
    plan = read_plan(data)
    unknown = tuple(name for name in plan.workflow.workers() if name not in workers)
    return PlanPreview(query=plan.query, steps=len(plan.steps), unknown_workers=unknown)
