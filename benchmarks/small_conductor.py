"""The small Conductor that comes with the program: reading its folder, a plan, memory; a few seconds.

    python benchmarks/small_conductor.py

Plans are for the orchard's own questions; the measure of a plan is what the rules take for the same ones.
Memory is the peak of a process that reads the folder and plans once; Linux alone has that number.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from conductor.llama.numpy_llama import read_llama  # noqa: E402
from conductor.orchard import draw, orchard_pool  # noqa: E402
from conductor.planner.conductor import Conductor, PlanRequest  # noqa: E402
from conductor.planner.local.local_conductor import LocalConductor  # noqa: E402
from conductor.planner.rule_planner import OfflineConductor  # noqa: E402
from conductor.workers.local_model import SHIPPED  # noqa: E402
from conductor.workers.pool.schema import LocalConductorTable  # noqa: E402

QUESTIONS = 90

_ALONE = """
import json, re, sys, time
from pathlib import Path
from conductor.llama.numpy_llama import read_llama
begun = time.perf_counter()
llama = read_llama(Path(sys.argv[1]))
seconds = time.perf_counter() - begun
prompt = llama.read("Question: How many letters are in the capital of Peru?")
llama.write(prompt, most=60, forbidden=lambda _: ())
# What getrusage gives was the parent's before this program began.
peak = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"seconds": seconds, "peak": peak}))
"""


def measured(folder: Path = SHIPPED["orchard"], *, questions: int = QUESTIONS) -> dict[str, float]:
    """Seconds to read the folder and of a plan, by model and by rules; MiB of a process of its own."""
    alone = subprocess.run(
        [sys.executable, "-c", _ALONE, str(folder)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    read_llama(folder)
    entry = LocalConductorTable(kind="local", model=str(folder))
    conductors = {"plan": LocalConductor(entry), "rules": OfflineConductor()}
    return json.loads(alone.stdout) | {
        name: median(_seconds(conductor, questions)) for name, conductor in conductors.items()
    }


def _seconds(conductor: Conductor, questions: int) -> list[float]:
    cards = tuple(worker.card for worker in orchard_pool().workers)

    async def one(query: str) -> float:
        start = perf_counter()
        async for _ in conductor.stream(PlanRequest(query=query, workers=cards)):
            pass
        return perf_counter() - start

    return [asyncio.run(one(question.text)) for question in draw(questions, seed=98, split="test")]


def main() -> None:
    costs = measured()
    print(f"reading the folder  {1_000 * costs['seconds']:6.1f} ms")
    print(f"a plan, median      {1_000 * costs['plan']:6.1f} ms")
    print(
        f"by rules, median    {1_000 * costs['rules']:6.1f} ms, so {costs['plan'] / costs['rules']:.1f} times"
    )
    print(f"memory at its peak  {costs['peak']:6.1f} MiB")


if __name__ == "__main__":
    main()
