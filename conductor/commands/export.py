"""`export SESSION`: the session's current workflow as a file that `run --workflow` runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from conductor.commands.opening import opened
from conductor.errors import FormatError


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("export", parents=parents, help="write a session's workflow as JSON")
    parser.add_argument("session", help="the session's id")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="write here instead of stdout")
    parser.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    with opened(options) as workbench:
        text = workbench.export(options.session)
    if options.output is None:
        print(text, end="")
        return 0
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{options.output} cannot be written: {error.strerror}.") from error
    if options.json:
        print(json.dumps({"session": options.session, "file": str(options.output)}))
    return 0
