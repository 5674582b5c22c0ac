"""`gallery list` and `gallery run NAME QUERY`: workflows to start from, on the workers of the pool."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from conductor.runs.scope import EDITED
from studio.cli.opening import confirm_keys, name_session, opened
from studio.cli.options import App, DryRun, JsonLines, Shared, Storable, text_or_stdin
from studio.cli.output.terminal import print_remark
from studio.cli.workflow.forecast import show_run, unstored
from studio.cli.workflow.run import Output, listening, run_session
from studio.gallery import GALLERY, entry_of, needs_models
from studio.sessions.person_limits import check_admits

app = App()


@app.callback()
def gallery() -> None:
    """List workflows to start from, and run one."""


@app.command("list")
def list_workflows(*, _json_lines: JsonLines = False, options: Shared) -> int:
    """List the workflows by name, and what the query of each must hold."""
    shapes = [{**entry._asdict(), "steps": len(entry.workflow)} for entry in GALLERY]
    lines = [f"{entry.name}: {entry.sentence}\n    {entry.fill_in}" for entry in GALLERY]
    return options.show({"workflows": shapes}, *lines)


@app.command()
def run(
    name: Annotated[str, Argument(metavar="NAME", help="As `gallery list` names it.")],
    query: Annotated[
        str,
        Argument(parser=text_or_stdin, metavar="QUERY", help="What it must hold is in the list; - is stdin."),
    ],
    *,
    dry_run: DryRun = False,
    options: Storable,
) -> int:
    """Run a workflow of the gallery as a new session; its roles go to the workers of the pool in turn."""
    entry = entry_of(name)
    if dry_run:
        with opened(unstored(options)) as workbench:
            id = workbench.editing.open_gallery(entry, query).id
            return show_run(workbench, id, workbench.settings(id), options, is_new=True)
    confirm_keys(options.pool, ask=True)
    output: Output = "json" if options.json else "text"
    with listening(output) as listen, opened(options) as workbench:
        if needs_models(workbench.pool):
            print_remark("the pool has no language model, so the steps will decline; add one.")
        check_admits(workbench.store, workbench.asker)
        session = workbench.editing.open_gallery(entry, query)
        name_session(session, options, what="again")
        return run_session(workbench, session, EDITED, options, listen=listen, output=output)
