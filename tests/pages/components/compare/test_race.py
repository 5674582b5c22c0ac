"""Who is in a race: those that answer, each with its mark of everywhere."""

from __future__ import annotations

from conductor.drawing.marks import MARKS
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from pages.components.compare.race import team
from pages.components.view_models.workflow.card_content import worker_marks

WORKFLOW = Workflow.of(
    Step(instruction="Work.", worker=worker) for worker in ("beta", "alpha", "beta", "gone")
)
CARDS = {
    name: WorkerCard(name=name, kind="model", strengths="", model="m", colour=colour)
    for name, colour in (("alpha", "teal"), ("beta", None), ("spare", None))
}


def test_a_team_is_who_answers_each_once_in_the_order_of_the_steps():
    states = (StepState(), StepState(), StepState(stand_in="spare"), StepState())
    run = RunState(run="r", workflow=WORKFLOW, steps=states)
    marks = team(run, WORKFLOW, CARDS)
    assert [*marks] == ["beta", "alpha", "spare", "gone"]
    assert marks["alpha"] == MARKS["teal"]
    assert marks == {name: worker_marks(CARDS, "gone")[name] for name in marks}
