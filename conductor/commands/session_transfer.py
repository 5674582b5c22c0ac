"""`sessions export`, `import` and `fork`: whole sessions as files, and as sessions of their own."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conductor.amounts import counted, size
from conductor.bounded_file import STDIN, read_bounded
from conductor.commands.session_choice import session_of, stored
from conductor.commands.settings import positive
from conductor.commands.table import moment, one_line
from conductor.errors import FormatError, StorageError
from storage import Revision, Session, SessionStore
from storage.session_file import (
    ImportPreview,
    SessionPreview,
    import_sessions,
    look_into,
    write_session,
    write_sessions,
)
from storage.session_file.reading import MAX_BYTES


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register them."""
    export = commands.add_parser("export", parents=parents, help="write whole sessions as one JSON file")
    export.add_argument("sessions", nargs="*", metavar="ID")
    export.add_argument("--all", action="store_true", help="all sessions that are not deleted")
    export.add_argument(
        "--output", "-o", default=STDIN, metavar="FILE", help="write here; - is stdout, the default"
    )
    export.set_defaults(command=_export, usage=export.error)
    bring = commands.add_parser("import", parents=parents, help="import a file of sessions or of a workflow")
    bring.add_argument("file", metavar="FILE", help="a file, or - for stdin")
    bring.add_argument("--dry-run", action="store_true", help="say what the file holds, and keep nothing")
    bring.add_argument("--pool", type=Path, metavar="FILE", help="pool file (TOML) whose workers are known")
    bring.set_defaults(command=_import)
    fork = commands.add_parser("fork", parents=parents, help="make a new session from a session's revision")
    fork.add_argument("session", metavar="ID")
    fork.add_argument("--revision", type=positive, metavar="N", help="its number; default: the current one")
    fork.add_argument("--title", metavar="TITLE")
    fork.set_defaults(command=_fork)


# -- export ----------------------------------------------------------------------------------------


def _export(options: argparse.Namespace) -> int:
    if bool(options.sessions) == options.all:
        options.usage("name sessions, or add --all to export every one")
    if options.json and options.output == STDIN:
        options.usage("--json sums up what was written to --output; name a file")
    with stored(options) as store:
        chosen = _chosen(options, store)
        single = len(chosen) == 1 and not options.all
        text = write_session(store, chosen[0]) if single else write_sessions(store, chosen).decode()
    _write(options.output, text)
    taken = len(text.encode())
    if options.json:
        print(json.dumps({"sessions": chosen, "file": options.output, "bytes": taken}))
    elif options.output != STDIN:
        written = f"{counted(len(chosen), 'session')} written to {options.output}"
        print(f"conductor: {written}, {size(taken)}.", file=sys.stderr)
    return 0


def _chosen(options: argparse.Namespace, store: SessionStore) -> list[str]:
    if options.all:
        return list(store.session_ids())
    return list(dict.fromkeys(session_of(store, given) for given in options.sessions))


def _write(place: str, text: str) -> None:
    """Raises `FormatError` where the file cannot be written."""
    if place == STDIN:
        sys.stdout.write(text)
        return
    try:
        Path(place).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{place} cannot be written: {error.strerror}.") from error


# -- import ----------------------------------------------------------------------------------------


def _import(options: argparse.Namespace) -> int:
    """What the file holds is told first; nothing is kept where it is wrong."""
    from conductor.commands.opening import opened  # noqa: PLC0415 - reads the pool, which nothing else here does

    content = read_bounded(options.file, most=MAX_BYTES, kind="a session file")
    with opened(options) as bench:
        preview = look_into(content, workers=bench.pool.names, is_taken=bench.store.is_title_taken)
        if not options.json:
            print("\n".join(_foretold(preview)))
        made: tuple[Session, ...] = ()
        if not options.dry_run:
            plan = preview.plan is not None
            made = (bench.import_plan(content),) if plan else import_sessions(bench.store, content)
    if options.json:
        shape = {**preview.model_dump(mode="json"), "unknown_workers": preview.unknown_workers}
        print(json.dumps({**shape, "dry_run": options.dry_run, "imported": [session.id for session in made]}))
    for session in () if options.json else made:
        print(f"imported {session.id[:8]}  {one_line(session.title)}")
    return 0


def _foretold(preview: ImportPreview) -> Iterator[str]:
    if preview.plan is not None:
        query = one_line(preview.plan.query or "no query", 90)
        yield f"a workflow of {counted(preview.plan.steps, 'step')}: {query}"
    for session in preview.sessions:
        yield from _held(session)
    if preview.unknown_workers:
        names = ", ".join(one_line(name, 40) for name in preview.unknown_workers)
        kept = "give their steps to others before you run them"
        yield f"  not in this pool: {names}; {kept if preview.plan is None else 'it cannot be imported'}"


def _held(session: SessionPreview) -> Iterator[str]:
    yield f"{one_line(session.title)}  (of {moment(session.created_at)})"
    if session.called != session.title:
        yield f"  called {one_line(session.called)!r}, because that title is taken"
    amounts = {"revision": session.revisions, "run": session.runs, "output": session.outputs}
    yield "  " + ", ".join(counted(number, noun) for noun, number in amounts.items())
    if session.live:
        yield f"  {counted(session.live, 'run')} without an end; imported, they read interrupted"


# -- fork ------------------------------------------------------------------------------------------


def _fork(options: argparse.Namespace) -> int:
    with stored(options) as store:
        session = session_of(store, options.session)
        made = store.fork_session(session, _revision(store, session, options.revision).id)
        if options.title is not None:
            made = store.rename_session(made.id, options.title)
    if options.json:
        print(json.dumps({"session": made.id, "title": made.title, "forked_from": made.forked_from}))
    else:
        print(f"forked {made.id[:8]}  {one_line(made.title)}")
    return 0


def _revision(store: SessionStore, session: str, number: int | None) -> Revision:
    revisions = store.revisions(session)
    if not revisions:
        raise StorageError(f"The session {session!r} has no workflow to fork yet; plan one first.")
    wanted = store.session(session).head
    for revision in revisions:
        if revision.number == number or (number is None and revision.id == wanted):
            return revision
    raise StorageError(
        f"The session {session!r} has no revision {number}; its revisions are 1 to {revisions[-1].number}."
    )
