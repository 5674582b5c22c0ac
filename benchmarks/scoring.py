"""What comparing formulas costs: a process for each answer against one that stays warm.

The ratio holds where the seconds do not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import Spread
from conductor.evaluation.items import Item
from conductor.evaluation.scorers.latex_formula import COMMAND, LIMITS, asked_of, mathematics
from conductor.limited.command import limited
from conductor.text.final_answer import final_answer

PAIRS = (
    ("Answer: $x^2 + 2x + 1$", "(x+1)^2"),
    (r"\boxed{\frac{3}{2}}", "1.51"),
    (r"\boxed{\sqrt{8}}", r"2\sqrt{2}"),
    (r"\boxed{\{1, 2\}}", r"\{2, 1\}"),
)
ITEMS = [
    (answer, Item(id="q", input="?", target=(target,), scorer="mathematics")) for answer, target in PAIRS
]


@dataclass(frozen=True)
class Scoring:
    """Seconds an answer, by a new process each and by a warm one; `ratio` is of the medians."""

    new: Spread
    warm: Spread

    @property
    def ratio(self) -> float:
        return self.new.median / self.warm.median


async def measure(rounds: int) -> Scoring:
    """Both take turns, each with every pair in each round; the warm process has started before."""
    await mathematics(*ITEMS[0])
    new, warm = [], []
    for _ in range(rounds):
        for answer, item in ITEMS:
            new.append(
                await _seconds(
                    lambda a=answer, i=item: limited(
                        COMMAND, sent=asked_of(final_answer(a), i).encode(), limits=LIMITS
                    )
                )
            )
            warm.append(await _seconds(lambda a=answer, i=item: mathematics(a, i)))
    return Scoring(Spread.of(new), Spread.of(warm))


async def _seconds(done: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await done()
    return time.perf_counter() - start


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spreads = asyncio.run(measure(options.rounds))
    if options.json:
        print(json.dumps({**asdict(spreads), "ratio": spreads.ratio}))
        return
    print("| a formula by | median | least |\n| --- | ---: | ---: |")
    for name, spread in (("a new process", spreads.new), ("a warm process", spreads.warm)):
        print(f"| {name} | {spread.median * 1000:,.1f} ms | {spread.minimum * 1000:,.1f} ms |")
    print(f"\nA new process takes {spreads.ratio:,.0f} times as long.")


if __name__ == "__main__":
    main()
