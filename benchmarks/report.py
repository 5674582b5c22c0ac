"""The measured numbers as one value, and that value as text.

Knows seconds and MiB, not how they were measured.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders import FLOOR
from benchmarks.measure import Crowd, Spread


@dataclass(frozen=True)
class Single:
    """One shape at one latency, one workflow at a time: seconds a workflow for each contender."""

    shape: str
    steps: int
    latency: float
    critical: float
    seconds: Mapping[str, Spread]

    def over_critical(self, contender: str) -> Spread | None:
        """Wall time over critical path, or None if nothing waits."""
        if not self.critical:
            return None
        spread = self.seconds[contender]
        return Spread(median=spread.median / self.critical, minimum=spread.minimum / self.critical)

    def overhead(self, contender: str) -> Spread:
        """Seconds a step beyond the critical path."""
        spread = self.seconds[contender]
        return Spread(
            median=(spread.median - self.critical) / self.steps,
            minimum=(spread.minimum - self.critical) / self.steps,
        )


@dataclass(frozen=True)
class Report:
    """All of one run. `phases` are seconds a step, `starting` seconds a workflow."""

    machine: str
    singles: tuple[Single, ...]
    starting: Spread
    phases: Mapping[str, Spread]
    crowds: Mapping[str, Mapping[str, Crowd]]


def machine() -> str:
    """What the numbers were measured on."""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}"


def as_text(report: Report) -> str:
    """The report as tables in Markdown."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.machine}. Medians, with the least in parentheses."
    for latency in dict.fromkeys(single.latency for single in report.singles):
        yield f"\n## {latency * 1000:.0f} ms a step, one workflow at a time\n"
        yield from _table(
            ("shape", "run by", "wall / critical path", "overhead a step (us)", "x task group"),
            (row for single in report.singles if single.latency == latency for row in _single_rows(single)),
        )
    yield f"\nMaking a session and starting a run in it, once a workflow: {_us(report.starting)} us."
    yield "\n## Parts of the engine's time, chain-5 at 0 ms\n"
    yield from _table(("part", "us a step"), ((name, _us(spread)) for name, spread in report.phases.items()))
    for crowd, contenders in report.crowds.items():
        yield f"\n## {crowd}\n"
        floor = contenders.get(FLOOR)
        yield from _table(
            (
                "run by",
                "workflows a second",
                "of the task group's",
                "us a step",
                "peak memory (MiB)",
                "of that for the crowd",
            ),
            (
                (
                    name,
                    f"{one.per_second:,.0f}",
                    "-" if floor is None else f"{one.per_second / floor.per_second:.2f}",
                    f"{one.a_step * 1e6:,.1f}",
                    f"{one.peak:.1f}",
                    f"{one.growth:.1f}",
                )
                for name, one in contenders.items()
            ),
        )


def _single_rows(single: Single) -> Iterator[Sequence[str]]:
    floor = single.seconds[FLOOR]
    for name, seconds in single.seconds.items():
        ratio = single.over_critical(name)
        yield (
            single.shape,
            name,
            "-" if ratio is None else f"{ratio.median:.3f} ({ratio.minimum:.3f})",
            _us(single.overhead(name)),
            f"{seconds.median / floor.median:.2f}",
        )


def _us(spread: Spread) -> str:
    return f"{spread.median * 1e6:,.1f} ({spread.minimum * 1e6:,.1f})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table whose columns line up in plain text, too."""
    cells = [head, *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for number, row in enumerate(cells):
        first, *others = zip(row, widths, strict=True)
        aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        yield f"| {' | '.join(aligned)} |"
        if number == 0:
            yield f"| {' | '.join('-' * width for width in widths)} |"
