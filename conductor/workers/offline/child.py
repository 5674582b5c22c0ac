"""The child process that computes: a task as a JSON line in, the answer's lines as JSON lines out.

Started by `process.py`. It runs nothing it is sent: a task is data, read by our own parser. Memory is
limited where the platform can, time everywhere, and the process ends as soon as its parent does.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from conductor.workers.offline.mathematics.checker import check
from conductor.workers.offline.mathematics.expert import mathematics
from conductor.workers.offline.task import Refusal, Task

MAX_MEMORY = 2 * 1024**3
"""Bytes of address space; SymPy itself takes about a tenth."""

MAX_LINE = 20_000
"""Characters of one line of an answer; longer lines are cut and marked so."""


def answered(expert: str, task: Task) -> Iterator[str]:
    """The lines of an expert's answer."""
    lines = check(task) if expert == "checker" or task.asks_check else mathematics(task)
    for line in lines:
        yield line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}... ({len(line):,} characters, cut)"


def limit_memory() -> None:
    """Bound this process's address space at `MAX_MEMORY`, where the platform lets it."""
    try:
        import resource  # noqa: PLC0415 - not on every platform
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    allowed = MAX_MEMORY if most == resource.RLIM_INFINITY else min(MAX_MEMORY, most)
    # macOS has the limit and refuses to set it; the time limit still holds.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (allowed, most))


def _serve() -> None:
    """Answer one line after the other until the parent closes the pipe."""
    sys.set_int_max_str_digits(0)
    limit_memory()
    calls: SimpleQueue[str] = SimpleQueue()
    Thread(target=_receive, args=(calls,), daemon=True).start()
    with Path(os.devnull).open("w") as nowhere:
        while True:
            call = json.loads(calls.get())
            # Ends this process also in the middle of an operation that lets no other thread run.
            faulthandler.dump_traceback_later(call["seconds"], exit=True, file=nowhere)
            try:
                for line in answered(call["expert"], Task.of_json(call["task"])):
                    _send({"line": line, "refused": isinstance(line, Refusal)})
                _send({"done": True})
            except MemoryError:
                _send({"error": f"needed more than {MAX_MEMORY // 1024**3} GiB of memory"})
            faulthandler.cancel_dump_traceback_later()


def _receive(calls: SimpleQueue[str]) -> None:
    """Put each line of stdin into `calls`; at its end, which is the parent's, end this process at once."""
    for sent in sys.stdin:
        calls.put(sent)
    os._exit(0)


def _send(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    _serve()
