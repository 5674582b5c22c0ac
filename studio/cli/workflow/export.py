"""`export SESSION`: the session's current workflow as a file that `run --workflow` runs.

`export corrections`: what people made of Conductors' plans, as JSON Lines to train a Conductor with.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument

from conductor.planner.corrections import (
    Correction,
    JudgedPlan,
    LeftOut,
    Revised,
    Row,
    RowKind,
    Thumbs,
    judged_row_of,
    revised_row_of,
    row_of,
)
from conductor.text.control_characters import escaped
from conductor.text.formatting import quantity
from storage import SessionStore
from studio.cli.opening import opened, session_ids, session_of
from studio.cli.options import App, Configured, Force, OutputFile, file_or_stdout, flag, option
from studio.cli.output.terminal import name_next, print_remark, written_to

CORRECTIONS = "corrections"
_PANEL = "Corrections"
_rows_option = partial(option, panel=_PANEL)

app = App()


@dataclass(frozen=True)
class Rows:
    """Which corrections are exported, and how."""

    format: Annotated[Literal["jsonl"] | None, _rows_option("JSON Lines, the only one.")] = None
    kind: Annotated[
        RowKind | None,
        _rows_option("Pairs of plans (default), the better ones, judged ones, or those changed by a wish."),
    ] = None
    thumbs: Annotated[
        Literal[Thumbs, "any"] | None, _rows_option("Only of edited plans whose answer has these.")
    ] = None
    every: Annotated[bool, flag("--every", "Every change, not the final one alone.", panel=_PANEL)] = False
    bare: Annotated[bool, flag("--bare", "Without metadata.", panel=_PANEL)] = False


@app.command()
def export(
    ctx: typer.Context,
    *,
    session: Annotated[
        str, Argument(metavar="SESSION", autocompletion=session_ids, help=f'Its id, or "{CORRECTIONS}".')
    ],
    file: Annotated[Path | None, Argument(parser=file_or_stdout, metavar="FILE", help="Write here.")] = None,
    output: OutputFile = None,
    force: Force = False,
    rows: Rows,
    options: Configured,
) -> int:
    """Write a session's workflow as JSON, or all corrections as JSON Lines.

    A correction is what a person made of a Conductor's plan, in the forms that TRL trains with; --format,
    --kind, --thumbs, --every and --bare are for them.
    """
    if file is not None and output is not None:
        ctx.fail("name one FILE")
    file = file or output
    if session == CORRECTIONS:
        if options.json and file is None:
            ctx.fail("--json sums up what was written to FILE; name one")
        return _corrections(options, file, rows, force=force)
    if rows != Rows():
        ctx.fail(f'--format, --kind, --thumbs, --every and --bare go with "export {CORRECTIONS}"')
    with opened(options) as workbench:
        id = session_of(workbench.store, session)
        text = workbench.editing.export(id)
    with written_to(file, force=force) as out:
        out.write(escaped(text))
    if file is None:
        return 0
    name_next(
        f"{file} has the workflow",
        f"run --session {id[:8]} --workflow {shlex.quote(str(file))}{options.again}",
    )
    return options.show({"session": id, "file": str(file)}) if options.json else 0


def _corrections(options: Configured, file: Path | None, rows: Rows, *, force: bool) -> int:
    """Write them as they are read; those that give no row are counted by their reasons."""
    left_out: Counter[str] = Counter()
    written = 0
    with (
        opened(options) as workbench,
        written_to(file, force=force) as out,
        # Closed before the store is, also where the reader goes away.
        closing(_records(workbench.store, rows)) as corrections,
    ):
        for correction in corrections:
            thumbs = _thumbs(correction)
            if rows.thumbs not in (None, "any", thumbs):
                left_out[f"its answer has no thumbs {rows.thumbs}"] += 1
                continue
            row = _row(correction, rows)
            if isinstance(row, LeftOut):
                left_out[row.reason] += 1
            else:
                out.write(escaped(json.dumps(row)) + "\n")
                written += 1
    if options.json:
        return options.show({"file": str(file), "rows": written, "left_out": dict(left_out)})
    if written:
        print_remark(f"{quantity(written, 'correction')} written{'' if file is None else f' to {file}'}.")
    elif left_out:
        print_remark(f"none of {quantity(left_out.total(), 'correction')} gives a row.")
    else:
        print_remark(
            "there is no correction yet; edit a workflow that a Conductor planned, and its change is one."
        )
    for reason, count in left_out.most_common():
        print_remark(f"{count:,} left out: {reason}.")
    return 0


_Record = Correction | JudgedPlan | Revised


def _records(store: SessionStore, rows: Rows) -> Generator[_Record]:
    if rows.kind == "judged":
        yield from store.corrections.read_judged()
    elif rows.kind == "revisions":
        yield from store.changes.read_revised()
    else:
        yield from store.corrections.read(every=rows.every)


def _thumbs(record: _Record) -> Thumbs | None:
    match record:
        case JudgedPlan():
            return record.run.thumbs
        case Revised():
            # What was taken is judged by that.
            return None
        case _:
            return record.thumbs


def _row(record: _Record, rows: Rows) -> Row | LeftOut:
    if isinstance(record, Revised):
        return revised_row_of(record, bare=rows.bare)
    if isinstance(record, JudgedPlan):
        return judged_row_of(record, bare=rows.bare)
    return row_of(record, kind="supervised" if rows.kind == "supervised" else "preferences", bare=rows.bare)
