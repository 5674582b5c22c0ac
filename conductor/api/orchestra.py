"""What the API asks of whoever plans and runs: a protocol, and the values that go with it.

Knows workflows and events; knows neither HTTP nor where sessions are kept. `token` is the id of the caller's
token throughout, None for callers who need none: theirs is everything. What a request with another token
began is answered as if it were not there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from conductor.conversation import NOTHING_SAID, Conversation
from conductor.events import Event
from conductor.modes import Settings
from conductor.workers.pool import Pool
from conductor.workflow import Workflow


@dataclass(frozen=True)
class Saved:
    """A workflow that is kept: a session's newest by the session's id, or a revision by its own.

    `created_at` is in Unix seconds.
    """

    id: str
    title: str
    workflow: Workflow
    created_at: float


@dataclass(frozen=True)
class Answered:
    """A request's question, with what was said before it. `response` is the body that it got, None where none
    was kept; `answer` is what its own runs answered, None where they gave no answer.
    """

    query: str
    conversation: Conversation
    response: str | None
    answer: str | None


@dataclass(frozen=True)
class Task:
    """What a request comes to. `workflow` is run as it is; None: the Conductor plans one.

    `finish` makes of what is planned what is run, in each round; it raises `ApiError` where that cannot be.
    `tags` are put on the session, which is removed for good after the answer unless `keep`. From now on it is
    there for requests with its `token` only; None: for all.
    """

    query: str
    conversation: Conversation = NOTHING_SAID
    settings: Settings = Settings()
    workflow: Workflow | None = None
    finish: Callable[[Workflow], Workflow] | None = None
    tags: tuple[str, ...] = ()
    keep: bool = True
    token: str | None = None


class Performance(Protocol):
    """A task under way. Belongs to the event loop that began it."""

    @property
    def session(self) -> str:
        """The id of the session that it is, wherever it is shown."""
        ...

    @property
    def trouble(self) -> Exception | None:
        """Once it is over: what broke it off, None where its events tell all."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """The events of all planning and all rounds, until nothing more follows.

        Each comes once; who was interrupted while waiting may go on with the next.
        """
        ...

    async def stop(self) -> None:
        """Have it stopped, with all calls that it makes; it is over within a second."""
        ...

    async def keep_response(self, body: str) -> None:
        """Keep what was answered, to be asked for again. Raises `StorageError`."""
        ...

    async def put_away(self) -> None:
        """Called once it is over: forget what was kept in memory, and remove the session where nothing of it
        is to be kept.
        """
        ...


class Orchestra(Protocol):
    """Who plans and runs. All methods may raise `ConductorError`s that tell what is wrong."""

    async def pool(self) -> Pool:
        """Who may answer, as of now."""
        ...

    async def saved(self, id: str, *, token: str | None) -> Saved | None:
        """The workflow of that session or revision, None where there is none."""
        ...

    async def newest_saved(self) -> Sequence[Saved]:
        """The newest workflows that people have, one a session."""
        ...

    async def answered(self, session: str, *, token: str | None) -> Answered | None:
        """What the request that began a session asked, and what it was answered; None where there is no such
        session. What people did there since is not told.
        """
        ...

    async def response(self, session: str, *, token: str | None) -> str | None:
        """The body that was kept as the session's response, None where there is none."""
        ...

    async def delete(self, session: str, *, token: str | None) -> bool:
        """Delete the session of a response that was kept; whether there was one. The app can restore it."""
        ...

    async def begin(self, task: Task) -> Performance:
        """Make a session of it and begin."""
        ...
