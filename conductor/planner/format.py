"""Writes a workflow as the three lists that a Conductor would end with.

The text reads back as the same workflow, in the dialects `any` and `position`; a step's own sampling
parameters have no place in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from conductor.workflow import Workflow

_UNSAFE = re.compile(r"<(?=/?think>)|[\ud800-\udfff]", re.IGNORECASE)


def format_plan(workflow: Workflow, worker_names: Sequence[str]) -> str:
    """Three lines: model_id, subtasks and access_list, workers numbered by their place in `worker_names`.

    Of several workers with one name the first is meant. Raises `WorkflowError` where the workflow names a
    worker that is not in `worker_names`.
    """
    workflow.check_workers(worker_names)
    numbers = ", ".join(str(worker_names.index(step.worker)) for step in workflow.steps)
    subtasks = ", ".join(_quoted(step.instruction) for step in workflow.steps)
    access = ", ".join(str(list(step.access)) for step in workflow.steps)
    return f"model_id = [{numbers}]\nsubtasks = [{subtasks}]\naccess_list = [{access}]"


def _quoted(text: str) -> str:
    """A double-quoted text without line breaks, thinking tags or halves of surrogate pairs."""
    quoted = json.dumps(text, ensure_ascii=False)
    # Eight digits: two four-digit halves in a row would read back as one character.
    return _UNSAFE.sub(lambda unsafe: f"\\U{ord(unsafe[0]):08x}", quoted)
