"""How long a click takes where many people have the app open: `python benchmarks/clicks.py --database URL`.

`--help` lists what can be chosen. Needs nginx and Linux. What is measured stands in README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp

from benchmarks.api_load import Served, processor_seconds, serving
from benchmarks.balancer import balanced
from benchmarks.open_page import OpenPage
from benchmarks.upstream import Pace, upstream
from benchmarks.views import sessions

POOL = '[[worker]]\nname = "writer"\nbase_url = "{url}"\nmodel = "any"\n'
CONTENDERS = {
    "the app alone": (1, 1),
    "two processes of the API beside it": (1, 2),
    "two of the app, two of the API, nginx": (2, 2),
}
"""By name, how many processes the app and the API have; one of the API is the app's own."""


@dataclass(frozen=True)
class Effort:
    """What is open and runs at once; rounds; seconds in which each person clicks, and from click to click."""

    pages: Sequence[int] = (1, 10, 30, 60)
    workflows: Sequence[int] = (0, 20)
    rounds: int = 2
    seconds: float = 20.0
    pause: float = 10.0


@dataclass(frozen=True)
class Moment:
    """Seconds of each click in a person's rhythm, and of all at once; processor seconds of the app for one of
    the latter; in the rhythm, cores that the processes of the app and the API took, and workflows a second.
    """

    contender: str
    pages: int
    workflows: int
    clicks: Sequence[float]
    together: Sequence[float]
    a_click: float
    app: float
    api: float
    ended: float


def measured(database: str, effort: Effort, tokens_per_second: float) -> list[Moment]:
    """All contenders in turn, each round. Raises `AssertionError` where a page or a workflow fails."""
    pace = Pace(latency=1 / tokens_per_second, tokens=42, tokens_per_second=tokens_per_second)
    with tempfile.TemporaryDirectory() as name, upstream(pace) as url, ExitStack() as serve:
        folder = Path(name)
        pool = POOL.format(url=url)
        (folder / "pool.toml").write_text(pool + pool.replace("writer", "critic"), encoding="utf-8")
        session, _ = sessions(folder, database, 5)
        options = ("--pool", str(folder / "pool.toml"), "--database", database)
        contenders = {
            name: serve.enter_context(_contender(folder, apps, apis, *options))
            for name, (apps, apis) in CONTENDERS.items()
        }
        return asyncio.run(_in_turn(contenders, session, effort))


@contextmanager
def _contender(folder: Path, apps: int, apis: int, *options: str) -> Iterator[Served]:
    many = ("--app-processes", str(apps), "--processes", str(apis), "--api-port", "0")
    with ExitStack() as serve:
        served = serve.enter_context(serving("serve", "--port", "0", "--api-open", *many, *options))
        api_url = served.api_url or f"{served.url}/v1"
        url = served.url if apps == 1 else serve.enter_context(balanced(folder, served.urls, [api_url]))
        yield replace(served, url=url, api_url=api_url if apps == 1 else f"{url}/v1")


async def _in_turn(contenders: Mapping[str, Served], session: str, effort: Effort) -> list[Moment]:
    return [
        await _moment(name, served, session, pages, workflows=workflows, effort=effort)
        for _ in range(effort.rounds)
        for pages in effort.pages
        for workflows in effort.workflows
        for name, served in contenders.items()
    ]


async def _moment(
    name: str, served: Served, session: str, number: int, *, workflows: int, effort: Effort
) -> Moment:
    apps = CONTENDERS[name][0]
    async with _running(served, session, workflows) as ended, _pages(served.url, session, number) as pages:
        await asyncio.sleep(3)
        (app, api), already, began = _used(served, apps), len(ended), time.perf_counter()
        clicks = await asyncio.gather(*(_person(page, effort) for page in pages))
        seconds = time.perf_counter() - began
        before, number_ended = _used(served, apps), len(ended) - already
        together = [await asyncio.gather(*(page.click() for page in pages)) for _ in range(3)]
        after = _used(served, apps)
    moment = Moment(
        contender=name,
        pages=number,
        workflows=workflows,
        clicks=[each for own in clicks for each in own],
        together=[each for all_at_once in together for each in all_at_once],
        a_click=(after[0] - before[0]) / (3 * number),
        app=(before[0] - app) / seconds,
        api=(before[1] - api) / seconds,
        ended=number_ended / seconds,
    )
    print(as_text([moment]).splitlines()[-1], file=sys.stderr, flush=True)
    return moment


def _used(served: Served, apps: int) -> tuple[float, float]:
    """Processor seconds of the app's processes, which are the first, and of the API's."""
    pids = served.processes
    return processor_seconds(pids[:apps]) or 0.0, processor_seconds(pids[apps:]) or 0.0


async def _person(page: OpenPage, effort: Effort) -> list[float]:
    end, waits = time.perf_counter() + effort.seconds, []
    due = time.perf_counter() + random.uniform(0, effort.pause)
    while due < end:
        await asyncio.sleep(due - time.perf_counter())
        waits.append(await page.click())
        due = max(due + effort.pause, time.perf_counter())
    return waits


@asynccontextmanager
async def _pages(url: str, session: str, number: int) -> AsyncIterator[list[OpenPage]]:
    pages = [OpenPage(url, session) for _ in range(number)]
    try:
        for page in pages:
            await page.open()
        yield pages
    finally:
        await asyncio.gather(*(page.close() for page in pages))


@asynccontextmanager
async def _running(served: Served, session: str, workflows: int) -> AsyncIterator[list[int]]:
    """So many workflows at once all the time; the list grows by the number of each that has ended."""
    ended: list[int] = []
    numbers = count()

    async def run(http: aiohttp.ClientSession) -> None:
        while True:
            number = next(numbers)
            question = {"role": "user", "content": f"Question {number}"}
            body = {"model": f"workflow:{session}", "messages": [question]}
            async with http.post(f"{served.api_url}/chat/completions", json=body) as answer:
                assert answer.status == 200, await answer.text()
            ended.append(number)

    # A connection for each request, so that the system shares them out between processes.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as http:
        tasks = [asyncio.create_task(run(http)) for _ in range(workflows)]
        yield ended
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(outcome, asyncio.CancelledError):
                raise AssertionError("a workflow failed") from outcome


def as_text(moments: Sequence[Moment]) -> str:
    """A table in Markdown; the rounds of one contender together."""
    rows: dict[tuple[int, int, str], list[Moment]] = {}
    for moment in moments:
        rows.setdefault((moment.pages, moment.workflows, moment.contender), []).append(moment)
    lines = [
        "| pages | workflows | served by | a click, ms: median, worst | all at once: median, worst "
        "| processor, ms a click | cores: app, API | workflows a second |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (pages, workflows, name), own in rows.items():
        clicks = _ms([each for one in own for each in one.clicks])
        together = _ms([each for one in own for each in one.together])
        a_click, app, api, ended = (
            median(getattr(one, field) for one in own) for field in ("a_click", "app", "api", "ended")
        )
        lines.append(
            f"| {pages} | {workflows} | {name} | {clicks} | {together} | {a_click * 1e3:.0f} "
            f"| {app:.2f}, {api:.2f} | {ended:.1f} |"
        )
    return "\n".join(lines)


def _ms(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e3:,.0f}, {max(seconds) * 1e3:,.0f}" if seconds else "-"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in seconds")
    parser.add_argument("--database", required=True, help="an empty PostgreSQL database")
    parser.add_argument("--pages", type=int, nargs="+", default=Effort.pages)
    parser.add_argument("--workflows", type=int, nargs="+", default=Effort.workflows, help="at once, by /v1")
    parser.add_argument("--rounds", type=int, default=Effort.rounds)
    parser.add_argument("--seconds", type=float, default=Effort.seconds, help="in which each person clicks")
    parser.add_argument("--tokens-per-second", type=float, default=20.0, help="of each step")
    options = parser.parse_args()
    effort = Effort(options.pages, options.workflows, options.rounds, options.seconds)
    moments = measured(options.database, effort, options.tokens_per_second)
    print(json.dumps([asdict(each) for each in moments]) if options.json else as_text(moments))


if __name__ == "__main__":
    main()
