"""`sessions`: everything about sessions but what goes on in them; each part in a module of its own."""

from __future__ import annotations

import argparse
from typing import Any

from conductor.commands import session_changes, session_list, session_show, session_transfer, session_vacuum


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command and what it can do."""
    parser = commands.add_parser(
        "sessions",
        help="list, search, show and change sessions",
        description="List, search, show and change sessions. An ID may be cut to its first characters, 4 at "
        "least, where no other session's id begins so.",
    )
    parts = parser.add_subparsers(metavar="WHAT", required=True)
    for part in (session_list, session_show, session_changes, session_transfer, session_vacuum):
        part.add_to(parts, parents)
