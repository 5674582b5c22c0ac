"""The timeline and the replay on the page, as far as they can be seen without a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.runs.replay import Replay
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.run_text import clock
from pages.components.view_models.session import SessionView
from pages.components.workbench.drawer.timeline import run_names
from storage import SessionStore


def texts(elements):
    return [element.value for element in elements]


@pytest.fixture
def ran(bench, session):
    """A session whose workflow was run to the end, and that run."""
    assert bench.running.start(session).done.wait(timeout=60)
    bench.activities.wait(session)  # which ends a moment after its run
    return session, bench.store.runs.latest(session)


def replay_of(bench, session, **fields) -> Replay:
    run = bench.store.runs.latest(session)
    return Replay(run=run.id, revision=bench.store.revisions.head(session).id, seconds=60.0, **fields)


def opened(app, session, replay):
    """The page of a tab in which a replay stands, with its Timeline chosen."""
    page = app(session=session)
    page.session_state["replay"] = replay
    page.session_state["panel"] = "Timeline"
    return page.run()


def test_a_run_that_is_over_has_a_timeline_with_what_its_edges_cost(app, bench, ran):
    session, _ = ran
    page = app(session=session)
    page.session_state["panel"] = "Timeline"
    page.run()
    assert not page.exception
    assert any(text.startswith("Critical path") for text in texts(page.caption))
    lines = [*texts(page.markdown), *texts(page.caption)]
    assert any("edge" in text for text in lines)


def test_all_edges_are_listed_on_demand(app, bench, ran):
    session, run = ran
    page = app(session=session)
    page.session_state["panel"] = "Timeline"
    page.session_state[f"edges-{run.id}"] = True
    page.run()
    assert not page.exception
    assert list(page.table[0].value["Edge"]) == ["1 → 3"]


def test_in_a_replay_nothing_can_be_started_or_edited_and_the_way_out_is_offered(app, bench, ran):
    session, _ = ran
    page = opened(app, session, replay_of(bench, session))
    assert not page.exception
    keys = {button.key for button in page.button}
    assert "replay-end" in keys
    assert not keys & {"run", "rerun-all", "undo", "redo", "stop", "export"}
    assert any("End it to edit or run" in text for text in texts(page.caption))
    page.button(key="replay-end").click().run()
    assert "run" in {button.key for button in page.button}
    assert "replay" not in page.session_state


def test_in_a_replay_the_inspector_shows_the_moment_and_is_locked(app, bench, ran):
    session, _ = ran
    page = app(session=session)
    page.session_state["replay"] = replay_of(bench, session)
    page.session_state["selected"] = 2
    page.run()
    assert not page.exception
    assert page.text_area(key=f"instruction-{session}-2").disabled
    assert all(button.disabled for button in page.button if button.key.startswith("step-"))
    assert any("waits for what it reads" in text for text in texts(page.caption))


@pytest.mark.slow
def test_a_replay_shows_the_state_of_its_moment_as_if_it_were_now(bench, ran):
    session, run = ran
    events = bench.store.runs.events(run.id)
    seconds = events[-1].at - events[0].at
    whole = SessionView.load(bench, session)
    at_start = SessionView.load(bench, session, replay=replay_of(bench, session))
    assert at_start.replay is not None
    assert (at_start.live, at_start.locked, at_start.moves) == (True, True, False)
    assert at_start.state.workflow == whole.state.workflow
    assert [step.status for step in at_start.state.steps] == ["waiting"] * 3
    assert at_start.state.started_at >= whole.state.finished_at
    assert at_start.phase != whole.phase
    middle = SessionView.load(bench, session, replay=replay_of(bench, session, position=seconds * 0.999))
    assert middle.state.steps[0].status == "finished"
    assert middle.state.live


@pytest.mark.slow
def test_a_replay_that_plays_moves_and_ends_by_itself(bench, ran):
    session, _ = ran
    playing = replay_of(bench, session, playing_since=1.0)
    assert SessionView.load(bench, session, replay=playing).replay is None
    slow = replace(playing, speed=1e-15)
    assert SessionView.load(bench, session, replay=slow).moves


def test_an_edit_ends_the_replay_before_it_is_seen(app, bench, ran, three):
    session, _ = ran
    replay = replay_of(bench, session)
    bench.editing.edit(session, three.with_worker(1, "alpha"), note="By hand")
    view = SessionView.load(bench, session, replay=replay)
    assert view.replay is None
    assert view.head.note == "By hand"
    page = opened(app, session, replay)
    assert "replay" not in page.session_state
    assert page.button(key="undo")


@pytest.mark.slow
def test_a_new_run_ends_the_replay(bench, ran, three):
    session, _ = ran
    slow = bench.editing.edit(
        session, three.with_worker(2, "slow"), note="Slow", head=bench.store.revisions.head(session)
    )
    replay = replace(replay_of(bench, session), revision=slow.id)
    assert SessionView.load(bench, session, replay=replay).replay is not None
    bench.running.start(session)
    view = SessionView.load(bench, session, replay=replay)
    assert view.replay is None
    assert view.live
    bench.running.stop(session)


@pytest.mark.slow
def test_the_run_before_an_edit_is_replayed_with_the_workflow_that_was_run(bench, ran, three):
    session, run = ran
    head = bench.editing.edit(
        session, three.remove_step(1), note="Fewer", head=bench.store.revisions.head(session)
    )
    view = SessionView.load(bench, session, replay=replace(replay_of(bench, session), revision=head.id))
    assert view.run == run
    assert view.head.workflow == three
    assert view.as_run
    assert (view.outlook, view.undo, view.redo) == (None, None, None)


@pytest.mark.slow
def test_a_replay_of_another_sessions_run_is_none(bench, ran, three):
    session, _ = ran
    other = bench.ask("Another one?").id
    head = bench.editing.edit(other, three, note="By hand")
    replay = replace(replay_of(bench, session), revision=head.id)
    assert SessionView.load(bench, other, replay=replay).replay is None


def test_opening_another_session_leaves_the_replay(app, bench, ran):
    session, _ = ran
    page = opened(app, session, replay_of(bench, session))
    before = page.session_state["replay"].run
    page.button(key="new").click().run()
    assert page.session_state["replay"].run != before
    assert page.title


def test_a_live_run_has_a_timeline_that_cannot_be_replayed(app, bench, session, three):
    bench.editing.edit(
        session, three.with_worker(0, "slow"), note="Slow", head=bench.store.revisions.head(session)
    )
    live = bench.running.start(session)
    page = app(session=session)
    page.session_state["panel"] = "Timeline"
    page.run()
    assert not page.exception
    assert any(text.startswith("The time that each edge costs appears when") for text in texts(page.caption))
    run = bench.store.runs.latest(session)
    replay = Replay(run=run.id, revision=bench.store.revisions.head(session).id, seconds=60.0)
    view = SessionView.load(bench, session, replay=replay)
    assert (view.replay, view.moves) == (None, True)
    bench.running.stop(session)
    assert live.done.wait(timeout=60)


def test_a_run_of_one_step_has_a_timeline_without_edges(app, url, bench):
    session = bench.ask("Alone?").id
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="alpha")]), note="By hand")
    assert bench.running.start(session).done.wait(timeout=60)
    page = app(session=session)
    page.session_state["panel"] = "Timeline"
    page.run()
    assert not page.exception
    assert not page.table
    with SessionStore.open(url) as store:
        assert store.runs.latest(session).status == "finished"


@pytest.mark.thorough
def test_any_run_that_is_over_can_be_chosen_and_replayed(app, bench, ran, three):
    session, first = ran
    edited = bench.editing.edit(
        session, three.with_worker(1, "alpha"), note="By hand", head=bench.store.revisions.head(session)
    )
    assert bench.running.start(session).done.wait(timeout=60)
    second = bench.store.runs.latest(session)
    page = app(session=session)
    page.session_state["panel"] = "Timeline"
    page.run()
    choice = page.selectbox(key=f"run-choice-{session}")
    assert choice.value == second.id
    assert [name.split(" · ")[:2] for name in choice.options] == [
        ["Run 2 of 2", "finished"],
        ["Run 1 of 2", "finished"],
    ]
    choice.select_index(1).run()
    assert not page.exception
    assert page.selectbox(key=f"run-choice-{session}").value == first.id
    assert any("had a different workflow" in text for text in texts(page.caption))

    page.session_state["replay"] = Replay(run=first.id, revision=edited.id, seconds=60.0)
    page.run()
    assert not page.exception
    assert page.button(key="replay-end")
    assert page.selectbox(key=f"run-choice-{session}").value == first.id
    assert not any("had a different workflow" in text for text in texts(page.caption))
    page.selectbox(key=f"run-choice-{session}").select(second.id).run()
    assert "replay" not in page.session_state
    assert page.selectbox(key=f"run-choice-{session}").value == second.id


@pytest.mark.slow
def test_a_run_is_named_by_when_it_began_as_what_it_took_stands_in_its_timeline(bench, ran):
    _, run = ran
    lost = run.model_copy(update={"id": "lost", "status": "interrupted", "round": 2})
    names = run_names([lost, run])
    began = clock(run.started_at)
    assert names["lost"] == f"Run 2 of 2 · interrupted · {began} · round 2"
    assert names[run.id] == f"Run 1 of 2 · finished · {began}"
