"""The log as JSON lines: what happened, and nothing that a person wrote."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from typing import Any

import pytest

from conductor.errors import FormatError, StorageError
from conductor.runs.events import StepRetried
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from studio.telemetry.logs import JsonLines, RunLog, log_request
from tests.support.runs import nested_run

SECRET = "sk-secret-1234567890"


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_run_is_logged_with_its_ids_and_no_text_of_it(written: io.StringIO) -> None:
    log = RunLog("session-1")
    for event in nested_run.events("run-1"):
        log.see(event)
    log.end()
    entries = lines(written)
    assert {line["session"] for line in entries} == {"session-1"}
    ended = [line for line in entries if line["event"] == "run ended" and line["run"] == "run-1"]
    assert [line["outcome"] for line in ended] == ["finished"]
    steps = [line for line in entries if line["event"] == "step ended" and line["run"] == "run-1"]
    assert [line["step"] for line in steps] == [0, 1, 2]
    assert steps[0]["input_tokens"] == 1_000
    for text in ("Hard", "Collect the facts", "said", nested_run.HOSTILE, "Do it", "Which one"):
        assert text not in written.getvalue()


def test_what_is_unknown_is_left_out(written: io.StringIO) -> None:
    log = RunLog("s")
    teller = nested_run.Teller("r")
    log.see(teller.started(0, "alpha"))
    log.see(teller.finished(0, "alpha", "text", usage=Usage(prompt_tokens=3)))
    _, call, ended = lines(written)
    for line in (call, ended):
        assert line["input_tokens"] == 3
        assert not {"output_tokens", "dollars"} & line.keys()


def test_a_step_is_logged_with_what_all_its_requests_took_and_which_bound_that_is(
    written: io.StringIO,
) -> None:
    log, teller = RunLog("s"), nested_run.Teller("r")
    bounded = Usage(prompt_tokens=7, completion_tokens=1, cost=0.5, least_cost=0.25)
    unknown = Charge(worker="a", kind="model", purpose="step")
    log.see(teller.started(0, "a"))
    log.see(teller.tell(StepRetried, step=0, attempt=1, message="503", seconds=1.0, charge=unknown))
    log.see(teller.finished(0, "a", "text", usage=bounded))
    _, failed, answered, ended = lines(written)
    assert [(line["event"], line["outcome"]) for line in (failed, answered, ended)] == [
        ("call ended", "failed"),
        ("call ended", "finished"),
        ("step ended", "finished"),
    ]
    assert not {"input_tokens", "output_tokens", "dollars"} & failed.keys()
    assert (answered["dollars"], answered["dollars_at_most"]) == (0.5, True)
    assert (ended["input_tokens"], ended["input_tokens_at_least"]) == (7, True)
    assert (ended["dollars"], ended["dollars_at_least"]) == (0.25, True)
    assert "dollars_at_most" not in ended


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FormatError(f"Not JSON: {SECRET}"), None),
        (KeyError(SECRET), None),
        (StorageError("The disk is full."), "The disk is full."),
    ],
)
def test_an_error_is_logged_by_its_type_and_its_place(
    written: io.StringIO, error: Exception, reason: str | None
) -> None:
    try:
        raise error
    except type(error):
        logging.getLogger("studio.api").exception("it broke")
    (line,) = lines(written)
    assert (line["event"], line["error"], line.get("reason")) == ("it broke", type(error).__name__, reason)
    assert "test_logs.py" in line["at"][0]
    assert SECRET not in written.getvalue()


def test_the_values_in_a_line_of_another_library_are_not_written() -> None:
    record = logging.LogRecord("httpx", logging.WARNING, "f", 1, "to %s", (f"http://x/?key={SECRET}",), None)
    assert json.loads(JsonLines().format(record))["event"] == "to %s"


def fail(text: str) -> None:
    raise KeyError(text)


async def test_what_breaks_outside_of_every_request_is_logged_without_its_text(written: io.StringIO) -> None:
    thread = threading.Thread(target=fail, args=(SECRET,))
    thread.start()
    thread.join(60)
    try:
        fail(SECRET)
    except KeyError as error:
        sys.excepthook(KeyError, error, None)
        asyncio.get_running_loop().call_exception_handler(
            {"message": "Task exception was never retrieved", "exception": error, "future": repr(error)}
        )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn_explicit(SECRET, SyntaxWarning, "written by a model", 1)
    assert [line.get("error") for line in lines(written)] == ["KeyError"] * 3 + [None]
    assert SECRET not in written.getvalue()


def test_a_message_that_was_put_together_by_another_library_is_written_by_its_place() -> None:
    record = logging.LogRecord(
        "asyncio", logging.ERROR, "/lib/events.py", 12, f"no {SECRET}", (), None, "run"
    )
    assert json.loads(JsonLines().format(record))["event"] == "a line of /lib/events.py:12 run"
    record.msg, record.args = "%s", (SECRET,)
    assert SECRET not in JsonLines().format(record)


def test_a_request_is_logged_by_its_route_and_the_session_that_it_made(written: io.StringIO) -> None:
    log_request(route="/v1/responses/{id}", method="GET", status=200, seconds=0.25, session=None)
    log_request(route="/v1/responses", method="POST", status=200, seconds=1.5, session="abc")
    first, second = lines(written)
    assert (first["route"], first["status"], first["seconds"]) == ("/v1/responses/{id}", 200, 0.25)
    assert "session" not in first
    assert second["session"] == "abc"
