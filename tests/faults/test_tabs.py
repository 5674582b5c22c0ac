"""Several tabs, with restarts of the server; `python -m tests.faults.tabs` makes more rounds of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from conductor.workflow.model import Step
from tests.faults.app import chromium
from tests.faults.tabs import Tabs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.thorough,
    pytest.mark.skipif(chromium() is None, reason="Chromium is not installed"),
]


@pytest.fixture
def tabs(tmp_path: Path) -> Iterator[Tabs]:
    tabs = Tabs(tmp_path, Random(13))
    yield tabs
    tabs.close()


def test_every_revision_is_an_edit_that_a_tab_was_made_to_make(tabs):
    for _ in range(3):
        tabs.round()
    assert tabs.phantoms == []
    assert tabs.lost < tabs.edits


def test_a_revision_that_no_one_made_is_found(tabs):
    session = tabs.server.plant(Step(instruction="Find it.", worker="alpha"))
    with tabs.server.store() as store:
        head = store.revisions.head(session)
        store.revisions.add(session, head.workflow.with_worker(0, "beta"), origin="human", note="Nobody's")
    tabs.check(session, {})
    assert len(tabs.phantoms) == 1
