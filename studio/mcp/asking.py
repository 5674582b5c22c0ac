"""The tools that call models: ask, plan and run_workflow.

What they are given becomes a request of the API, so that the same is refused for the same reasons and a token
has the same limits. Knows requests and runs; knows no transport.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from conductor.errors import FormatError
from conductor.planner.prompt.examples import example_instructions
from conductor.runs.request import RunRequest
from conductor.values.conversation import MAX_QUERY
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.values.presets import MAX_ROUNDS
from conductor.workflow.lint import check
from conductor.workflow.model import MAX_WRITTEN_STEPS
from storage.records import RequestSession
from studio.access.auth import Principal
from studio.api.answers.failure import no_answer
from studio.api.answers.response_run import Rerun, ResponseRun
from studio.api.requests.request import RequestBudget
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.requests.resumed_request import within_limits
from studio.api.requests.run_request import narrower, run_request
from studio.mcp.callers import Call, Callers, open_session
from studio.mcp.following import followed, in_session, wait_for_answer
from studio.mcp.tool_results import Amounts, Answered, Planned, Remark, Used, planned_steps, run_steps
from studio.workbench import Workbench

TAG = "mcp"
"""The tag of every session that a tool begins."""

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY, description="The question or task.")]
Model = Annotated[
    str,
    Field(
        description="conductor, conductor-mini (fewer and shorter steps) or conductor-ultra (more of them); "
        "worker:NAME asks one worker alone; baseline:moa and other baselines plan by a rule; workflow:ID "
        "runs the workflow of a session on this query."
    ),
]
Names = Annotated[list[str], Field(description="Names of workers, as list_workers lists them.")]
MaxSteps = Annotated[int, Field(ge=1, le=MAX_WRITTEN_STEPS, description="The most steps of a plan.")]
Rounds = Annotated[int, Field(ge=1, le=MAX_ROUNDS, description="How often the Conductor may plan.")]
Decisions = Annotated[
    tuple[ToolDecision, ...],
    Field(
        description="What the user decides of each call that waits, as show_step names them in waits_with."
    ),
]
Limits = Annotated[RequestBudget, Field(description="The most that this call may spend.")]


@dataclass(frozen=True)
class Asking:
    """The tools; each waits for what it began and stops that where its call is cancelled."""

    _callers: Callers

    async def ask(
        self,
        call: Call,
        query: Query,
        *,
        model: Model = "conductor",
        workers: Names | None = None,
        exclude: Names | None = None,
        max_steps: MaxSteps | None = None,
        rounds: Rounds | None = None,
        budget: Limits | None = None,
    ) -> Answered:
        """Answer a question: a Conductor plans a workflow of several models, and it is run.

        Returns the answer with the steps that led to it. The session stays: show_step shows what each step
        was sent and answered. Progress is reported as steps begin and end; cancelling stops the run.
        """
        steering = _steering(
            workers=workers, exclude=exclude, max_steps=max_steps, rounds=rounds, budget=budget
        )
        run = await self._start(call, query, model, steering)
        await wait_for_answer(call, run)
        return _answer(run)

    async def plan(
        self,
        call: Call,
        query: Query,
        *,
        model: Model = "conductor",
        workers: Names | None = None,
        exclude: Names | None = None,
        max_steps: MaxSteps | None = None,
        budget: Limits | None = None,
    ) -> Planned:
        """Write a workflow for a question without running it.

        Returns its steps, what a run will probably take and what a check of it found. run_workflow runs it by
        its session, or an edited copy of it.
        """
        steering = _steering(workers=workers, exclude=exclude, max_steps=max_steps, budget=budget)
        if model.startswith(("worker:", "workflow:")):
            raise FormatError(f"With {model[:100]!r} nothing is planned; call ask or run_workflow.")
        run = await self._start(call, query, model, steering, then_run=False)
        await followed(call, run)
        state = run.answer.state
        if not state.planned:
            error = no_answer(run, query_parameter="query")
            assert error is not None, "without a plan there is no answer"
            raise in_session(error, run.session)
        return await self._callers.backend.call(_planned, run)

    async def run_workflow(
        self,
        call: Call,
        *,
        session: Annotated[str, Field(description="Run the current workflow of this session.")] | None = None,
        workflow: Annotated[
            dict[str, Any], Field(description="Or run this, of the format conductor-workflow, version 1.")
        ]
        | None = None,
        query: Query | None = None,
        budget: Limits | None = None,
        decisions: Decisions = (),
    ) -> Answered:
        """Run a workflow: that of a session, in which finished steps are not called again, or a given one.

        Where the session's newest run waits at a gate, this continues it; where it waits with calls of tools
        that may act, `decisions` of the user allow, change, refuse or answer them. A given workflow is run in
        a new session, on the query that is given with it, else on its own.
        Progress is reported as steps begin and end; cancelling stops the run and keeps finished steps.
        """
        if (session is None) == (workflow is None):
            raise FormatError("Give a session or a workflow, one of the two.")
        if session is not None:
            if query is not None:
                raise FormatError(
                    "A session has its own query. To run its workflow on another one, call ask with the "
                    f"model workflow:{session[:100]}."
                )
            run = await self._run_in(call, session, budget, decisions)
        else:
            question = query or (workflow or {}).get("query")
            if not isinstance(question, str) or not question.strip():
                raise FormatError("The workflow names no query; give one with it.")
            steering = _steering(workflow=workflow, budget=budget)
            run = await self._start(call, question, "conductor", steering)
        await wait_for_answer(call, run)
        return _answer(run)

    async def _start(
        self, call: Call, query: str, model: str, steering: dict[str, Any], *, then_run: bool = True
    ) -> ResponseRun:
        """The run of a request in a session of its own."""
        callers = self._callers
        principal, pool = await callers.principal(call), await callers.backend.pool()
        body = {"model": model, "input": query, "conductor": steering}
        request = ResponsesRequest.read(json.dumps(body).encode())
        work, stored_as = await run_request(request, request.question, principal, pool, callers.backend)
        stored_as = stored_as.model_copy(update={"tags": (TAG,)})
        return await callers.runs.start(work, stored_as, principal, pool=pool, then_run=then_run)

    async def _run_in(
        self, call: Call, session: str, budget: RequestBudget | None, decisions: Sequence[ToolDecision]
    ) -> ResponseRun:
        """The run of a session's current workflow, in it."""
        callers = self._callers
        principal, pool = await callers.principal(call), await callers.backend.pool()
        own, resumption = await callers.backend.call(_current, session, decisions, principal=principal)
        workflow = resumption.revision.workflow
        request = within_limits(own, workflow, principal, pool, of="this session's workflow", param="session")
        if budget is not None:
            narrow = narrower(budget, request.settings.budget)
            request = replace(request, settings=request.settings.model_copy(update={"budget": narrow}))
        stored_as = RequestSession(token=principal.token)
        return await callers.runs.start(request, stored_as, principal, pool=pool, resumes=resumption)


def _steering(*, budget: RequestBudget | None, **others: Any) -> dict[str, Any]:
    """What is given, as the extension `conductor` of a request."""
    fields = {**others, "budget": None if budget is None else budget.model_dump()}
    return {name: value for name, value in fields.items() if value is not None}


def _current(
    bench: Workbench, session: str, decisions: Sequence[ToolDecision], *, principal: Principal
) -> tuple[RunRequest, Rerun]:
    """What the session asks, and its current workflow: as *Continue* or *Rerun* runs it."""
    target = open_session(bench.store, session, principal=principal)
    head = bench.required_head(target.id)
    return bench.request(target.id), Rerun(head, bench.running.next_scope(target.id, decisions=decisions))


def _answer(run: ResponseRun) -> Answered:
    """The answer of a run that has one."""
    request = run.answer.state
    state = request.run
    assert state is not None, "it has an answer"
    return Answered(
        session=run.session,
        run=state.run,
        answer=request.answer or "",
        answered=state.answered,
        warning=state.warning,
        label=run.pool.label if state.workflow is None else run.pool.label_of(state.workflow, state),
        round=state.round,
        steps=run_steps(state),
        used=Used.of(request),
        seconds=state.seconds,
    )


def _planned(bench: Workbench, run: ResponseRun) -> Planned:
    session = bench.store.sessions.find(run.session)
    workflow, settings = bench.required_head(run.session).workflow, bench.settings(run.session)
    takes = bench.running.outlook(run.session).estimate
    findings = check(
        workflow,
        max_steps=settings.max_steps,
        query=session.query,
        workers=settings.workers or bench.pool.names,
        examples=example_instructions(),
        tools=bench.pool.tools,
    )
    reports = (attempt.report for attempt in reversed(run.answer.state.attempts))
    return Planned(
        session=run.session,
        label=run.pool.label,
        steps=planned_steps(workflow),
        workflow=json.loads(bench.editing.export(run.session)),
        reasoning=next((report.reasoning for report in reports if report is not None), ""),
        estimate=Amounts.model_validate(takes, from_attributes=True),
        remarks=tuple(Remark.model_validate(each, from_attributes=True) for each in findings),
        used=Used.of(run.answer.state),
    )
