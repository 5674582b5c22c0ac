"""What is said of two edits that met: each clash in a sentence, each change in a line."""

from __future__ import annotations

from typing import get_args

import pytest

from conductor.workflow.diff import plan_diff
from conductor.workflow.merge import Clash, Kind
from conductor.workflow.model import Step
from pages.components.view_models.conflict_text import change_lines, clash_sentence, meanwhile, news


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_clash_is_a_sentence_that_names_its_step(three, kind):
    of_all = kind in ("order", "final", "steps")
    said = clash_sentence(Clash(kind, None if of_all else 1), three)
    assert said.endswith(".")
    assert ("“2. Look again”" in said) != of_all


def test_changes_are_lines_without_what_stayed_and_without_the_words_of_instructions(three):
    new = Step(instruction="Weigh both against each other.", worker="beta", access=(1,))
    edited = three.add_step(new, 2).with_worker(0, "beta").with_instruction(1, "Look once again.")
    assert change_lines(plan_diff(three, edited)) == [
        "1. Find it: Worker: alpha → beta.",
        "3. Weigh both against each other: added",
    ]


def test_the_way_between_two_revisions_is_what_was_undone_and_what_was_made(bench, session, three):
    first = bench.store.revisions.head(session)
    left = bench.editing.edit(session, three.with_worker(0, "beta"), note="Left")
    bench.store.revisions.undo(session)
    made = bench.editing.edit(session, three.with_worker(1, "alpha"), note="Made", author="Grace")
    entries = bench.store.revisions.history(session)
    way = meanwhile(entries, edited=left.id, head=made.id)
    assert [entry.id for entry in way.made] == [made.id]
    assert [entry.id for entry in way.undone] == [left.id]
    assert news(way, entries[-1]) == "Changed by Grace: Made (revision 3)."
    back = meanwhile(entries, edited=made.id, head=first.id)
    assert news(back, entries[0]).startswith("Revision 1 is the current one again")
