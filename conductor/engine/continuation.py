"""How a run goes on that waited at a gate: what is run then, of the same workflow or an edited one. Pure.

Knows the state of the run that waited; what it finished is found by fingerprint, as in any run.
"""

from __future__ import annotations

from conductor.errors import WorkflowError
from conductor.runs.scope import RunScope
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
        done=tuple(sorted(place[step] for step in paused.outputs if step in place)),
    )
