"""`plan --session ID --change WISH`: a changed plan is asked for, printed, and taken or left.

Knows how a proposal is printed; `studio.workbench.changing` asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from conductor.errors import PlanError, WorkflowError
from conductor.own_settings import command_name
from conductor.values.total import Total
from studio.cli.options import Configured, flag, option
from studio.cli.output.plan_diff import print_diff, what_changes
from studio.cli.output.shapes import Shape, usage_shape
from studio.cli.output.terminal import name_next, print_lines
from studio.workbench import Proposal, Workbench

ALL = "all"


@dataclass(frozen=True)
class Change:
    """What is to be changed, and what is done with the answer."""

    change: Annotated[
        str | None, option("Ask the Conductor to change the session's workflow so.", "WISH", str)
    ] = None
    take: Annotated[
        str | None, option("Take what was asked for: all, or the changes of these numbers.", "all|1,3", str)
    ] = None
    leave: Annotated[bool, flag("--leave", "Leave the workflow as it was.")] = False

    @property
    def is_set(self) -> bool:
        return self != Change()


def changes(workbench: Workbench, session: str, choice: Change, options: Configured) -> int:
    """Ask for the changes, where there is a wish, and take or leave the newest answer as asked."""
    changing = workbench.changing
    wish, take = choice.change, choice.take
    proposal = changing.newest(session) if wish is None else changing.ask(session, wish)
    if proposal is None:
        raise PlanError(
            f'No change is open; ask for one: {command_name()} plan --session {session[:8]} --change "..."'
        )
    if proposal.diff is None:
        raise PlanError(proposal.problem or "The Conductor gave no changed plan.")
    shape = _shape(proposal, label=workbench.pool.label)
    if choice.leave:
        changing.leave(proposal.record.id)
        return options.show({**shape, "decision": "left"}, "Left; the workflow is as it was.")
    if take is None:
        if options.json:
            return options.show(shape)
        if proposal.diff.empty:
            print_lines("The Conductor changes nothing.")
        print_diff(proposal.diff, pairs=False)
        if workbench.pool.label:
            print_lines(f"({workbench.pool.label})")
        if not proposal.diff.empty:
            name_next(
                "nothing is changed yet",
                f"plan --session {session[:8]}{options.again} --take all, --take 1,3, or --leave",
            )
        return 0
    if proposal.diff.empty:
        raise WorkflowError("The Conductor's answer changes nothing, so there is no change to take.")
    rows = None if take == ALL else _rows(proposal, take)
    revision = changing.take(proposal.record.id, rows)
    shape |= {"decision": "taken" if rows is None else "part", "revision": revision.id}
    return options.show(shape, f"Revision {revision.number}: {revision.note}")


def _rows(proposal: Proposal, take: str) -> list[int]:
    """The rows of the diff that these numbers, as printed, name."""
    numbers = [number.strip() for number in take.split(",")]
    changed = proposal.changed_rows
    for number in numbers:
        if not (number.isdecimal() and 0 < int(number) <= len(changed)):
            raise WorkflowError(
                f"There is no change {number!r}; give {ALL}, or numbers from 1 to {len(changed)} with commas."
            )
    return [changed[int(number) - 1] for number in numbers]


def _shape(proposal: Proposal, *, label: str | None) -> Shape:
    assert proposal.diff is not None, "there is something to take"
    diff = proposal.diff
    return {
        "session": proposal.record.session,
        "change": proposal.record.id,
        "wish": proposal.record.wish,
        "label": label,
        "changes": [
            {"old": old, "new": new, "what": what_changes(diff, old, new)}
            for old, new in (diff.rows[row] for row in proposal.changed_rows)
        ],
        "steps": [step.model_dump(mode="json", exclude_defaults=True) for step in diff.new.steps],
        "usage": None if proposal.plan is None else usage_shape(Total.of([proposal.plan.usage])),
    }
