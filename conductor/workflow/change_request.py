"""What a person, or a client of the API, asks a Conductor to change in a workflow. Values only."""

from __future__ import annotations

from conductor.values.messages import Value
from conductor.workflow.model import Workflow


class ChangeRequest(Value):
    """What is to change in `workflow`, the plan as it is: the `wish`, in words."""

    workflow: Workflow
    wish: str
