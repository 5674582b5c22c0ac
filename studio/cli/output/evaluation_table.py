"""An evaluation's table in a terminal: the figures, the routing, the categories, and remarks on planners.

Knows the library's table; knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.score import WITHOUT_VERDICT
from conductor.evaluation.table import PlannerRow, Table
from conductor.text.formatting import counted, dollars, duration, p_value, percent
from studio.cli.output.terminal import one_line, table

_FIGURES = (
    "planner", "right", "95% interval", "difference", "p", "tokens", "cost", "calls", "steps", "time",
)  # fmt: skip
_MOST_COLUMNS = 12


def table_lines(found: Table) -> str:
    """The table, who was given the steps and in which shapes, the categories, and remarks on planners."""
    text = table(_FIGURES, [_cells(row) for row in found.rows], right=range(1, len(_FIGURES)))
    routed = [_routing(row) for row in found.rows if not row.computed]
    routing = table(("planner", "plans", "entropy", "shares", "shapes"), routed, right=(1, 2))
    notes = [found.judging_words, *(_note(row) for row in found.rows)]
    parts = [text, routing, _categories(found), "\n".join(filter(None, notes))]
    return "\n\n".join(filter(None, parts))


def _routing(row: PlannerRow) -> Sequence[str]:
    entropy = row.routing_entropy
    shares, shapes = row.shares or {}, row.shapes or {}
    return (
        row.planner,
        str(row.valid_plans),
        "" if entropy is None else f"{entropy:.2f}",
        ", ".join(f"{worker} {percent(share)}" for worker, share in shares.items()),
        ", ".join(f"{shape} {count}" for shape, count in sorted(shapes.items(), key=lambda each: -each[1])),
    )


def _categories(found: Table) -> str:
    """The share of right answers by category; nothing where there are none, or too many for a line."""
    names = list(found.categories)
    if not names or len(names) > _MOST_COLUMNS:
        return ""
    planners = [row.planner for row in found.rows if not row.computed]
    rows = [
        [planner, *(_share(found.categories[name].get(planner)) for name in names)] for planner in planners
    ]
    return table(
        ("planner", *(one_line(name, limit=20) for name in names)), rows, right=range(1, len(names) + 1)
    )


def _share(right_of: tuple[int, int] | None) -> str:
    return "" if right_of is None else f"{right_of[0] / right_of[1]:.3f}"


def _cells(row: PlannerRow) -> Sequence[str]:
    difference = row.difference
    return (
        row.planner,
        "" if row.accuracy is None else f"{row.accuracy:.3f}",
        "" if row.interval is None else f"{row.interval.low:.3f}-{row.interval.high:.3f}",
        "" if difference is None else f"{difference.difference:+.3f}",
        "" if difference is None else p_value(difference.p),
        "" if row.tokens is None else f"{row.tokens:,.0f}",
        "" if row.cost is None else dollars(row.cost),
        "" if row.calls is None else f"{row.calls:.2f}",
        "" if row.steps is None else f"{row.steps:.2f}",
        "" if row.seconds is None else duration(row.seconds),
    )


def _note(row: PlannerRow) -> str:
    """Answers that were compared with nothing, apart; and answers that are no test of a planner."""
    found = [
        f"{counted(row.verdicts[verdict], 'question')} {words}"
        for verdict, words in WITHOUT_VERDICT.items()
        if row.verdicts.get(verdict)
    ]
    if row.seen:
        found.append(
            f"fitted on {row.seen} of these {counted(row.cells, 'question')}, which are no test of it; "
            f"{row.unseen_right} of the {row.cells - row.seen} others are right"
        )
    return f"{row.planner}: {', '.join(found)}." if found else ""
