"""What the application asks about sessions that requests to the API began."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.conversation import Conversation
from conductor.modes import Settings
from conductor.workflow import Workflow
from storage import requests
from storage.records import Session
from storage.store.transactions import Transactions


class Requests(Transactions):
    """Whose token began a session, and the response that it got."""

    def begin_request(
        self,
        query: str,
        *,
        pool_label: str | None,
        settings: Settings,
        conversation: Conversation | None = None,
        tags: Sequence[str] = (),
        token: str | None = None,
        workflow: Workflow | None = None,
        keep: bool = True,
    ) -> Session:
        """A new session for a request, whole or not at all: with its tags, the id of the token that it came
        with, and the workflow that it gave.

        One that is not to be kept is deleted from the beginning, so that it is removed for good in time even
        where its process dies.
        """
        return self._write(
            requests.begin,
            query,
            pool_label=pool_label,
            settings=settings,
            conversation=conversation,
            tagged=tags,
            token=token,
            workflow=workflow,
            keep=keep,
            now=self._clock(),
        )

    def is_open_to(self, session: str, *, token: str) -> bool:
        """Whether a session may be shown to who asks with the token of that id: no other one began it."""
        return self._read(requests.is_open_to, session, token=token)

    def keep_response(self, session: str, response: str) -> None:
        """Keep the body that a request was answered with; nothing happens where its session is gone."""
        self._write(requests.keep_response, session, response)

    def response(self, session: str) -> str | None:
        """The body that the session's request was answered with, None where none was kept."""
        return self._read(requests.response, session)
