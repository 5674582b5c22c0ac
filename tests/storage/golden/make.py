"""The golden file of the version that stands on the path: what a person may have kept with it.

`PYTHONPATH=. python tests/storage/golden/make.py FILE`, from a checkout's root, also of an older version:
it uses only what all of them have, and asks for the version where one has more. Never made anew once a
version is shipped: what counts is that its own code wrote it.
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

from conductor.messages import Usage
from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool, offline_pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow import Step, Workflow
from storage import SessionStore
from storage.migrations import MIGRATIONS
from storage.workbench import Workbench

VERSION = len(MIGRATIONS)

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
    if VERSION >= 2:
        in_rounds(bench)
    if VERSION >= 3:
        judged(bench)
    if VERSION >= 4:
        forked(bench)
    if VERSION >= 7:
        conversed(bench)
        bench.store.create_token("golden")
    if VERSION >= 9:
        requested(bench)
    bench.close()
    subprocess.run([sys.executable, __file__, str(file), DIES], check=True)
    opened(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE").close()
        connection.execute("VACUUM").close()


def opened(file: Path) -> Workbench:
    """A workbench over the offline experts and three simulated workers."""
    own = (
        SimulatedWorker(name="quick", tokens=8),
        SimulatedWorker(name="endless", latency=3600.0),
        SimulatedWorker(name="broken", tokens=8, fail_on="break"),
    )
    pool = Pool(workers=(*offline_pool().workers, *own))
    return Workbench.over(SessionStore.open(f"sqlite:///{file}"), pool=pool, conductor=OfflineConductor())


def answered(bench: Workbench) -> None:
    """Planned by the rules, run, edited, rerun, and one edit undone."""
    session = bench.ask("What is 17 * 23?").id
    bench.plan(session)
    run(bench, session)
    head = bench.store.head(session)
    edited = head.workflow.with_instruction(0, "Compute 17 * 23 with every step shown.")
    bench.edit(session, edited, note="Changed step 1", head=head)
    run(bench, session)
    bench.edit(session, edited.with_instruction(0, "Compute it."), note="Changed step 1 again")
    bench.store.undo(session)
    bench.store.rename_session(session, "Seventeen times “twenty-three”")


def failed(bench: Workbench) -> None:
    """A workflow by hand of which the second step fails."""
    session = bench.ask("Does a step that fails keep the others? Ünïcode: 数, 🜲").id
    steps = Workflow.of(
        [
            Step(instruction="Look.", worker="quick"),
            Step(instruction="Please break here.", worker="broken"),
            Step(instruction="Join.", worker="quick", access=(0, 1)),
        ]
    )
    bench.edit(session, steps, note="By hand")
    run(bench, session)


def deleted(bench: Workbench) -> None:
    """Taken out of the list, with all that it holds."""
    session = bench.ask("To be thrown away").id
    bench.edit(session, Workflow.of([Step(instruction="Do.", worker="quick")]), note="By hand")
    run(bench, session)
    bench.store.delete_session(session)


def in_rounds(bench: Workbench) -> None:
    """Three rounds of a query: the rules keep the first answer, a person's plan is run in the third."""
    from conductor.modes import Settings  # noqa: PLC0415 - the first version has none

    store = bench.store
    session = bench.ask("What is the capital of France?", settings=Settings(rounds=2)).id
    first = bench.plan(session)
    last = run(bench, session)
    plan = store.add_plan(
        session,
        planner="rules",
        planner_kind="offline",
        report=first.report,
        usage=Usage(),
        round=3,
        looks_back=last,
    )
    store.add_revision(session, first.report.workflow, origin="conductor", note="Planned", plan=plan.id)
    run(bench, session)


def judged(bench: Workbench) -> None:
    """Plans to choose from, a plan that a person corrected, a rating, and an experiment."""
    from conductor.engine.trials import Swap  # noqa: PLC0415 - earlier versions have none

    session = bench.ask("What is 6 * 7?").id
    bench.plan(session)
    bench.plan_alternatives(session, 2)
    head = bench.store.head(session)
    bench.edit(session, head.workflow.with_instruction(0, "Compute 6 * 7."), note="Changed", head=head)
    last = run(bench, session)
    bench.store.rate(last, "up")
    bench.experiment(session, Swap(step=0, workers=("quick",)))
    wait(lambda: not bench.experimenting.under_way(session))


def forked(bench: Workbench) -> None:
    """A fork of the first session's first revision, with tags, edited and run."""
    first = next(summary.id for summary in bench.store.sessions() if "twenty-three" in summary.title)
    session = bench.fork(first, bench.store.revisions(first)[0].id).id
    bench.store.add_tag(session, "golden")
    bench.store.add_tag(session, "überprüft")
    head = bench.store.head(session)
    bench.edit(
        session, head.workflow.with_instruction(0, "Compute 17 * 23 twice."), note="Changed", head=head
    )
    run(bench, session)


def conversed(bench: Workbench) -> None:
    """A question that follows on a conversation, planned and run."""
    from conductor.conversation import Conversation, Turn  # noqa: PLC0415 - earlier versions have none

    said = Conversation(
        turns=(
            Turn(role="system", text="Be brief."),
            Turn(role="user", text="Which country is Paris in?"),
            Turn(role="assistant", text="France."),
        )
    )
    session = bench.ask("What is its currency?", conversation=said).id
    bench.edit(session, Workflow.of([Step(instruction="Answer.", worker="quick")]), note="By hand")
    run(bench, session)


def requested(bench: Workbench) -> None:
    """A request that came with a token, and the response that it got."""
    from conductor.modes import Settings  # noqa: PLC0415 - earlier versions have none
    from storage.requests import NewRequest  # noqa: PLC0415 - the same

    request = NewRequest(
        session="00112233445566ff",
        query="Which is the longest river?",
        pool_label=bench.pool.label,
        settings=Settings(),
        tags=("user=golden",),
        token=bench.store.tokens()[0].id,
        workflow=Workflow.of([Step(instruction="Answer.", worker="quick")]),
    )
    bench.store.begin_request(request)
    run(bench, request.session)
    bench.store.keep_response(request.session, '{"id": "resp_golden", "object": "response"}')


def run(bench: Workbench, session: str) -> str:
    """Run the current workflow to its end, further rounds included; the last run's id."""
    bench.start(session)
    conducting: Any = getattr(bench, "conducting", None)
    if conducting is not None:
        conducting.wait(session)
    wait(lambda: bench.store.latest_run(session).status != "running")
    return str(bench.store.latest_run(session).id)


def begin_and_die(bench: Workbench) -> None:
    """Begin a run and end this process in the middle of its last step."""
    session = bench.ask("What was going on when the power failed?").id
    bench.edit(session, CHAIN, note="By hand")
    bench.start(session)
    wait(lambda: sum(e.type == "step_finished" for e in events(bench, session)) == 2)
    wait(lambda: events(bench, session)[-1].type == "step_started")
    os._exit(0)


def events(bench: Workbench, session: str) -> Any:
    return bench.store.events(bench.store.latest_run(session).id)


def wait(holds: Callable[[], bool]) -> None:
    """Until it does; ten seconds at most."""
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)


if __name__ == "__main__":
    main()
