"""Who asks is stored with each request that is begun on a workbench, whatever begins it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident

import pytest

from conductor.engine.experiments import Swap
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.orchestration.runtime import Runtime
from conductor.runs.request import Asker
from conductor.runs.scope import RunScope
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.background import BackgroundEvaluations
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Contender, Workbench
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

FIRST = Workflow.of([Step(instruction="Find it.", worker="alpha")])
OTHER = Workflow.of([Step(instruction="Say it.", worker="beta")])
PLAN = plan_text((0, "Find it.", "[]"))


@pytest.fixture
def people() -> dict[int, str]:
    """Who uses the workbench, by thread."""
    return {}


@pytest.fixture
def bench(url: str, people: dict[int, str]) -> Iterator[Workbench]:
    pool = Pool(workers=(SimulatedWorker(name="alpha", answer="7"), SimulatedWorker(name="beta")))
    runtime = Runtime(workers=pool, conductor=ScriptedConductor([PLAN]))
    store = SessionStore.open(url)
    bench = Workbench(store, lambda: runtime, person=lambda: people.get(get_ident()))
    yield bench
    bench.close()


def _plan(bench: Workbench, session: str) -> None:
    bench.planning.plan(session)


def _plan_and_run(bench: Workbench, session: str) -> None:
    bench.planning.begin(session, then_run=True)


def _run(bench: Workbench, session: str) -> None:
    bench.editing.edit(session, OTHER, note="Edited")
    bench.running.start(session)


def _rerun(bench: Workbench, session: str) -> None:
    bench.running.start(session, RunScope(kind="force"))


def _alternatives(bench: Workbench, session: str) -> None:
    bench.planning.begin_alternatives(session, 2)


def _round(bench: Workbench, session: str) -> None:
    bench.planning.begin_round(session)


def _change(bench: Workbench, session: str) -> None:
    bench.changing.begin(session, "use another worker")


def _trial(bench: Workbench, session: str) -> None:
    live = bench.experiments.begin(session, Swap(step=0, workers=("beta",)))
    until(lambda: live.done)


def _race(bench: Workbench, session: str) -> None:
    for run in bench.racing.start(
        Contender(session, FIRST, name="One"), Contender(session, OTHER, name="Other")
    ):
        bench.activities.wait(bench.store.runs.find(run.run).session)


def _evaluation(bench: Workbench, by: Asker | None = None) -> None:
    spec = EvaluationSpec(data="", digest="", planners=("worker:alpha",))
    items = (Item(id="1", input="1?", target=("7",)),)
    evaluation = Evaluations(bench).add(DataSet("sevens", items), ["worker:alpha"], spec).id
    background = BackgroundEvaluations(bench)
    background.begin(evaluation, by=by)
    until(lambda: background.state(bench.store.evaluations.find(evaluation)) == "done")
    background.close()


def _evaluate(bench: Workbench, _session: str) -> None:
    _evaluation(bench)


DOORS = [
    _plan, _plan_and_run, _run, _rerun, _alternatives, _round, _change, _trial, _race, _evaluate,
]  # fmt: skip


@pytest.mark.parametrize("begin", DOORS)
def test_a_request_is_for_the_person_in_whose_thread_it_is_begun(
    bench: Workbench, people: dict[int, str], begin: Callable[[Workbench, str], None]
) -> None:
    session = bench.ask("Which?").id
    bench.editing.edit(session, FIRST, note="Written")
    bench.running.start(session)
    bench.activities.wait(session)
    before = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert before == {(None,): 1}
    people[get_ident()] = "Ada"
    begin(bench, session)
    bench.activities.wait(session)
    after = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert after.pop(("Ada",), 0) > 0
    assert after == before


def test_what_a_person_makes_has_their_name(bench: Workbench, people: dict[int, str]) -> None:
    session = bench.ask("Which?").id
    first = bench.editing.edit(session, FIRST, note="Written")
    assert first.author is None
    people[get_ident()] = "Ada"
    edited = bench.editing.edit(session, OTHER, note="Edited", head=first)
    branch = bench.editing.keep_branch(session, OTHER.with_gate(0, True), note="Mine", edited=first)
    change = bench.changing.ask(session, "use another worker")
    names = [each.author for each in (edited, branch, change.record)]
    assert names == ["Ada", "Ada", "Ada"]


def test_an_evaluation_is_for_the_token_that_asks_for_it(bench: Workbench, people: dict[int, str]) -> None:
    people[get_ident()] = "Ada"
    _evaluation(bench, Asker(token="t"))
    assert {use.names for use in bench.store.ledger.used("token", "person")} == {("t", None)}
