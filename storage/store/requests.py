"""What the application asks about sessions that requests to the API began."""

from __future__ import annotations

from sqlalchemy import Connection

from storage import requests
from storage.requests import NewRequest
from storage.store.processes import Processes


class Requests(Processes):
    """Whose token began a session, and the response that it got."""

    def begin_request(self, request: NewRequest) -> None:
        """Make a session of a request, whole or not at all: with its tags, and with the workflow that it gave
        and the run of it that begins now; `append` that run's events next.
        """
        now = self._clock()

        def begin(connection: Connection) -> None:
            # As each run that begins does: the room that there is now ends those that met with none.
            self._keep_lost(connection)
            requests.begin(connection, request, now=now)

        self._write(begin)
        if request.run is not None:
            self._started.add(request.run)

    def is_open_to(self, session: str, *, token: str) -> bool:
        """Whether a session may be shown to who asks with the token of that id: no other one began it."""
        return self._read(requests.is_open_to, session, token=token)

    def keep_response(self, session: str, response: str) -> None:
        """Keep the body that a request was answered with; nothing happens where its session is gone."""
        self._write(requests.keep_response, session, response)

    def response(self, session: str) -> str | None:
        """The body that the session's request was answered with, None where none was kept."""
        return self._read(requests.response, session)
