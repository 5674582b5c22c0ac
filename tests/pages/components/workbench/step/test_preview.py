"""What the browser knows of every step before it is selected."""

from __future__ import annotations

import pytest

from conductor.workflow.model import Step, Workflow
from pages.components.view_models.session import SessionView
from pages.components.widgets import step_preview
from pages.components.workbench.step import inspector


@pytest.fixture
def sent(monkeypatch):
    """The data of the component, the newest last."""
    sent = []
    monkeypatch.setattr(step_preview, "_component", lambda **arguments: sent.append(arguments["data"]))
    return sent


def test_a_step_that_has_not_run_is_known_by_its_instruction(bench, session, sent):
    inspector.preview_steps(bench, SessionView.load(bench, session))
    assert [(own["name"], own["worker"], own["usual"], own["output"]) for own in sent[0]["steps"]] == [
        ("1. Find it", "alpha", "Instruction", None),
        ("2. Look again", "beta", "Instruction", None),
        ("3. Answer", "alpha", "Instruction", None),
    ]


@pytest.mark.slow
def test_an_output_is_known_by_its_beginning_with_what_it_is_not(bench, session, sent):
    bench.running.start(session).done.wait(60)
    inspector.preview_steps(bench, SessionView.load(bench, session))
    for own in sent[0]["steps"]:
        assert (own["usual"], own["state"], own["notes"]) == ("Output", "finished", ["simulated"])
        assert own["output"]["rendering"]["blocks"]


def test_texts_are_cut_to_what_is_seen(bench, sent):
    session = bench.ask("Which one?").id
    workflow = Workflow.of([Step(instruction="Count. " * 1_000, worker="alpha")])
    bench.editing.edit(session, workflow, note="Long")
    inspector.preview_steps(bench, SessionView.load(bench, session))
    assert len(sent[0]["steps"][0]["instruction"]) == step_preview.MOST


@pytest.mark.slow
def test_of_a_run_under_way_no_output_is_known(bench, sent):
    session = bench.ask("Which one?").id
    steps = [Step(instruction="Find it.", worker="alpha"), Step(instruction="Wait.", worker="slow")]
    bench.editing.edit(session, Workflow.of(steps), note="Slow")
    bench.running.start(session)
    try:
        view = SessionView.load(bench, session)
        assert view.live
        inspector.preview_steps(bench, view)
        assert [own["output"] for own in sent[0]["steps"]] == [None, None]
    finally:
        bench.running.stop(session)
