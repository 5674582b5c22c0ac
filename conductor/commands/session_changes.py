"""`sessions delete`, `restore`, `rename` and `tag`: what people do with sessions as a whole."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from conductor.amounts import counted
from conductor.commands.session_choice import session_of, stored
from conductor.commands.table import one_line
from storage import Session, SessionStore


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register them."""
    delete = commands.add_parser("delete", parents=parents, help="take sessions out of the list")
    delete.add_argument("sessions", nargs="+", metavar="ID")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.set_defaults(command=_delete, usage=delete.error)
    restore = commands.add_parser("restore", parents=parents, help="put deleted sessions back")
    restore.add_argument("sessions", nargs="+", metavar="ID")
    restore.set_defaults(command=_restore)
    rename = commands.add_parser("rename", parents=parents, help="give a session another title")
    rename.add_argument("session", metavar="ID")
    rename.add_argument("title", metavar="TITLE", help="empty: what its query begins with")
    rename.set_defaults(command=_rename)
    tag = commands.add_parser("tag", parents=parents, help="tag a session, or show its tags")
    tag.add_argument("session", metavar="ID")
    tag.add_argument("tags", nargs="*", metavar="TAG", help="put these on; without any, show them")
    tag.add_argument("--remove", action="append", default=[], metavar="TAG", help="take this one off")
    tag.set_defaults(command=_tag)


def _delete(options: argparse.Namespace) -> int:
    """1 where the person said no."""
    with stored(options) as store:
        chosen = _chosen(store, options.sessions)
        if not options.yes and not _agreed(options, chosen):
            print("conductor: nothing was deleted.", file=sys.stderr)
            return 1
        return _each(options, chosen, store.delete_session, done="deleted")


def _restore(options: argparse.Namespace) -> int:
    with stored(options) as store:
        return _each(options, _chosen(store, options.sessions), store.restore_session, done="restored")


def _chosen(store: SessionStore, given: Sequence[str]) -> list[Session]:
    """All of them, each once, before the first is changed."""
    return [store.session(id) for id in dict.fromkeys(session_of(store, id) for id in given)]


def _agreed(options: argparse.Namespace, chosen: Sequence[Session]) -> bool:
    if not sys.stdin.isatty():
        options.usage("nobody can be asked here; add --yes to delete")
    for session in chosen:
        print(f"{session.id[:8]}  {one_line(session.title)}", file=sys.stderr)
    print(f"Delete {counted(len(chosen), 'session')}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _each(
    options: argparse.Namespace, chosen: Sequence[Session], act: Callable[[str], object], *, done: str
) -> int:
    for session in chosen:
        act(session.id)
    if options.json:
        print(json.dumps({done: [session.id for session in chosen]}))
    else:
        for session in chosen:
            print(f"{done} {session.id[:8]}  {one_line(session.title)}")
    return 0


def _rename(options: argparse.Namespace) -> int:
    with stored(options) as store:
        renamed = store.rename_session(session_of(store, options.session), options.title)
    if options.json:
        print(json.dumps({"session": renamed.id, "title": renamed.title}))
    else:
        print(f"renamed {renamed.id[:8]}  {one_line(renamed.title)}")
    return 0


def _tag(options: argparse.Namespace) -> int:
    with stored(options) as store:
        session = session_of(store, options.session)
        for tag in options.remove:
            store.remove_tag(session, tag)
        for tag in options.tags:
            store.add_tag(session, tag)
        tags = store.tags(session)
    if options.json:
        print(json.dumps({"session": session, "tags": tags}))
    else:
        print("\n".join(map(one_line, tags)) if tags else "no tags")
    return 0
