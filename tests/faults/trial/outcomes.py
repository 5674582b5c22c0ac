"""What each client did, and what it was answered."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from conductor.workflow.model import Step, Workflow
from storage import SessionStore

PATIENCE = 120.0
"""Seconds within which a client gets what it waits for, with all breaks and reloads."""


class Break(NamedTuple):
    """What did not go on, and the Unix seconds in which it broke off."""

    began: float
    ended: float
    what: str


@dataclass
class Outcomes:
    """By its session, the task of the last step of each run and edit that a client saw; by its task, each
    answer that a client read; the names of the chats that it read anything of; the seconds of each load of a
    page; what a browser waited for in vain.
    """

    runs: dict[str, str] = field(default_factory=dict)
    edits: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    chats: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    loads: list[float] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def broke(self, began: float, what: str) -> None:
        """Note what broke off now."""
        self.counts[f"{what.split(maxsplit=1)[0]} broken off"] += 1
        self.breaks.append(Break(began, time.time(), what))

    def loaded(self, began: float, session: str, exceptions: list[str]) -> None:
        """Note a page that is loaded now, with the exceptions that it shows."""
        self.loads.append(time.time() - began)
        if exceptions:
            self.faults.append(f"{session} was loaded with {exceptions}")


def two_steps(tag: str) -> Workflow:
    """A chain whose tasks no other session has."""
    return Workflow.of(
        [
            Step(instruction=f"Do {tag}-0.", worker="alpha"),
            Step(instruction=f"Do {tag}-1.", worker="alpha", access=(0,)),
        ]
    )


def plant(store: SessionStore, tag: str) -> str:
    """A new session with this workflow; its id."""
    session = store.sessions.create(f"Question {tag}?").id
    store.revisions.add(session, two_steps(tag), origin="import", note="Planted")
    return session
