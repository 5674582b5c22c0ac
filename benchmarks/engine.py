"""What orchestration costs: `python benchmarks/engine.py [--json]`, from the repository's root.

Runs every measurement in one go and prints it; how each number comes about stands in README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contenders import CONTENDERS, Load
from benchmarks.measure import alone, crowds, starting, temporary_store
from benchmarks.phases import phases
from benchmarks.report import Report, Single, as_text, machine
from benchmarks.shapes import SHAPES, critical_seconds


@dataclass(frozen=True)
class Effort:
    """How much is measured. `latencies`, in seconds a step, come with the runs of one sample.

    `crowds` are numbers of workflows at once, each with the seconds that a step waits.
    """

    latencies: tuple[tuple[float, int], ...] = ((0.0, 50), (0.010, 2), (0.050, 1))
    rounds: int = 7
    crowds: tuple[tuple[int, float], ...] = ((200, 0.050), (200, 0.010), (1000, 0.010))
    crowd_rounds: int = 3
    crowd_contenders: tuple[str, ...] = tuple(CONTENDERS)


def measure(effort: Effort) -> Report:
    """Everything, in one run."""
    chain = SHAPES["chain-5"]
    runs = effort.latencies[0][1]
    with temporary_store() as store:
        alone(Load(chain, latency=0.0, runs=runs), store, rounds=1)  # the first run pays for imports
        singles = tuple(
            Single(
                shape=shape,
                steps=len(workflow),
                latency=latency,
                critical=critical_seconds(workflow, latency),
                seconds=alone(Load(workflow, latency, runs), store, rounds=effort.rounds),
            )
            for latency, runs in effort.latencies
            for shape, workflow in SHAPES.items()
        )
        start = starting(Load(chain, latency=0.0, runs=runs), store, rounds=effort.rounds)
    return Report(
        machine=machine(),
        singles=singles,
        starting=start,
        phases=phases(chain, rounds=effort.rounds, repeats=runs),
        crowds={
            f"{size:,} workflows at once, {latency * 1000:.0f} ms a step": crowds(
                effort.crowd_contenders, size=size, latency=latency, rounds=effort.crowd_rounds
            )
            for size, latency in effort.crowds
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what orchestration costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON object, in seconds and MiB")
    options = parser.parse_args(arguments)
    report = measure(Effort())
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))


if __name__ == "__main__":
    main()
