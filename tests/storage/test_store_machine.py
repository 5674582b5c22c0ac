"""Whatever is done with sessions, in whatever order, the store says what a model in memory says."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from store_scenario import begin, chain, delta, finished, keep, step_finished, ticking

from conductor.errors import StorageError
from conductor.events import Event
from conductor.workflow import Workflow
from storage import SessionStore


@dataclass
class _Run:
    """What a run is expected to hold."""

    session: str
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
    outputs: dict[str, str] = field(default_factory=dict)


class StoreMachine(RuleBasedStateMachine):
    """Drives one store file; `sessions` are in the order of their last update."""

    ids = Bundle("ids")
    runs = Bundle("runs")

    @initialize()
    def open(self) -> None:
        """An empty store."""
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ticking()
        self.sessions: dict[str, _Session] = {}
        self.known: dict[str, _Run] = {}
        self.store = self._opened()

    def _opened(self) -> SessionStore:
        return SessionStore.open(f"sqlite:///{Path(self.folder.name)}/c.db", clock=self.clock.__next__)

    def _updated(self, session: str) -> None:
        self.sessions[session] = self.sessions.pop(session)

    @rule(target=ids, query=st.text(max_size=5))
    def create(self, query: str) -> str:
        """A new session."""
        session = self.store.create_session(query).id
        self.sessions[session] = _Session()
        return session

    @rule(session=ids, name=st.sampled_from("abc"))
    def edit(self, session: str, name: str) -> None:
        """A revision under the head."""
        expected = self.sessions[session]
        made = self.store.add_revision(session, chain(name), origin="human")
        expected.revisions.append((made.id, expected.head, chain(name)))
        expected.head = made.id
        expected.state = "planned" if expected.state == "new" else expected.state
        self._updated(session)

    @rule(session=ids, back=st.booleans())
    def walk(self, session: str, back: bool) -> None:
        """Undo or redo, which neighbours foretells."""
        expected = self.sessions[session]
        parents = [parent for id, parent, _ in expected.revisions if id == expected.head]
        children = [id for id, parent, _ in expected.revisions if parent == expected.head]
        target = (parents or [None])[0] if back else (children or [None])[-1]
        if expected.head is None:
            target = None
        foretold = self.store.neighbours(session)[0 if back else 1]
        moved = self.store.undo(session) if back else self.store.redo(session)
        assert moved == foretold
        assert (moved and moved.id) == target
        if target:
            expected.head = target
            self._updated(session)

    @rule(target=runs, session=ids)
    def start(self, session: str) -> str:
        """A run of the head, refused while the session runs."""
        runs = self.sessions[session].runs
        if runs and self.known[runs[-1]].status == "running":
            with pytest.raises(StorageError, match="running already"):
                begin(self.store, session, "another")
            return runs[-1]
        if self.sessions[session].head is None:
            self.edit(session, "a")
        run = f"run-{len(self.known)}"
        begin(self.store, session, run)
        self.known[run] = _Run(session)
        self.sessions[session].runs.append(run)
        self.sessions[session].state = "running"
        self._updated(session)
        return run

    @rule(run=runs, count=st.integers(1, 5), text=st.text(max_size=3))
    def append(self, run: str, count: int, text: str) -> None:
        """Some deltas and a step's output."""
        expected = self.known[run]
        events = [delta(run, seq=len(expected.events) + i, text=text) for i in range(count)]
        events.append(step_finished(run, text, seq=len(expected.events) + count, fingerprint=text))
        keep(self.store, *events)
        expected.events += events
        self.sessions[expected.session].outputs[text] = run

    @rule(run=runs, outcome=st.sampled_from(["finished", "failed", "cancelled"]))
    def finish(self, run: str, outcome: str) -> None:
        """The end of a run that has none yet."""
        expected = self.known[run]
        if expected.status != "running":
            return
        event = finished(run, seq=len(expected.events), outcome=outcome, answer=run)
        keep(self.store, event)
        expected.events.append(event)
        expected.status, expected.answer = outcome, run
        if self.sessions[expected.session].runs[-1] == run:
            self.sessions[expected.session].state = outcome
        self._updated(expected.session)

    @rule(session=ids, deleted=st.booleans())
    def delete_or_restore(self, session: str, deleted: bool) -> None:
        """In or out of the list."""
        (self.store.delete_session if deleted else self.store.restore_session)(session)
        self.sessions[session].deleted = deleted

    @rule()
    def reopen(self) -> None:
        """Everything is in the file; this process is alive, so its runs go on."""
        self.store.close()
        self.store = self._opened()

    @invariant()
    def lists_what_is_expected(self) -> None:
        """Order, states and counts."""
        kept = [(id, session) for id, session in self.sessions.items() if not session.deleted]
        listed = [(summary.id, summary.state) for summary in self.store.sessions(limit=1000)]
        assert listed == [(id, session.state) for id, session in reversed(kept)]
        assert self.store.count_sessions() == len(kept)

    @invariant()
    def holds_what_is_expected(self) -> None:
        """Revisions, heads, runs, events and outputs."""
        for id, expected in self.sessions.items():
            revisions = self.store.revisions(id)
            assert [(r.id, r.parent, r.workflow) for r in revisions] == expected.revisions
            assert [r.number for r in revisions] == list(range(1, len(revisions) + 1))
            assert self.store.session(id).head == expected.head
            assert [run.id for run in self.store.runs(id)] == expected.runs[::-1]
            outputs = self.store.outputs(id)
            assert {key: output.run for key, output in outputs.items()} == expected.outputs
        for id, run in self.known.items():
            assert self.store.events(id) == tuple(run.events)
            assert (self.store.run(id).status, self.store.run(id).answer) == (run.status, run.answer)

    def teardown(self) -> None:
        """Nothing stays open, nothing stays on disk."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=8, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
