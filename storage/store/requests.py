"""The store's methods for sessions that requests to the API began."""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.runs.request import RunRequest
from storage.records import RequestSession
from storage.store.processes import Processes
from storage.store.transactions import Part, Transactions
from storage.tables import requests


class Requests(Part):
    """Which token began a session, and the response that it got."""

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions)
        self._processes = processes

    def begin(
        self,
        request: RunRequest,
        *,
        session: str,
        stored_as: RequestSession,
        pool_label: str | None = None,
        run: str | None = None,
    ) -> None:
        """Create the session of that id for a request, with its workflow where it has one: all or nothing.

        `run` is the id of the workflow's run that begins now; `append` that run's events next.
        """
        now = self._clock()
        # Only a run has an owner.
        owner = "" if run is None else self._processes.hold()

        def begin(connection: Connection) -> None:
            # As at each start of a run: events that the store did not take before are retried.
            self._transactions.keep_lost(connection)
            requests.begin(
                connection,
                request,
                session=session,
                stored_as=stored_as,
                pool_label=pool_label,
                run=run,
                owner=owner,
                now=now,
            )

        self._write(begin)
        if run is not None:
            self._processes.started.add(run)

    def is_open_to(self, session: str, *, token: str) -> bool:
        """Whether a request with the token of that id may read the session: no other token began it."""
        return self._read(requests.is_open_to, session, token=token)

    def keep_response(self, session: str, response: str) -> None:
        """Store the body of the response to a request; does nothing where its session was removed."""
        self._write(requests.keep_response, session, response)

    def response(self, session: str) -> str | None:
        """The body of the response to the session's request, None where none was stored."""
        return self._read(requests.response, session)
