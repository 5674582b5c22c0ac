"""Continues a run that waited at a gate or broke off, with the same workflow or an edited one. Pure.

Knows the state of the run before; what it finished is found by fingerprint, as in any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from glob import escape

from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.text.bounded_value import json_object
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.workflow.matching import matching
from conductor.workflow.model import Workflow


def continuation(paused: RunState, workflow: Workflow, decisions: Sequence[ToolDecision] = ()) -> RunScope:
    """The scope of the run of `workflow` that passes the gates at which the run `paused` waits; or, with
    `decisions`, passes none of them and goes on with the calls of tools that were decided.

    `workflow` may have been edited since; a gate is passed where its step is still there, and a step whose
    request was edited begins afresh. Raises `WorkflowError` for a run that does not wait, for a decision of
    what does not wait, or that leaves another call of its step open, and where the step that it was for was
    removed.
    """
    if paused.status != "paused" or paused.workflow is None:
        raise WorkflowError("This run waits at no gate; run the workflow instead.")
    place = matching(paused.workflow, workflow)
    scope = paused.scope
    if scope.step is not None and scope.step not in place:
        raise WorkflowError(
            f"The run was for step {scope.step + 1}, which was removed since; run the workflow instead."
        )
    check_decisions(paused, decisions)
    marks = {each.step: each.turn for each in paused.waiting_calls}
    # A step with a call that waits has passed its own gate.
    passed = {*paused.questions, *(() if decisions else paused.held)}
    return RunScope(
        kind=scope.kind,
        step=None if scope.step is None else place[scope.step],
        passes=tuple(sorted(place[step] for step in passed if step in place)),
        done=_done(paused, place),
        resumes=_resumes(paused, place),
        recorded=scope.recorded,
        decisions=tuple(
            each.model_copy(update={"step": place[each.step], "turn": marks[each.step]})
            for each in decisions
            if each.step in place
        ),
        grants=_grants(paused, decisions),
    )


def rerun(last: RunState | None, workflow: Workflow) -> RunScope:
    """The scope of a run of the whole `workflow` after the run `last`: it reuses every known output, except
    of the steps that `last` was to call again and did not finish. A yes for all calls of a tool stays one.
    """
    if last is None or last.workflow is None:
        return EDITED
    return _called_again(last, last.workflow, workflow).with_grants(last.scope.grants)


def resumed(last: RunState, workflow: Workflow, *, resumption: int) -> RunScope:
    """The scope of a run that goes on by itself with the run `last` of the same workflow, whose process
    ended: as far as that was to go, and through the gates that it passed. What was decided of calls of tools
    is asked again, because they may have acted.
    """
    if last.workflow is None:
        return RunScope(resumption=resumption)
    place = {step: step for step in range(len(workflow))}
    update = {"done": _done(last, place), "resumes": _resumes(last, place), "decisions": ()}
    return last.scope.model_copy(update={**update, "resumption": resumption})


def _called_again(last: RunState, before: Workflow, workflow: Workflow) -> RunScope:
    """The scope without the yes of earlier runs."""
    if last.scope.recorded == "only":
        return EDITED
    if last.scope.kind in ("edited", "to"):
        return _without_acting_again(last, workflow)
    scope, place = last.scope, matching(before, workflow)
    if scope.step is not None and scope.step not in place:
        return EDITED
    step, done = (None if scope.step is None else place[scope.step]), _done(last, place)
    kind = scope.kind
    if kind == "only":
        others = set(range(len(workflow))) - ({step} - set(done))
        done, kind = tuple(sorted(others)), "from"
    scope = RunScope(kind=kind, step=step, done=done, resumes=_resumes(last, place))
    return scope if scope.forced(workflow) else EDITED


def _without_acting_again(last: RunState, workflow: Workflow) -> RunScope:
    """The scope after a run that broke off: steps that called tools and finished are not called again."""
    assert last.workflow is not None, "it ran"
    if last.status == "finished" or not any(output.tool_uses for output in last.outputs.values()):
        return EDITED
    return RunScope(done=_done(last, matching(last.workflow, workflow)))


def _done(last: RunState, place: Mapping[int, int]) -> tuple[int, ...]:
    """The steps that the run, or the one that it continued, finished, by their present positions."""
    finished = {step for step in last.outputs if last.steps[step].kept_because is None}
    return tuple(sorted(place[step] for step in finished.union(last.scope.done) if step in place))


def _resumes(last: RunState, place: Mapping[int, int]) -> tuple[int, ...]:
    """The steps that the run was to call again and began to, by their present positions."""
    if last.workflow is None or not (forced := last.scope.forced(last.workflow)):
        return ()
    steps = forced.intersection(last.turns.keys() | set(last.scope.resumes)) - last.outputs.keys()
    return tuple(sorted(place[step] for step in steps if step in place))


def check_decisions(paused: RunState, decisions: Sequence[ToolDecision]) -> None:
    """Raise `WorkflowError` unless these decide what the run waits with, all calls of a step at once."""
    places = {(each.step, each.at) for each in decisions}
    if len(places) < len(decisions):
        raise WorkflowError("A call is decided twice; decide it once.")
    waiting = {(each.step, each.question.at): each for each in paused.waiting_calls}
    for each in decisions:
        name = f"Step {each.step + 1}"
        open_calls = [at for step, at in waiting if step == each.step]
        if not open_calls:
            raise WorkflowError(f"{name} does not wait with a call of a tool, so there is nothing to decide.")
        call = waiting.get((each.step, each.at))
        if call is None or call.call.call.id != each.id or each.turn not in ("", call.turn):
            raise WorkflowError(
                f"{name} does not wait with call {each.at + 1}, {each.id!r}; look at what it waits with now."
            )
        if each.arguments is not None and json_object(each.arguments) is None:
            raise WorkflowError(
                f"{name}: the arguments of call {each.at + 1} are not a JSON object; correct them."
            )
        left = [at for at in open_calls if (each.step, at) not in places]
        if left:
            raise WorkflowError(f"{name} waits with call {left[0] + 1} as well; decide it, too.")


def _grants(paused: RunState, decisions: Sequence[ToolDecision]) -> tuple[str, ...]:
    """Patterns of the tools that may act from now on: those of before, and what got a first yes."""
    allowed = {(each.step, each.at) for each in decisions if each.verdict == "allow"}
    fresh = [
        f"{each.call.server}:{escape(each.call.tool)}"
        for each in paused.waiting_calls
        if each.question.once and (each.step, each.question.at) in allowed
    ]
    return tuple(dict.fromkeys((*paused.scope.grants, *fresh)))
