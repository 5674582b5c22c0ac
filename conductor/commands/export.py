"""`export SESSION`: the session's current workflow as a file that `run --workflow` runs.

`export corrections`: what people made of Conductors' plans, as JSON Lines to train a Conductor with.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO, get_args

from conductor.commands.opening import opened
from conductor.commands.session_choice import session_of
from conductor.corrections import LeftOut, RowKind, Thumbs, row_of
from conductor.errors import FormatError
from storage.workbench import Workbench

CORRECTIONS = "corrections"


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "export", parents=parents, help="write a session's workflow as JSON, or all corrections as JSON Lines"
    )
    parser.add_argument("session", metavar="SESSION", help=f'the session\'s id, or "{CORRECTIONS}"')
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="write here instead of stdout")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="the same")
    group = parser.add_argument_group("corrections", "what people made of Conductors' plans, in TRL's forms")
    group.add_argument("--format", choices=["jsonl"], help="JSON Lines, the only one")
    group.add_argument(
        "--kind", choices=get_args(RowKind), help="pairs of plans (default), or the better plans alone"
    )
    group.add_argument(
        "--thumbs", choices=[*get_args(Thumbs), "any"], help="only of edited plans whose answer has these"
    )
    group.add_argument(
        "--every", action="store_true", help="every change, not the final one of each plan alone"
    )
    group.add_argument("--bare", action="store_true", help="without metadata")
    parser.set_defaults(command=_export, usage=parser.error)


def _export(options: argparse.Namespace) -> int:
    if options.file is not None and options.output is not None:
        options.usage("name one FILE")
    file: Path | None = options.file or options.output
    if options.session == CORRECTIONS:
        return _corrections(options, file)
    chosen = (options.format, options.kind, options.thumbs, options.every, options.bare)
    if any(chosen):
        options.usage(f'--format, --kind, --thumbs, --every and --bare go with "export {CORRECTIONS}"')
    with opened(options) as workbench:
        session = session_of(workbench.store, options.session)
        text = workbench.export(session)
    with _written_to(file) as out:
        out.write(text)
    if file is not None and options.json:
        print(json.dumps({"session": session, "file": str(file)}))
    return 0


@contextmanager
def _written_to(file: Path | None) -> Iterator[TextIO]:
    """The file, or stdout. Raises `FormatError` where it cannot be written."""
    if file is None:
        yield sys.stdout
        # Here rather than when Python ends, so that a reader who has gone is noticed.
        sys.stdout.flush()
        return
    try:
        with file.open("w", encoding="utf-8") as out:
            yield out
    except OSError as error:
        raise FormatError(f"{file} cannot be written: {error.strerror}.") from error


# -- corrections -----------------------------------------------------------------------------------


def _corrections(options: argparse.Namespace, file: Path | None) -> int:
    if options.json and file is None:
        options.usage("--json sums up what was written to FILE; name one")
    left_out: Counter[str] = Counter()
    written = 0
    with (
        opened(options) as workbench,
        _written_to(file) as out,
        # Closed before the store is, should whoever reads go away.
        closing(_rows(options, workbench, left_out)) as rows,
    ):
        for row in rows:
            out.write(row)
            written += 1
    if options.json:
        print(json.dumps({"file": str(file), "rows": written, "left_out": dict(left_out)}))
    else:
        _sum_up(written, left_out, file)
    return 0


def _rows(options: argparse.Namespace, workbench: Workbench, left_out: Counter[str]) -> Generator[str]:
    """The lines, one after another as they are read; why others give none is counted."""
    kind: RowKind = options.kind or "preferences"
    for correction in workbench.store.corrections(every=options.every):
        if options.thumbs not in (None, "any", correction.thumbs):
            left_out[f"its answer has no thumbs {options.thumbs}"] += 1
            continue
        row = row_of(correction, kind=kind, bare=options.bare)
        if isinstance(row, LeftOut):
            left_out[row.reason] += 1
        else:
            yield json.dumps(row) + "\n"


def _sum_up(rows: int, left_out: Counter[str], file: Path | None) -> None:
    """Say on stderr what was written and what was not."""
    where = "" if file is None else f" to {file}"
    found = sum(left_out.values())
    if rows:
        print(f"conductor: {_counted(rows, 'correction')} written{where}.", file=sys.stderr)
    elif found:
        print(f"conductor: none of {_counted(found, 'correction')} gives a row.", file=sys.stderr)
    else:
        print(
            "conductor: there is no correction yet; edit a workflow that a Conductor planned, and its change "
            "is one.",
            file=sys.stderr,
        )
    for reason, count in left_out.most_common():
        print(f"conductor: {count:,} left out: {reason}.", file=sys.stderr)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
