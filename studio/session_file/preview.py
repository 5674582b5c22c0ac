"""What a file holds, told before anything of it is imported. Reads all of it and keeps nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

from conductor.errors import FormatError
from conductor.messages import Value
from conductor.plan_file import FORMAT as PLAN_FORMAT
from conductor.plan_file import MAX_BYTES as MAX_PLAN_BYTES
from conductor.plan_file import read_plan
from storage.session_copy import FreeTitles
from storage.session_entries import RevisionEntry, RunEntry, SessionEntry
from storage.session_file.cursor import MAX_PARTS, Cursor
from storage.session_file.document import BULK_FORMAT, FORMAT
from storage.session_file.reading import Read, format_of, in_bytes, sessions_in
from storage.session_file.references import References
from storage.session_file.upgrades import UPGRADES, Upgrade

FileFormat = Literal["conductor-session", "conductor-sessions", "conductor-workflow"]


_MAX_PLAN_PARTS = 10 * MAX_PARTS
"""So many that a workflow of far too many steps is refused for its steps."""


class SessionPreview(Value):
    """A session of the file: how many of what it has, and the characters of its outputs together.

    `called` is the title that it would get, another one than `title` where that is taken. `unknown_workers`
    are those that its workflows name and the pool does not have. `live` counts runs that would read
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
    unknown_workers: tuple[str, ...] = ()


class PlanPreview(Value):
    """The workflow of a workflow file, which is imported as a session of its own with nothing run."""

    query: str | None
    steps: int
    unknown_workers: tuple[str, ...] = ()


class ImportPreview(Value):
    """What importing the file would do; `size` is in bytes. Either `sessions` or a `plan` is there."""

    format: FileFormat
    size: int
    sessions: tuple[SessionPreview, ...] = ()
    plan: PlanPreview | None = None

    @property
    def unknown_workers(self) -> tuple[str, ...]:
        """Workers that the file names and the pool does not have, in order of first use."""
        named = [session.unknown_workers for session in self.sessions]
        named += [] if self.plan is None else [self.plan.unknown_workers]
        return tuple(dict.fromkeys(name for names in named for name in names))


def look_into(
    text: str | bytes,
    *,
    workers: Sequence[str],
    is_taken: Callable[[str], bool] | None = None,
    upgrades: Sequence[Upgrade] = UPGRADES,
) -> ImportPreview:
    """What a file of sessions, or of a workflow, holds; `workers` are the pool's names.

    `is_taken` says whether a title is another session's already (None: all are free). Raises `FormatError`
    with one sentence where the file could not be imported.
    """
    data = in_bytes(text)
    form = format_of(data)
    if form == PLAN_FORMAT:
        return ImportPreview(format=PLAN_FORMAT, size=len(data), plan=_plan(data, workers))
    if form not in (FORMAT, BULK_FORMAT):
        raise FormatError(
            f'The file is neither a session nor a workflow: it must begin with {{"format": "{FORMAT}".'
        )
    titles = None if is_taken is None else FreeTitles(is_taken=is_taken)
    sessions: list[SessionPreview] = []
    for entries in sessions_in(data, upgrades=upgrades):
        session = _session(entries, frozenset(workers))
        called = session.title if titles is None else titles.give(session.title)
        sessions.append(session.model_copy(update={"called": called}))
    bulk = form == BULK_FORMAT
    return ImportPreview(format=BULK_FORMAT if bulk else FORMAT, size=len(data), sessions=tuple(sessions))


def _plan(data: bytes, workers: Sequence[str]) -> PlanPreview:
    if len(data) <= MAX_PLAN_BYTES:
        # Bounded before it is read as a whole.
        Cursor(data, most_parts=_MAX_PLAN_PARTS).value()
    plan = read_plan(data)
    unknown = tuple(name for name in plan.workflow.workers() if name not in workers)
    return PlanPreview(query=plan.query, steps=len(plan.steps), unknown_workers=unknown)


def _session(entries: Iterator[Read], workers: Collection[str]) -> SessionPreview:
    references, counts = References(), Counter[str]()
    unknown: dict[str, None] = {}
    own: SessionEntry | None = None
    for section, _, entry in entries:
        references.add(section, entry)
        counts[section] += 1
        match entry:
            case SessionEntry():
                own = entry
            case RevisionEntry():
                unknown |= {name: None for name in entry.workflow.workers() if name not in workers}
            case RunEntry():
                counts["trials"] += entry.experiment is not None
                counts["live"] += entry.status == "running"
        if section == "outputs":
            counts["output_characters"] += len(getattr(entry, "text", ""))
    references.check()
    assert own is not None
    return SessionPreview(
        title=own.title,
        called=own.title,
        query=own.query,
        created_at=own.created_at,
        tags=own.tags,
        plans=counts["plans"],
        revisions=counts["revisions"],
        runs=counts["runs"] - counts["trials"],
        trials=counts["trials"],
        live=counts["live"],
        outputs=counts["outputs"],
        output_characters=counts["output_characters"],
        events=counts["events"],
        unknown_workers=tuple(unknown),
    )
