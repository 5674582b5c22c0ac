"""The legend of a graph: each worker with its steps, and what a run took of it as far as that is known."""

from __future__ import annotations

import pytest

from conductor.drawing.marks import marks
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Usage
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.view_models.workflow.worker_legend import worker_legend
from tests.support.runs.charges import took

STEPS = [("reader", ()), ("writer", (0,)), ("reader", (0, 1))]
WORKFLOW = Workflow.of(Step(instruction="Work.", worker=worker, access=reads) for worker, reads in STEPS)
USED = Usage(prompt_tokens=100, completion_tokens=20, cost=0.5)


def done(seconds, usage, *, calls=1):
    return StepState(
        status="finished", started_at=10.0, finished_at=10.0 + seconds, charges=took(usage), calls=calls,
        own_calls=calls,
    )  # fmt: skip


def legend(*states):
    run = RunState(run="r", workflow=WORKFLOW, steps=states) if states else None
    contents = card_contents(WORKFLOW, run=run, radius=None, cards={}, now=20.0)
    return {share.worker: share for share in worker_legend(WORKFLOW, contents, run)}


def test_each_worker_has_its_steps_and_its_mark():
    reader, writer = legend().values()
    assert (reader.steps, writer.steps) == ((0, 2), (1,))
    assert {"reader": reader.mark, "writer": writer.mark} == marks({"reader": None, "writer": None})
    assert (reader.figures, writer.figures) == (("2 steps",), ("1 step",))


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (USED, ("120 tokens", "$0.5000")),
        (Usage(prompt_tokens=1, completion_tokens=1), ("2 tokens",)),
        (Usage(), ()),
    ],
)
def test_what_a_run_took_is_counted_and_what_is_unknown_is_left_out(usage, words):
    shares = legend(done(3.0, usage), done(1.0, USED), StepState(status="finished", reused=True))
    assert shares["reader"].figures == ("1 call", *words, "75% of the time")
    assert shares["writer"].figures == ("1 call", "120 tokens", "$0.5000", "25% of the time")


def test_each_request_that_a_worker_got_is_a_call():
    shares = legend(done(3.0, USED, calls=3), done(1.0, USED), StepState(status="finished", reused=True))
    assert (shares["reader"].figures[0], shares["writer"].figures[0]) == ("3 calls", "1 call")


def test_a_single_step_needs_no_legend():
    one = Workflow.of([Step(instruction="Work.", worker="reader")])
    contents = card_contents(one, run=None, radius=None, cards={}, now=0.0)
    assert worker_legend(one, contents, None) == ()
