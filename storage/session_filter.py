"""Which sessions are asked for. Values only; how a database finds them is `finding`'s."""

from __future__ import annotations

from conductor.messages import Value
from conductor.workflow import Topology
from storage.records import SessionState


class SessionFilter(Value):
    """Sessions that all of this is true of; what is empty or None leaves out nobody.

    `search` is what a person types, see `Search`. Of several states, topologies or workers one is enough;
    tags must all be there. Topology and workers are the current workflow's. `since` and `until` are Unix
    seconds, of `updated_at`, both included. A session whose tokens are unknown has neither the least nor the
    most. `deleted` asks for the deleted sessions in place of the others.
    """

    search: str = ""
    states: tuple[SessionState, ...] = ()
    topologies: tuple[Topology, ...] = ()
    workers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    least_tokens: int | None = None
    most_tokens: int | None = None
    deleted: bool = False


EVERYTHING = SessionFilter()
"""All sessions that are not deleted."""
