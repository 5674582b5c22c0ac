"""An evaluation holds a worker with tools against the same without: each request of its loop is counted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Request
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import StreamItem, WorkerCard
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, contents, saying, with_tools

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PLANNERS = ("worker:reader", "worker:alone")
DATA = DataSet("files", tuple(Item(id=f"q{n}", input=f"{n}?", target=(str(n),)) for n in range(4)))
SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS, parallel=2)


@dataclass(frozen=True)
class Reader:
    """A model that knows nothing: it reads a file where tools are offered, and answers with its words."""

    name: str

    @property
    def card(self) -> WorkerCard:
        return Caller((), self.name).card

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        number, last = request.query.split("?")[0], request.messages[-1]
        if last.role == "tool":
            answer = saying(f"Answer: {last.content.split()[-1]}")
        elif request.sampling.tools is None:
            answer = saying("Answer: -1")
        else:
            # The file of the last question is not there.
            path = number if number != "3" else "nothing"
            answer = calling("files__look", json.dumps({"path": path}))
        async for item in Caller((answer,), self.name).stream(request):
            yield item


@pytest.fixture
def tools() -> ScriptedTools:
    return ScriptedTools(contents)


@pytest.fixture
def bench(url: str, tools: ScriptedTools) -> Iterator[Workbench]:
    pool = Pool(workers=(with_tools(Reader("reader"), tools), Reader("alone")))
    with closing(Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())) as bench:
        yield bench


def test_the_table_has_the_requests_tokens_and_dollars_of_the_whole_loop(
    bench: Workbench, tools: ScriptedTools
) -> None:
    evaluation = Evaluations(bench).add(DATA, PLANNERS, SPEC).id
    progress = Evaluations(bench).run(evaluation)
    assert (progress.done, progress.cells, progress.failure) == (8, 8, None)
    rows = {
        row.planner: row
        for row in table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation)).rows
    }
    reader, alone = (rows[name] for name in PLANNERS)
    assert (reader.right, alone.right) == (3, 0)
    assert (reader.calls.value, alone.calls.value) == (2, 1)
    assert (reader.tokens.value, alone.tokens.value) == (33, 21)
    assert (reader.cost.value, alone.cost.value) == (0.75, 0.25)
    assert [row.calls.size for row in (reader, alone)] == [4, 4]
    assert sorted(path["path"] for _, path in tools.log) == ["0", "1", "2", "nothing"]
    assert bench.store.sessions.used_since(0).calls == 12


def test_a_question_that_was_answered_with_tools_is_not_asked_again(
    bench: Workbench, tools: ScriptedTools
) -> None:
    evaluation = Evaluations(bench).add(DATA, PLANNERS, SPEC).id
    for _ in range(2):
        Evaluations(bench).run(evaluation)
    assert len(tools.log) == 4
