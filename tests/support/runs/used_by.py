"""A workbench as another person uses it."""

from __future__ import annotations

from conductor.runs.request import Asker
from studio.workbench import Workbench


def used_by(bench: Workbench, person: str) -> Workbench:
    """The same store and activities, for that person."""
    return bench.on(bench.runner.runtimes, by=Asker(person=person))
