"""The progress of a command over many sessions: a bar on a terminal, else sparse lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from studio.cli.output.terminal import is_quiet, print_remark

EVERY = 10.0
"""Seconds between two lines."""

Progress = Callable[[int], None]
"""Called with how many sessions are done."""


@contextmanager
def session_progress(verb: str, total: int, *, bar: bool = True) -> Iterator[Progress]:
    """Shows how many of `total` sessions are done, and how many a second; nothing where stderr is quiet.
    Without `bar` only lines: a bar would move what the command itself prints on a terminal.
    """
    began = time.monotonic()

    def rate(done: int) -> str:
        return f"{done / max(time.monotonic() - began, 1e-3):,.0f} a second"

    if is_quiet() or not (bar and sys.stderr.isatty()):
        yield _lines(verb, total, rate)
        return
    from rich import progress as rich  # noqa: PLC0415 - for a terminal only
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn(verb), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}"), rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as drawing:
        task = drawing.add_task(verb, total=total, rate="")
        yield lambda done: drawing.update(task, completed=done, rate=rate(done))


def _lines(verb: str, total: int, rate: Callable[[int], str]) -> Progress:
    last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            print_remark(f"{verb}: {done:,} of {total:,} sessions, {rate(done)}")

    return show
