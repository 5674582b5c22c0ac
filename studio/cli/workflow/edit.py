"""`edit ID [STEP]`: a session's workflow in the person's editor, and the revision that comes of it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated

import typer
from typer import Argument

from conductor.errors import ConductorError, FormatError, WorkflowError
from conductor.workflow.model import Workflow
from storage import Revision
from studio.cli.opening import SessionId, opened, session_of
from studio.cli.options import App, Configured, flag
from studio.cli.output.terminal import one_line, print_fault
from studio.cli.workflow.revising import head_of, pinned_text, revise
from studio.cli.workflow.step_text import WrittenStep, read, step_toml, with_reason
from studio.workbench import Workbench

_TRIES = 10
"""How often a text is opened: an editor that is a program may never get it right."""

app = App()


@app.command()
def edit(
    ctx: typer.Context,
    id: SessionId,
    step: Annotated[int | None, Argument(metavar="[STEP]", min=1, help="This step alone, from 1.")] = None,
    yes: Annotated[bool, flag("--yes -y", "Do not ask.")] = False,
    *,
    options: Configured,
) -> int:
    """Edit a session's workflow, or one step, in $VISUAL or $EDITOR.

    Prints what differs and what will run again, and asks before it makes a revision. Where the text is wrong
    it is opened again, with the reason at its line.
    """
    if not yes and not sys.stdin.isatty():
        ctx.fail("there is no terminal to confirm in; add --yes, or change a step with: set ID --step N ...")
    with opened(options) as workbench:
        head = head_of(workbench, session_of(workbench.store, id))
        only = None if step is None else step - 1
        if only is not None and only >= len(head.workflow):
            raise WorkflowError(f"There is no step {step}; this workflow has {len(head.workflow)}.")
        revision = _edited(workbench, head, only, options, ask=not yes)
    shape = {"session": head.session, "revision": None if revision is None else revision.id}
    return options.show(shape) if options.json else 0


def _edited(
    workbench: Workbench, head: Revision, only: int | None, options: Configured, *, ask: bool
) -> Revision | None:
    """Open the text until it can be read or is closed as it was. Raises `ConductorError` after the latter."""
    title = one_line(workbench.store.sessions.find(head.session).title, limit=80)
    text = first = step_toml(head.workflow, only=only, title=title, workers=workbench.pool.names)
    with _file_of(first, head.session) as file:
        for left in reversed(range(_TRIES)):
            _open(file)
            try:
                before, text = text, _text(file)
                workflow = _workflow(workbench, head, read(text, only=only), only)
                revision = revise(workbench, head, workflow, options, ask=ask)
            except ConductorError as error:
                if not left or text in (before, first):
                    raise
                print_fault(str(error))
                text = with_reason(text, error)
                file.write_text(text, encoding="utf-8")
                continue
            if revision is not None:
                file.unlink(missing_ok=True)
            return revision
    raise AssertionError("the last try returns or raises")


@contextmanager
def _file_of(text: str, session: str) -> Iterator[Path]:
    """A file with the text. However the block is left, what a person wrote stays there, and it is named."""
    handle, name = mkstemp(prefix=f"conductor-{session[:8]}-", suffix=".toml")
    os.close(handle)
    file = Path(name)
    try:
        file.write_text(text, encoding="utf-8")
        yield file
    finally:
        with suppress(OSError):
            if file.read_bytes() in (b"", text.encode()):
                file.unlink()
        if file.exists():
            print_fault(f"Nothing is changed; your text is in {file}.")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{file} cannot be read: {error}.") from error


def _open(file: Path) -> None:
    """Let the person edit the file. Raises `FormatError` where the editor cannot be started or fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    advice = "name another one in VISUAL or EDITOR"
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode  # noqa: S603
    except (OSError, ValueError) as error:
        raise FormatError(f"The editor {editor!r} cannot be started: {error}; {advice}.") from error
    if ended:
        raise FormatError(f"The editor {editor!r} ended with {ended}, so nothing is changed; {advice}.")


def _workflow(
    workbench: Workbench, head: Revision, steps: Sequence[WrittenStep], only: int | None
) -> Workflow:
    """The workflow of the head with these steps, or with one of them at the place `only`."""
    if only is None:
        all_steps = [each.step for each in steps]
    else:
        all_steps = list(head.workflow.steps)
        all_steps[only] = steps[0].step
    workflow = Workflow.of(all_steps)
    workflow.check_workers(workbench.pool.names)
    for at, each in enumerate(steps, start=only or 0):
        if each.pin is not None:
            workflow = workflow.with_pin(at, pinned_text(workbench, head.session, workflow, at, each.pin))
    return workflow
