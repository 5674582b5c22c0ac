"""The log as JSON lines: what happened, with ids, without texts of people or models and without keys.

A line has `time` (ISO 8601, UTC), `level`, `logger` and `event`, then fields of that event. Knows spans and
logging; the runs' lines are made of spans, which hold no text.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from conductor.errors import PoolError, ServeError, StorageError
from conductor.values.total import Total
from studio.telemetry.spans import Skipped, Span, SpanWatch

LOG = "CONDUCTOR_LOG"
"""The environment variable that, set to json, has a server write its log as JSON lines."""

FIELDS = "conductor_fields"
"""The name under which a record of ours carries its fields."""

_log = logging.getLogger("conductor.runs")

_OURS = ("conductor", "studio", "storage", "pages")
_SAFE = (PoolError, ServeError, StorageError)
"""Errors whose messages name settings and files; others may quote what was asked or answered."""


class JsonLines(logging.Formatter):
    """One JSON object a line, in ASCII.

    Of an error, its type and places in the code are written, its message only where that quotes no text of
    people or models. Lines of other libraries are written by their format only, without the values; where the
    values are in the message already, by their place in the code.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage() if record.name.partition(".")[0] in _OURS else _of_others(record),
            **getattr(record, FIELDS, {}),
        }
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["error"] = type(error).__name__
            line["at"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(error.__traceback__)
            ]
            if isinstance(error, _SAFE):
                line["reason"] = str(error)
        return json.dumps(line)


def _of_others(record: logging.LogRecord) -> str:
    """A message without values may have been put together with them, as those of asyncio are."""
    if record.args and isinstance(record.msg, str) and record.msg != "%s":
        return record.msg
    return f"a line of {record.pathname}:{record.lineno} {record.funcName}"


def log_as_json(stream: TextIO | None = None) -> None:
    """Write the log of this process as JSON lines to `stream` (standard error), runs and requests too."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("conductor").setLevel(logging.INFO)
    # Python prints these with their messages and lines of code, past the log.
    logging.captureWarnings(capture=True)
    sys.excepthook = lambda _, error, __: _log_uncaught(error, "the program")
    threading.excepthook = lambda thrown: _log_uncaught(thrown.exc_value, "a thread")


def _log_uncaught(error: BaseException | None, what: str) -> None:
    """A line of an error that nothing caught; an interruption by the keyboard is none."""
    if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        logging.getLogger("conductor").error("%s broke", what, exc_info=error)


def log_request(*, route: str, method: str, status: int, seconds: float, **more: str | None) -> None:
    """A line of a request that was answered to its end; `more`: the session that it made, what of it had no
    effect, and which parameter was refused and why.
    """
    fields = {"route": route, "method": method, "status": status, "seconds": round(seconds, 4)}
    fields |= {name: value for name, value in more.items() if value is not None}
    logging.getLogger("conductor.api").info("request", extra={FIELDS: fields})


class RunLog(SpanWatch):
    """The watch of one session that writes a line for what began, ended or was skipped."""

    def __init__(self, session: str) -> None:
        self._session = session
        super().__init__(self._write)

    def _write(self, change: Span | Skipped) -> None:
        fields = {"session": self._session, "run": change.run, **_fields_of(change)}
        # What is unknown is left out.
        values = {name: value for name, value in fields.items() if value is not None}
        _log.info(_name_of(change), extra={FIELDS: values})


def _name_of(change: Span | Skipped) -> str:
    if isinstance(change, Skipped):
        return "step skipped"
    return f"{change.kind} {'began' if change.outcome is None else 'ended'}"


def _fields_of(change: Span | Skipped) -> dict[str, object]:
    if isinstance(change, Skipped):
        return {"step": change.step, "worker": change.worker, "outcome": change.outcome}
    return {
        "round": change.round,
        "step": change.step,
        "worker": change.worker,
        "instead_of": change.instead_of,
        "tool": change.tool or None,
        "purpose": None if change.charge is None else change.charge.purpose,
        "outcome": change.outcome,
        "seconds": None if change.seconds is None else round(change.seconds, 4),
        "retries": change.retries or None,
        **_sums_of(change.used),
    }


def _sums_of(used: Total) -> dict[str, object]:
    """What was used, and which bound of it each number is; nothing without a request."""
    sums = {"input_tokens": used.prompt, "output_tokens": used.completion, "dollars": used.dollars}
    fields: dict[str, object] = {}
    for name, number in sums.items() if used.calls else ():
        fields[name] = number.best
        fields[f"{name}_at_least"] = number.at_least or None
        fields[f"{name}_at_most"] = number.at_most or None
    return fields
