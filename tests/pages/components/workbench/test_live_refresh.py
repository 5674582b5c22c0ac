"""A page reads its session once, and so does each tick of its fragments."""

from __future__ import annotations

import time

import pytest

from conductor.errors import StorageError
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.session import SessionView
from pages.components.workbench.live_refresh import POLL_SECONDS, CurrentView

FRAGMENTS = ("canvas", "inspector", "panels", "meter", "replay")


@pytest.fixture
def loads(monkeypatch):
    """The sessions read from the store, one entry for each time."""
    load, read = SessionView.load, []

    def counted(bench, session, **options):
        read.append(session)
        return load(bench, session, **options)

    monkeypatch.setattr(SessionView, "load", counted)
    return read


@pytest.fixture
def running(bench, session):
    """The session while a slow step of it runs."""
    bench.editing.edit(session, Workflow.of([Step(instruction="Wait.", worker="slow")]), note="Slow")
    bench.running.start(session)
    until = time.monotonic() + 5
    while not SessionView.load(bench, session).moves and time.monotonic() < until:
        time.sleep(0.01)
    yield session
    bench.running.stop(session)


def test_all_fragments_of_a_tick_share_one_reading_of_a_running_session(bench, tab, running, loads):
    clock = [100.0]
    current = CurrentView(bench, tab, running, now=lambda: clock[0])
    assert [current.of(fragment) is current.of_page for fragment in FRAGMENTS] == [True] * 5
    assert len(loads) == 1
    for tick in range(1, 5):
        clock[0] = 100.0 + tick * POLL_SECONDS
        views = []
        for fragment in FRAGMENTS:
            views.append(current.of(fragment))
            clock[0] += POLL_SECONDS / 10
        assert len(loads) == 1 + tick
        assert len({id(view) for view in views}) == 1


def test_fragments_whose_timers_are_spread_over_a_tick_read_no_more_often(bench, tab, running, loads):
    clock = [100.0]
    current = CurrentView(bench, tab, running, now=lambda: clock[0])
    for fragment in FRAGMENTS:
        current.of(fragment)
    for tick in range(8):
        for at, fragment in enumerate(FRAGMENTS):
            clock[0] = 101.0 + tick * POLL_SECONDS + at * POLL_SECONDS / len(FRAGMENTS)
            current.of(fragment)
    assert len(loads) <= 1 + 10


def test_a_page_that_stands_still_is_read_again_when_a_fragment_is_drawn_again(bench, tab, session, loads):
    current = CurrentView(bench, tab, session)
    current.of("inspector")
    head = bench.store.revisions.head(session)
    bench.editing.edit(session, head.workflow.with_instruction(0, "Find another."), note="Changed")
    assert current.of("inspector").head.workflow.steps[0].instruction == "Find another."
    assert len(loads) == 2


def test_a_session_that_is_gone_is_an_error(bench, tab):
    with pytest.raises(StorageError):
        CurrentView(bench, tab, "nowhere")


def test_a_run_of_the_page_reads_its_session_once(app, bench, session, loads):
    page = app("workbench", session)
    assert not page.exception
    assert loads == [session]
    bench.running.start(session).done.wait(10)
    loads.clear()
    page.run()
    assert loads == [session]
