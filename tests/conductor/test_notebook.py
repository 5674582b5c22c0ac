"""What a notebook shows of workflows and runs: short texts, and nothing of a model that acts as HTML."""

from __future__ import annotations

import re

from conductor import FunctionWorker, Pool, Step, Workflow, run

HOSTILE = '<script>alert("x")</script>] --> s1; `a`'
WORKFLOW = Workflow.of(
    [Step(instruction=HOSTILE, worker="echo"), Step(instruction="repeat", worker="echo", access=(0,))]
)
POOL = Pool(workers=(FunctionWorker(lambda request: request.instruction, name="echo"),))


def test_a_workflow_is_one_line_and_a_graph_of_mermaid() -> None:
    assert repr(WORKFLOW) == "<Workflow of 2: 1 echo, 2 echo (sees 1)>"
    bundle = WORKFLOW._repr_mimebundle_()
    lines = bundle["text/vnd.mermaid"].splitlines()
    assert (lines[0], lines[-1]) == ("flowchart TD", "  s1 --> s2")
    assert re.fullmatch(r'  s1\["[\w .,:…#;-]*"\]', lines[1])
    assert len(lines) == 4


def test_a_run_is_its_answer_and_its_steps_as_text() -> None:
    first = run(WORKFLOW, "Who?", pool=POOL)
    html = first._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 2
    again = run(WORKFLOW.with_instruction(1, "again"), "Who?", pool=POOL, after=first)
    assert again._repr_html_().count("<td>reused</td>") == 1
