"""A table as text for other programs: CSV, LaTeX, and its figures by column. Unknown figures are empty.

Knows the table's rows; writes no file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from conductor.evaluation.evaluation_table import Cell, EvaluationTable, PlannerRow
from conductor.evaluation.items import Item
from conductor.evaluation.mean import Mean, mean_words
from conductor.evaluation.report.names import labelled
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import WITHOUT_VERDICT
from conductor.text.control_characters import visible
from conductor.text.formatting import p_value
from conductor.values.messages import Value

COLUMNS = (
    "planner", "questions", "answers", "right", "accuracy", "low", "high", "pass_at", "difference",
    "difference_low", "difference_high", "difference_questions", "p", "p_holm", "planning_tokens",
    "work_tokens", "cost", "calls", "steps", "seconds", "valid_plans", "no_plan", "failed",
    "refused", "routing_entropy", "shares", "shapes", "seen", "unseen_answers", "unseen_right",
    "unjudged", "judging_tokens", "judging_cost", "no_answer",
    "questions_asked", "unanswered", "outages", "tokens", "means_of", "planning_tokens_known",
    "work_tokens_known", "tokens_known", "cost_known", "cost_at_most", "steps_known", "seconds_known",
    "verdicts", "judging_tokens_known", "judging_cost_known", "judging_cost_at_most",
)  # fmt: skip

Figure = str | float | int | Mapping[str, float] | Mapping[int, float] | None


def row_values(row: PlannerRow) -> Mapping[str, Figure]:
    """A row's figures by column, unrounded, None if unknown. `shares` and `shapes` are by name, `pass_at`
    is by k, `outages` has how many questions each left unanswered. `difference` is over
    `difference_questions`, those that the first planner has answered as well. A mean is over so many answers
    as the column has whose name ends in `_known`, of `means_of`, those of judging of `verdicts`; where its
    column ending in `_at_most` is 1 it is an upper bound.
    """
    interval, difference = row.interval, row.difference
    fitted, unseen = row.seen is not None, row.unseen
    return {
        "planner": row.planner,
        "questions": row.questions,
        "answers": row.answers,
        "right": row.right,
        "accuracy": row.accuracy,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "pass_at": row.pass_at or None,
        "difference": None if difference is None else difference.difference,
        "difference_low": None if difference is None else difference.interval.low,
        "difference_high": None if difference is None else difference.interval.high,
        "difference_questions": None if difference is None else difference.questions,
        "p": None if difference is None else difference.p,
        "p_holm": None if difference is None else difference.adjusted,
        "planning_tokens": _value(row.planning_tokens),
        "work_tokens": _value(row.work_tokens),
        "cost": _value(row.cost),
        "calls": _value(row.calls),
        "steps": _value(row.steps),
        "seconds": _value(row.seconds),
        "valid_plans": row.valid_plans,
        "no_plan": None if row.computed else row.verdicts.get("no plan", 0),
        "failed": None if row.computed else row.verdicts.get("failed", 0),
        "refused": None if row.computed else row.verdicts.get("refused", 0),
        "routing_entropy": row.routing_entropy,
        "shares": row.shares,
        "shapes": row.shapes,
        "seen": row.seen,
        "unseen_answers": (0 if unseen is None else unseen.answers) if fitted else None,
        "unseen_right": (0 if unseen is None else unseen.right) if fitted else None,
        "unjudged": None if row.computed else row.verdicts.get("unjudged", 0),
        "judging_tokens": _value(row.judging_tokens),
        "judging_cost": _value(row.judging_cost),
        "no_answer": None if row.computed else row.verdicts.get("no answer", 0),
        "questions_asked": None if row.computed else row.questions_asked,
        "unanswered": None if row.computed else row.unanswered,
        "outages": row.outages or None,
        "tokens": _value(row.tokens),
        "means_of": None if row.calls is None else row.calls.of,
        "planning_tokens_known": _size(row.planning_tokens, row),
        "work_tokens_known": _size(row.work_tokens, row),
        "tokens_known": _size(row.tokens, row),
        "cost_known": _size(row.cost, row),
        "cost_at_most": None if row.cost is None else int(row.cost.at_most),
        "steps_known": _size(row.steps, row),
        "seconds_known": _size(row.seconds, row),
        "verdicts": None if row.computed else row.judged,
        "judging_tokens_known": _size(row.judging_tokens, row),
        "judging_cost_known": _size(row.judging_cost, row),
        "judging_cost_at_most": None if row.judging_cost is None else int(row.judging_cost.at_most),
    }


def _value(mean: Mean | None) -> float | None:
    return None if mean is None else mean.value


def _size(mean: Mean | None, row: PlannerRow) -> int | None:
    """Over how many answers it is; 0 if it is unknown of all."""
    if row.computed:
        return None
    return 0 if mean is None else mean.size


def as_csv(table: EvaluationTable) -> str:
    """The rows as CSV, with a head."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in map(row_values, labelled(table).rows):
        # Figures by name are JSON in one cell.
        cells = {name: json.dumps(dict(each)) for name, each in row.items() if isinstance(each, Mapping)}
        writer.writerow({**row, **cells})
    return text.getvalue()


_LATEX = str.maketrans({**{mark: f"\\{mark}" for mark in "&%$#_{}"}, "\\": r"\textbackslash{}",
                        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})  # fmt: skip


def as_latex(table: EvaluationTable) -> str:
    """A `tabular` with accuracy, its interval, the difference to the first planner and the usual costs."""
    table = labelled(table)
    lines = [
        *([] if table.judge is None else [f"% judged by {table.judge}"]),
        *(f"% {each}" for each in remarks(table)),
        r"\begin{tabular}{lrrrrrrr}",
        r"planner & accuracy & 95\,\% interval & $n$ & difference & $p$ & tokens & calls \\",
        r"\hline",
    ]
    for row in table.rows:
        interval = "" if row.interval is None else f"{row.interval.low:.3f}--{row.interval.high:.3f}"
        difference, p = "", ""
        if row.difference is not None:
            difference, p = (
                f"{row.difference.difference:+.3f}",
                p_value(row.difference.read_p).replace("<", "$<$"),
            )
        cells = (
            row.planner.translate(_LATEX),
            "" if row.accuracy is None else f"{row.accuracy:.3f}",
            interval,
            row.answered_words,
            difference,
            p,
            mean_words(row.tokens, "{:.0f}".format, unknown="").replace("≤", r"$\le$"),
            mean_words(row.calls, "{:.2f}".format, unknown=""),
        )
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


# What the authors of methods have published: to be read beside a table and never in it, as questions and
# workers were others.

PAPER = "arXiv 2512.04388"


class Published(Value):
    """A method's published figures: its accuracy in percent, averaged over the tasks of the source, and the
    tokens of a question; None if it has none. `setting` is how its workers answered.
    """

    method: str
    setting: str
    accuracy: float | None = None
    tokens: int | None = None
    source: str = PAPER


_LONG = "64,000 tokens per answer, thinking"
_SHORT = "4,096 tokens per answer"

PUBLISHED = (
    Published(method="Conductor", setting=_LONG, accuracy=77.27, tokens=1_820),
    Published(method="Mixture-of-Agents", setting=_LONG, tokens=11_203),
    Published(method="Conductor", setting=_SHORT, accuracy=72.35),
    Published(method="Self-reflection, 5 turns", setting=_SHORT, accuracy=64.5),
    Published(method="Mixture-of-Agents", setting=_SHORT, accuracy=62.1),
    Published(method="MasRouter", setting=_SHORT, accuracy=56.9),
    Published(method="RouterDC", setting=_SHORT, accuracy=52.4),
)
"""Of the Conductor's paper, on its pool of seven workers and its seven tasks."""


# -- JUnit XML -------------------------------------------------------------------------------------
#
# Most CI services show it: a suite for each planner, a case for each answer. A wrong answer is a failure, one
# that is not known to be right or wrong an error. The format is that of
# https://github.com/testmoapp/junitxml.

_LONGEST = 120
"""Characters of a question in a name."""

_NO_XML = re.compile("[\ufffe\uffff]")


def as_junit(name: str, items: Sequence[Item], planners: Sequence[str], cells: Iterable[Cell]) -> str:
    """The XML; each question's time is that of its answer, and empty if it is unknown."""
    own: dict[str, list[Cell]] = {planner: [] for planner in planners}
    for cell in cells:
        own[cell.planner].append(cell)
    root = Element("testsuites", name=_text(name))
    for planner, of_planner in own.items():
        scores = [cell.result.score for cell in of_planner]
        errors = sum(not score.is_known for score in scores)
        suite = SubElement(
            root,
            "testsuite",
            name=_text(planner),
            tests=str(len(scores)),
            failures=str(sum(not score.right for score in scores) - errors),
            errors=str(errors),
            time=f"{sum(cell.result.seconds or 0.0 for cell in of_planner):.3f}",
        )
        for cell in of_planner:
            _add_case(suite, items[cell.item], cell)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_case(suite: Element, item: Item, cell: Cell) -> None:
    repeat = f" ({cell.repeat + 1})" if cell.repeat else ""
    question = " ".join(item.input.split())[:_LONGEST]
    case = SubElement(suite, "testcase", name=_text(f"{item.id}{repeat}: {question}"))
    case.set("classname", _text(cell.planner))
    if cell.result.seconds is not None:
        case.set("time", f"{cell.result.seconds:.3f}")
    score = cell.result.score
    if score.right:
        return
    right = " or ".join(item.target)
    words = (
        f"answered {score.answer!r}, right is {right!r}"
        if score.verdict == "wrong"
        else f"{WITHOUT_VERDICT[score.verdict]}; right is {right!r}"
    )
    fault = SubElement(case, "failure" if score.is_known else "error", type=score.verdict)
    fault.set("message", _text(words))
    fault.text = _text("\n".join(filter(None, [score.reason, f"session {cell.session}"])))


def _text(text: str) -> str:
    """Without the characters that no XML has."""
    return _NO_XML.sub("\ufffd", visible(text, pictures=False))
