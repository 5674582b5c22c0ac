"""`set ID --step N`: a step's worker, instruction, access or pin, without an editor."""

from __future__ import annotations

from typing import Annotated

import typer

from conductor.errors import WorkflowError
from studio.cli.opening import SessionId, opened, session_of
from studio.cli.options import App, Configured, count, flag, option, text_or_stdin, worker_names
from studio.cli.workflow.revising import head_of, pinned_text, revise

NOTHING = "none"

app = App()


@app.command("set")
def set_step(
    ctx: typer.Context,
    id: SessionId,
    *,
    step: Annotated[int, count("The step, from 1.", "STEP", names=("--step", "-s"))],
    worker: Annotated[
        str | None,
        option("Give it to this worker.", "NAME", str, names=("--worker", "-w"), complete=worker_names),
    ] = None,
    instruction: Annotated[
        str | None,
        option("What its worker shall do; - is stdin.", "TEXT", text_or_stdin, names=("--instruction", "-i")),
    ] = None,
    access: Annotated[
        str | None, option(f"Let it read these earlier steps, or {NOTHING}.", f"1,2|{NOTHING}", str)
    ] = None,
    pin: Annotated[
        str | None, option("Fix this text as its output; - is stdin.", "TEXT", text_or_stdin)
    ] = None,
    unpin: Annotated[bool, flag("--unpin", "Let its worker answer again.")] = False,
    options: Configured,
) -> int:
    """Change a step of a session's workflow, without an editor.

    Prints what differs and what will run again.
    """
    if (worker, instruction, access, pin, unpin) == (None, None, None, None, False):
        ctx.fail("give what to change: --worker, --instruction, --access, --pin or --unpin")
    if pin is not None and unpin:
        ctx.fail("choose one of --pin and --unpin")
    at = step - 1
    with opened(options) as workbench:
        head = head_of(workbench, session_of(workbench.store, id))
        workflow = head.workflow
        if worker is not None:
            workflow = workflow.with_worker(at, worker)
        if instruction is not None:
            workflow = workflow.with_instruction(at, instruction)
        if access is not None:
            workflow = workflow.with_access(at, _positions(access))
        workflow.check_workers(workbench.pool.names)
        if unpin:
            workflow = workflow.with_pin(at, None)
        if pin is not None:
            workflow = workflow.with_pin(at, None)
            workflow = workflow.with_pin(at, pinned_text(workbench, head.session, workflow, at, pin))
        revision = revise(workbench, head, workflow, options)
    assert revision is not None, "no person was asked"
    return options.show({"session": head.session, "revision": revision.id}) if options.json else 0


def _positions(text: str) -> list[int]:
    """The positions (from 0) of the steps in a text such as "1,3"."""
    numbers = [] if text.strip() in ("", NOTHING) else [each.strip() for each in text.split(",")]
    for number in numbers:
        if not (number.isdecimal() and int(number)):
            raise WorkflowError(
                f"--access takes numbers of earlier steps with commas, or {NOTHING}; {number!r} is no number "
                "from 1."
            )
    return [int(number) - 1 for number in numbers]
