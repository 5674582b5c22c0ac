"""The destinations of Ctrl+K: steps and panels of a session, the pool's workers, other sessions, pages,
commands and the documentation.

Pure; knows no page and no component.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conductor.workflow.model import Workflow
from pages.components.view_models.run_text import state_label
from pages.components.view_models.workflow.card_content import step_name
from storage import SessionSummary
from studio.documentation import Section

DestinationKind = Literal["step", "panel", "worker", "session", "page", "command", "documentation"]

HEADINGS: Mapping[DestinationKind, str] = {
    "step": "Step",
    "panel": "Panel",
    "worker": "Worker",
    "session": "Session",
    "page": "Page",
    "command": "",
    "documentation": "Documentation",
}
"""What stands beside the name of each kind."""

_PAGES: Mapping[str, str] = {
    "workbench": "ask, plan, run",
    "compare": "runs, plans, races",
    "sessions": "search, tags, import, export",
    "usage": "tokens and dollars",
    "evaluation": "planners on sets of questions",
    "learning": "train a Conductor",
    "pool": "workers, endpoints, keys, API tokens",
}

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "new": ("New session", "ask a question"),
    "import": ("Import a file", "a session, a run, a workflow"),
}

_OF_SESSIONS: Mapping[str, tuple[str, str]] = {
    "export-run": ("Export the run in one file", "to replay without the app"),
    "export-workflow": ("Export the workflow", "JSON"),
    "export-session": ("Export the session", "JSON Lines"),
    "code": ("Use it from code", "Python, JavaScript, curl, the API"),
}

_MOST_TITLE = 90


@dataclass(frozen=True, slots=True)
class Destination:
    """`name` is what people look for. `value`: the step's number from 0, the name of the panel, worker, page
    or command, or the id of the session or section. `detail` has more of it, or is "".
    """

    kind: DestinationKind
    value: str
    name: str
    detail: str = ""

    @property
    def id(self) -> str:
        """Unique among the destinations of one page."""
        return f"{self.kind}:{self.value}"


def of_workflow(workflow: Workflow, panels: Mapping[str, str], *, ran: bool) -> list[Destination]:
    """The steps, with their workers, the panels of the drawer with what they hold, and what is given out: the
    run, too, where it `ran`.
    """
    steps = [
        Destination("step", str(at), step_name(workflow, at), step.worker)
        for at, step in enumerate(workflow.steps)
    ]
    own = (Destination("command", value, *words) for value, words in _OF_SESSIONS.items())
    return [
        *steps,
        *(Destination("panel", name, name, holds) for name, holds in panels.items()),
        *(command for command in own if ran or command.value != "export-run"),
    ]


def of_app(workers: Iterable[str]) -> list[Destination]:
    """Pages, what can be done on each of them, and the workers; each of these opens the page of the pool."""
    return [
        *(Destination("page", value, f"Open {value.capitalize()}", about) for value, about in _PAGES.items()),
        *(Destination("command", value, *words) for value, words in _COMMANDS.items()),
        *(Destination("worker", name, name, "on the Pool page") for name in workers),
    ]


def of_sessions(sessions: Sequence[SessionSummary], *, but: str | None) -> list[Destination]:
    """The sessions, without the one whose id is `but`."""
    return [
        Destination("session", one.id, one.title[:_MOST_TITLE], state_label(one.state))
        for one in sessions
        if one.id != but
    ]


def of_documentation(sections: Sequence[Section]) -> list[Destination]:
    """The sections, each with the page that it is of."""
    return [Destination("documentation", one.id, one.title, one.page) for one in sections]
