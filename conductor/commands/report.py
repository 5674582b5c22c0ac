"""`report RUN`, `report --session ID`: a run as one HTML file, for people who have no app."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from conductor.commands.session_choice import run_of, session_of, stored
from conductor.commands.terminal import write_file
from conductor.errors import FormatError
from storage.reporting import newest_run, report_of


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "report", parents=parents, help="write a run as one HTML file, for people who have no app"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="the run's id")
    parser.add_argument("--session", metavar="ID", help="the newest run of this session")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="write here instead of stdout")
    parser.set_defaults(command=_report, usage=parser.error)


def _report(options: argparse.Namespace) -> int:
    if (options.run is None) == (options.session is None):
        options.usage("give either RUN or --session ID")
    if options.json and options.output is None:
        options.usage("--json tells what was written to a file; name one with --output")
    with stored(options) as store:
        if options.run is not None:
            run = run_of(store, options.run)
        else:
            run = newest_run(store, session_of(store, options.session))
        text = report_of(store, run, now=time.time())
    if options.output is None:
        write_file(text)
        return 0
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{options.output} cannot be written: {error.strerror}.") from error
    if options.json:
        print(json.dumps({"run": run, "file": str(options.output)}))
    return 0
