"""Every error this project raises on purpose, in one tree with the root `ConductorError`.

A message names the thing, what is wrong and what to do; `step` is 0-based and None if
the error concerns no single step. This module knows no other module of the project.
"""

import errno
from socket import gaierror
from typing import Any

NO_CONNECTION, TIMED_OUT = "no connection", "timed out"
"""Outages without a status of HTTP."""

_UNREACHABLE = (None, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)


class ConductorError(Exception):
    """Base of all errors that are shown to a user as one sentence, without a traceback."""


class WorkflowError(ConductorError):
    """A workflow breaks a rule, or an edit would break one; the workflow is unchanged."""

    def __init__(self, message: str, *, step: int | None = None) -> None:
        super().__init__(message)
        self.step = step


class FormatError(ConductorError):
    """A file or document is not JSON, not our format, of another version, or has unknown fields."""


class DataError(ConductorError):
    """A data set cannot be read, or a line of it is no item."""


class QueryError(ConductorError):
    """The query is empty or too long."""


class NoteError(ConductorError):
    """A note is empty or too long, or on nothing."""


class PlanError(ConductorError):
    """A Conductor's completion holds no valid plan."""


class PoolError(ConductorError):
    """A pool file, or a use of the pool, is wrong: unknown key, duplicate name, unknown worker.

    For a file, `line` (from 1) and `key` are the place, and `reason` what is wrong there; None if unknown.
    """

    def __init__(
        self, message: str, *, line: int | None = None, key: str | None = None, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.key = key
        self.reason = reason


class WorkerError(ConductorError):
    """A worker could not give an answer. Raised by workers; the engine turns it into an event.

    `outage` names in a word or two why its server gave none ("503", "no connection"), so that the same
    request may have an answer later; None if the request, the answer or the worker's program is at fault.
    `used` is the `Usage` that the last request had all the same, None if that is unknown; `NOTHING_USED` if
    none was sent.
    """

    outage: str | None
    used: Any

    def __init__(self, message: str, *, outage: str | None = None, used: Any = None) -> None:
        super().__init__(message)
        self.outage = outage
        self.used = used


class UnfitWorkerError(WorkerError):
    """The worker can answer no such request, however often it is called."""


def outage_of(error: BaseException) -> str | None:
    """The outage that an error of any kind reports: a worker's own, or that of the system's error behind it;
    None if nothing shows that a server was not reached.
    """
    if isinstance(error, WorkerError):
        return error.outage
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return TIMED_OUT
        # A library of connections may raise the system's error without its number.
        unreachable = type(cause) is OSError and cause.errno in _UNREACHABLE
        if unreachable or isinstance(cause, ConnectionError | gaierror):
            return NO_CONNECTION
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return None


class LimitedProcessError(WorkerError):
    """A process in which an answer is scored could not run or was lost: nothing is known of the answer."""


class AnswerFormError(WorkerError):
    """A worker's answer is not the JSON that was asked for, or that cannot be checked."""


class ToolError(ConductorError):
    """A server of tools cannot be used, or gave no answer to a call, which may have acted all the same."""


class ServeError(ConductorError):
    """A server of models cannot be started, is not the requested one, or ended unasked."""


class ClusterError(ConductorError):
    """A Ray cluster cannot be reached, does not fit what is asked of it, or is lost."""


class LimitReached(ConductorError):
    """Limits of a person allow nothing more now; nothing was begun. `seconds` is how long to wait, None if no
    time helps; `rate` is which of a minute's is used up, None for the budget.
    """

    def __init__(self, message: str, *, seconds: float | None, rate: str | None) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.rate = rate


class StorageError(ConductorError):
    """The store cannot be opened, read or written."""


class UnknownId(StorageError):
    """The store was read, and has nothing of that id."""


class NotKeptYet(StorageError):
    """The store could not take an event (locked, full); it is tried again before the next of its run."""


class EditConflict(StorageError):
    """An edit starts from a revision that is the session's head no more; nothing was changed."""


class ViewOnly(StorageError):
    """Something would change a session for one who may only look at it; nothing was changed."""


class SessionBusy(StorageError):
    """The session has a run without an end, and runs once at a time; nothing was changed."""
