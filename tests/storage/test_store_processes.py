"""Several processes on one store: killed ones, living ones, and two at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from conductor.runs.events import Event
from conductor.runs.state import fold
from storage import SessionStore
from storage.database.schema import RUNS
from tests.support.processes.child_process import child
from tests.support.stores.store_scenario import (
    begin,
    chain,
    delta,
    keep,
    started,
    step_finished,
    step_started,
)

ROOT = Path(__file__).parents[2]


def run_for_ever(url: str) -> None:
    """Start a run and append to it until killed, printing each number that is acknowledged."""
    store = SessionStore.open(url)
    begin(store, store.sessions.create("q").id, "r")
    keep(store, started("r", chain("do")), step_started("r", seq=1))
    seq = 2
    while True:
        store.runs.append(delta("r", seq=seq)).result()
        print(seq, flush=True)
        seq += 1


def make_sessions(url: str) -> None:
    """Open the store together with others, and keep a few sessions with a run each."""
    with SessionStore.open(url) as store:
        for i in range(10):
            run = f"{os.getpid()}-{i}"
            begin(store, store.sessions.create(run).id, run)
            keep(store, *(delta(run, seq=seq) for seq in range(20)))


def _process(task: str, url: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return child(
        [sys.executable, "-c", f"import sys, test_store_processes as t; t.{task}(sys.argv[1])", url],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(__file__).parent))),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _kill_after(process: subprocess.Popen[str], lines: int) -> list[int]:
    """Kill it in the middle of its work; the numbers it acknowledged, without a torn last line."""
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines(keepends=True)
    process.wait(timeout=60)
    return [int(line) for line in (*first, *rest) if line.endswith("\n")]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_killed_run_reads_interrupted_and_keeps_every_acknowledged_event(url: str) -> None:
    with _process("run_for_ever", url) as process:
        acknowledged = _kill_after(process, 50)
    with SessionStore.open(url) as store:
        run = store.runs.find("r")
        events = store.runs.events("r")
        state = fold(events)
        assert (run.status, run.answer) == ("interrupted", None)
        assert store.sessions.listed()[0].state == "interrupted"
    assert [event.seq for event in events] == list(range(len(events)))
    assert len(acknowledged) >= 50
    assert set(acknowledged) <= {event.seq for event in events[:-1]}
    assert (state.status, state.answer, state.steps[0].status) == ("interrupted", None, "interrupted")
    assert state.steps[0].text == "word " * (len(events) - 3)


def test_a_run_of_a_living_process_is_left_alone(store: SessionStore, url: str) -> None:
    begin(store, store.sessions.create("q").id, "r")
    with SessionStore.open(url) as other:
        assert other.processes.mark_interrupted() == ()
        assert other.runs.find("r").status == "running"


def _begin(store: SessionStore, *events: Event) -> None:
    begin(store, store.sessions.create("q").id, "r")
    keep(store, *events)


def _orphan(store: SessionStore) -> None:
    """From now on the owner of the run "r" is a process that died: every look of a store may end it."""
    own = RUNS.update().where(RUNS.c.id == "r").values(owner="a store whose process died")
    store._transactions.write(lambda connection: connection.execute(own))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "answer", "answer_step"),
    [
        ([], None, None),
        ([started("r", chain("a"))], None, None),
        ([started("r", chain("a")), step_finished("r", "the end", seq=1)], "the end", 0),
        ([started("r", chain("a")), step_finished("r", " ", seq=1)], None, None),
        ([started("r", chain("a", "b")), step_finished("r", "half", seq=1)], None, None),
        ([started("r", chain("a", "b")), step_finished("r", "whole", seq=1, step=1)], "whole", 1),
        ([step_finished("r", "the beginning is missing", seq=1)], None, None),
    ],
)
def test_an_interrupted_run_answers_what_its_final_step_answered(
    store: SessionStore, events: Sequence[Event], answer: str | None, answer_step: int | None
) -> None:
    _begin(store, *events)
    _orphan(store)
    store.processes.mark_interrupted()
    assert store.processes.mark_interrupted() == ()
    end = store.runs.events("r")[-1]
    assert (end.type, end.seq) == ("run_finished", events[-1].seq + 1 if events else 0)
    assert (end.outcome, end.answer, end.answer_step) == ("interrupted", answer, answer_step)
    assert (store.runs.find("r").status, store.runs.find("r").answer) == ("interrupted", answer)


@pytest.mark.slow
def test_a_run_may_start_after_one_whose_process_is_gone(store: SessionStore) -> None:
    _begin(store, started("r", chain("a")), step_finished("r", "the end", seq=1))
    _orphan(store)
    session = store.runs.find("r").session
    begin(store, session, "next")
    assert [(run.id, run.status) for run in store.runs.of_session(session)] == [
        ("next", "running"),
        ("r", "interrupted"),
    ]
    assert (store.runs.find("r").answer, store.sessions.listed()[0].state) == ("the end", "running")


@pytest.mark.slow
def test_a_damaged_run_is_interrupted_all_the_same(store: SessionStore, url: str, file: Path) -> None:
    _begin(store, started("r", chain("a")), step_finished("r", "the end", seq=1))
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE events SET event = 'torn' WHERE seq = 0")
    _orphan(store)
    with SessionStore.open(url) as reopened:
        assert (reopened.runs.find("r").status, reopened.runs.find("r").answer) == ("interrupted", None)
        assert [event.seq for event in reopened.runs.events("r", after=0)] == [1, 2]


@pytest.mark.slow
@pytest.mark.thorough
def test_processes_may_open_and_write_one_new_store_together(url: str) -> None:
    with _process("make_sessions", url) as one, _process("make_sessions", url) as other:
        for process in (one, other):
            process.communicate(timeout=60)
        assert [one.returncode, other.returncode] == [0, 0]
    with SessionStore.open(url) as store:
        assert store.sessions.count() == 20
        runs = [store.runs.latest(summary.id) for summary in store.sessions.listed()]
        assert [len(store.runs.events(run.id)) for run in runs if run] == [21] * 20
