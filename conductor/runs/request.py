"""A request: the one value in which a query travels, from the app, a command, the API or a program.

Knows values and workflows only. Planner, workers and recorder are separate arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor.values.conversation import NOTHING_SAID, Conversation
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow


@dataclass(frozen=True)
class RunRequest:
    """A query to plan and run.

    `workflow` is run in the first round; where it is None, the Conductor plans one. `finish` is pure and
    returns what is stored and run instead of a planned workflow, in each round; what it raises ends the
    request. `sent_on`: the answer is sent on while it is written, so no part of it can be withdrawn.
    """

    query: str
    settings: Settings = Settings()
    conversation: Conversation = NOTHING_SAID
    workflow: Workflow | None = None
    finish: Callable[[Workflow], Workflow] | None = None
    sent_on: bool = False

    def runnable(self, planned: Workflow) -> Workflow:
        """The workflow that is stored and run where the Conductor wrote `planned`."""
        return planned if self.finish is None else self.finish(planned)
