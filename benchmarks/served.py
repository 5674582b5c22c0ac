"""What orchestration over HTTP costs: `python benchmarks/served.py [--json]`, from the repository's root.

Runs against an endpoint in a process of its own; how each number comes about stands in README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx

from benchmarks.measure import Spread
from benchmarks.report import machine
from benchmarks.seen_tokens import SeenTokens, seen_tokens
from benchmarks.shapes import QUERY
from benchmarks.upstream import upstream
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.planner.format import format_plan
from conductor.planner.parsing.parse import parse
from conductor.runs.events import StepDelta
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Step, Workflow
from studio.gc_tuning import settle

CHAIN = Workflow.of(
    Step(instruction=f"Do part {at + 1} of the work.", worker="served", access=tuple(range(at)))
    for at in range(3)
)
FAN = Workflow.of(Step(instruction=f"Try way {at + 1}.", worker="served") for at in range(4))
ONE = Workflow.of([Step(instruction="Answer.", worker="served")])


@dataclass(frozen=True)
class Effort:
    """How much is measured: rounds of single runs, how many go at once in a crowd, and rounds of that."""

    rounds: int = 7
    crowd: int = 200
    crowd_rounds: int = 3


@dataclass(frozen=True)
class Report:
    """All of one run. Seconds, but for `seen_tokens`, which are tokens."""

    machine: str
    one: Spread
    fan: Spread
    crowd: int
    runs: Spread
    bare: Spread
    lag_median: float
    lag_p95: float
    parsing: Spread
    seen_tokens: Mapping[str, SeenTokens]


async def measured(base_url: str, effort: Effort) -> Report:
    """Everything against one endpoint, contenders in turn."""
    worker = OpenAIWorker(Endpoint(base_url=base_url, model="any"), name="served")
    pool = Pool(workers=(worker,))
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=base_url, timeout=60, limits=limits) as client:
        await run(FAN, pool)
        await bare(client)
        settle()
        one, fan, runs, calls = [], [], [], []
        for _ in range(effort.rounds):
            one.append(await seconds(lambda: run(ONE, pool)))
            fan.append(await seconds(lambda: run(FAN, pool)))
        for _ in range(effort.crowd_rounds):
            runs.append(await seconds(lambda: together(effort.crowd, lambda: run(CHAIN, pool))))
            calls.append(await seconds(lambda: together(effort.crowd, lambda: bare(client))))
        lags = await token_lags(pool, effort.rounds)
    await worker.client.aclose()
    return Report(
        machine=machine(),
        one=Spread.of(one),
        fan=Spread.of(fan),
        crowd=effort.crowd,
        runs=Spread.of(runs),
        bare=Spread.of(calls),
        lag_median=median(lags),
        lag_p95=quantiles(lags, n=20)[-1],
        parsing=parsing(effort.rounds),
        seen_tokens=seen_tokens(),
    )


async def run(workflow: Workflow, pool: Pool) -> None:
    """A workflow from its first event to its last. Raises `RuntimeError` where it does not finish."""
    going = WorkflowRun(BoundWorkflow.of(workflow, query=QUERY, pool=pool), pool, run="measured")
    events = [event async for event in going.events()]
    if events[-1].type != "run_finished" or events[-1].outcome != "finished":
        raise RuntimeError(f"The measured run ended with {events[-1]}.")


async def bare(client: httpx.AsyncClient) -> None:
    """The calls of `CHAIN` one after another, their streams read as lines and their JSON parsed."""
    for _ in CHAIN.steps:
        body = {"model": "any", "stream": True, "messages": [{"role": "user", "content": QUERY}]}
        async with client.stream("POST", "/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    json.loads(line[6:])


async def together(count: int, make: Callable[[], Awaitable[None]]) -> None:
    """So many of them at once."""
    await asyncio.gather(*(make() for _ in range(count)))


async def seconds(make: Callable[[], Awaitable[None]]) -> float:
    """Wall time of one."""
    start = time.perf_counter()
    await make()
    return time.perf_counter() - start


async def token_lags(pool: Pool, rounds: int) -> list[float]:
    """For every token of some runs: from the moment it was sent to the moment its event was there."""
    lags: list[float] = []
    for _ in range(rounds):
        going = WorkflowRun(BoundWorkflow.of(ONE, query=QUERY, pool=pool), pool, run="measured")
        async for event in going.events():
            if isinstance(event, StepDelta):
                now = time.time()
                lags += [now - float(sent) for sent in event.text.split()]
    return lags


def parsing(rounds: int, repeats: int = 200) -> Spread:
    """Seconds to read one completion: some reasoning, then a plan of five steps."""
    steps = [
        Step(instruction=f"Work on part {at + 1}, and say how.", worker="served", access=tuple(range(at)))
        for at in range(5)
    ]
    text = "First the parts, then the whole.\n" * 20 + format_plan(Workflow.of(steps), ["served"])
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            parse(text, workers=["served"])
        samples.append((time.perf_counter() - start) / repeats)
    return Spread.of(samples)


def as_text(report: Report) -> str:
    """The report as tables in Markdown."""
    calls = report.crowd * len(CHAIN)
    lines = [
        f"{report.machine}; median (minimum).",
        "",
        "| measured | | ratio |",
        "| --- | ---: | ---: |",
        f"| one call over HTTP | {_ms(report.one)} | 1 |",
        f"| four calls at once | {_ms(report.fan)} | {report.fan.median / report.one.median:.3f} |",
        f"| {calls} calls bare with httpx, {report.crowd} at once | {_ms(report.bare)} | 1 |",
        f"| the same calls as {report.crowd} runs | {_ms(report.runs)} "
        f"| {report.runs.median / report.bare.median:.2f} |",
        f"| from the upstream's token to its event | {report.lag_median * 1e3:.1f} ms, "
        f"95 % within {report.lag_p95 * 1e3:.1f} ms | |",
        f"| reading a completion | {report.parsing.median * 1e6:.0f} us "
        f"({report.parsing.minimum * 1e6:.0f} us) | |",
        "",
        "| tokens of a question | calls | access lists | everybody sees everything | Mixture-of-Agents |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {shape} | {seen.calls} | {seen.access:,} (1) "
        f"| {seen.everything:,} ({seen.everything / seen.access:.2f}) "
        f"| {seen.mixture:,} ({seen.mixture / seen.access:.2f}) |"
        for shape, seen in report.seen_tokens.items()
    ]
    return "\n".join(lines)


def _ms(spread: Spread) -> str:
    return f"{spread.median * 1e3:.0f} ms ({spread.minimum * 1e3:.0f} ms)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what orchestration over HTTP costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    with upstream() as base_url:
        report = asyncio.run(measured(base_url, Effort()))
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))


if __name__ == "__main__":
    main()
