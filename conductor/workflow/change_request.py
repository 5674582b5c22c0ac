"""A request to change a workflow, from a person or a client of the API to a Conductor. Values only."""

from __future__ import annotations

from conductor.values.messages import Value
from conductor.workflow.model import Workflow


class ChangeRequest(Value):
    """What is to change in `workflow`, the plan as it is: the `wish`, in words."""

    workflow: Workflow
    wish: str
