"""Several answers to one request: its run, then its final step again on the outputs that are there.

Each is a run of the same session, with calls of its own. Knows runs; knows no shape of an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace

from conductor.errors import ConductorError
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.scope import RunScope
from conductor.values.budget import Budget, Crossing, Limit
from storage.records import RequestSession, Revision
from studio.api.answers.failure import over_budget
from studio.api.answers.response_run import Rerun, ResponseRun
from studio.api.error_answers import NO_RETRY, api_error
from studio.workbench import Workbench


class Choices:
    """The `number` answers of the request that runs as `first`; `runs` are those that have begun."""

    def __init__(self, first: ResponseRun, *, number: int, query_parameter: str) -> None:
        self.runs = [first]
        self._number = number
        self._query_parameter = query_parameter
        self._starting: asyncio.Task[ResponseRun] | None = None

    async def progress(self) -> AsyncGenerator[ResponseRun, None]:
        """Each answer's run; one begins when the run before is over and the next one is asked for.

        Raises `ApiError` where nothing of the budget is left for it, or it cannot run.
        """
        yield self.runs[0]
        while not self.complete:
            # A client that leaves must not lose a run that has begun.
            self._starting = asyncio.create_task(self._repeat())
            self.runs.append(await asyncio.shield(self._starting))
            self._starting = None
            yield self.runs[-1]

    async def whole(self) -> None:
        """Wait for all of them, or until one has no answer."""
        async for run in self.progress():
            await run.whole()
            if run.answer.state.answer is None:
                return

    @property
    def complete(self) -> bool:
        """Whether all of them have begun."""
        return len(self.runs) == self._number

    @property
    def state(self) -> RequestState:
        """What all runs did together."""
        return RequestState(tuple(each for run in self.runs for each in run.answer.state.attempts))

    def more(self) -> bool:
        """Whether a reader of the newest run need not wait for what comes next; see `EventStream`."""
        newest = self.runs[-1]
        return newest.more() and (self.complete or not newest.over)

    def leave(self) -> None:
        """As `ResponseRun.leave`, for all of them."""
        self.runs[0].runs.follow_up(self._wind_up())

    async def _wind_up(self) -> None:
        if self._starting is not None:
            with suppress(ConductorError):
                self.runs.append(await self._starting)
        # The first one removes the session where it is not stored.
        for run in reversed(self.runs):
            await run.wind_up()

    async def _repeat(self) -> ResponseRun:
        first = self.runs[0]
        try:
            left = self._left(first.request.settings.budget)
            again = await first.runs.backend.call(_final_step_resumption, first)
            return await first.runs.start(
                _one_round_request(first.request, again.revision, left),
                RequestSession(token=first.principal.token),
                first.principal,
                pool=first.pool,
                app=first.app,
                stops=first.answer.stops,
                resumes=again,
                repeats=True,
            )
        except ConductorError as error:
            refused = api_error(error, query_parameter=self._query_parameter)
            refused.headers = {**refused.headers, **NO_RETRY}
            raise refused from error

    def _left(self, budget: Budget) -> Budget:
        """What the runs so far leave of the budget. Raises `ApiError` where that is nothing."""
        charged = self.state.charged
        used: dict[Limit, float] = {
            "tokens": charged.tokens,
            "cost": charged.cost,
            "seconds": self.runs[0].seconds,
            "calls": self.state.calls,
        }
        left: dict[str, float] = {
            name: allowed - used[name] for name in used if (allowed := getattr(budget, name)) is not None
        }
        for name, amount in used.items():
            if left.get(name, 1) <= 0:
                raise over_budget(Crossing(limit=name, used=amount, allowed=getattr(budget, name)))
        return budget.model_copy(update=left)


def _final_step_resumption(bench: Workbench, first: ResponseRun) -> Rerun:
    """The final step of the run whose answer counts, on the outputs of its other steps."""
    run = first.answer.state.run
    assert run is not None
    assert run.run is not None
    revision = bench.store.revisions.find(bench.store.runs.find(run.run).revision)
    final = revision.workflow.final
    outputs = {at: step.output for at, step in enumerate(run.steps) if step.output is not None}
    return Rerun(revision, RunScope(kind="only", step=final, passes=(final,)), outputs)


def _one_round_request(request: RunRequest, revision: Revision, budget: Budget) -> RunRequest:
    settings = request.settings.model_copy(update={"rounds": 1, "budget": budget})
    return replace(request, workflow=revision.workflow, finish=None, settings=settings)
