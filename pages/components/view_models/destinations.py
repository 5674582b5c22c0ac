"""Where a person can go by name: the steps and panels of a session, the pool's workers, other sessions.

Pure; knows no page and no component.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from conductor.workflow.model import Workflow
from pages.components.view_models.run_text import state_label
from pages.components.view_models.workflow.card_content import step_name
from storage import SessionSummary

DestinationKind = Literal["step", "panel", "worker", "session"]

HEADINGS = {"step": "Step", "panel": "Panel", "worker": "Worker", "session": "Session"}
"""What stands before the name of each kind."""

_MOST_TITLE = 90


@dataclass(frozen=True, slots=True)
class Destination:
    """`name` is what people look for. `value`: the step's number from 0, the panel's or the worker's name, or
    the session's id. `detail` has more of it, or is "".
    """

    kind: DestinationKind
    value: str
    name: str
    detail: str = ""

    @property
    def id(self) -> str:
        """Unique among the destinations of one page."""
        return f"{self.kind}:{self.value}"


def of_workflow(workflow: Workflow, panels: Iterable[str]) -> list[Destination]:
    """The steps, with their workers, and the panels of the drawer."""
    steps = [
        Destination("step", str(at), step_name(workflow, at), step.worker)
        for at, step in enumerate(workflow.steps)
    ]
    return [*steps, *(Destination("panel", name, name) for name in panels)]


def of_pool(workers: Iterable[str]) -> list[Destination]:
    """The workers; each opens the page of the pool."""
    return [Destination("worker", name, name, "on the Pool page") for name in workers]


def of_sessions(sessions: Sequence[SessionSummary], *, but: str | None) -> list[Destination]:
    """The sessions, without the one whose id is `but`."""
    return [
        Destination("session", one.id, one.title[:_MOST_TITLE], state_label(one.state))
        for one in sessions
        if one.id != but
    ]
