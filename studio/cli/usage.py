"""`usage`: what requests have used, by worker, person, token, session or day."""

from __future__ import annotations

from typing import Annotated

from conductor.values.total import Total
from storage import UsageKey
from studio.cli.opening import stored
from studio.cli.options import App, JsonLines, Stored, first_moment, option
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import one_line, print_lines, print_remark, table, tokens_cell
from studio.sessions.usage_table import UsageRow, UsageTable

_ID_LENGTH = 8

app = App()


@app.command()
def usage(
    *,
    by: Annotated[UsageKey, option("What a row is.")] = "worker",
    since: Annotated[
        float | None, option("Only requests that ended then or later.", "YYYY-MM-DD", first_moment)
    ] = None,
    _json_lines: JsonLines = False,
    options: Stored,
) -> int:
    """Sum up what requests have used.

    Removed sessions count, copied and imported ones do not. Models on this machine cost nothing and simulated
    workers use nothing: they stand below the total and are not in it. Days are this machine's.
    """
    with stored(options) as store:
        used = UsageTable.read(store, by, since=since or 0.0)
    if options.json:
        shapes = {"rows": [*map(_shape, used.rows)], "apart": [*map(_shape, used.apart)]}
        return options.show({"by": by, **shapes, "total": used.total.model_dump()})
    if not used.rows and not used.apart:
        print_remark("no request has ended yet." if since is None else "no request has ended since then.")
        return 0
    rows = [_cells(_name(row), row.total) for row in used.rows]
    rows += [_cells("total", used.total), *(_cells(_name(row), row.total) for row in used.apart)]
    print_lines(table((by, "requests", "tokens", "dollars"), rows, right=(1, 2, 3)))
    return 0


def _shape(row: UsageRow) -> Shape:
    """What is unknown is null; `key` is a name or an id, null for none."""
    return {"key": row.key, "name": row.name, "note": row.note, **row.total.model_dump()}


def _name(row: UsageRow) -> str:
    id = f"{row.key[:_ID_LENGTH]}  " if row.is_session and row.key else ""
    return f"{id}{one_line(row.name, 60)}{f'  ({row.note})' if row.note else ''}"


def _cells(name: str, total: Total) -> tuple[str, ...]:
    return name, f"{total.calls:,}", tokens_cell(total), total.cost_words
