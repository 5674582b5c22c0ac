"""An evaluation's table in a terminal: the figures, the routing, the categories, and remarks on planners.

Knows the library's table; knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.evaluation_table import EvaluationTable, PlannerRow
from conductor.evaluation.mean import mean_words
from conductor.evaluation.report import labelled
from conductor.evaluation.report.exports import PUBLISHED
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import WITHOUT_VERDICT
from conductor.evaluation.statistics import Rate
from conductor.text.formatting import dollars, duration, p_value, percent, quantity
from studio.cli.output.terminal import one_line, table

_FIGURES = (
    "planner", "right", "95% interval", "n", "difference", "p", "tokens", "cost", "calls", "steps", "time",
)  # fmt: skip
_MOST_COLUMNS = 12


def table_lines(results: EvaluationTable) -> str:
    """The table, who was given the steps and in which shapes, the categories, and remarks on planners."""
    results = labelled(results)
    text = table(_FIGURES, [_cells(row) for row in results.rows], right=range(1, len(_FIGURES)))
    routed = [_routing(row) for row in results.rows if not row.computed]
    routing = table(("planner", "plans", "entropy", "shares", "shapes"), routed, right=(1, 2))
    notes = [*remarks(results), results.judging_words, *(_note(row) for row in results.rows)]
    parts = [text, _repeated(results), routing, _categories(results), "\n".join(filter(None, notes))]
    return "\n\n".join(filter(None, parts))


def markdown_of(results: EvaluationTable, *, title: str = "") -> str:
    """The figures and the remarks as Markdown."""
    results = labelled(results)
    rows = [_FIGURES, ["---", *["---:"] * (len(_FIGURES) - 1)], *(_cells(row) for row in results.rows)]
    lines = ["| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    notes = [f"- {one_line(note)}" for note in remarks(results)]
    head = [f"### {one_line(title)}", ""] if title else []
    return "\n".join([*head, *lines, "", *notes]) + "\n"


def _repeated(results: EvaluationTable) -> str:
    """The mean of several answers to a question, and the probability that one of k is right."""
    steps = list(next((row.pass_at for row in results.rows if row.pass_at), ()))
    rows = [[row.planner, *(_decimals(row.pass_at.get(k)) for k in steps)] for row in results.rows]
    headings = ("planner", *(f"pass@{k}" if k > 1 else "mean" for k in steps))
    return table(headings, rows, right=range(1, len(steps) + 1)) if steps else ""


def published_lines() -> str:
    """What the authors of methods published, as a table of its own."""
    rows = [
        (
            each.method,
            "" if each.accuracy is None else f"{each.accuracy / 100:.4g}",
            "" if each.tokens is None else f"{each.tokens:,}",
            each.setting,
            each.source,
        )
        for each in PUBLISHED
    ]
    head = "Published, not measured here: the paper's own questions and workers."
    return f"{head}\n{table(('method', 'right', 'tokens', 'workers', 'source'), rows, right=(1, 2))}"


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


def _categories(results: EvaluationTable) -> str:
    """The share of right answers by category; nothing where there are none, or too many for a line."""
    names = list(results.categories)
    if not names or len(names) > _MOST_COLUMNS:
        return ""
    planners = [row.planner for row in results.rows if not row.computed]
    rows = [
        [planner, *(_share(results.categories[name].get(planner)) for name in names)] for planner in planners
    ]
    return table(
        ("planner", *(one_line(name, limit=20) for name in names)), rows, right=range(1, len(names) + 1)
    )


def _share(rate: Rate | None) -> str:
    return "" if rate is None else _decimals(rate.mean)


def _decimals(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def _cells(row: PlannerRow) -> Sequence[str]:
    difference = row.difference
    return (
        row.planner,
        _share(row.rate),
        "" if row.interval is None else f"{row.interval.low:.3f}-{row.interval.high:.3f}",
        row.answered_words,
        "" if difference is None else f"{difference.difference:+.3f}",
        "" if difference is None else p_value(difference.read_p),
        mean_words(row.tokens, "{:,.0f}".format, unknown=""),
        mean_words(row.cost, dollars, unknown=""),
        mean_words(row.calls, "{:.2f}".format, unknown=""),
        mean_words(row.steps, "{:.2f}".format, unknown=""),
        mean_words(row.seconds, duration, unknown=""),
    )


def _note(row: PlannerRow) -> str:
    """Answers that were compared with nothing, apart; and answers that are no test of a planner."""
    sentences = [
        f"{quantity(row.verdicts[verdict], 'answer')} {words}"
        for verdict, words in WITHOUT_VERDICT.items()
        if row.verdicts.get(verdict) and verdict != "unanswered"
    ]
    if row.seen:
        right, of = (0, 0) if row.unseen is None else (row.unseen.right, row.unseen.answers)
        sentences.append(
            f"fitted on {row.seen} of these {quantity(row.questions, 'question')}, which are no test of it; "
            f"{right} of {quantity(of, 'answer')} to the others are right"
        )
    return f"{row.planner}: {', '.join(sentences)}." if sentences else ""
