"""Corrections: a row for every change of a Conductor's plan, joined with what its runs answered."""

from __future__ import annotations

import pytest

from conductor.engine.experiments import EdgeTest
from conductor.errors import EditConflict, StorageError
from conductor.planner.corrections import Correction
from conductor.values.messages import Sampling, Usage
from conductor.values.output import HandEdit
from conductor.workflow.plan_report import Candidate, PlanReport
from storage import Revision, SessionStore
from storage.tables.people import corrections
from tests.support.stores.store_scenario import chain, finished, keep, output, started


def planned(store: SessionStore, *instructions: str, session: str | None = None) -> Revision:
    """A session whose head is a Conductor's plan."""
    session = session or store.sessions.create("why?", pool_label="simulated").id
    workflow = chain(*instructions)
    report = PlanReport(text="text", candidates=(Candidate(span=(0, 4), workflow=workflow),), chosen=0)
    plan = store.plans.add(session, planner="c", planner_kind="simulated", report=report, usage=Usage())
    return store.revisions.add(session, workflow, origin="conductor", note="Planned", plan=plan.id)


def edit(store: SessionStore, session: str, *instructions: str) -> Revision:
    return store.revisions.add(session, chain(*instructions), origin="human", note="Changed")


def ran(
    store: SessionStore,
    revision: Revision,
    run: str,
    *,
    answer: str = "so",
    covers: tuple[int, ...] | None = None,
) -> None:
    """A finished run of a revision."""
    store.runs.start(run=run, session=revision.session, revision=revision.id)
    first = started(run, revision.workflow).model_copy(update={"covers": covers})
    keep(store, first, finished(run, seq=1, answer=answer))


def read(store: SessionStore, *, every: bool = False) -> list[Correction]:
    return list(store.corrections.read(every=every))


@pytest.mark.slow
def test_every_change_of_a_plan_is_a_row_and_the_last_one_counts(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    last = edit(store, first.session, "look", "merge")
    assert [row.edited for row in read(store, every=True)] == [chain("look"), chain("look", "merge")]
    (row,) = read(store)
    assert (row.planned_revision, row.revision, row.current) == (first.id, last.id, True)
    assert (row.query, row.pool_label, row.planner, row.note) == ("why?", "simulated", "c", "Changed")
    assert (row.planned, row.planned_run, row.edited_run) == (chain("find"), None, None)


def test_what_no_conductor_planned_is_no_correction(store: SessionStore, session: str) -> None:
    store.revisions.add(session, chain("find"), origin="import")
    edit(store, session, "look")
    assert read(store, every=True) == []
    assert store.revisions.planned(edit(store, session, "again").id) is None


@pytest.mark.slow
def test_undo_and_redo_take_no_row_away(store: SessionStore) -> None:
    first = planned(store, "find")
    edited = edit(store, first.session, "look")
    store.revisions.undo(first.session)
    (row,) = read(store)
    assert (row.revision, row.current) == (edited.id, False)
    other = edit(store, first.session, "other")
    assert [row.revision for row in read(store, every=True)] == [edited.id, other.id]
    assert [row.revision for row in read(store)] == [other.id]
    assert store.revisions.planned(other.id) == first


@pytest.mark.slow
def test_each_plan_of_a_session_has_its_own_final_change(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    second = planned(store, "again", session=first.session)
    edit(store, first.session, "once more")
    assert [(row.planned_revision, row.edited) for row in read(store)] == [
        (first.id, chain("look")),
        (second.id, chain("once more")),
    ]


@pytest.mark.slow
def test_the_change_that_was_run_last_is_the_final_one(store: SessionStore) -> None:
    first = planned(store, "find")
    look = edit(store, first.session, "look")
    edit(store, first.session, "other")
    store.revisions.undo(first.session)
    ran(store, look, "n1")
    assert [row.revision for row in read(store)] == [look.id]


@pytest.mark.slow
def test_both_answers_are_joined_where_they_were_run(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, first, "n1", answer="planned so")
    edited = edit(store, first.session, "look")
    ran(store, edited, "n2", answer="edited so")
    ran(store, edited, "n3", answer="edited again")
    store.runs.start(run="n4", session=first.session, revision=edited.id)
    keep(store, started("n4", edited.workflow), finished("n4", seq=1, outcome="failed", answer=None))
    (row,) = read(store)
    assert row.planned_run is not None
    assert row.edited_run is not None
    assert (row.planned_run.run, row.planned_run.answer) == ("n1", "planned so")
    assert (row.edited_run.run, row.edited_run.answer) == ("n3", "edited again")
    store.corrections.rate("n2", "up")
    (judged,) = read(store)
    assert judged.edited_run is not None
    assert (judged.edited_run.run, judged.thumbs) == ("n2", "up")


@pytest.mark.slow
def test_a_run_of_some_steps_is_no_answer_of_the_workflow(store: SessionStore) -> None:
    first = planned(store, "find", "merge")
    edited = edit(store, first.session, "look", "merge")
    ran(store, edited, "n1", covers=(1,))
    assert [row.edited_run for row in read(store)] == [None]


@pytest.mark.slow
def test_a_trial_is_no_answer_of_the_workflow(store: SessionStore) -> None:
    first = planned(store, "find", "merge")
    ran(store, first, "n1", answer="planned so")
    experiment = store.experiments.add(first.session, EdgeTest(edges=((0, 1),)), base="n1")
    store.runs.start(run="n2", session=first.session, revision=first.id, experiment=experiment.id, trial=0)
    keep(store, started("n2", first.workflow), finished("n2", seq=1, answer="tried"))
    edit(store, first.session, "look")
    (correction,) = read(store)
    assert correction.planned_run is not None
    assert correction.planned_run.answer == "planned so"


@pytest.mark.slow
def test_an_edit_back_to_the_plan_shows_what_the_plan_answers(store: SessionStore) -> None:
    first = planned(store, "find")
    back = edit(store, first.session, "find")
    ran(store, back, "n1", answer="planned so")
    look = edit(store, first.session, "look")
    (row,) = read(store)
    assert row.planned_run is not None
    assert (row.revision, row.planned_run.run) == (look.id, "n1")


def written(store: SessionStore, revision: Revision, text: str = "By hand.") -> Revision:
    """The revision after a person wrote its first step's output."""
    answer = output("so", run="n").by_hand(text, edit=HandEdit(at=1.0))
    return store.revisions.add(
        revision.session, revision.workflow.with_pin(0, answer), origin="human", note="Step 1: by hand"
    )


@pytest.mark.slow
def test_an_output_written_by_hand_later_does_not_hide_a_judged_plan(store: SessionStore) -> None:
    first = planned(store, "find")
    look = edit(store, first.session, "look")
    ran(store, look, "n1", answer="looked")
    store.corrections.rate("n1", "down")
    fed = written(store, look)
    ran(store, fed, "n2", answer="by hand")
    (row,) = read(store)
    assert (row.revision, row.note, row.current) == (look.id, "Changed", True)
    assert row.edited_run is not None
    assert (row.edited_run.answer, row.thumbs) == ("looked", "down")


@pytest.mark.slow
def test_an_answer_that_a_person_fed_is_no_plans_answer(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, written(store, first), "n1", answer="by hand")
    store.corrections.rate("n1", "up")
    look = edit(store, first.session, "look")
    ran(store, written(store, look), "n2", answer="by hand, too")
    (row,) = read(store)
    assert (row.revision, row.planned_run, row.edited_run) == (look.id, None, None)


@pytest.mark.slow
def test_revisions_that_are_equal_as_plans_are_one_change(store: SessionStore) -> None:
    first = planned(store, "find")
    look = edit(store, first.session, "look")
    ran(store, look, "n1", answer="looked")
    cooler = look.workflow.with_sampling(0, Sampling(temperature=0.1))
    store.revisions.add(first.session, cooler, origin="human", note="Step 1: sampling")
    other = edit(store, first.session, "other")
    again = edit(store, first.session, "look")
    assert [(row.revision, row.current) for row in read(store, every=True)] == [
        (other.id, False),
        (again.id, True),
    ]
    (final,) = read(store)
    assert final.edited_run is not None
    assert (final.revision, final.edited_run.answer) == (again.id, "looked")


@pytest.mark.slow
def test_an_output_written_by_hand_after_an_undo_takes_no_change_away(store: SessionStore) -> None:
    first = planned(store, "find")
    look = edit(store, first.session, "look")
    store.revisions.undo(first.session)
    written(store, first)
    (row,) = read(store)
    assert (row.revision, row.current) == (look.id, False)


@pytest.mark.slow
def test_deleted_sessions_teach_nothing(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    store.sessions.delete(first.session)
    assert read(store) == read(store, every=True) == []
    store.sessions.restore(first.session)
    assert len(read(store)) == 1


def test_a_refused_edit_leaves_no_row(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    with pytest.raises(EditConflict):
        store.revisions.add(first.session, chain("late"), origin="human", expected=first.id)
    assert len(read(store, every=True)) == 1


@pytest.mark.slow
def test_thumbs_are_kept_changed_and_taken_back(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, first, "n1")
    assert store.corrections.rating("n1") is None
    for thumbs in ("up", "down", None):
        store.corrections.rate("n1", thumbs)
        assert store.corrections.rating("n1") == thumbs
        assert store.corrections.rater("n1") is None
    store.corrections.rate("n1", "up", author="Ada")
    assert store.corrections.rater("n1") == "Ada"
    with pytest.raises(StorageError, match="no run 'nobody'"):
        store.corrections.rate("nobody", "up")


@pytest.mark.slow
def test_more_corrections_than_are_read_together_come_in_order(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_BATCH", 10)
    first = planned(store, "find")
    revisions = [edit(store, first.session, f"look {at}").id for at in range(23)]
    assert [correction.revision for correction in store.corrections.read(every=True)] == revisions


@pytest.mark.slow
def test_reading_goes_on_while_others_write(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    edit(store, first.session, "other")
    reading = store.corrections.read(every=True)
    assert next(reading).edited == chain("look")
    edit(store, first.session, "later")
    assert [row.edited for row in reading] == [chain("other")]


@pytest.mark.slow
def test_judged_plans_are_read_whether_they_were_edited_or_not(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, first, "r1", answer="wrong")
    store.corrections.rate("r1", "down")
    edited = edit(store, first.session, "look")
    ran(store, edited, "r2")
    assert [judged.run.run for judged in store.corrections.read_judged()] == ["r1"]
    store.corrections.rate("r2", "up")
    ran(store, edited, "r3")
    store.corrections.rate("r3", "down")
    alone = planned(store, "only", session=store.sessions.create("how?", pool_label=None).id)
    ran(store, alone, "r4")
    store.corrections.rate("r4", "up")
    by_run = {judged.run.run: judged for judged in store.corrections.read_judged()}
    # Of the edited plan the newest judgement counts.
    assert {run: (judged.run.thumbs, judged.edited) for run, judged in by_run.items()} == {
        "r1": ("down", False),
        "r3": ("down", True),
        "r4": ("up", False),
    }
    assert (by_run["r3"].workflow, by_run["r3"].query) == (chain("look"), "why?")
    store.sessions.delete(alone.session)
    assert "r4" not in {judged.run.run for judged in store.corrections.read_judged()}
