"""Writes the golden file of the version that stands on the path: what a person may have stored with it.

`PYTHONPATH=. python tests/storage/golden/make.py FILE`, from a checkout's root. The file of version 10 was
written by this script as it stood in that version's checkout. A file is not made again once its version is
shipped: what counts is that the version's own code wrote it.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from conductor.engine.experiments import Swap
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import Asker, RunRequest
from conductor.values.conversation import Conversation, Turn
from conductor.values.messages import Usage
from conductor.values.output import HandEdit
from conductor.values.presets import Settings
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.records import RequestSession
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.team_tests import TeamTests
from studio.sessions.notes import NotePlace
from studio.workbench import Workbench

HOST = "golden"
"""The host that the runs' owners name, whatever the machine is called that makes the file."""

CHAIN = Workflow.of(
    Step(instruction=text, worker=worker, access=(at - 1,) if at else ())
    for at, (text, worker) in enumerate(
        [("Find it.", "quick"), ("Check it.", "quick"), ("Say it.", "endless")]
    )
)
DIES = "--die"


def main() -> None:
    """Write the file that the command line names; with `--die` only the part that ends without an end."""
    socket.gethostname = lambda: HOST
    file = Path(sys.argv[1])
    bench = opened(file)
    if DIES in sys.argv:
        begin_and_die(bench)
    answered(bench)
    failed(bench)
    deleted(bench)
    in_rounds(bench)
    judged(bench)
    forked(bench)
    conversed(bench)
    bench.store.tokens.create("golden")
    requested(bench)
    lengthy(bench)
    evaluated(bench)
    noted(bench)
    changed(bench)
    team_test(bench)
    bench.close()
    subprocess.run([sys.executable, __file__, str(file), DIES], check=True)
    close(opened(file), file)


def close(bench: Workbench, file: Path) -> None:
    """Close the store and leave one file, without gaps."""
    bench.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE").close()
        connection.execute("VACUUM").close()


def opened(file: Path) -> Workbench:
    """A workbench over a calculator and simulated workers."""
    own = (
        SimulatedWorker(name="quick", tokens=8),
        SimulatedWorker(name="endless", latency=3600.0),
        SimulatedWorker(name="broken", tokens=8, fail_on="break"),
        SimulatedWorker(name="talkative", tokens=1200),
    )
    others = tuple(SimulatedWorker(name=name, tokens=8) for name in ("facts", "text", "checker"))
    pool = Pool(workers=(Calculator("mathematics"), *others, *own))
    return Workbench.over(SessionStore.open(f"sqlite:///{file}"), pool=pool, conductor=OfflineConductor())


def answered(bench: Workbench) -> None:
    """Planned by the rules, run, edited, rerun, and one edit undone."""
    session = bench.ask("What is 17 * 23?").id
    bench.planning.plan(session)
    run(bench, session)
    head = bench.store.revisions.head(session)
    edited = head.workflow.with_instruction(0, "Compute 17 * 23 with every step shown.")
    bench.editing.edit(session, edited, note="Changed step 1", head=head)
    run(bench, session)
    bench.editing.edit(session, edited.with_instruction(0, "Compute it."), note="Changed step 1 again")
    bench.store.revisions.undo(session)
    bench.store.sessions.rename(session, "Seventeen times “twenty-three”")


def failed(bench: Workbench) -> None:
    """A workflow by hand whose second step fails."""
    session = bench.ask("Does a step that fails keep the others? Ünïcode: 数, 🜲").id
    steps = Workflow.of(
        [
            Step(instruction="Look.", worker="quick"),
            Step(instruction="Please break here.", worker="broken"),
            Step(instruction="Join.", worker="quick", access=(0, 1)),
        ]
    )
    bench.editing.edit(session, steps, note="By hand")
    run(bench, session)


def deleted(bench: Workbench) -> None:
    """Taken out of the list, with all that it holds."""
    session = bench.ask("To be thrown away").id
    bench.editing.edit(session, Workflow.of([Step(instruction="Do.", worker="quick")]), note="By hand")
    run(bench, session)
    bench.store.sessions.delete(session)


def in_rounds(bench: Workbench) -> None:
    """Three rounds of a query: the rules keep the first answer, a person's plan is run in the third."""
    store = bench.store
    session = bench.ask("What is the capital of France?", settings=Settings(rounds=2)).id
    first = bench.planning.plan(session)
    last = run(bench, session)
    plan = store.plans.add(
        session,
        planner="rules",
        planner_kind="offline",
        report=first.report,
        usage=Usage(),
        round=3,
        looks_back=last,
    )
    store.revisions.add(session, first.report.workflow, origin="conductor", note="Planned", plan=plan.id)
    run(bench, session)


def judged(bench: Workbench) -> None:
    """Plans to choose from, a plan that a person corrected, a rating, and an experiment."""
    session = bench.ask("What is 6 * 7?").id
    bench.planning.plan(session)
    bench.planning.plan_alternatives(session, 2)
    head = bench.store.revisions.head(session)
    bench.editing.edit(
        session, head.workflow.with_instruction(0, "Compute 6 * 7."), note="Changed", head=head
    )
    last = run(bench, session)
    bench.store.corrections.rate(last, "up", author="Ada")
    bench.experiments.begin(session, Swap(step=0, workers=("quick",)))
    wait(lambda: not bench.experiments.under_way(session))


def forked(bench: Workbench) -> None:
    """A fork of the first session's first revision, with tags, edited and run."""
    first = next(summary.id for summary in bench.store.sessions.listed() if "twenty-three" in summary.title)
    session = bench.store.sessions.fork(first, bench.store.revisions.of_session(first)[0].id).id
    bench.store.sessions.add_tag(session, "golden")
    bench.store.sessions.add_tag(session, "überprüft")
    head = bench.store.revisions.head(session)
    bench.editing.edit(
        session, head.workflow.with_instruction(0, "Compute 17 * 23 twice."), note="Changed", head=head
    )
    run(bench, session)


def conversed(bench: Workbench) -> None:
    """A question that follows on a conversation, planned and run."""
    talk = Conversation(
        turns=(
            Turn(role="system", text="Be brief."),
            Turn(role="user", text="Which country is Paris in?"),
            Turn(role="assistant", text="France."),
        )
    )
    session = bench.ask("What is its currency?", conversation=talk).id
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="quick")]), note="By hand")
    run(bench, session)


def requested(bench: Workbench) -> None:
    """A request that came with a token, and the response that it got."""
    session = "00112233445566ff"
    workflow = Workflow.of([Step(instruction="Answer.", worker="quick")])
    bench.store.requests.begin(
        RunRequest(query="Which is the longest river?", workflow=workflow),
        session=session,
        stored_as=RequestSession(tags=("user=golden",), token=bench.store.tokens.listed()[0].id),
        pool_label=bench.pool.label,
    ).result()
    run(bench, session)
    for answer in ("", "2"):
        bench.store.requests.set_response_aside(session, answer=answer)
        bench.store.requests.keep_response(session, '{"id": "resp_golden", "object": "response"}')


def lengthy(bench: Workbench) -> None:
    """Steps with long texts that all later ones see; one is pinned as a person wrote it, another reworded."""
    session = bench.ask("Which texts are long?").id
    steps = Workflow.of(
        Step(instruction=f"Write part {at + 1} at length.", worker="talkative", access=tuple(range(at)))
        for at in range(8)
    )
    bench.editing.edit(session, steps, note="By hand")
    outputs = bench.store.runs.state(run(bench, session)).outputs
    written = outputs[3].by_hand(f"By hand: {outputs[3].text}", edit=HandEdit(at=1.0))
    pinned = steps.with_pin(3, written)
    bench.editing.edit(session, pinned, note="Wrote step 4")
    bench.editing.edit(session, pinned.with_instruction(7, "Write the end again."), note="Reworded step 8")
    run(bench, session)


def evaluated(bench: Workbench) -> None:
    """Two questions, answered by two planners and scored."""
    items = tuple(Item(id=f"q{n}", input=f"What is {n} + {n}?", target=(str(2 * n),)) for n in (2, 3))
    spec = EvaluationSpec(data="", digest="", planners=("conductor",))
    evaluations = Evaluations(bench)
    planners = ("worker:mathematics", "baseline:self-consistency:quick,n=2")
    evaluations.run(evaluations.add(DataSet("sums", items), planners, spec).id)


def changed(bench: Workbench) -> None:
    """A session in which a change was asked for in words."""
    session = bench.ask("What was asked for?").id
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="quick")]), note="By hand")
    bench.on(bench.runner.runtimes, by=Asker(person="Ada")).changing.ask(session, "Use two readers.")


def noted(bench: Workbench) -> None:
    """Notes on a question and on words of an output; the last one is deleted."""
    session = bench.ask("Which words have notes?").id
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="quick")]), note="By hand")
    run(bench, session)
    ran = bench.store.runs.latest(session)
    source = bench.store.runs.state(ran.id).steps[0].text
    bench.notes.write(session, "On all of it", place=NotePlace(part="question"), source="", author="Ada")
    place = NotePlace(part="output", step=0, revision=ran.revision, run=ran.id)
    for text in ("On its beginning", "To be deleted"):
        last = bench.notes.write(session, text, place=place, source=source, quote=source[:12])
    bench.store.notes.delete(last.id)


def team_test(bench: Workbench) -> None:
    """A question that the team keeps as a test, of a session that is deleted since."""
    session = bench.ask("What is 12 * 12?").id
    bench.planning.plan(session)
    run(bench, session)
    TeamTests(bench.store).keep(session, accepted="144", scorer="number", author="Ada")
    bench.store.sessions.delete(session)


def run(bench: Workbench, session: str) -> str:
    """Run the current workflow to its end, further rounds included; the last run's id."""
    bench.running.start(session)
    bench.activities.wait(session)
    wait(lambda: bench.store.runs.latest(session).status != "running")
    return str(bench.store.runs.latest(session).id)


def begin_and_die(bench: Workbench) -> None:
    """Begin a run and end this process in the middle of its last step."""
    session = bench.ask("What was going on when the power failed?").id
    bench.editing.edit(session, CHAIN, note="By hand")
    bench.running.start(session)
    wait(lambda: sum(e.type == "step_finished" for e in events(bench, session)) == 2)
    wait(lambda: events(bench, session)[-1].type == "step_started")
    os._exit(0)


def events(bench: Workbench, session: str) -> Any:
    return bench.store.runs.events(bench.store.runs.latest(session).id)


def wait(holds: Callable[[], bool]) -> None:
    """Until it does; ten seconds at most."""
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)


if __name__ == "__main__":
    main()
