"""What the API adds under load: `python benchmarks/api_load.py [--json]`, from the repository's root.

The same streamed requests, many at once, straight to a simulated endpoint and to the API that has it as its
only worker; each in a process of its own. How each number comes about stands in README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.report import machine
from benchmarks.streams import Crowd, crowd
from benchmarks.upstream import Pace, upstream

ROOT = Path(__file__).resolve().parent.parent

POOL = """
[[worker]]
name = "served"
base_url = "{url}"
model = "any"
"""
TOKENS_PER_SECOND = 20
TOKENS = 42


@dataclass(frozen=True)
class Effort:
    """How many are asked at once, how often, and how often one alone before."""

    size: int = 500
    rounds: int = 3
    alone: int = 20


@dataclass(frozen=True)
class Memory:
    """Of the API's process, in MiB: at rest before the load, and the most it ever held; None where the
    system does not tell.
    """

    before: float | None
    peak: float | None


@dataclass(frozen=True)
class Report:
    """All of one run: for each contender the round with the middle time to the end, of one and of many."""

    machine: str
    size: int
    alone: Mapping[str, Crowd]
    many: Mapping[str, Crowd]
    memory: Memory
    errors: Sequence[str]


@dataclass(frozen=True)
class Served:
    """A process that serves at `url`, which ends with /v1."""

    url: str
    pid: int


@dataclass(frozen=True)
class Contenders:
    """The base URL of the endpoint alone, and the API whose only worker it is."""

    straight: str
    api: Served


@contextmanager
def serving(*command: str) -> Iterator[Served]:
    """A command of the program that prints its address as JSON and serves, while the block lasts."""
    line = [sys.executable, "-m", "conductor", *command, "--json"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(json.loads(process.stdout.readline())["url"], process.pid)
        finally:
            process.terminate()


@contextmanager
def contenders(tokens_per_second: float = TOKENS_PER_SECOND) -> Iterator[Contenders]:
    """Starts the endpoint, and the API over it."""
    pace = Pace(latency=1 / tokens_per_second, tokens=TOKENS, tokens_per_second=tokens_per_second)
    with tempfile.TemporaryDirectory() as folder, upstream(pace) as base_url:
        pool = Path(folder) / "pool.toml"
        pool.write_text(POOL.format(url=base_url), encoding="utf-8")
        kept = ("--pool", str(pool), "--database", f"sqlite:///{folder}/conductor.db")
        with serving("serve", "--api-only", "--api-open", "--port", "0", *kept) as api:
            yield Contenders(straight=base_url, api=api)


MODELS = {"straight": "any", "through the API": "worker:served"}


async def measured(served: Contenders, effort: Effort) -> Report:
    """Contenders in turn, one request at a time and then many at once."""
    urls = {"straight": served.straight, "through the API": served.api.url}
    alone: dict[str, list[Crowd]] = {name: [] for name in urls}
    many: dict[str, list[Crowd]] = {name: [] for name in urls}
    for _ in range(effort.alone):
        for name, url in urls.items():
            alone[name].append(await crowd(url, MODELS[name], size=1))
    before = memory(served.api.pid, "VmRSS")
    for _ in range(effort.rounds):
        for name, url in urls.items():
            many[name].append(await crowd(url, MODELS[name], size=effort.size))
    errors = [error for found in (*alone.values(), *many.values()) for each in found for error in each.errors]
    return Report(
        machine=machine(),
        size=effort.size,
        alone={name: _middle(found) for name, found in alone.items()},
        many={name: _middle(found) for name, found in many.items()},
        memory=Memory(before=before, peak=memory(served.api.pid, "VmHWM")),
        errors=errors,
    )


def memory(pid: int, what: str) -> float | None:
    """The kernel's account of a process, in MiB; None where there is none."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(f"{what}:"))
    return int(line.split()[1]) / 1024


def _middle(found: Sequence[Crowd]) -> Crowd:
    return sorted(found, key=lambda each: each.whole)[len(found) // 2]


def as_text(report: Report) -> str:
    """The report as tables in Markdown."""
    lines = [f"{report.machine}; the middle round; in parentheses, 95 % are as quick.", ""]
    for title, found in (("one at a time", report.alone), (f"{report.size} at once", report.many)):
        lines += [
            f"| {title} | to the first text | to the end | tokens a second |",
            "| --- | ---: | ---: | ---: |",
            *(_row(name, each) for name, each in found.items()),
            _added(*found.values()),
            "",
        ]
    before, peak = (_mib(report.memory.before), _mib(report.memory.peak))
    lines.append(f"The API's process held {before} before the load and {peak} at most.")
    lines.append(f"{len(report.errors)} requests failed.")
    return "\n".join(lines)


def _row(name: str, found: Crowd) -> str:
    first = f"{_ms(found.first)} ({_ms(found.first_p95)})"
    whole = f"{_ms(found.whole)} ({_ms(found.whole_p95)})"
    return f"| {name} | {first} | {whole} | {found.tokens_per_second:,.0f} |"


def _added(straight: Crowd, through: Crowd) -> str:
    share = through.tokens_per_second / straight.tokens_per_second
    return (
        f"| added | {_ms(through.first - straight.first)} | {_ms(through.whole - straight.whole)} "
        f"| {share:.2f} of them |"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def _mib(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.0f} MiB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a request failed."""
    parser = argparse.ArgumentParser(description="Measure what the API adds under load.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    with contenders() as served:
        report = asyncio.run(measured(served, Effort()))
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
