"""Files that somebody made to do harm. Run as a program it says what looking into each of them costs.

A line a case: the sentence of the refusal, the seconds of work it took, and by how many bytes the process had
grown at most. Each is looked into by a process of its own, forked for it.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conductor.errors import FormatError
from storage.session_file import look_into

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


def file_of(**sections: Any) -> bytes:
    """A file of a session that is right but for these sections."""
    return json.dumps({"format": "conductor-session", "version": 1, "session": SESSION, **sections}).encode()


def _nested(opening: bytes, times: int) -> bytes:
    return HEADER.encode() + b'"session": ' + opening * times


def _many(entry: bytes, times: int, section: str = "events") -> bytes:
    return HEADER.encode() + f'"{section}": ['.encode() + entry * times


STEPS = [{"instruction": "do", "worker": "w"}] * 10_000

CASES: dict[str, Callable[[], bytes]] = {
    "a gigabyte of zeros": lambda: bytes(1_000_000_000),
    "a gigabyte of a session": lambda: _many(b" ", 1) + bytes(1_000_000_000),
    "10,000 steps": lambda: file_of(revisions=[{**REVISION, "workflow": {"steps": STEPS}}]),
    "a million steps": lambda: _many(
        b'{"workflow": {"steps": [' + json.dumps(STEPS).encode()[1:-1] * 100, 1, "revisions"
    ),
    "lists in lists": lambda: _nested(b"[", 45_000_000),
    "objects in objects": lambda: _nested(b'{"a":', 9_000_000),
    "empty lists": lambda: _many(b"[],", 16_000_000),
    "empty objects": lambda: _many(b"{},", 16_000_000),
    "numbers": lambda: _many(b"1,", 24_000_000),
    "a list of numbers": lambda: _nested(b"[" + b"1," * 24_000_000, 1),
    "a text that does not end": lambda: _nested(b'"' + b'\\"' * 24_000_000, 1),
    "quotes": lambda: _nested(b'"",', 16_000_000),
    "spaces": lambda: HEADER.encode() + b" " * 49_000_000,
    "a long number": lambda: _nested(b"1" * 45_000_000, 1),
    "a long text": lambda: file_of(session={**SESSION, "title": "a" * 45_000_000}),
    "a long name": lambda: HEADER.encode() + b'"' + b"a" * 45_000_000 + b'": 1}',
    "one name again and again": lambda: HEADER.encode() + b'"session": {' + b'"a": 1, ' * 5_000_000 + b"}}",
    "names": lambda: _nested(b"{" + b",".join(b'"%d":1' % at for at in range(300_000)) + b"}", 1),
    "outputs of outputs": lambda: file_of(
        outputs=[{**OUTPUT, "text": {"$ref": "#/outputs/1"}}, {**OUTPUT, "text": "lol" * 10_000_000}]
    ),
    "many outputs": lambda: file_of(outputs=[{**OUTPUT, "fingerprint": str(at)} for at in range(60_000)]),
    "many runs": lambda: file_of(runs=[{**RUN, "id": str(at)} for at in range(30_000)]),
    "events of many runs": lambda: file_of(events=[{**DELTA, "run": str(at)} for at in range(60_000)]),
    "a workflow of lists": lambda: b'{"format": "conductor-workflow", "steps": [' + b"[]," * 1_600_000,
    "sessions of nothing": lambda: (
        b'{"format": "conductor-sessions", "version": 1, "sessions": [' + (file_of() + b",") * 200_000
    ),
}


def measured(case: str) -> str:
    """What looking into the case's file costs, as JSON."""
    data = CASES[case]()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is what it is now
    before, start = _most_memory(), time.process_time()
    try:
        look_into(data, workers=["w"])
        said = None
    except FormatError as error:
        said = str(error)
    seconds = time.process_time() - start
    return json.dumps({"case": case, "said": said, "seconds": seconds, "bytes": _most_memory() - before})


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
