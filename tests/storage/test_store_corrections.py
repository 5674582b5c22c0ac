"""Corrections: a row for every change of a Conductor's plan, joined with what its runs answered."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_scenario import chain, finished, keep, started

from conductor.corrections import Correction
from conductor.engine.trials import EdgeTest
from conductor.errors import EditConflict, StorageError
from conductor.messages import Usage
from conductor.plan import Candidate, PlanReport
from conductor.workflow import Workflow
from storage import Revision, SessionStore, corrections
from storage.database import Database
from storage.migrations import MIGRATIONS, bring_up_to_date


def planned(store: SessionStore, *instructions: str, session: str | None = None) -> Revision:
    """A session whose head is a Conductor's plan."""
    session = session or store.create_session("why?", pool_label="simulated").id
    workflow = chain(*instructions)
    report = PlanReport(text="text", candidates=(Candidate(span=(0, 4), workflow=workflow),), chosen=0)
    plan = store.add_plan(session, planner="c", planner_kind="simulated", report=report, usage=Usage())
    return store.add_revision(session, workflow, origin="conductor", note="Planned", plan=plan.id)


def edit(store: SessionStore, session: str, *instructions: str) -> Revision:
    return store.add_revision(session, chain(*instructions), origin="human", note="Changed")


def ran(
    store: SessionStore,
    revision: Revision,
    run: str,
    *,
    answer: str = "so",
    covers: tuple[int, ...] | None = None,
) -> None:
    """A finished run of a revision."""
    store.start_run(run=run, session=revision.session, revision=revision.id)
    first = started(run, revision.workflow).model_copy(update={"covers": covers})
    keep(store, first, finished(run, seq=1, answer=answer))


def read(store: SessionStore, *, every: bool = False) -> list[Correction]:
    return list(store.corrections(every=every))


def test_every_change_of_a_plan_is_a_row_and_the_last_one_counts(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    last = edit(store, first.session, "look", "merge")
    assert [made.edited for made in read(store, every=True)] == [chain("look"), chain("look", "merge")]
    (made,) = read(store)
    assert (made.planned_revision, made.revision, made.current) == (first.id, last.id, True)
    assert (made.query, made.pool_label, made.planner, made.note) == ("why?", "simulated", "c", "Changed")
    assert (made.planned, made.planned_run, made.edited_run) == (chain("find"), None, None)


def test_what_no_conductor_planned_is_no_correction(store: SessionStore) -> None:
    session = store.create_session("why?").id
    store.add_revision(session, chain("find"), origin="import")
    edit(store, session, "look")
    assert read(store, every=True) == []
    assert store.planned(edit(store, session, "again").id) is None


def test_undo_and_redo_take_no_row_away(store: SessionStore) -> None:
    first = planned(store, "find")
    edited = edit(store, first.session, "look")
    store.undo(first.session)
    (made,) = read(store)
    assert (made.revision, made.current) == (edited.id, False)
    other = edit(store, first.session, "other")
    assert [made.revision for made in read(store, every=True)] == [edited.id, other.id]
    assert [made.revision for made in read(store)] == [other.id]
    assert store.planned(other.id) == first


def test_each_plan_of_a_session_has_its_own_final_change(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    second = planned(store, "again", session=first.session)
    edit(store, first.session, "anew")
    assert [(made.planned_revision, made.edited) for made in read(store)] == [
        (first.id, chain("look")),
        (second.id, chain("anew")),
    ]


def test_the_change_that_was_run_last_is_the_final_one(store: SessionStore) -> None:
    first = planned(store, "find")
    look = edit(store, first.session, "look")
    edit(store, first.session, "other")
    store.undo(first.session)
    ran(store, look, "n1")
    assert [made.revision for made in read(store)] == [look.id]


def test_both_answers_are_joined_where_they_were_run(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, first, "n1", answer="planned so")
    edited = edit(store, first.session, "look")
    ran(store, edited, "n2", answer="edited so")
    ran(store, edited, "n3", answer="edited again")
    store.start_run(run="n4", session=first.session, revision=edited.id)
    keep(store, started("n4", edited.workflow), finished("n4", seq=1, outcome="failed", answer=None))
    (made,) = read(store)
    assert made.planned_run is not None
    assert made.edited_run is not None
    assert (made.planned_run.run, made.planned_run.answer) == ("n1", "planned so")
    assert (made.edited_run.run, made.edited_run.answer) == ("n3", "edited again")
    store.rate("n2", "up")
    (judged,) = read(store)
    assert judged.edited_run is not None
    assert (judged.edited_run.run, judged.thumbs) == ("n2", "up")


def test_a_run_of_some_steps_is_no_answer_of_the_workflow(store: SessionStore) -> None:
    first = planned(store, "find", "merge")
    edited = edit(store, first.session, "look", "merge")
    ran(store, edited, "n1", covers=(1,))
    assert [made.edited_run for made in read(store)] == [None]


def test_a_trial_is_no_answer_of_the_workflow(store: SessionStore) -> None:
    first = planned(store, "find", "merge")
    ran(store, first, "n1", answer="planned so")
    made = store.add_experiment(first.session, EdgeTest(edges=((0, 1),)), base="n1")
    store.start_run(run="n2", session=first.session, revision=first.id, experiment=made.id, trial=0)
    keep(store, started("n2", first.workflow), finished("n2", seq=1, answer="tried"))
    edit(store, first.session, "look")
    (correction,) = read(store)
    assert correction.planned_run is not None
    assert correction.planned_run.answer == "planned so"


def test_an_edit_back_to_the_plan_tells_what_the_plan_answers(store: SessionStore) -> None:
    first = planned(store, "find")
    back = edit(store, first.session, "find")
    ran(store, back, "n1", answer="planned so")
    look = edit(store, first.session, "look")
    (made,) = read(store)
    assert made.planned_run is not None
    assert (made.revision, made.planned_run.run) == (look.id, "n1")


def test_deleted_sessions_teach_nothing(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    store.delete_session(first.session)
    assert read(store) == read(store, every=True) == []
    store.restore_session(first.session)
    assert len(read(store)) == 1


def test_a_refused_edit_leaves_no_row(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    with pytest.raises(EditConflict):
        store.add_revision(first.session, chain("late"), origin="human", expected=first.id)
    assert len(read(store, every=True)) == 1


def test_thumbs_are_kept_changed_and_taken_back(store: SessionStore) -> None:
    first = planned(store, "find")
    ran(store, first, "n1")
    assert store.rating("n1") is None
    for thumbs in ("up", "down", None):
        store.rate("n1", thumbs)
        assert store.rating("n1") == thumbs
    with pytest.raises(StorageError, match="no run 'nobody'"):
        store.rate("nobody", "up")


def test_more_corrections_than_are_read_together_come_in_order(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_BATCH", 10)
    first = planned(store, "find")
    made = [edit(store, first.session, f"look {at}").id for at in range(23)]
    assert [correction.revision for correction in store.corrections(every=True)] == made


def test_reading_goes_on_while_others_write(store: SessionStore) -> None:
    first = planned(store, "find")
    edit(store, first.session, "look")
    edit(store, first.session, "other")
    reading = store.corrections(every=True)
    assert next(reading).edited == chain("look")
    edit(store, first.session, "later")
    assert [made.edited for made in reading] == [chain("other")]


def test_changes_made_before_corrections_were_kept_are_rows_too(url: str, file: Path) -> None:
    database = Database(url)
    database.create_folder()
    bring_up_to_date(database, now=0.0, migrations=MIGRATIONS[:2])
    database.close()

    def row(name: str, number: int, parent: str | None, origin: str, plan: str | None) -> tuple[object, ...]:
        text = Workflow.model_dump_json(chain(name))
        return (name, "s", number, parent, origin, "", plan, float(number), text, "single", 1, None)

    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO sessions VALUES ('s', 'kept', 'why?', 1.0, 2.0, NULL, 'd', 'new', NULL, NULL)"
        )
        for plan in "pq":
            connection.execute(
                "INSERT INTO plans VALUES (?, 's', ?, 1.0, 'c', 'offline', ?, NULL, '{}', NULL, 1, 1, NULL)",
                (plan, ord(plan), '{"text":""}'),
            )
        connection.executemany(
            "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                row("z", 1, None, "human", None),
                row("a", 2, "z", "conductor", "p"),
                row("b", 3, "a", "human", None),
                row("c", 4, "b", "conductor", "q"),
                row("d", 5, "c", "human", None),
            ],
        )
    with SessionStore.open(url) as store:
        made = [(found.revision, found.planned_revision, found.plan) for found in store.corrections()]
        assert made == [("b", "a", "p"), ("d", "c", "q")]
        assert [found.prompt for found in store.corrections()] == [None, None]
