"""Files made to do harm. Run as a program it prints what the preview of each of them costs.

A line a case: the sentence of the refusal, the work it took in multiples of `_unit`, and by how many bytes
the process had grown at most. Each is read in a process of its own, forked for it.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from conductor.errors import FormatError
from studio.session_file import look_into

SESSION: dict[str, Any] = {
    "id": "s", "title": "t", "query": "q", "created_at": 1.0, "updated_at": 1.0, "state": "new",
}  # fmt: skip
REVISION: dict[str, Any] = {
    "id": "r", "origin": "human", "note": "", "created_at": 1.0,
    "workflow": {"steps": [{"instruction": "do", "worker": "w"}]},
}  # fmt: skip
RUN: dict[str, Any] = {"id": "run", "revision": "r", "status": "running", "started_at": 1.0}
OUTPUT: dict[str, Any] = {
    "fingerprint": "f", "text": "", "worker": "w", "worker_kind": "model", "seconds": 1.0,
    "run": "run", "step": 0,
}  # fmt: skip
DELTA: dict[str, Any] = {"type": "step_delta", "run": "run", "seq": 0, "at": 1.0, "step": 0, "text": ""}


STEPS = [{"instruction": "do", "worker": "w"}] * 10_000

BEGINNING = b'{"format":"conductor-session","version":2,"sessions":1}\n'
OPENING = BEGINNING + json.dumps({"session": SESSION}).encode() + b"\n"


def _lines(line: bytes, times: int) -> bytes:
    return OPENING + (line + b"\n") * times


CASES: dict[str, Callable[[], bytes]] = {
    "a line of a gigabyte": lambda: OPENING + b'{"event":' + bytes(1_000_000_000),
    "a line of lists in lists": lambda: OPENING + b"[" * 19_000_000,
    "a line of few lists in lists": lambda: OPENING + b"[" * 90_000,
    "a line of objects in objects": lambda: OPENING + b'{"a":' * 3_900_000,
    "a line of empty lists": lambda: OPENING + b'{"event":[' + b"[]," * 6_000_000,
    "a line of numbers": lambda: OPENING + b'{"event":[' + b"1," * 9_000_000,
    "a line of quotes": lambda: OPENING + b'{"event":["' + b'\\"' * 9_000_000,
    "a line of one number": lambda: OPENING + b'{"event":' + b"1" * 19_000_000,
    "empty lines": lambda: _lines(b"", 40_000_000),
    "texts without a use": lambda: _lines(b'{"text":{"id":"a","text":"b"}}', 300_000),
    "one text shown again and again": lambda: (
        OPENING
        + json.dumps({"text": {"id": "a", "text": "b" * 1_000_000}}).encode()
        + b"\n"
        + json.dumps({"output": {**OUTPUT, "text": [{"$text": "a"}] * 90_000}}).encode()
    ),
    "a text in a text": lambda: _lines(b'{"text":{"id":"a","text":{"$text":"a"}}}', 1),
    "many revisions": lambda: (
        OPENING
        + b"".join(
            json.dumps({"revision": {**REVISION, "id": str(at)}}).encode() + b"\n" for at in range(60_000)
        )
    ),
    "a count of sessions": lambda: BEGINNING.replace(b":1}", b":" + b"9" * 4_000 + b"}"),
    "a gigabyte of zeros": lambda: bytes(1_000_000_000),
    "10,000 steps": lambda: (
        OPENING + json.dumps({"revision": {**REVISION, "workflow": {"steps": STEPS}}}).encode() + b"\n"
    ),
    "a million steps": lambda: (
        OPENING + b'{"revision": {"workflow": {"steps": [' + json.dumps(STEPS).encode()[1:-1] * 100
    ),
    "many outputs": lambda: (
        OPENING
        + b"".join(
            json.dumps({"output": {**OUTPUT, "fingerprint": str(at)}}).encode() + b"\n"
            for at in range(60_000)
        )
    ),
    "a workflow of lists": lambda: b'{"format": "conductor-workflow", "steps": [' + b"[]," * 1_600_000,
}


def measured(case: str) -> str:
    """What the preview of the case's file costs, as JSON."""
    data = CASES[case]()
    gc.collect()
    unit = _unit()
    # The most memory so far is what it is now.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, start = _most_memory(), time.process_time()
    try:
        look_into(BytesIO(data), workers=["w"])
        refusal = None
    except FormatError as error:
        refusal = str(error)
    seconds, grown = time.process_time() - start, _most_memory() - before
    unit = (unit + _unit()) / 2
    return json.dumps({"case": case, "refusal": refusal, "units": seconds / unit, "bytes": grown})


def _unit() -> float:
    """The seconds in which this machine, as busy as it is, reads 10,000 entries of an honest file as JSON."""
    line = json.dumps({"event": {**DELTA, "text": "word " * 20}})
    start = time.process_time()
    for _ in range(40_000):
        json.loads(line)
    return (time.process_time() - start) / 4


def _most_memory() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    """All cases, one after another."""
    for case in CASES:
        child = os.fork()
        if child == 0:
            print(measured(case), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
