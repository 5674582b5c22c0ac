"""A draft of an output follows its step; what a tab's storage brings back is taken over where it is right."""

from __future__ import annotations

import json

import pytest

from pages.components.tab.edit_memory import EditAside
from pages.components.tab.tab_storage import OutputDrafts, restore, written


@pytest.fixture
def tab_text(bench, session, three):
    """The text of a tab with one undecided edit and one draft."""
    head = bench.store.revisions.head(session)
    drafts = OutputDrafts(bench, head)
    drafts.begin(1)
    drafts.write(1, "Half of it")
    text = written((EditAside(session, head, three.with_worker(0, "beta"), "Mine"),), drafts.unsaved_drafts)
    drafts.end(1)
    return text


def restored(bench, tab, session, text):
    """What a new process knows after it was given that text."""
    restore(bench, tab, bench.store.revisions.head(session), text)
    drafts = OutputDrafts(bench, bench.store.revisions.head(session)).unsaved_drafts
    return [edit.note for edit in tab.edits_aside(session)], [draft.text for draft in drafts]


def test_nothing_is_written_where_nothing_waits():
    assert written((), ()) == ""


def test_an_undecided_edit_and_a_draft_come_back_once(bench, tab, session, three, tab_text):
    for _ in range(2):
        assert restored(bench, tab, session, tab_text) == (["Mine"], ["Half of it"])
    (edit,) = tab.edits_aside(session)
    assert (edit.edited, edit.workflow) == (bench.store.revisions.head(session), three.with_worker(0, "beta"))


def test_what_belongs_to_another_session_is_left_out(bench, tab, three, tab_text):
    other = bench.store.revisions.import_workflow("Another?", three, pool_label=None).id
    assert restored(bench, tab, other, tab_text) == ([], [])


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: "no JSON",
        lambda _: "[]",
        lambda _: "[" * 100_000,
        lambda content: json.dumps(content | {"more": 1}),
        lambda content: json.dumps(content | {"edits": [content["edits"][0] | {"workflow": {"steps": []}}]}),
        lambda content: json.dumps(content | {"drafts": [content["drafts"][0] | {"step": -1}]}),
    ],
)
def test_what_is_malformed_is_left_out(bench, tab, session, tab_text, broken):
    assert restored(bench, tab, session, broken(json.loads(tab_text))) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"revision": "unknown"}, {"step": 9}])
def test_a_draft_of_no_known_step_is_left_out(bench, tab, session, tab_text, change):
    content = json.loads(tab_text)
    content["drafts"][0] |= change
    assert restored(bench, tab, session, json.dumps(content)) == (["Mine"], [])


@pytest.mark.slow
def test_a_draft_follows_its_step_through_edits_and_comes_back_with_it(bench, session, three):
    first = bench.store.revisions.head(session)
    drafts = OutputDrafts(bench, first)
    drafts.begin(1)
    drafts.write(1, "Half of it")
    assert drafts.unsaved == (1,)
    moved = OutputDrafts(bench, bench.editing.edit(session, three.remove_step(0), note="Removed"))
    assert (moved.of(0).text, moved.of(1), moved.unsaved) == ("Half of it", None, (0,))
    gone = OutputDrafts(bench, bench.editing.edit(session, three.remove_step(1), note="Removed"))
    assert (gone.of(0), gone.of(1), gone.unsaved) == (None, None, ())
    gone.end(0)
    assert OutputDrafts(bench, first).of(1).text == "Half of it"
    OutputDrafts(bench, first).end(1)
    assert OutputDrafts(bench, first).unsaved == ()


def test_a_step_whose_output_is_not_being_written_takes_no_text(bench, session):
    drafts = OutputDrafts(bench, bench.store.revisions.head(session))
    drafts.write(0, "Late")
    assert drafts.of(0) is None
