"""What the palette offers: steps with their workers, panels, files, pages, workers, and every session but the
open one.
"""

from __future__ import annotations

from conductor.workflow.model import Step, Workflow
from pages.components.view_models.destinations import of_app, of_sessions, of_workflow


def test_a_workflow_offers_its_steps_with_their_workers_and_its_panels():
    steps = [
        Step(instruction="Read the letter.", worker="reader"),
        Step(instruction="Say it.", worker="writer"),
    ]
    panels = {"Check": "access grid", "History": "revisions"}
    places = of_workflow(Workflow.of(steps), panels, ran=True)
    assert [(place.id, place.name, place.detail) for place in places[:4]] == [
        ("step:0", "1. Read the letter", "reader"),
        ("step:1", "2. Say it", "writer"),
        ("panel:Check", "Check", "access grid"),
        ("panel:History", "History", "revisions"),
    ]
    exports = {place.value for place in places[4:]}
    assert exports == {"export-run", "export-workflow", "export-session", "code"}
    before = of_workflow(Workflow.of(steps), panels, ran=False)
    assert exports - {place.value for place in before[4:]} == {"export-run"}


def test_the_workers_are_named_and_the_open_session_is_left_out(bench):
    one, other = (bench.ask(query).id for query in ("Which one?", "Which other?"))
    sessions = bench.store.sessions.listed()
    assert [place.value for place in of_sessions(sessions, but=one)] == [other]
    assert {place.name for place in of_sessions(sessions, but=None)} == {"Which one?", "Which other?"}
    places = [place.id for place in of_app(["alpha"])]
    assert {"worker:alpha", "page:learning", "command:new", "command:import"} <= set(places)
    assert len(places) == len(set(places))
