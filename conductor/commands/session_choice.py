"""Which store a command opens, and which session or run an argument names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from conductor.errors import StorageError
from storage import Session, SessionStore, SessionSummary, default_url
from storage.session_filter import SessionFilter

FEWEST_LETTERS = 4
"""How much of an id is enough, where no other begins so."""


@contextmanager
def stored(options: argparse.Namespace) -> Iterator[SessionStore]:
    """The store from `--database`, else the configured one; closed afterwards, whatever happened."""
    with SessionStore.open(options.database or default_url()) as store:
        yield store


def session_of(store: SessionStore, given: str) -> str:
    """The id of the session that `given` names, whole or by its beginning; of a deleted one, too.

    Raises `StorageError` where it names none or several.
    """
    return _one_of(given, store.sessions_named, noun="session", shown_by="sessions list")


def run_of(store: SessionStore, given: str) -> str:
    """The id of the run that `given` names, as `session_of` does of sessions."""
    return _one_of(given, store.runs_named, noun="run", shown_by="sessions show SESSION")


def _one_of(given: str, named: Callable[[str], Sequence[str]], *, noun: str, shown_by: str) -> str:
    found = named(given) if len(given) >= FEWEST_LETTERS else ()
    if given in found or len(found) == 1:
        return given if given in found else found[0]
    if len(given) < FEWEST_LETTERS:
        raise StorageError(
            f"{given!r} is too short for a {noun}'s id; write at least {FEWEST_LETTERS} of its characters."
        )
    if not found:
        raise StorageError(f"There is no {noun} {given!r} in this store; `{shown_by}` shows which there are.")
    some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    raise StorageError(f"{given!r} begins the ids of {len(found):,} {noun}s ({some}); write more of it.")


def summary_of(store: SessionStore, session: Session) -> SessionSummary:
    """The session as a list tells of it."""
    at = session.updated_at
    alike = SessionFilter(since=at, until=at, deleted=session.deleted_at is not None)
    # Those that were imported together may have been updated at one moment.
    found = store.sessions(alike, limit=store.count_sessions(alike))
    return next(summary for summary in found if summary.id == session.id)
