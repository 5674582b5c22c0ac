"""A page reads its session once, and so does each tick of its fragments."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

from conductor.errors import StorageError
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.session import SessionView
from pages.components.workbench.following import live_refresh
from pages.components.workbench.following.live_refresh import (
    REPLAY_MILLISECONDS,
    RUN_MILLISECONDS,
    CurrentView,
)
from studio.workbench import marks
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

FRAGMENTS = ("canvas", "inspector", "panels", "meter", "replay")


@pytest.fixture
def loads(monkeypatch):
    """The sessions read from the store, one entry for each time."""
    load, read = SessionView.load, []

    def load_and_count(bench, session, **options):
        read.append(session)
        return load(bench, session, **options)

    monkeypatch.setattr(SessionView, "load", load_and_count)
    return read


@pytest.fixture
def running(bench, session):
    """The session while a slow step of it runs."""
    bench.editing.edit(session, Workflow.of([Step(instruction="Wait.", worker="slow")]), note="Slow")
    bench.running.start(session)
    until(lambda: SessionView.load(bench, session).moves)
    yield session
    bench.running.stop(session)


@pytest.fixture
def desk(bench, tab):
    return bench, tab


def test_all_fragments_of_a_tick_share_one_reading_of_a_running_session(bench, tab, running, loads):
    clock = [100.0]
    current = CurrentView(bench, tab, running, now=lambda: clock[0])
    assert [current.of(fragment) is current.of_page for fragment in FRAGMENTS] == [True] * 5
    assert len(loads) == 1
    for tick in range(1, 5):
        clock[0] = 100.0 + tick * REPLAY_MILLISECONDS / 1000
        views = []
        for fragment in ("tick", *FRAGMENTS):
            views.append(current.of(fragment))
            clock[0] += 0.02
        assert len(loads) == 1 + tick
        assert len({id(view) for view in views}) == 1


def test_what_a_rerun_would_do_is_found_out_once_while_no_step_begins_or_ends(bench, running):
    first = SessionView.load(bench, running)
    assert first.outlook is not None
    later = SessionView.load(bench, running, before=first)
    assert later.outlook is first.outlook
    bench.running.stop(running)
    until(lambda: not SessionView.load(bench, running).locked)
    assert SessionView.load(bench, running, before=later).outlook is not first.outlook


def test_the_page_of_a_run_has_one_timer_and_no_fragment_one_of_its_own(app, running, monkeypatch):
    fragment, watch, timers = st.fragment, live_refresh.watch, []

    def count_timers(part, *, key, run_every=None):
        timers.extend([] if run_every is None else [key])
        return fragment(part, key=key, run_every=run_every)

    def watched(tab, marks, *, every, **callbacks):
        timers.append(every)
        watch(tab, marks, every=every, **callbacks)

    monkeypatch.setattr(st, "fragment", count_timers)
    monkeypatch.setattr(live_refresh, "watch", watched)
    assert not app("workbench", running).exception
    assert timers == [RUN_MILLISECONDS]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (("live", False), ["state", "canvas", "live"]),
        (("step", False), ["state", "canvas", "inspector"]),
        (("answer", False), ["state", "canvas"]),
        (("answer", True), ["state", "canvas", "panels"]),
    ],
)
def test_a_tick_draws_only_what_moves_and_is_seen(desk, running, monkeypatch, seen, expected):
    (bench, tab), keys = desk, []
    current = CurrentView(bench, tab, running)
    monkeypatch.setattr(live_refresh, "_fragment", lambda *_: None)
    monkeypatch.setattr(tab, "redraw", keys.extend)
    reads, tab.panel_moves = seen
    st.session_state["changes"] = SimpleNamespace(tick=reads)
    parts = {"state": "always", "canvas": "always", "inspector": "step", "live": "live", "panels": "drawer"}
    for key, follows in {**parts, "composer": None}.items():
        current.fragment(key, print, follows=follows)
    current.tick()
    assert keys == expected


def test_what_others_ask_draws_the_list_of_recent_sessions_alone(desk, session, monkeypatch):
    (bench, tab), redraws = desk, []
    tab.open(session)
    current = CurrentView(bench, tab, session)
    monkeypatch.setattr(live_refresh, "_fragment", lambda *_: None)
    monkeypatch.setattr(tab, "redraw", redraws.extend)
    monkeypatch.setattr(tab, "ask_redraw", lambda: redraws.append("the whole page"))
    current.watch(marks(bench, session))
    bench.ask("What do others ask?")
    current.changed()
    assert redraws == ["changes-part", "recent-part"]
    bench.store.sessions.rename(session, "By another person")
    current.changed()
    assert redraws[2:] == ["the whole page"]


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
    bench.running.start(session).done.wait(60)
    loads.clear()
    page.run()
    assert loads == [session]
