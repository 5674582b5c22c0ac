"""The findings of the plan check for the session on a page. Knows sessions and the check; draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from conductor.text.formatting import counted
from conductor.values.output import Output
from conductor.workflow.lint import RULES, Finding, Fix, check
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView

_Outputs = tuple[tuple[int, Output], ...]


def findings(
    view: SessionView, names: Sequence[str], *, workflow: Workflow | None = None
) -> tuple[Finding, ...]:
    """What is found in the session's workflow, or in `workflow` in its place; `names` are the pool's."""
    if view.head is None:
        return ()
    shown = view.head.workflow
    return _found(
        shown if workflow is None else workflow,
        known_outputs(view) if workflow is None or workflow == shown else (),
        max_steps=view.settings.max_steps,
        later_round=view.head.looks_back is not None,
        query=view.session.query,
        workers=view.settings.workers or tuple(names),
        changed_pins=view.pin_changed,
    )


def known_outputs(view: SessionView) -> _Outputs:
    """The outputs that the steps of the session's workflow have, by position."""
    if view.state is not None and view.as_run:
        steps = enumerate(view.state.steps)
        return tuple((at, step.output) for at, step in steps if step.output is not None)
    return tuple(sorted(view.radius.known.items())) if view.radius else ()


# A page asks for the same again and again: at each look at its panels' names.
@lru_cache(maxsize=64)
def _found(workflow: Workflow, outputs: _Outputs, **options: Any) -> tuple[Finding, ...]:
    return check(workflow, outputs=dict(outputs), **options)


def fixed(finding: Finding, fix: Fix, now: Sequence[Finding]) -> Workflow | None:
    """The workflow after a fix that was drawn earlier, by what is found now; None where that is gone."""
    alike = (other for other in now if (other.rule, other.step) == (finding.rule, finding.step))
    return next((way.workflow for other in alike for way in other.fixes if way.label == fix.label), None)


def by_step(found: Sequence[Finding]) -> Iterator[tuple[int | None, list[Finding]]]:
    """Findings by their step, the whole workflow's under None."""
    for step, group in groupby(found, key=lambda finding: finding.step):
        yield step, list(group)


def summary(found: Sequence[Finding]) -> str:
    """How many findings of which kind."""
    kinds = [finding.severity for finding in found]
    return ", ".join(counted(kinds.count(kind), kind) for kind in ("warning", "note") if kind in kinds)


def nothing_found(view: SessionView) -> str:
    """What stands where there is no finding; a rule that had nothing to look at is not counted."""
    if known_outputs(view):
        return f"Nothing found; {len(RULES)} rules checked."
    return f"Nothing found; {len(RULES) - 2} rules checked. Two more check outputs, once there are some."
