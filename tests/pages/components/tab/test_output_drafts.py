"""A draft of an output follows its step."""

from __future__ import annotations

from pages.components.tab.output_drafts import OutputDrafts


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
