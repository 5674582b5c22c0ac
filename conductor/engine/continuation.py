"""How a run goes on that waited at a gate or broke off: what is run then, of the same workflow or an edited
one. Pure.

Knows the state of the run before; what it finished is found by fingerprint, as in any run.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.workflow.matching import matching
from conductor.workflow.model import Workflow


def continuation(paused: RunState, workflow: Workflow) -> RunScope:
    """The scope of the run of `workflow` that passes the gates at which the run `paused` waits.

    `workflow` may have been edited since; a gate is passed where its step is still there. Raises
    `WorkflowError` for a run that waits at no gate, and where the step that it was for was removed.
    """
    if paused.status != "paused" or paused.workflow is None:
        raise WorkflowError("This run waits at no gate; run the workflow instead.")
    place = matching(paused.workflow, workflow)
    scope = paused.scope
    if scope.step is not None and scope.step not in place:
        raise WorkflowError(
            f"The run was for step {scope.step + 1}, which was removed since; run the workflow instead."
        )
    return RunScope(
        kind=scope.kind,
        step=None if scope.step is None else place[scope.step],
        passes=tuple(sorted(place[step] for step in paused.held if step in place)),
        done=_done(paused, place),
    )


def rerun(last: RunState | None, workflow: Workflow) -> RunScope:
    """The scope of a run of the whole `workflow` after the run `last`: it reuses every known output, except
    of the steps that `last` was to call again and did not finish.
    """
    if last is None or last.workflow is None:
        return EDITED
    if last.scope.kind in ("edited", "to"):
        return _without_acting_again(last, workflow)
    scope, place = last.scope, matching(last.workflow, workflow)
    if scope.step is not None and scope.step not in place:
        return EDITED
    step, done = (None if scope.step is None else place[scope.step]), _done(last, place)
    if scope.kind == "only":
        others = set(range(len(workflow))) - ({step} - set(done))
        scope = RunScope(kind="from", step=step, done=tuple(sorted(others)))
    else:
        scope = RunScope(kind=scope.kind, step=step, done=done)
    return scope if scope.forced(workflow) else EDITED


def _without_acting_again(last: RunState, workflow: Workflow) -> RunScope:
    """The scope after a run that broke off: steps that called tools and finished are not called again."""
    assert last.workflow is not None, "it ran"
    if last.status == "finished" or all(output.repeatable for output in last.outputs.values()):
        return EDITED
    return RunScope(done=_done(last, matching(last.workflow, workflow)))


def _done(last: RunState, place: Mapping[int, int]) -> tuple[int, ...]:
    """The steps that the run, or the one that it continued, finished, by their present positions."""
    finished = {step for step in last.outputs if last.steps[step].kept_because is None}
    return tuple(sorted(place[step] for step in finished.union(last.scope.done) if step in place))
