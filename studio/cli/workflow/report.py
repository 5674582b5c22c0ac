"""`report RUN`, `report --session ID`: a run in one file, an HTML page that replays it."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from typer import Argument

from studio.cli.opening import run_of, session_of, session_option, stored
from studio.cli.options import App, Force, OutputFile, Stored
from studio.cli.output.terminal import print_remark, write_file, written_to
from studio.session_file import newest_run, run_page

app = App()


@app.command()
def report(
    ctx: typer.Context,
    run: Annotated[str | None, Argument(metavar="RUN", help="The run's id.")] = None,
    session: Annotated[str | None, session_option("The newest run of this session.")] = None,
    output: OutputFile = None,
    force: Force = False,
    *,
    options: Stored,
) -> int:
    """Write a run as one HTML file, which replays it without the app."""
    if (run is None) == (session is None):
        ctx.fail("give either RUN or --session ID")
    if options.json and output is None:
        ctx.fail("--json prints what was written to a file; name one with --output")
    with stored(options) as store:
        if session is not None:
            id = newest_run(store, session_of(store, session))
        else:
            assert run is not None
            id = run_of(store, run)
        text = run_page(store, id, now=time.time())
    if output is None:
        write_file(text)
        return 0
    with written_to(output, force=force) as out:
        out.write(text)
    if options.json:
        return options.show({"run": id, "file": str(output)})
    print_remark(f"{output} has the run {id[:8]}; a browser opens it.")
    return 0
