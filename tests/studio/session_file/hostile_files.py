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

HEADER = '{"format": "conductor-session", "version": 1, '
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


def version_1(**sections: Any) -> bytes:
    """A file of version 1 with a session that is right but for these sections."""
    return json.dumps({"format": "conductor-session", "version": 1, "session": SESSION, **sections}).encode()


def _nested(opening: bytes, times: int) -> bytes:
    return HEADER.encode() + b'"session": ' + opening * times


def _many(entry: bytes, times: int, section: str = "events") -> bytes:
    return HEADER.encode() + f'"{section}": ['.encode() + entry * times


STEPS = [{"instruction": "do", "worker": "w"}] * 10_000

BEGINNING = b'{"format":"conductor-session","version":2,"sessions":1}\n'
BEGUN = BEGINNING + json.dumps({"session": SESSION}).encode() + b"\n"


def _lines(line: bytes, times: int) -> bytes:
    return BEGUN + (line + b"\n") * times


CASES: dict[str, Callable[[], bytes]] = {
    "a line of a gigabyte": lambda: BEGUN + b'{"event":' + bytes(1_000_000_000),
    "a line of lists in lists": lambda: BEGUN + b"[" * 19_000_000,
    "a line of few lists in lists": lambda: BEGUN + b"[" * 90_000,
    "a line of objects in objects": lambda: BEGUN + b'{"a":' * 3_900_000,
    "a line of empty lists": lambda: BEGUN + b'{"event":[' + b"[]," * 6_000_000,
    "a line of numbers": lambda: BEGUN + b'{"event":[' + b"1," * 9_000_000,
    "a line of quotes": lambda: BEGUN + b'{"event":["' + b'\\"' * 9_000_000,
    "a line of one number": lambda: BEGUN + b'{"event":' + b"1" * 19_000_000,
    "empty lines": lambda: _lines(b"", 40_000_000),
    "texts without a use": lambda: _lines(b'{"text":{"id":"a","text":"b"}}', 300_000),
    "one text shown again and again": lambda: (
        BEGUN
        + json.dumps({"text": {"id": "a", "text": "b" * 1_000_000}}).encode()
        + b"\n"
        + json.dumps({"output": {**OUTPUT, "text": [{"$text": "a"}] * 90_000}}).encode()
    ),
    "a text in a text": lambda: _lines(b'{"text":{"id":"a","text":{"$text":"a"}}}', 1),
    "many revisions": lambda: (
        BEGUN
        + b"".join(
            json.dumps({"revision": {**REVISION, "id": str(at)}}).encode() + b"\n" for at in range(60_000)
        )
    ),
    "a count of sessions": lambda: BEGINNING.replace(b":1}", b":" + b"9" * 4_000 + b"}"),
    "a gigabyte of zeros": lambda: bytes(1_000_000_000),
    "a gigabyte of a session": lambda: _many(b" ", 1) + bytes(1_000_000_000),
    "10,000 steps": lambda: version_1(revisions=[{**REVISION, "workflow": {"steps": STEPS}}]),
    "a million steps": lambda: _many(
        b'{"workflow": {"steps": [' + json.dumps(STEPS).encode()[1:-1] * 100, 1, "revisions"
    ),
    "lists in lists": lambda: _nested(b"[", 45_000_000),
    "few lists in lists": lambda: _nested(b"[", 1_000_000),
    "the most objects": lambda: version_1(events=[{"a": 1}] * 990_000),
    "a text that does not end": lambda: _nested(b'"' + b'\\"' * 24_000_000, 1),
    "quotes": lambda: _nested(b'"",', 16_000_000),
    "a long number": lambda: _nested(b"1" * 45_000_000, 1),
    "names": lambda: _nested(b"{" + b",".join(b'"%d":1' % at for at in range(300_000)) + b"}", 1),
    "many outputs": lambda: version_1(outputs=[{**OUTPUT, "fingerprint": str(at)} for at in range(60_000)]),
    "a workflow of lists": lambda: b'{"format": "conductor-workflow", "steps": [' + b"[]," * 1_600_000,
    "sessions of nothing": lambda: (
        b'{"format": "conductor-sessions", "version": 1, "sessions": [' + (version_1() + b",") * 200_000
    ),
}


def measured(case: str) -> str:
    """What the preview of the case's file costs, as JSON."""
    data = CASES[case]()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is what it is now
    before, start = _most_memory(), time.process_time()
    try:
        look_into(BytesIO(data), workers=["w"])
        refusal = None
    except FormatError as error:
        refusal = str(error)
    seconds, grown = time.process_time() - start, _most_memory() - before
    return json.dumps({"case": case, "refusal": refusal, "units": seconds / _unit(), "bytes": grown})


def _unit() -> float:
    """The seconds in which this machine reads 10,000 entries of an honest file as JSON."""
    line = json.dumps({"event": {**DELTA, "text": "word " * 20}})
    start = time.process_time()
    for _ in range(10_000):
        json.loads(line)
    return time.process_time() - start


def _most_memory() -> int:
    status = Path("/proc/self/status").read_text()
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
