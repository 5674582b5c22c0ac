"""Kills amid runs: every event whose future resolved is there, and a rerun calls no worker that answered.

The workers are served by a simulated endpoint in the harness's process, which outlives every kill: its log
has the requests to each worker, and how often each came.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from conductor.orchestration.runtime import Runtime
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.events import EVENT, Event, StepFinished
from conductor.runs.state import RunState
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool, parse_pool
from conductor.workflow.model import Step, Workflow
from storage import RunRecord, SessionStore
from studio.workbench import Workbench
from tests.faults.ledger import Ledger
from tests.faults.soundness import check_soundness
from tests.faults.victim import Say, Work, killed
from tests.support.endpoints.fake_openai import FakeOpenAI, serving

AT_ONCE = 2
"""Sessions that run at the same time."""

ACCESS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((), (0,), (1,), (2,), (3,)),
    ((), (), (), (0, 1, 2), (3,)),
    ((), (0,), (0,), (1, 2), ()),
)
"""What the steps read: a chain, a join, a fork."""


class Acknowledging:
    """A journal that sends each event once it is durable, when its future resolves."""

    def __init__(self, say: Say, store: SessionStore) -> None:
        self.say = say
        self._store = store

    def append(self, event: Event) -> Future[None]:
        """See `Runs.append` of the store."""
        future = self._store.runs.append(event)
        shape = EVENT.dump_python(event, mode="json")
        future.add_done_callback(lambda done: self.say(event=shape) if done.exception() is None else None)
        return future


def work(say: Say, url: str, pool: str, seed: int, *, journal: type[Acknowledging] = Acknowledging) -> None:
    """Run workflows until killed; each event is sent once its future resolved."""
    rng = Random(seed)
    bench = bench_over(SessionStore.open(url), pool, journal=partial(journal, say))
    while True:
        sessions = [_planned(bench, rng) for _ in range(AT_ONCE)]
        for session in sessions:
            bench.running.start(session)
        for session in sessions:
            bench.activities.wait(session)
            say(run=bench.store.runs.latest(session).model_dump(mode="json"))


def _planned(bench: Workbench, rng: Random) -> str:
    """A session of five steps that no other session has."""
    name = f"{rng.getrandbits(48):012x}"
    session = bench.ask(f"What is {name}?", settings=Settings(rounds=rng.choice((1, 1, 2)))).id
    bench.editing.edit(session, workflow_of(name, rng.choice(ACCESS)), note="By hand")
    return session


def workflow_of(name: str, access: Sequence[tuple[int, ...]]) -> Workflow:
    """Steps whose instructions occur in no other workflow."""
    return Workflow.of(
        Step(instruction=instruction(name, at), worker=f"model-{at % 2}", access=reads)
        for at, reads in enumerate(access)
    )


def instruction(name: str, step: int) -> str:
    """What the endpoint's log is searched for."""
    return f"Step {step} of {name}."


def bench_over(store: SessionStore, pool: str, *, journal: Any = None) -> Workbench:
    """The workbench of the app, whose runs are kept by `journal` where one is given."""
    runtime = Runtime(workers=pool_of(pool), conductor=OfflineConductor())
    bench = Workbench(store, lambda: runtime)
    if journal is not None:
        bench.background._journal = journal(store)
    return bench


def pool_of(text: str) -> Pool:
    """The pool that a file of this text describes."""
    return parse_pool(text)


class Endpoint:
    """Two models on the loopback address that write their answers in a tenth of a second or so."""

    def __enter__(self) -> Endpoint:
        self._open = ExitStack()
        self._served = self._open.enter_context(serving(FakeOpenAI(tokens_per_second=150)))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def pool(self) -> str:
        """The text of a pool file."""
        table = '[[worker]]\nname = "model-{0}"\nbase_url = "{1}"\nmodel = "simulated-{0}"\nmax_tokens = 12\n'
        return "\n".join(table.format(number, self._served.base_url) for number in range(2))

    def calls(self) -> Counter[str]:
        """How often each step was asked for, by its instruction."""
        texts = (json.dumps(entry.body) for entry in self._served.log.entries if entry.body)
        return Counter(name for text in texts if (name := _named(text)) is not None)

    def requests(self) -> Counter[str]:
        """How often each request came, whole."""
        return Counter(
            json.dumps(entry.body, sort_keys=True) for entry in self._served.log.entries if entry.body
        )

    def forget(self) -> None:
        """Begin to count again from 0."""
        self._served.fake.forget()


def _named(body: str) -> str | None:
    """The instruction of the step that a request is for: steps it sees have their output there alone."""
    at = body.rfind("Step ")
    return body[at : body.index(".", at) + 1] if at >= 0 else None


@dataclass
class Runs:
    """One store and one endpoint; the process between them is killed again and again.

    Each time within `span` seconds, which is about as long as a workflow or two take.
    """

    folder: Path
    work: Work = work
    span: float = 0.9
    _file: ClassVar[str] = "runs.db"
    ledger: Ledger = field(default_factory=lambda: Ledger("runs"))
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.endpoint = self._open.enter_context(Endpoint())

    @property
    def url(self) -> str:
        """The store that all kills share."""
        return f"sqlite:///{self.folder / self._file}"

    def kill(self, rng: Random) -> None:
        """Kill once, open again, look for all that was acknowledged, and let every session run to its end."""
        self.endpoint.forget()
        after = rng.uniform(0, self.span) * self.ledger.slack()
        printed = killed(self.work, self.url, self.endpoint.pool, rng.getrandbits(32), after=after)
        self.ledger.kills += 1
        check_soundness(self.folder / self._file, self.ledger)
        with SessionStore.open(self.url) as store:
            self.ledger.restarts += 1
            check_events(store, printed, self.ledger)
            for line in printed:
                if "run" in line:
                    run = RunRecord.model_validate(line["run"])
                    self.ledger.check(store.runs.find(run.id) == run, f"the end of the run {run.id} is lost")
        bench = bench_over(SessionStore.open(self.url), self.endpoint.pool)
        try:
            check_resume(bench, self.endpoint, self.ledger)
        finally:
            bench.close()

    def finish(self) -> None:
        """End the endpoint."""
        self._open.close()


def check_events(store: SessionStore, printed: Sequence[dict[str, Any]], ledger: Ledger) -> None:
    """Every acknowledged event is kept as it was, with the output it brought; every run has one end."""
    acknowledged = [EVENT.validate_python(line["event"]) for line in printed if "event" in line]
    histories = {run: store.runs.events(run) for run in {event.run for event in acknowledged}}
    for event in acknowledged:
        events = histories[event.run]
        copy = events[event.seq] if event.seq < len(events) else None
        ledger.check(copy == event, f"event {event.seq} of the run {event.run} is lost")
        if isinstance(event, StepFinished):
            outputs = store.runs.outputs(store.runs.find(event.run).session)
            ledger.check(event.output in outputs, f"an output of the run {event.run} is lost")
    for run, events in histories.items():
        ledger.require([e.seq for e in events] == list(range(len(events))), f"events of {run} have a gap")
        ledger.require([e.type for e in events].count("run_finished") == 1, f"the run {run} has not one end")


def check_resume(
    bench: Workbench, endpoint: Endpoint, ledger: Ledger, *, press: Callable[[str], None] | None = None
) -> None:
    """What was live reads interrupted; run again (by `press`, else by the workbench) it ends, and calls only
    the workers that had not answered.
    """
    for summary in bench.store.sessions.listed(limit=2 * AT_ONCE):
        record = bench.store.runs.latest(summary.id)
        if record is None or record.status == "finished":
            continue
        ledger.unfinished += 1
        ledger.require(record.status == "interrupted", f"the run {record.id} reads {record.status}")
        before = bench.state(record)
        calls = endpoint.calls()
        if press is None:
            bench.running.start(summary.id)
            bench.activities.wait(summary.id)
        else:
            press(summary.id)
        _check_resumed(bench, summary.id, endpoint.calls() - calls, ledger, before=before)


def _check_resumed(
    bench: Workbench, session: str, called: Counter[str], ledger: Ledger, *, before: RunState
) -> None:
    done = {at for at, step in enumerate(before.steps) if step.output is not None}
    after = bench.state(bench.store.runs.of_session(session)[0])
    ledger.require(after.status == "finished", f"the session {session} does not run to its end")
    for at, (own, step) in enumerate(
        zip(bench.required_head(session).workflow.steps, after.steps, strict=True)
    ):
        times = called[own.instruction]
        ledger.require(times == int(at not in done), f"step {at + 1} of {session} was called {times} times")
        ledger.require(step.reused == (at in done), f"step {at + 1} of {session} was not told as it was")
    ledger.resumed += len(done)
