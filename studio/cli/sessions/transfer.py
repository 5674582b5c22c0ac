"""`sessions export`, `import` and `fork`: whole sessions as files, and as new sessions."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from typer import Argument

from conductor.errors import StorageError
from conductor.files.named_file import STDIN, open_seekable
from conductor.text.formatting import LISTED, quantity, size
from storage import Revision, SessionStore
from storage.database.unreadable_rows import readable
from studio.cli.opening import SESSION, SessionId, changed_line, name_session, opened, session_of, stored
from studio.cli.options import Configured, Force, Stored, count, flag, option
from studio.cli.output.terminal import is_quiet, moment, one_line, print_lines, print_remark, written_to

if TYPE_CHECKING:
    from studio.session_file import ImportPreview, SessionPreview
    from studio.workbench import Workbench

EVERY = 10.0
"""Seconds between two lines."""

Progress = Callable[[int], None]
"""Called with how many sessions are done."""


@contextmanager
def session_progress(verb: str, total: int, *, bar: bool = True) -> Iterator[Progress]:
    """Shows how many of `total` sessions are done, and how many a second; nothing where stderr is quiet.
    Without `bar` only lines: a bar would move what the command itself prints on a terminal.
    """
    began = time.monotonic()

    def rate(done: int) -> str:
        return f"{done / max(time.monotonic() - began, 1e-3):,.0f} a second"

    if is_quiet() or not (bar and sys.stderr.isatty()):
        yield _lines(verb, total, rate)
        return
    from rich import progress as rich  # noqa: PLC0415 - for a terminal only
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn(verb), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}"), rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as drawing:
        task = drawing.add_task(verb, total=total, rate="")
        yield lambda done: drawing.update(task, completed=done, rate=rate(done))


def _lines(verb: str, total: int, rate: Callable[[int], str]) -> Progress:
    last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            print_remark(f"{verb}: {done:,} of {total:,} sessions, {rate(done)}")

    return show


# -- export ----------------------------------------------------------------------------------------


def export(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, SESSION] = None,
    every: Annotated[bool, flag("--all", "Export all sessions that are not deleted.")] = False,
    output: Annotated[str, option("Write here; - is stdout.", "FILE", str, names=["--output", "-o"])] = STDIN,
    force: Force = False,
    *,
    options: Stored,
) -> int:
    """Write whole sessions as one file, JSON Lines.

    With --all those that cannot be read are left out and named, and the exit code is 1.
    """
    if bool(ids) == every:
        ctx.fail("name sessions, or add --all to export every one")
    if options.json and output == STDIN:
        ctx.fail("--json sums up what was written to --output; name a file")
    from studio.session_file import write_sessions  # noqa: PLC0415 - for these commands only

    with stored(options) as store:
        named = dict.fromkeys(session_of(store, prefix) for prefix in ids or ())
        targets: Sequence[str] = store.sessions.ids() if every else tuple(named)
        chosen = targets
        with (
            written_to(None if output == STDIN else Path(output), force=force) as out,
            session_progress("exporting", len(targets), bar=output != STDIN) as progress,
        ):
            # What is written to stdout or a pipe cannot be taken back.
            replaceable = output != STDIN and out.buffer.seekable()
            if not replaceable:
                chosen = _whole(store, targets, every=every)
            try:
                length = sum(map(out.buffer.write, write_sessions(store, chosen, progress=progress)))
            except StorageError:
                if not (every and replaceable):
                    raise
                chosen = _whole(store, targets, every=True)
                out.buffer.seek(0)
                out.buffer.truncate()
                length = sum(map(out.buffer.write, write_sessions(store, chosen, progress=progress)))
    if options.json:
        options.show({"sessions": [*chosen], "file": output, "bytes": length})
    elif output != STDIN:
        print_remark(f"{quantity(len(chosen), 'session')} written to {output}, {size(length)}.")
    return int(len(chosen) < len(targets))


def _whole(store: SessionStore, sessions: Sequence[str], *, every: bool) -> Sequence[str]:
    """Those of the sessions that can be read; of `every` session the others are left out and named, else the
    first raises `StorageError`.
    """

    def read(session: str) -> str:
        from studio.session_file import write_sessions  # noqa: PLC0415 - for these commands only

        deque(write_sessions(store, [session]), maxlen=0)
        return session

    return tuple((readable if every else map)(read, sessions))


# -- import ----------------------------------------------------------------------------------------


def import_file(
    file: Annotated[str, Argument(parser=str, metavar="FILE", help="A file, or - for stdin.")],
    dry_run: Annotated[bool, flag("--dry-run", "Print what the file holds, and store nothing.")] = False,
    *,
    options: Configured,
) -> int:
    """Import a file of sessions or of a workflow.

    What the file holds is printed first; nothing is stored where it is wrong.
    """
    from studio.session_file import look_into  # noqa: PLC0415 - for these commands only

    with open_seekable(file) as content, opened(options) as bench:
        preview = look_into(
            content, workers=tuple(bench.pool.cards), is_taken=bench.store.files.is_title_taken
        )
        if not options.json:
            print_lines(*_preview_lines(preview))
        imported: Sequence[str] = ()
        if not dry_run:
            imported = _imported(bench, content, preview)
        listed = [bench.store.sessions.find(session) for session in imported[:LISTED]]
    lines = [changed_line("imported", session) for session in listed]
    if len(imported) > LISTED:
        lines = [f"imported {quantity(len(imported), 'session')}"]
    if options.json or imported:
        shape = {**preview.model_dump(mode="json"), "unknown_workers": preview.unknown_workers}
        options.show({**shape, "dry_run": dry_run, "imported": [*imported]}, *lines)
    if listed and not options.json:
        name_session(listed[0], options)
    return 0


def _imported(bench: Workbench, file: BinaryIO, preview: ImportPreview) -> Sequence[str]:
    if preview.plan is None:
        from studio.session_file import import_sessions  # noqa: PLC0415 - for these commands only

        with session_progress("importing", len(preview.sessions)) as progress:
            return import_sessions(bench.store, file, progress=progress)
    file.seek(0)
    return (bench.editing.import_plan(file.read()).id,)


def _preview_lines(preview: ImportPreview) -> Iterator[str]:
    if preview.plan is not None:
        query = one_line(preview.plan.query or "no query", 90)
        yield f"a workflow of {quantity(preview.plan.steps, 'step')}: {query}"
    if len(preview.sessions) > LISTED:
        revisions = sum(session.revisions for session in preview.sessions)
        runs = sum(session.runs for session in preview.sessions)
        renamed = sum(session.called != session.title for session in preview.sessions)
        yield f"{quantity(len(preview.sessions), 'session')} of {size(preview.size)}"
        yield f"  {quantity(revisions, 'revision')}, {quantity(runs, 'run')}"
        if renamed:
            yield f"  {quantity(renamed, 'title')} taken: a number goes behind each"
    else:
        for session in preview.sessions:
            yield from _session_lines(session)
    if preview.unknown_workers:
        names = ", ".join(one_line(name, 40) for name in preview.unknown_workers)
        advice = "give their steps to others before you run them"
        yield f"  not in this pool: {names}; {advice if preview.plan is None else 'it cannot be imported'}"


def _session_lines(session: SessionPreview) -> Iterator[str]:
    yield f"{one_line(session.title)}  (of {moment(session.created_at)})"
    if session.called != session.title:
        yield f"  called {one_line(session.called)!r}, because that title is taken"
    amounts = {"revision": session.revisions, "run": session.runs, "output": session.outputs}
    amounts |= {"note": session.notes} if session.notes else {}
    yield "  " + ", ".join(quantity(number, noun) for noun, number in amounts.items())
    if session.live:
        yield f"  {quantity(session.live, 'run')} without an end; imported, they read interrupted"


# -- fork ------------------------------------------------------------------------------------------


def fork(
    id: SessionId,
    revision: Annotated[int | None, count("Its number; default: the current one.")] = None,
    title: Annotated[str | None, option("The new session's title.", "TITLE")] = None,
    *,
    options: Stored,
) -> int:
    """Make a new session from a session's revision."""
    with stored(options) as store:
        session = session_of(store, id)
        copy = store.sessions.fork(session, _revision(store, session, revision).id)
        if title is not None:
            copy = store.sessions.rename(copy.id, title)
    shape = {"session": copy.id, "title": copy.title, "forked_from": copy.forked_from}
    options.show(shape, changed_line("forked", copy))
    if not options.json:
        name_session(copy, options)
    return 0


def _revision(store: SessionStore, session: str, number: int | None) -> Revision:
    revisions = store.revisions.of_session(session)
    if not revisions:
        raise StorageError(f"The session {session!r} has no workflow to fork yet; plan one first.")
    head = store.sessions.find(session).head
    for revision in revisions:
        if revision.number == number or (number is None and revision.id == head):
            return revision
    raise StorageError(
        f"The session {session!r} has no revision {number}; its revisions are 1 to {revisions[-1].number}."
    )
