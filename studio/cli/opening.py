"""Opens for a command its store, its workbench, and the session or run that an argument names.

Commands that read sessions alone do not load all that a pool may be made of: it is imported in functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conductor.errors import ConductorError, StorageError
from storage import Session, SessionStore, default_url, left_out_rows
from storage.database.database import sqlite_file
from studio.cli.options import Configured, Storable, Stored, can_be_proposed, option
from studio.cli.output.terminal import agreed, name_next, one_line, print_remark

if TYPE_CHECKING:
    from studio.workbench import Workbench

FEWEST_LETTERS = 4
"""How much of an id is enough, where no other begins so."""

LAST = "last"
"""Names the newest of its kind where an id may stand; ids have hexadecimal digits."""


@contextmanager
def stored(options: Stored) -> Iterator[SessionStore]:
    """The store from `--database`, else the configured one; closed afterwards in every case."""
    with left_out_named(), SessionStore.open(options.database or default_url()) as store:
        yield store


@contextmanager
def opened(options: Configured) -> Iterator[Workbench]:
    """A workbench from `--pool` and `--database`; closed afterwards in every case.

    With `--no-store` its store is in a folder of its own, which is removed.
    """
    from studio.composition import open_workbench  # noqa: PLC0415

    with ExitStack() as stack:
        database = options.database
        if isinstance(options, Storable) and options.no_store:
            if database is not None:
                raise StorageError("--no-store stores nothing; leave --database out.")
            # What is named in the last line is gone by then.
            stack.callback(name_next, None)
            database = f"sqlite:///{stack.enter_context(_own_folder())}/conductor.db"
        stack.enter_context(left_out_named())
        yield stack.enter_context(closing(open_workbench(pool=options.pool, database=database)))


def _own_folder() -> AbstractContextManager[str]:
    try:
        return TemporaryDirectory(prefix="conductor-")
    except OSError as error:
        raise StorageError(f"No temporary folder can be made: {error.strerror}; set TMPDIR.") from error


@contextmanager
def left_out_named() -> Iterator[None]:
    """Name on stderr, at the end, what lists and sums left out because it cannot be read."""
    with left_out_rows() as sentences:
        yield
    for sentence in sentences:
        print_remark(f"left out: {sentence}")


def confirm_keys(path: Path | None, *, ask: bool, tools: bool = True) -> None:
    """Confirm each key of the pool for its host, where it is not: all, or those that a person agrees to, who
    is asked for the commands of its `tools`, too.

    Asks only where stdin and stderr are terminals: elsewhere the workers stay unusable, and their messages
    name what to do. Raises `PoolError`.
    """
    if ask and not is_at_terminal():
        return
    from conductor.workers.health.probe import unconfirmed_in  # noqa: PLC0415
    from conductor.workers.keys.hosts import confirm  # noqa: PLC0415
    from conductor.workers.pool.pool import configured_pool  # noqa: PLC0415

    for pair in unconfirmed_in(configured_pool(path)):
        if not ask:
            confirm(pair)
            print_remark(f"{pair.variable} may be sent to {pair.origin} from now on.")
        elif agreed(f"Send {pair.variable} to {pair.origin}?"):
            confirm(pair)
    if ask and tools:
        accept_tools(path, ask=True)


def accept_tools(path: Path | None, *, ask: bool) -> None:
    """Accept each command of the pool's tool servers that was not accepted on this machine: all, or those
    that a person agrees to, as `confirm_keys` does with keys. Raises `PoolError`.
    """
    if ask and not is_at_terminal():
        return
    from conductor.workers.pool.pool import configured_pool  # noqa: PLC0415
    from conductor.workers.tools.accepted_commands import accept, command_words, is_accepted  # noqa: PLC0415

    for server in configured_pool(path).tool_servers:
        if is_accepted(server):
            continue
        if not ask:
            accept(server)
            print_remark(f"{server.name} may start {command_words(server)} from now on.")
        elif agreed(f"Start {command_words(server)} for the tools of {server.name}?"):
            accept(server)


def is_at_terminal() -> bool:
    """Whether a person can be asked: stdin and stderr are terminals."""
    # A stream that was closed before the program started is None.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def session_of(store: SessionStore, prefix: str) -> str:
    """The id of the session that `prefix` names, whole or by its beginning; also of a deleted one. `LAST` is
    the last changed one that is not deleted.

    Raises `StorageError` where it names none or several.
    """
    if prefix == LAST and (newest := store.sessions.listed(limit=1)):
        return newest[0].id
    return _one_of(prefix, store.sessions.named, noun="session", listing="sessions list")


def run_of(store: SessionStore, prefix: str) -> str:
    """The id of the run that `prefix` names, as `session_of` does of sessions; `LAST` is the newest run of
    the last changed session.
    """
    if prefix == LAST and (newest := store.runs.latest(session_of(store, LAST))):
        return newest.id
    return _one_of(prefix, store.runs.named, noun="run", listing="sessions show SESSION")


def note_of(store: SessionStore, prefix: str) -> str:
    """The id of the note that `prefix` names, as `session_of` does of sessions."""
    return _one_of(prefix, store.notes.named, noun="note", listing="sessions notes SESSION")


def test_of(store: SessionStore, prefix: str) -> str:
    """The id of the team's test that `prefix` names, as `session_of` does of sessions."""
    return _one_of(prefix, store.tests.named, noun="test", listing="evaluate tests")


def _one_of(prefix: str, named: Callable[[str], Sequence[str]], *, noun: str, listing: str) -> str:
    ids = named(prefix) if len(prefix) >= FEWEST_LETTERS else ()
    if prefix in ids or len(ids) == 1:
        return prefix if prefix in ids else ids[0]
    if len(prefix) < FEWEST_LETTERS:
        raise StorageError(
            f"{prefix!r} is too short for a {noun}'s id; write at least {FEWEST_LETTERS} of its characters."
        )
    if not ids:
        raise StorageError(f"There is no {noun} {prefix!r} in this store; `{listing}` shows which there are.")
    some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
    raise StorageError(f"{prefix!r} begins the ids of {len(ids):,} {noun}s ({some}); write more of it.")


def name_session(session: Session, options: Stored, *, what: str = "next") -> None:
    """Let the last line name the session, and how it is run."""
    name_next(f"session {session.id[:8]}", f"run --session {session.id[:8]}{options.again}", what=what)


def changed_line(done: str, session: Session) -> str:
    """The line about what was done to a session."""
    return f"{done} {session.id[:8]}  {one_line(session.title)}"


# -- shell completion ------------------------------------------------------------------------------


def session_ids(context: typer.Context, incomplete: str) -> list[str]:
    """The ids, of the last updated sessions, that begin so: what a shell proposes."""
    url = context.params.get("database") or default_url()
    try:
        file = sqlite_file(url)
        if file is not None and not file.exists():
            # Opening the store would make it.
            return []
        with SessionStore.open(url) as store:
            ids = [summary.id for summary in store.sessions.listed(limit=200)]
    except ConductorError:
        # A shell has no place for a message; the command itself names what is wrong.
        return []
    return [id for id in (LAST, *ids) if id.startswith(incomplete) and can_be_proposed(id)]


SESSION: Any = typer.Argument(
    metavar="ID", autocompletion=session_ids, help="A session's id, or its first characters, or last."
)
SessionId = Annotated[str, SESSION]
SessionIds = Annotated[list[str], SESSION]


def session_option(help: str) -> Any:
    """An option that names a session."""
    return option(help, "ID", complete=session_ids)
