"""What happened between two revisions of a session, in words."""

from __future__ import annotations

import pytest

from pages.components.view_models.revision_text import meanwhile, news
from tests.support.runs.used_by import used_by


@pytest.mark.slow
def test_the_way_between_two_revisions_is_what_was_undone_and_what_was_made(bench, session, three):
    first = bench.store.revisions.head(session)
    left = bench.editing.edit(session, three.with_worker(0, "beta"), note="Left")
    bench.store.revisions.undo(session)
    right = used_by(bench, "Grace").editing.edit(session, three.with_worker(1, "alpha"), note="Made")
    entries = bench.store.revisions.history(session)
    way = meanwhile(entries, edited=left.id, head=right.id)
    assert [entry.id for entry in way.new] == [right.id]
    assert [entry.id for entry in way.undone] == [left.id]
    assert news(way, entries[-1]) == "Changed by Grace: Made (revision 3)."
    back = meanwhile(entries, edited=right.id, head=first.id)
    assert news(back, entries[0]).startswith("Revision 1 is the current one again")
