"""`plugins`: the kinds that installed packages add, and why one of them cannot be used. Knows no kind."""

from __future__ import annotations

from typing import Any

from conductor.baselines.methods import BASELINES
from conductor.evaluation.scorers import SCORERS
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.plugins import Plugin, Registry
from conductor.text.formatting import quantity
from conductor.workers.pool.kinds import PLANNERS, WORKERS
from studio.cli.options import App, JsonLines, Shared
from studio.cli.output.terminal import one_line, print_lines, print_remark, table

REGISTRIES: tuple[Registry[Any], ...] = (WORKERS, PLANNERS, BASELINES, SCORERS, SHIPPED)

app = App()


@app.command()
def plugins(*, _json_lines: JsonLines = False, options: Shared) -> int:
    """List what installed packages add.

    They are workers, planners, baselines, scorers and sets of questions. The exit code is 1 if one of them
    cannot be used.
    """
    rows = [plugin for registry in REGISTRIES for plugin in registry.plugins()]
    broken = [row for row in rows if row.fault is not None]
    if options.json:
        shapes = [{field: value for field, value in row._asdict().items() if field != "kind"} for row in rows]
        options.show({"plugins": shapes})
    else:
        lines = table(Plugin._fields[:4], [tuple(map(one_line, row[:4])) for row in rows]).split("\n")
        print_lines(*lines, red={at for at, row in enumerate(rows, 1) if row in broken})
        for row in broken:
            print_remark(f"{row.group} {one_line(row.name)} cannot be used: {one_line(row.fault or '')}.")
        print_remark(f"{quantity(len(rows), 'plug-in')}; docs/extending.md describes how a package adds one.")
    return 1 if broken else 0
