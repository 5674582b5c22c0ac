"""`doctor`: whether every worker and the Conductor can be used, and what to do where one cannot.

Prints a table and then a line for everything that somebody should look at. Knows no check.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from conductor.workers.findings import Check, Health
from conductor.workers.health import AT_ONCE, examine
from conductor.workers.pool import configured_path, configured_pool
from conductor.workers.subject import Subject, subjects

Examined = tuple[Subject, Health]

_HEADINGS = ("", "key", "reachable", "model", "answer", "first token", "tokens/s")
_CHECKS: tuple[Check, ...] = ("key", "reachable", "model", "answer")


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("doctor", parents=parents, help="try every worker and the Conductor")
    parser.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    """0 when all can be used, else 1."""
    path = configured_path(options.pool)
    pool = configured_pool(path, keys="optional")
    found = subjects(pool)
    if not options.json:
        print(f"conductor: asking {len(found)}, a short answer each", file=sys.stderr)
    examined = asyncio.run(_examined(found))
    ok = not any(health.failing for _, health in examined)
    if options.json:
        print(json.dumps(_shape(path, examined, ok=ok)))
    else:
        print(f"{path or 'The built-in pool'}: {pool.label or _counted(len(pool.workers), 'worker')}\n")
        print(_table(examined))
        if pool.conductor is None:
            print("\nNo [conductor] is named: the built-in planner writes the workflows, by rule.")
        if complaints := _complaints(examined):
            print("", *complaints, sep="\n")
    return 0 if ok else 1


async def _examined(found: Sequence[Subject]) -> list[Examined]:
    """All of them, several asked at a time, in their order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def last(subject: Subject) -> Examined:
        async with places, aclosing(examine(subject)) as states:
            return subject, [health async for health in states][-1]

    return await asyncio.gather(*map(last, found))


def _table(examined: Sequence[Examined]) -> str:
    rows = [_HEADINGS, *(_row(subject, health) for subject, health in examined)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(subject: Subject, health: Health) -> tuple[str, ...]:
    role = " (Conductor)" if subject.role == "conductor" else ""
    words = (found.word if (found := health.finding(check)) else "-" for check in _CHECKS)
    first = "-" if health.first_token is None else f"{health.first_token:.2f} s"
    rate = "-" if health.tokens_per_second is None else f"{health.tokens_per_second:,.0f}"
    return (_printable(subject.name) + role, *words, first, rate)


def _complaints(examined: Sequence[Examined]) -> list[str]:
    return [
        f"{_printable(subject.name)}: {_printable(finding.sentence)}"
        for subject, health in examined
        for finding in health.complaints
    ]


def _shape(path: Path | None, examined: Sequence[Examined], *, ok: bool) -> dict[str, Any]:
    """`{"ok", "pool", "conductor", "workers"}`: `conductor` is null for the built-in planner."""
    shapes = [(subject.role, _subject_shape(subject, health)) for subject, health in examined]
    return {
        "ok": ok,
        "pool": None if path is None else str(path),
        "conductor": next((shape for role, shape in shapes if role == "conductor"), None),
        "workers": [shape for role, shape in shapes if role == "worker"],
    }


def _subject_shape(subject: Subject, health: Health) -> dict[str, Any]:
    return {
        "name": subject.name,
        "kind": subject.kind,
        "endpoint": subject.endpoint.base_url if subject.endpoint else None,
        "model": subject.model,
        "ok": not health.failing,
        "first_token_seconds": health.first_token,
        "tokens_per_second": health.tokens_per_second,
        "findings": [finding.model_dump() for finding in health.findings],
    }


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _printable(text: str) -> str:
    """One line without control characters: names and servers' words are not ours."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
