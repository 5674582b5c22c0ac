"""All that a person may begin on a workbench, a function each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
from studio.sessions.notes import author
from studio.workbench import Contender, Workbench
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.waiting import until

FIRST = Workflow.of([Step(instruction="Find it.", worker="alpha")])
OTHER = Workflow.of([Step(instruction="Say it.", worker="beta")])
PLAN = plan_text((0, "Find it.", "[]"))


@contextmanager
def workbench(url: str, *, person: Callable[[], str | None] = author) -> Iterator[Workbench]:
    pool = Pool(workers=(SimulatedWorker(name="alpha", answer="7"), SimulatedWorker(name="beta")))
    runtime = Runtime(workers=pool, conductor=ScriptedConductor([PLAN]))
    bench = Workbench(SessionStore.open(url), lambda: runtime, person=person)
    yield bench
    bench.close()


def with_a_run(bench: Workbench) -> str:
    """A session that someone unknown ran."""
    session = bench.ask("Which?").id
    bench.editing.edit(session, FIRST, note="Written")
    bench.running.start(session)
    bench.activities.wait(session)
    return session


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


def evaluation(bench: Workbench, by: Asker | None = None) -> None:
    spec = EvaluationSpec(data="", digest="", planners=("worker:alpha",))
    items = (Item(id="1", input="1?", target=("7",)),)
    id = Evaluations(bench).add(DataSet("sevens", items), ["worker:alpha"], spec).id
    background = BackgroundEvaluations(bench)
    background.begin(id, by=by)
    until(lambda: background.state(bench.store.evaluations.find(id)) == "done")
    background.close()


def evaluate(bench: Workbench, _session: str) -> None:
    evaluation(bench)


DOORS = [
    _plan, _plan_and_run, _run, _rerun, _alternatives, _round, _change, _trial, _race, evaluate,
]  # fmt: skip
