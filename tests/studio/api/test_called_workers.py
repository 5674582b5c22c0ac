"""The worker that answers a request is one that it may call, in whatever place a worker is called."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import OpenAI

from conductor.errors import WorkerError
from conductor.orchestration.runtime import Runtime
from conductor.values.messages import Completion, Request
from conductor.values.output import WorkerKind
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from studio.access.auth import Principal
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import ScriptedConductor

NESTED = "conductor"


class Called:
    """Notes that it was called; `down`: it gives no answer."""

    def __init__(
        self, name: str, calls: list[str], *, down: bool = False, kind: WorkerKind = "model"
    ) -> None:
        self.card = WorkerCard(name=name, kind=kind, strengths="tests", model=name, takes_sampling=True)
        self.calls, self.down = calls, down

    async def stream(self, _: Request) -> AsyncIterator[Completion]:
        self.calls.append(self.card.name)
        if self.down:
            raise WorkerError(f"{self.card.name} is down.")
        yield Completion(f"{self.card.name} answers")


def step_of(worker: str, *, fallback: str | None = None) -> Workflow:
    rule = None if fallback is None else OnFailure(fallback=fallback)
    return Workflow.of([Step(instruction="Do it.", worker=worker, on_failure=rule)])


PLACES: dict[str, Workflow | None] = {
    "the pool's fallback": step_of("cheap"),
    "the pool's fallback, planned": None,
    "the fallback of a rule": step_of("cheap", fallback="dear"),
    "the pool's fallback of the fallback of a rule": step_of("lost", fallback="cheap"),
    "a step of the Conductor inside": step_of(NESTED),
    "a step of the Conductor inside, as the fallback of a rule": step_of("lost", fallback=NESTED),
}
LIMITS: dict[str, dict[str, Any]] = {
    "excluded": {"exclude": ["dear"]},
    "not among those named": {"workers": ["cheap", "lost", NESTED]},
    "not the token's": {},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("place", PLACES)
def test_no_call_reaches_a_worker_that_the_request_may_not_use(
    stage: Stage, client: OpenAI, place: str, limit: str
) -> None:
    calls: list[str] = []
    dear, lost = Called("dear", calls), Called("lost", calls, down=True)
    cheap = FallbackWorker(Called("cheap", calls, down=True), dear)
    plan = "model_id = [0]\nsubtasks = ['Do it.']\naccess_list = [[]]"
    stage._runtime = Runtime(
        workers=Pool(workers=(cheap, dear, lost)), conductor=ScriptedConductor((plan,)), nests=True
    )
    stage.auth.principal = Principal()
    if limit == "not the token's":
        stage.auth.principal = Principal(token="t", workers=("cheap", "lost", NESTED))
    workflow, steering = PLACES[place], dict(LIMITS[limit])
    if workflow is not None:
        written = write_plan(workflow, query="q", origin="human", workers=workflow.workers(), label=None)
        steering["workflow"] = json.loads(written)
    with pytest.raises(Exception, match=r"down|may not use|found no answer"):
        client.chat.completions.create(
            model="conductor",
            messages=[{"role": "user", "content": "q"}],
            extra_body={"conductor": steering},
        )
    assert "dear" not in calls


def test_a_conductor_inside_without_workers_is_refused(stage: Stage, client: OpenAI) -> None:
    stage._runtime = Runtime(
        workers=Pool(workers=(Called("cheap", []),)), conductor=ScriptedConductor(("no plan",)), nests=True
    )
    stage.auth.principal = Principal()
    with pytest.raises(Exception, match="allow one of those as well"):
        client.chat.completions.create(
            model="conductor",
            messages=[{"role": "user", "content": "q"}],
            extra_body={"conductor": {"workers": [NESTED]}},
        )


KINDS: dict[str, tuple[WorkerKind, bool, WorkerKind, str | None]] = {
    "a simulated one, a model was not needed": ("simulated", False, "model", "simulated, no model is called"),
    "a simulated one in the place of a model": ("model", True, "simulated", "simulated, no model is called"),
    "a model in the place of a simulated one": ("simulated", True, "model", None),
}


@pytest.mark.parametrize("by", ["rule", "pool"])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_the_label_of_an_answer_is_of_those_that_gave_it(
    stage: Stage, client: OpenAI, kinds: tuple[WorkerKind, bool, WorkerKind, str | None], by: str
) -> None:
    own, down, other, label = kinds
    calls: list[str] = []
    beta = Called("beta", calls, kind=other)
    alpha = Called("alpha", calls, down=down, kind=own)
    stage.plays(FallbackWorker(alpha, beta) if by == "pool" else alpha, beta)
    workflow = step_of("alpha", fallback="beta" if by == "rule" else None)
    written = write_plan(workflow, query="q", origin="human", workers=workflow.workers(), label=None)
    answer: Any = client.chat.completions.create(
        model="conductor",
        messages=[{"role": "user", "content": "q"}],
        extra_body={"conductor": {"workflow": json.loads(written)}},
    )
    assert answer.conductor["label"] == label
    assert answer.conductor["calls"] == len(calls) == 1 + down


def test_what_only_the_fallback_takes_reaches_it_and_is_not_named_as_without_effect(
    stage: Stage, client: OpenAI
) -> None:
    beta, seen = Called("beta", []), list[Request]()
    alpha = Called("alpha", [], down=True)
    alpha.card = alpha.card.model_copy(update={"takes_sampling": False, "fallback": "beta"})
    answers = beta.stream
    beta.stream = lambda request: seen.append(request) or answers(request)  # type: ignore[method-assign,func-returns-value]
    stage.plays(FallbackWorker(alpha, beta), beta)
    answer: Any = client.chat.completions.create(
        model="worker:alpha", messages=[{"role": "user", "content": "q"}], seed=5, temperature=0.5
    )
    assert (seen[0].sampling.seed, seen[0].sampling.temperature) == (5, 0.5)
    assert answer.conductor["without_effect"] == []
