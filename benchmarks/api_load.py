"""What the API adds under load: `python benchmarks/api_load.py`, from the repository's root.

`--help` lists what can be chosen.

The same streamed requests, many at once, straight to a simulated endpoint and to the API that has it as its
only worker; each in a process of its own, the API in several with `--processes`. How each number comes about
stands in README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.report import machine
from benchmarks.streams import Crowd, crowd, stream
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
    """Of the API's processes together, in MiB: at rest before the load, and the most they ever held; None
    where the system does not report it.
    """

    before: float | None
    peak: float | None


@dataclass(frozen=True)
class Killed:
    """Of many streams, how many broke when one of the API's processes was killed, and how many came whole."""

    broken: int
    whole: int


@dataclass(frozen=True)
class Report:
    """All of one run: for each contender the round with the middle time to the end, of one and of many.

    `processor` is what the API's processes used for each of many requests, in seconds.
    """

    machine: str
    size: int
    alone: Mapping[str, Crowd]
    many: Mapping[str, Crowd]
    memory: Memory
    processor: float | None
    killed: Killed | None
    errors: Sequence[str]


@dataclass(frozen=True)
class Served:
    """A command that serves at `url`, which of the API ends with /v1: by itself, or with processes that it
    started. With the app, `urls` are those of its processes and `api_url` is that of the API's.
    """

    url: str
    pid: int
    token: str = ""
    urls: Sequence[str] = ()
    api_url: str = ""

    @property
    def processes(self) -> Sequence[int]:
        """Those that answer: what it started, without Python's own tracker, else the command itself."""
        started = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        children = [int(pid) for pid in started.read_text().split()] if started.exists() else []
        return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()] or [
            self.pid
        ]


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
            printed = json.loads(process.stdout.readline())
            urls, api_url = printed.get("urls", ()), printed.get("api_url", "")
            yield Served(printed["url"], process.pid, urls=urls, api_url=api_url)
        finally:
            process.terminate()


@contextmanager
def contenders(
    tokens_per_second: float = TOKENS_PER_SECOND,
    *,
    processes: int = 1,
    database: str | None = None,
    pinned: bool = False,
) -> Iterator[Contenders]:
    """Starts the endpoint, and the API over it with so many processes, on a new SQLite file or `database`.

    `pinned`: the endpoint and this process share the last core, the API has the others.
    """
    pace = Pace(latency=1 / tokens_per_second, tokens=TOKENS, tokens_per_second=tokens_per_second)
    *others, last = sorted(os.sched_getaffinity(0)) if pinned else (0,)
    # What a process starts runs where it runs itself.
    with (
        tempfile.TemporaryDirectory() as folder,
        _pinned_to([last], pinned),
        upstream(pace) as base_url,
        ExitStack() as starting,
    ):
        pool = Path(folder) / "pool.toml"
        pool.write_text(POOL.format(url=base_url), encoding="utf-8")
        options = ("--pool", str(pool), "--database", database or f"sqlite:///{folder}/conductor.db")
        many = ("--processes", str(processes))
        with _pinned_to(others, pinned):
            api = starting.enter_context(
                serving("serve", "--api-only", "--api-open", "--port", "0", *many, *options)
            )
        yield Contenders(straight=base_url, api=api)


@contextmanager
def _pinned_to(cores: Sequence[int], pinned: bool) -> Iterator[None]:
    """In the block this process runs on these cores, where it is to be pinned at all."""
    if not pinned:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


MODELS = {"straight": "any", "through the API": "worker:served"}


async def measured(served: Contenders, effort: Effort) -> Report:
    """Contenders in turn, one request at a time and then many at once."""
    urls = {"straight": served.straight, "through the API": served.api.url}
    alone: dict[str, list[Crowd]] = {name: [] for name in urls}
    many: dict[str, list[Crowd]] = {name: [] for name in urls}
    token = served.api.token
    for _ in range(effort.alone):
        for name, url in urls.items():
            alone[name].append(await crowd(url, MODELS[name], size=1, token=token))
    before, used = memory(served.api, "VmRSS"), processor_seconds(served.api.processes)
    for _ in range(effort.rounds):
        for name, url in urls.items():
            many[name].append(await crowd(url, MODELS[name], size=effort.size, token=token))
    now = processor_seconds(served.api.processes)
    processor = None if used is None or now is None else (now - used) / (effort.rounds * effort.size)
    peak = memory(served.api, "VmHWM")
    killed = await kill_one(served.api, effort.size) if len(served.api.processes) > 1 else None
    errors = [error for group in (*alone.values(), *many.values()) for each in group for error in each.errors]
    return Report(
        machine=machine(),
        size=effort.size,
        alone={name: _middle(group) for name, group in alone.items()},
        many={name: _middle(group) for name, group in many.items()},
        memory=Memory(before=before, peak=peak),
        processor=processor,
        killed=killed,
        errors=errors,
    )


async def kill_one(api: Served, size: int) -> Killed:
    """What becomes of so many streams where one of the API's processes is killed in their middle.

    Raises `AssertionError` where one is neither broken nor whole.
    """
    model = MODELS["through the API"]
    streams = asyncio.gather(*(stream(api.url, model, token=api.token) for _ in range(size)))
    await asyncio.sleep(TOKENS / TOKENS_PER_SECOND / 2)
    os.kill(api.processes[-1], signal.SIGKILL)
    outcomes = await streams
    whole = [each for each in outcomes if each.error is None]
    assert all(each.tokens == TOKENS for each in whole), "a stream lost tokens without an error"
    return Killed(broken=len(outcomes) - len(whole), whole=len(whole))


def memory(api: Served, what: str) -> float | None:
    """The kernel's account of the API's processes, in MiB, or None on a system without one."""
    files = [Path(f"/proc/{pid}/status") for pid in api.processes]
    if not all(status.exists() for status in files):
        return None
    lines = [line for status in files for line in status.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


def processor_seconds(processes: Sequence[int]) -> float | None:
    """What these processes have used of a processor until now, or None on a system without it."""
    files = [Path(f"/proc/{pid}/stat") for pid in processes]
    if not all(stat.exists() for stat in files):
        return None
    # Behind the name, which may have spaces: user and system time are the fields 14 and 15.
    fields = [stat.read_text().rpartition(")")[2].split() for stat in files]
    return sum(int(own[11]) + int(own[12]) for own in fields) / os.sysconf("SC_CLK_TCK")


def _middle(crowds: Sequence[Crowd]) -> Crowd:
    return sorted(crowds, key=lambda each: each.whole)[len(crowds) // 2]


def as_text(report: Report) -> str:
    """The report as tables in Markdown."""
    lines = [f"{report.machine}; the middle round; in parentheses, 95 % are as quick.", ""]
    for title, crowds in (("one at a time", report.alone), (f"{report.size} at once", report.many)):
        lines += [
            f"| {title} | to the first text | to the end | tokens a second |",
            "| --- | ---: | ---: | ---: |",
            *(_row(name, each) for name, each in crowds.items()),
            _added(*crowds.values()),
            "",
        ]
    before, peak = (_mib(report.memory.before), _mib(report.memory.peak))
    lines.append(f"The API held {before} before the load and {peak} at most.")
    if report.processor is not None:
        lines.append(f"It used {report.processor * 1e3:,.1f} ms of a processor for each request.")
    if report.killed is not None:
        lines.append(
            f"One process killed in the middle: {report.killed.broken} streams broke off, "
            f"{report.killed.whole} came whole."
        )
    lines.append(f"{len(report.errors)} requests failed.")
    return "\n".join(lines)


def _row(name: str, figures: Crowd) -> str:
    first = f"{_ms(figures.first)} ({_ms(figures.first_p95)})"
    whole = f"{_ms(figures.whole)} ({_ms(figures.whole_p95)})"
    return f"| {name} | {first} | {whole} | {figures.tokens_per_second:,.0f} |"


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
    parser.add_argument("--size", type=int, default=Effort.size, help="how many are asked at once")
    parser.add_argument("--processes", type=int, default=1, help="how many processes of the API answer")
    parser.add_argument("--database", help="an empty PostgreSQL database, needed for several processes")
    parser.add_argument("--pinned", action="store_true", help="the API on cores of its own (Linux)")
    options = parser.parse_args(arguments)
    with contenders(processes=options.processes, database=options.database, pinned=options.pinned) as served:
        report = asyncio.run(measured(served, Effort(size=options.size)))
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
