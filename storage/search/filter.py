"""Which sessions a list shows. Values only; `query` turns them into a query."""

from __future__ import annotations

from conductor.values.messages import Value
from conductor.workflow.model import Topology
from storage.records import SessionState


class SessionFilter(Value):
    """Sessions that meet all of these conditions; an empty one, or None, excludes no session.

    `search` is what a person types, see `terms_of`. Of several states, topologies or workers one is enough;
    tags must all be there. Topology and workers are the current workflow's. `since` and `until` are Unix
    seconds, of `updated_at`, both included. `least_tokens` is compared with what is known of planning and
    of runs whose tokens are known, and `most_tokens` finds only sessions where nothing is unknown.
    `deleted` selects the deleted sessions in place of the others.
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

    @property
    def reversed_range(self) -> str | None:
        """Which range ends before it begins, so that no session is in it; None where none does."""
        if self.since is not None and self.until is not None and self.since > self.until:
            return "The last day is before the first; exchange the two."
        least, most = self.least_tokens, self.most_tokens
        if least is not None and most is not None and least > most:
            return f"At least {least:,} and at most {most:,} tokens is no range; exchange the two."
        return None


EVERYTHING = SessionFilter()
"""All sessions that are not deleted."""
