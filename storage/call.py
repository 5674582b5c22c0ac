"""What a Conductor is asked for in a session, with all that what follows goes on with.

A value only; who asks is planning's, what follows is conducting's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor.events import Event
from conductor.modes import Settings
from conductor.planner.conductor import PlanRequest
from conductor.workflow import Workflow
from storage.ensemble import Ensemble

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Call:
    """A round's plan to be asked for; `looks_back` is the id of the run before, from round 2 on.

    All that follows from it goes on with its `ensemble`. `finish` makes of a planned workflow the one that is
    kept and run; what it raises ends what goes on.
    """

    session: str
    ensemble: Ensemble
    request: PlanRequest
    settings: Settings
    looks_back: str | None = None
    listen: Listener | None = None
    finish: Callable[[Workflow], Workflow] | None = None
