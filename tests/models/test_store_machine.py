"""Whatever is done with sessions by two stores on one database, both hold what a model in memory holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from conductor.errors import StorageError
from conductor.runs.events import Event, RunFinished, StepFinished
from conductor.workflow.model import Workflow
from storage import SessionStore
from tests.support.cases.property_cases import cases
from tests.support.runs.waiting import until
from tests.support.stores.session_files import exported, imported
from tests.support.stores.store_scenario import begin, chain, delta, finished, keep, step_finished, ticking


@dataclass
class _Run:
    """What a run is expected to hold."""

    session: str
    owner: int = 0
    status: str = "running"
    answer: str | None = None
    events: list[Event] = field(default_factory=list)


@dataclass
class _Session:
    """What a session is expected to hold; revisions are (id, parent, workflow)."""

    revisions: list[tuple[str, str | None, Workflow]] = field(default_factory=list)
    head: str | None = None
    deleted: bool = False
    state: str = "new"
    runs: list[str] = field(default_factory=list)
    outputs: set[tuple[str, str]] = field(default_factory=set)
    undone: dict[str | None, str | None] = field(default_factory=dict)


class StoreMachine(RuleBasedStateMachine):
    """Drives two stores, at the URL that `place` makes; `sessions` are in the order of their last update."""

    ids = Bundle("ids")
    runs = Bundle("runs")

    def __init__(self, place: Callable[[], AbstractContextManager[str]]) -> None:
        super().__init__()
        self.place = ExitStack()
        self.url = self.place.enter_context(place())

    @initialize()
    def open(self) -> None:
        """An empty store."""
        self.clock = ticking()
        self.sessions: dict[str, _Session] = {}
        self.states: dict[str, _Run] = {}
        self.stores = [self._opened(), self._opened()]
        self.at = 0

    @property
    def store(self) -> SessionStore:
        return self.stores[self.at]

    @rule()
    def turn_to_the_other(self) -> None:
        """What follows is done through the other store."""
        self.at = 1 - self.at

    def _opened(self) -> SessionStore:
        return SessionStore.open(self.url, clock=self.clock.__next__)

    def _updated(self, session: str) -> None:
        self.sessions[session] = self.sessions.pop(session)

    @rule(target=ids, query=st.text(max_size=5))
    def create(self, query: str) -> str:
        """A new session."""
        session = self.store.sessions.create(query).id
        self.sessions[session] = _Session()
        return session

    @rule(session=ids, names=st.text("abc", min_size=1, max_size=3))
    def edit(self, session: str, names: str) -> None:
        """Revisions under the head."""
        expected = self.sessions[session]
        for name in names:
            revision = self.store.revisions.add(session, chain(name), origin="human")
            expected.revisions.append((revision.id, expected.head, chain(name)))
            expected.head = revision.id
        expected.state = "planned" if expected.state == "new" else expected.state
        self._updated(session)

    @rule(session=ids, path=st.lists(st.booleans(), min_size=1, max_size=4))
    def walk(self, session: str, path: list[bool]) -> None:
        """Undo (True) or redo, which neighbours foretells, by turns through either store."""
        for back in path:
            self.at = 1 - self.at
            expected = self.sessions[session]
            parents = [parent for id, parent, _ in expected.revisions if id == expected.head]
            target = (parents or [None])[0] if back else expected.undone.get(expected.head)
            foretold = self.store.revisions.neighbours(session)[0 if back else 1]
            moved = self.store.revisions.undo(session) if back else self.store.revisions.redo(session)
            assert moved == foretold
            assert (moved and moved.id) == target
            if target:
                if back:
                    expected.undone[target] = expected.head
                expected.head = target
                self._updated(session)

    @rule(target=runs, session=ids)
    def start(self, session: str) -> str:
        """A run of the head; while it is under way, either store refuses another."""
        runs = self.sessions[session].runs
        if not runs or self.states[runs[-1]].status != "running":
            if self.sessions[session].head is None:
                self.edit(session, "a")
            run = f"run-{len(self.states)}"
            begin(self.store, session, run)
            self.states[run] = _Run(session, self.at)
            self.sessions[session].runs.append(run)
            self.sessions[session].state = "running"
            self._updated(session)
        for store in self.stores:
            with pytest.raises(StorageError, match="running already"):
                begin(store, session, "another")
        return runs[-1]

    @rule(run=runs, count=st.integers(1, 5), text=st.text(max_size=3), times=st.sampled_from([1, 200]))
    def append(self, run: str, count: int, text: str, times: int) -> None:
        """Some deltas and a step's output, short or long, refused once the run is over."""
        expected = self.states[run]
        text *= times
        events = [delta(run, seq=len(expected.events) + i, text=text) for i in range(count)]
        fingerprint = sha256(text.encode(errors="surrogatepass")).hexdigest()
        events.append(step_finished(run, text, seq=len(expected.events) + count, fingerprint=fingerprint))
        if expected.status != "running":
            with pytest.raises(StorageError, match="the run is over"):
                keep(self.store, *events)
            return
        keep(self.stores[expected.owner], *events)
        expected.events += events
        self.sessions[expected.session].outputs.add((fingerprint, run))

    @rule(run=runs, outcome=st.sampled_from(["finished", "failed", "cancelled"]))
    def finish(self, run: str, outcome: str) -> None:
        """The end of a run that has none yet."""
        expected = self.states[run]
        if expected.status != "running":
            return
        event = finished(run, seq=len(expected.events), outcome=outcome, answer=run)
        keep(self.stores[expected.owner], event)
        expected.events.append(event)
        expected.status, expected.answer = outcome, run
        if self.sessions[expected.session].runs[-1] == run:
            self.sessions[expected.session].state = outcome
        self._updated(expected.session)

    @rule(session=ids, deleted=st.booleans())
    def delete_or_restore(self, session: str, deleted: bool) -> None:
        """In or out of the list."""
        (self.store.sessions.delete if deleted else self.store.sessions.restore)(session)
        self.sessions[session].deleted = deleted

    @rule(target=ids, session=ids, which=st.integers(0, 9))
    def fork(self, session: str, which: int) -> str:
        """Another session, which begins with some revision of this one."""
        expected = self.sessions[session]
        if not expected.revisions:
            return session
        revision, _, workflow = expected.revisions[which % len(expected.revisions)]
        copy = self.store.sessions.fork(session, revision)
        assert copy.head is not None
        self.sessions[copy.id] = _Session(
            revisions=[(copy.head, None, workflow)],
            head=copy.head,
            state="planned",
            outputs=set(expected.outputs),
        )
        return copy.id

    @rule(target=ids, session=ids)
    def take_out_and_in(self, session: str) -> str:
        """A session like this one, made of its file."""
        expected = self.sessions[session]
        copy = imported(self.store, exported(self.store, session)).id
        ids = [revision.id for revision in self.store.revisions.of_session(copy)]
        new: dict[str | None, str | None] = {None: None}
        new |= zip([id for id, _, _ in expected.revisions], ids, strict=True)
        runs = dict(
            zip(expected.runs, [run.id for run in self.store.runs.of_session(copy)][::-1], strict=True)
        )
        self.sessions[copy] = _Session(
            revisions=[(str(new[id]), new[parent], workflow) for id, parent, workflow in expected.revisions],
            head=new[expected.head],
            state="interrupted" if expected.state == "running" else expected.state,
            runs=list(runs.values()),
            outputs={(key, runs.get(run, run)) for key, run in expected.outputs},
        )
        self.states |= {run: self._like(self.states[old], run, session=copy) for old, run in runs.items()}
        return copy

    def _like(self, old: _Run, run: str, *, session: str) -> _Run:
        """What is expected of a run that was imported under that id."""
        events = [_in_run(event, run) for event in old.events]
        if old.status != "running":
            return _Run(session, self.at, old.status, old.answer, events)
        end = self.store.runs.events(run)[-1]
        assert isinstance(end, RunFinished)
        assert (end.seq, end.outcome) == (len(events), "interrupted")
        return _Run(session, self.at, "interrupted", end.answer, [*events, end])

    @rule()
    def reopen(self) -> None:
        """Everything is in the file; what the closed store ran is interrupted, what the other runs is not."""
        self.store.close()
        self.stores[self.at] = self._opened()
        running = {
            id: run for id, run in self.states.items() if run.status == "running" and run.owner == self.at
        }
        # A server may free the lock of a connection a moment after its end.
        until(lambda: self._interrupted(running))
        for id, run in running.items():
            self.states[id] = self._like(run, id, session=run.session)
            self.sessions[run.session].state = "interrupted"
        for session in sorted({run.session for run in running.values()}):
            self._updated(session)

    def _interrupted(self, runs: Iterable[str]) -> bool:
        self.store.processes.mark_interrupted()
        return all(self.store.runs.find(id).status != "running" for id in runs)

    @invariant()
    def lists_what_is_expected(self) -> None:
        """Order, states and counts."""
        present = [(id, session) for id, session in self.sessions.items() if not session.deleted]
        for store in self.stores:
            listed = [(summary.id, summary.state) for summary in store.sessions.listed(limit=1000)]
            assert listed == [(id, session.state) for id, session in reversed(present)]
            assert store.sessions.count() == len(present)

    @invariant()
    def holds_what_is_expected(self) -> None:
        """Revisions, heads, runs, events and outputs."""
        for store in self.stores:
            for id, expected in self.sessions.items():
                revisions = store.revisions.of_session(id)
                assert [(r.id, r.parent, r.workflow) for r in revisions] == expected.revisions
                assert [r.number for r in revisions] == list(range(1, len(revisions) + 1))
                assert store.sessions.find(id).head == expected.head
                assert [run.id for run in store.runs.of_session(id)] == expected.runs[::-1]
                outputs = store.runs.outputs(id)
                assert {(output.fingerprint, output.run) for output in outputs} == expected.outputs
            for id, run in self.states.items():
                assert store.runs.events(id) == tuple(run.events)
                record = store.runs.find(id)
                assert (record.status, record.answer) == (run.status, run.answer)

    def teardown(self) -> None:
        """Nothing stays open, nothing stays on disk."""
        for store in getattr(self, "stores", ()):
            store.close()
        self.place.close()


def _in_run(event: Event, run: str) -> Event:
    """The event, had it happened in that run."""
    if isinstance(event, StepFinished):
        output = event.output.model_copy(update={"run": run})
        return event.model_copy(update={"run": run, "output": output})
    return event.model_copy(update={"run": run})


@contextmanager
def _file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/c.db"


def _run(place: Callable[[], AbstractContextManager[str]], number: int) -> None:
    chosen = cases(number, stateful_step_count=15, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: StoreMachine(place), settings=chosen)


@pytest.mark.slow
def test_two_stores_on_a_file_hold_what_a_model_holds() -> None:
    _run(_file, 20)


@pytest.mark.thorough
@pytest.mark.slow
def test_two_stores_hold_it_in_many_cases(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.database.owner_lock.ServerLock.confirm_seconds", 0.0)

    @contextmanager
    def place() -> Iterator[str]:
        server = request.getfixturevalue("postgres")
        name = request.getfixturevalue("empty_database")
        yield server.url(name)
        server.empty(name)

    _run(_file if kind == "sqlite" else place, 60 if kind == "sqlite" else 4)
