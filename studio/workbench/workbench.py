"""What a person does with a session: ask, plan, edit, run, stop, try variants. The app, the commands and the
API all stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a method
returns; a run's events are written behind it.
"""

from __future__ import annotations

from functools import cached_property

from studio.workbench.base import Bench
from studio.workbench.editing import Editing
from studio.workbench.experiments import Experiments
from studio.workbench.planning import Planning
from studio.workbench.running import Running


class Workbench(Bench):
    """One store, the activities of its sessions, and what a person does there."""

    @cached_property
    def planning(self) -> Planning:
        """Asking the Conductor."""
        return Planning(self)

    @cached_property
    def editing(self) -> Editing:
        """Changing workflows."""
        return Editing(self)

    @cached_property
    def running(self) -> Running:
        """Running workflows."""
        return Running(self)

    @cached_property
    def experiments(self) -> Experiments:
        """Trying variants of workflows."""
        return Experiments(self)
