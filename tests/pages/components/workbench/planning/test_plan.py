"""A completion as written, with what was read of it marked."""

from __future__ import annotations

import pytest

from conductor.planner.parsing.parse import parse
from pages.components.workbench.planning.plan import marked
from tests.support.runs.conductor_cases import BROKEN, plan_text

PLAN = plan_text((0, "Find it.", "[]"), (0, "Answer.", '"all"'))


def report(text):
    return parse(text, workers=["a"], dialect="any", max_steps=5)


@pytest.mark.parametrize(
    "text", [PLAN, BROKEN, f"Well.\n\n{PLAN}\n\nThat is all.", "No plan at all.", "", f"{BROKEN}\n\n{PLAN}"]
)
def test_marking_changes_no_letter(text):
    assert "".join(stretch.text for stretch in marked(report(text))) == text


def test_the_plan_stands_out_and_in_it_what_was_repaired():
    stretches = marked(report(f"Well.\n\n{PLAN}"))
    assert stretches[0].tone == "quiet"
    (repair,) = [stretch for stretch in stretches if stretch.tone == "seen"]
    assert repair.text == '"all"'
    assert "all" in repair.title
    assert "".join(s.text for s in stretches if s.tone in ("task", "seen")) == PLAN
