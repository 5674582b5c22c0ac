"""Runs in the store: started, reported in events, ended; outputs under their fingerprints."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Thread

import pytest
from sqlalchemy import Connection

from conductor.engine.experiments import Swap
from conductor.engine.known_outputs import EarlierRun
from conductor.errors import SessionBusy, StorageError
from conductor.runs.events import Event, RunOutcome, StepFinished, StepReused
from conductor.runs.state import fold
from conductor.text.json_text import portable
from conductor.values.messages import Usage
from conductor.values.total import MOST_TOKENS
from storage import SessionStore
from storage.tables import runs
from tests.support.stores.store_scenario import (
    REQUEST,
    begin,
    by_fingerprint,
    chain,
    charged,
    delta,
    finished,
    keep,
    output,
    started,
    step_finished,
    step_started,
)


@pytest.mark.slow
def test_a_run_is_kept_before_start_run_returns(store: SessionStore, session: str, url: str) -> None:
    revision = store.revisions.add(session, chain("a"), origin="human")
    assert store.runs.latest(session) is None
    run = store.runs.start(run="r1", session=session, revision=revision.id, pool_label="offline")
    keep(store, finished("r1", seq=0))
    ended = store.runs.find("r1")
    rerun = store.runs.start(run="r2", session=session, revision=revision.id, parent="r1")
    assert (run.status, run.finished_at, run.answer, run.pool_label) == ("running", None, None, "offline")
    assert rerun.parent == "r1"
    assert store.runs.of_session(session) == (rerun, ended)
    assert store.runs.latest(session) == rerun
    with SessionStore.open(url) as other:
        assert (other.runs.find("r1"), other.runs.find("r2")) == (ended, rerun)


@pytest.mark.slow
def test_runs_are_found_by_the_beginnings_of_their_ids(store: SessionStore) -> None:
    for run in ("aa1", "aa2", "b%"):
        session = store.sessions.create("q").id
        store.revisions.add(session, chain("a"), origin="human")
        begin(store, session, run)
    assert store.runs.named("") == ("aa1", "aa2", "b%")
    assert store.runs.named("aa") == ("aa1", "aa2")
    assert store.runs.named("b%") == ("b%",)
    assert store.runs.named("%") == store.runs.named("_") == ()


@pytest.mark.slow
def test_a_session_runs_once_at_a_time(store: SessionStore) -> None:
    session, other = store.sessions.create("q").id, store.sessions.create("other").id
    store.revisions.add(session, chain("a"), origin="human")

    def start(run: str) -> str | None:
        try:
            return begin(store, session, run).id
        except StorageError:
            return None

    with ThreadPoolExecutor(8) as threads:
        (first,) = (run for run in threads.map(start, "abcdefgh") if run is not None)
    assert [run.id for run in store.runs.of_session(session)] == [first]
    with pytest.raises(StorageError, match=r"^This session is running already; stop that run first\.$"):
        begin(store, session, "next")
    begin(store, other, "elsewhere")
    keep(store, finished(first, seq=0))
    begin(store, session, "next")


def test_of_several_that_resume_an_interrupted_run_one_does(store: SessionStore, session: str) -> None:
    revision = begin(store, session, "r").revision
    end = finished("r", seq=0, outcome="interrupted", answer=None)
    # Nothing has changed the session since.
    keep(store, end.model_copy(update={"at": time.time() + 60.0}))

    def resume(run: str) -> str | None:
        try:
            return store.runs.start(run=run, session=session, revision=revision, resumes="r").id
        except SessionBusy:
            return None

    with ThreadPoolExecutor(4) as threads:
        (first,) = (run for run in threads.map(resume, "abcd") if run is not None)
    assert [run.id for run in store.runs.of_session(session)] == [first, "r"]
    keep(store, finished(first, seq=0))
    with pytest.raises(SessionBusy, match="This session went on since"):
        store.runs.start(run="later", session=session, revision=revision, resumes="r")


@pytest.mark.parametrize("outcome", ["finished", "failed", "cancelled", "paused", "over_budget"])
def test_a_run_that_ended_otherwise_is_not_resumed(
    store: SessionStore, session: str, outcome: RunOutcome
) -> None:
    revision = begin(store, session, "r").revision
    keep(store, finished("r", seq=0, outcome=outcome))
    with pytest.raises(SessionBusy):
        store.runs.start(run="a", session=session, revision=revision, resumes="r")


@pytest.mark.slow
def test_a_run_id_is_used_once_and_its_parent_is_known(store: SessionStore, session: str) -> None:
    begin(store, session, "r")
    keep(store, finished("r", seq=0))
    with pytest.raises(StorageError, match="The run 'r' has been started before"):
        begin(store, session, "r")
    revision = store.revisions.of_session(session)[0].id
    with pytest.raises(StorageError, match="There is no run 'gone'"):
        store.runs.start(run="r2", session=session, revision=revision, parent="gone")


@pytest.mark.parametrize("count", [2**31, 10**12, 10**19])
def test_more_tokens_than_anybody_uses_keep_no_output_from_being_kept(
    store: SessionStore, session: str, count: int
) -> None:
    begin(store, session, "r")
    value = output("done", run="r").model_copy(
        update={"usage": Usage(prompt_tokens=count, completion_tokens=1)}
    )
    event = charged(StepFinished(run="r", seq=1, at=4.0, step=0, output=value))
    keep(store, started("r", chain("do")), event, finished("r", seq=2))
    assert store.runs.events("r")[1] == event
    assert by_fingerprint(store.runs.outputs(session)) == {"f": value}
    least = 1 if count > MOST_TOKENS else 0
    assert store.runs.totals(session)["r"].lower.total == least, "more than anybody uses is unknown"


def test_events_come_back_equal_in_order_and_from_any_place(store: SessionStore, session: str) -> None:
    begin(store, session, "r")
    assert store.runs.events("r") == ()
    events = (
        started("r", chain("do")),
        step_started("r", seq=1),
        delta("r", seq=2),
        step_finished("r", "done", seq=3),
        finished("r", seq=4, answer="done"),
    )
    keep(store, *events)
    assert store.runs.events("r") == events
    assert store.runs.events("r", after=2) == events[3:]
    assert store.runs.events("r", after=99) == ()
    assert fold(store.runs.events("r")).answer == "done"


_EVENTS = (
    started("r", chain("do")),
    step_started("r", seq=1),
    delta("r", seq=2, text="do"),
    step_finished("r", "done", seq=3),
    finished("r", seq=4, answer="done"),
)


@pytest.mark.parametrize("count", range(len(_EVENTS) + 1))
def test_the_state_of_a_run_is_the_fold_of_its_events(store: SessionStore, count: int) -> None:
    begin(store, store.sessions.create("q").id, "r")
    keep(store, *_EVENTS[:count])
    assert store.runs.state("r") == fold(_EVENTS[:count])


@pytest.mark.parametrize(
    ("events", "status", "steps", "answer"),
    [
        (_EVENTS[1:], "interrupted", [], None),
        (_EVENTS[4:], "interrupted", [], None),
        (
            (*_EVENTS[:3], step_finished("r", "no such step", seq=3, step=7)),
            "interrupted",
            ["interrupted"],
            None,
        ),
        ((*_EVENTS[:2], *_EVENTS[3:]), "finished", ["finished"], "done"),
        ((*_EVENTS[:3], *_EVENTS[4:]), "finished", ["interrupted"], "done"),
    ],
)
def test_a_run_that_lost_events_can_still_be_read(
    store: SessionStore, events: tuple[Event, ...], status: str, steps: list[str], answer: str | None
) -> None:
    begin(store, store.sessions.create("q").id, "r")
    keep(store, *events)
    state = store.runs.state("r")
    assert (state.run, state.status, state.answer) == ("r", status, answer)
    assert [step.status for step in state.steps] == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "answer"), [("finished", "42"), ("failed", None), ("cancelled", None), ("interrupted", "4")]
)
def test_the_last_event_ends_the_runs_record(
    store: SessionStore, session: str, outcome: str, answer: str | None
) -> None:
    begin(store, session, "r")
    before = store.sessions.find(session).updated_at
    keep(store, delta("r", seq=0))
    assert store.sessions.find(session).updated_at == before
    keep(store, finished("r", seq=1, outcome=outcome, answer=answer))
    run = store.runs.find("r")
    assert (run.status, run.finished_at, run.answer) == (outcome, 5.0, answer)
    assert store.sessions.find(session).updated_at > before
    assert store.sessions.listed()[0].state == outcome


def test_the_outputs_of_a_session_come_newest_run_first_and_of_equal_steps_each(store: SessionStore) -> None:
    mine, other = store.sessions.create("q").id, store.sessions.create("other").id
    begin(store, mine, "r")
    begin(store, other, "o")
    keep(
        store,
        step_finished("r", "second", seq=0, step=1),
        step_finished("r", "first", seq=1, step=0),
        step_finished("r", "else", seq=2, step=2, fingerprint="g"),
        finished("r", seq=3),
    )
    begin(store, mine, "s")
    new = step_finished("s", "new", seq=0, step=1).model_copy(update={"at": 9.0})
    keep(store, new, step_finished("o", "theirs", seq=0))
    assert [each.text for each in store.runs.outputs(mine)] == ["new", "first", "second", "else"]
    assert by_fingerprint(store.runs.outputs(other)) == {"f": output("theirs", run="o")}


def test_of_two_outputs_of_one_call_the_later_stays(store: SessionStore, session: str) -> None:
    begin(store, session, "r")
    keep(store, step_finished("r", "first", seq=0), step_finished("r", "second", seq=1))
    assert [each.text for each in store.runs.outputs(session)] == ["second"]


def test_the_outputs_of_trials_come_last_and_their_runs_are_no_earlier_runs(
    store: SessionStore, session: str
) -> None:
    base = begin(store, session, "r")
    keep(store, started("r", chain("do")), step_finished("r", "run", seq=1), finished("r", seq=2))
    swap = store.experiments.add(session, Swap(step=0, workers=("w",)), base="r").id
    store.runs.start(run="t", session=session, revision=base.revision, experiment=swap, trial=0)
    trial = step_finished("t", "trial", seq=1).model_copy(update={"at": 9.0})
    keep(store, started("t", chain("do")), trial, finished("t", seq=2))
    assert [each.text for each in store.runs.outputs(session)] == ["run", "trial"]
    assert [run.outputs[0].text for run in store.runs.earlier(session)] == ["run"]


def test_a_fork_has_the_runs_of_its_origin_until_then_as_earlier_runs(
    store: SessionStore, session: str
) -> None:
    def ran(run: str, *events: Event, of: str) -> None:
        begin(store, of, run)
        keep(store, started(run, chain("a", "b")), *events, finished(run, seq=9))

    first = step_finished("r", "first", seq=1)
    ran("r", first, of=session)
    reused = StepReused(run="s", seq=1, at=4.0, step=0, output=first.output, request=REQUEST)
    ran("s", reused, step_finished("s", "second", seq=2, step=1), of=session)
    head = store.sessions.find(session).head
    assert head is not None
    fork = store.sessions.fork(session, head).id
    ran("of the fork", step_finished("of the fork", "third", seq=1), of=fork)
    ran("after the fork", step_finished("after the fork", "fourth", seq=1), of=session)
    earlier = [{"a": "third"}, {"a": "first", "b": "second"}, {"a": "first"}]
    assert [
        {run.workflow.steps[at].instruction: each.text for at, each in run.outputs.items()}
        for run in store.runs.earlier(fork)
    ] == earlier


def test_earlier_runs_are_read_once_until_a_step_ends_in_whatever_process(
    store: SessionStore, session: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = runs.earlier_runs

    def counting(
        connection: Connection, session: str, memory: dict[str, EarlierRun]
    ) -> tuple[EarlierRun, ...]:
        reads.append(session)
        return read(connection, session, memory)

    monkeypatch.setattr(runs, "earlier_runs", counting)
    begin(store, session, "r")
    keep(store, started("r", chain("a", "b")), step_finished("r", "first", seq=1))
    for _ in range(2):
        assert [{*run.outputs} for run in store.runs.earlier(session)] == [{0}]
    assert reads == [session]
    with SessionStore.open(url) as other:
        assert [run.outputs[0].text for run in other.runs.earlier(session)] == ["first"]
        keep(store, delta("r", seq=2), step_finished("r", "second", seq=3, step=1))
        for each in (store, other):
            assert [run.outputs[1].text for run in each.runs.earlier(session)] == ["second"]


def test_of_events_that_come_together_only_the_refused_are_missing(store: SessionStore) -> None:
    begin(store, store.sessions.create("q").id, "r")
    good = [store.runs.append(delta("r", seq=i)) for i in range(3)]
    bad = [
        store.runs.append(delta("r", seq=1)),
        store.runs.append(delta("never started", seq=0)),
        store.runs.append(delta("r", seq=2**70)),
    ]
    good.append(store.runs.append(delta("r", seq=3)))
    wait([*good, *bad], timeout=60)
    assert [type(future.exception()) for future in bad] == [StorageError] * 3
    assert [event.seq for event in store.runs.events("r")] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("run", "seq", "tokens"),
    [
        ("r", 0, "Event 0 of the run 'r' was not kept"),
        ("never started", 0, "Event 0 of the run 'never started' was not kept"),
    ],
)
def test_a_refused_event_is_named(store: SessionStore, run: str, seq: int, tokens: str) -> None:
    begin(store, store.sessions.create("q").id, "r")
    store.runs.append(delta("r", seq=0)).result(timeout=60)
    with pytest.raises(StorageError, match=tokens):
        store.runs.append(delta(run, seq=seq)).result(timeout=60)


def test_a_refused_event_writes_nothing_of_what_it_means(store: SessionStore, session: str) -> None:
    begin(store, session, "r")
    keep(store, delta("r", seq=0))
    for event in (finished("r", seq=0), step_finished("r", "text", seq=0)):
        assert isinstance(store.runs.append(event).exception(timeout=60), StorageError)
    assert store.runs.find("r").status == "running"
    assert store.runs.outputs(session) == ()


@pytest.mark.slow
def test_events_of_concurrent_threads_keep_the_order_of_each_run(store: SessionStore) -> None:
    runs = [f"r{i}" for i in range(8)]
    sessions = {run: store.sessions.create(run).id for run in runs}
    for run, session in sessions.items():
        begin(store, session, run)
    futures: list[Future[None]] = []

    def produce(run: str) -> None:
        for seq in range(100):
            futures.append(store.runs.append(delta(run, seq=seq, text=f"{run} {seq}")))
            if seq % 25 == 0:
                store.sessions.rename(sessions[run], f"{run} {seq}")

    threads = [Thread(target=produce, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wait(futures, timeout=60).not_done
    for run in runs:
        assert store.runs.events(run) == tuple(delta(run, seq=i, text=f"{run} {i}") for i in range(100))


@pytest.mark.slow
def test_what_resolved_can_be_read_at_once(store: SessionStore) -> None:
    begin(store, store.sessions.create("q").id, "r")
    for seq in range(20):
        store.runs.append(delta("r", seq=seq)).result(timeout=60)
        assert store.runs.events("r", after=seq - 1) == (delta("r", seq=seq),)


async def test_a_cancelled_wait_neither_loses_its_event_nor_stops_the_writer(store: SessionStore) -> None:
    begin(store, store.sessions.create("q").id, "r")
    future = store.runs.append(delta("r", seq=0))
    waiting = asyncio.wrap_future(future)
    waiting.cancel()
    assert not future.cancel()
    await asyncio.wrap_future(store.runs.append(delta("r", seq=1)))
    assert [event.seq for event in store.runs.events("r")] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["\ud800 and \udfff", "nul \x00", "\ud83d\ude00", "\u2028 <script>", "x" * 100_000]
)
def test_whatever_a_model_writes_can_be_kept(store: SessionStore, session: str, text: str) -> None:
    begin(store, session, "r")
    keep(
        store,
        delta("r", seq=0, text=text),
        step_finished("r", text, seq=1),
        finished("r", seq=2, answer=text),
    )
    state = fold([started("r", chain("do")), *store.runs.events("r")])
    readable = portable(text)
    (stored,) = store.runs.outputs(session)
    assert state.steps[0].text == state.answer == stored.text == readable
    assert store.runs.find("r").answer == readable


@pytest.mark.slow
def test_closing_writes_what_is_queued(url: str) -> None:
    with SessionStore.open(url) as store:
        begin(store, store.sessions.create("q").id, "r")
        futures = [store.runs.append(delta("r", seq=i)) for i in range(500)]
    assert all(future.done() and future.exception() is None for future in futures)
    with SessionStore.open(url) as reopened:
        assert [event.type for event in reopened.runs.events("r")] == ["step_delta"] * 500 + ["run_finished"]


@pytest.mark.slow
def test_pieces_of_a_text_change_the_run_s_state_and_leave_what_else_was_read(
    store: SessionStore, session: str, url: str, kind: str
) -> None:
    store.revisions.add(session, chain("a"), origin="human")
    begin(store, session, "r1")
    keep(store, started("r1", chain("a")), step_started("r1", seq=1))
    with SessionStore.open(url) as other:
        state, read = other.runs.state("r1"), other.runs.latest(session)
        state = other.runs.state("r1", before=state)
        keep(store, delta("r1", seq=2, text="more"))
        assert other.runs.state("r1", before=state).steps[0].text == "more"
        # PostgreSQL has no number that only some writes change.
        assert other.runs.latest(session) is read or kind == "postgresql"
        keep(store, step_finished("r1", "all", seq=3), finished("r1", seq=4))
        ended = other.runs.latest(session)
        assert ended is not None
        assert ended.status == "finished"
        assert by_fingerprint(other.runs.outputs(session))["f"].text == "all"
