"""What the palette offers: steps with their workers, panels, workers, and every session but the open one."""

from __future__ import annotations

from conductor.workflow.model import Step, Workflow
from pages.components.view_models.destinations import of_pool, of_sessions, of_workflow


def test_a_workflow_offers_its_steps_with_their_workers_and_its_panels():
    steps = [
        Step(instruction="Read the letter.", worker="reader"),
        Step(instruction="Say it.", worker="writer"),
    ]
    places = of_workflow(Workflow.of(steps), ["Check", "History"])
    assert [(place.id, place.name, place.detail) for place in places] == [
        ("step:0", "1. Read the letter", "reader"),
        ("step:1", "2. Say it", "writer"),
        ("panel:Check", "Check", ""),
        ("panel:History", "History", ""),
    ]


def test_the_workers_are_named_and_the_open_session_is_left_out(bench):
    one, other = (bench.ask(query).id for query in ("Which one?", "Which other?"))
    sessions = bench.store.sessions.listed()
    assert [place.value for place in of_sessions(sessions, but=one)] == [other]
    assert {place.name for place in of_sessions(sessions, but=None)} == {"Which one?", "Which other?"}
    assert [place.id for place in of_pool(["alpha"])] == ["worker:alpha"]
