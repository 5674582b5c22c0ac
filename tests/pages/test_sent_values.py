"""A page that is drawn again sends no field a value: what is sent overwrites a press that is under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element


def elements(block: Block) -> Iterator[Element]:
    for child in block.children.values():
        if isinstance(child, Block):
            yield from elements(child)
        elif isinstance(child, Element):
            yield child


def sent(page: AppTest) -> list[str]:
    """The fields that the last run gave a value."""
    return [each.proto.id for each in elements(page._tree) if getattr(each.proto, "set_value", False)]


PANELS = ("Timeline", "Check", "Trials", "Plans", "History")


@pytest.fixture
def ran(bench, session):
    """The session with two runs; the second has a verdict."""
    for _ in range(2):
        run = bench.running.start(session).run
        bench.activities.wait(session)
    bench.store.corrections.rate(run, "up")
    return session


@pytest.mark.parametrize("panel", [None, *PANELS])
def test_a_session_sends_none(app, ran, panel):
    page = app("workbench", ran)
    page.session_state["panel"] = panel
    page.run()
    page.run()
    assert not page.exception
    assert sent(page) == []


@pytest.mark.parametrize("name", ["compare", "sessions", "usage", "pool", "evaluation", "learning"])
def test_no_other_page_sends_any(app, ran, name):
    page = app("workbench", ran)
    page.switch_page(f"pages/{name}.py")
    page.run()
    if name == "sessions":
        page.checkbox(key=f"select-{ran}").check().run()
    page.run()
    assert not page.exception
    assert sent(page) == []
