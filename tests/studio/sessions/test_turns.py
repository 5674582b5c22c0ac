"""Where an endpoint takes one request at a time, who asks for one step is not behind all steps of another."""

from __future__ import annotations

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import Asker
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.endpoints.chat_cases import endpoint
from tests.support.endpoints.fake_openai import FakeOpenAI, serving

pytestmark = pytest.mark.slow


def test_a_person_with_one_step_goes_next_behind_one_with_twenty(store: SessionStore) -> None:
    with serving(FakeOpenAI(tokens_per_second=100)) as upstream:
        worker = OpenAIWorker(endpoint(upstream.base_url, concurrency=1), name="alpha")
        bench = Workbench.over(store, pool=Pool(workers=(worker,)), conductor=OfflineConductor())

        def run(person: str, *, steps: int) -> str:
            own = bench.on(lambda: bench.runner.runtime, by=Asker(person=person))
            session = own.ask("Who is next?").id
            many = Workflow.of([Step(instruction=f"{person} {at}.", worker="alpha") for at in range(steps)])
            store.revisions.add(session, many, origin="human")
            own.running.start(session)
            return session

        first = run("ann", steps=20)
        assert upstream.log.wait_for(lambda entries: len(entries) == 1, seconds=60)
        second = run("bob", steps=1)
        for session in (first, second):
            bench.activities.wait(session)
        bench.close()
        persons = ["bob" if "bob 0." in str(entry.body) else "ann" for entry in upstream.log.entries]
    assert persons.count("ann") == 20
    # Those of ann that began until bob had asked, and one more at most.
    assert persons.index("bob") < 10
