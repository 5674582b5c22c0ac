"""`sessions vacuum`: remove for good what was deleted long ago and what nothing refers to; give room back."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from conductor.amounts import counted, size
from conductor.commands.session_choice import stored
from conductor.commands.table import one_line
from storage.retention import DAY, DEFAULT_DAYS, VARIABLE, retention_days
from storage.store.housekeeping import Cleaning

_DESCRIPTION = (
    "Remove for good the sessions that were deleted longer ago than the retention, and the outputs that no "
    "run refers to; then write the store anew without gaps. Refused while anything runs."
)
_EPILOG = (
    f"{VARIABLE} says how many days deleted sessions are kept, {DEFAULT_DAYS} where it is not set; with 0 "
    "they are kept until --older-than says otherwise. The app applies it once a day when it starts."
)


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register it."""
    parser = commands.add_parser(
        "vacuum",
        parents=parents,
        help="remove long deleted sessions for good and give their room back",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--older-than",
        type=_days,
        metavar="DAYS",
        help="deleted more days ago than these; 0: all that are deleted",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and do nothing")
    parser.set_defaults(command=_vacuum)


def _vacuum(options: argparse.Namespace) -> int:
    days = retention_days() if options.older_than is None else options.older_than
    older_than = None if days is None else days * DAY
    with stored(options) as store:
        if not options.dry_run:
            print("conductor: cleaning up; whoever saves something meanwhile waits.", file=sys.stderr)
        done = (store.cleaning if options.dry_run else store.clean_up)(older_than=older_than)
    if options.json:
        print(json.dumps(_shape(done, days=days, dry_run=options.dry_run)))
    else:
        print("\n".join(_told(done, dry_run=options.dry_run)))
    return 0


def _shape(done: Cleaning, *, days: int | None, dry_run: bool) -> dict[str, Any]:
    """`retention_days` is null where no deleted session goes; `bytes_after` is null, and `bytes_freed` an
    estimate, in a dry run.
    """
    return {
        "dry_run": dry_run,
        "retention_days": days,
        "sessions": [{"id": session, "title": title} for session, title in done.sessions.items()],
        "runs": done.runs,
        "outputs": done.outputs,
        "bytes_before": done.bytes_before,
        "bytes_after": done.bytes_after,
        "bytes_freed": done.freed,
    }


def _told(done: Cleaning, *, dry_run: bool) -> Iterator[str]:
    for session, title in done.sessions.items():
        yield f"{session[:8]}  {one_line(title, 90)}"
    verb = "would be removed" if dry_run else "removed"
    if not done.sessions and not done.outputs:
        yield "No session was deleted long enough ago to go, and runs refer to all outputs."
    else:
        yield (
            f"{counted(len(done.sessions), 'deleted session')} with {counted(done.runs, 'run')}, and "
            f"{counted(done.outputs, 'output')} that no run refers to: {verb}."
        )
    if done.bytes_after is None:
        freed = f"about {size(done.freed)} would be given back"
        yield f"The store takes {size(done.bytes_before)}; {freed}."
    else:
        yield f"The store took {size(done.bytes_before)} and takes {size(done.bytes_after)} now."


def _days(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days; write a whole number from 0 on")
    return int(text)
