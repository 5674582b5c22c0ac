"""The templates of an evaluation's tables and charts, and the words they share. Everything is escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conductor.evaluation.mean import Mean, mean_words
from conductor.evaluation.report.names import planner_name
from conductor.evaluation.score import WITHOUT_VERDICT, outage_words
from conductor.evaluation.statistics import MeanDifference, PairedDifference
from conductor.text.formatting import dollars, duration, p_value
from conductor.workflow.edits import edit_words

UNKNOWN = "-"


def _share(part: float | None) -> str:
    return UNKNOWN if part is None else f"{part:.1%}"


def _mean(mean: Mean | None, digits: int = 0) -> str:
    return mean_words(mean, f"{{:,.{digits}f}}".format)


def _mean_dollars(mean: Mean | None) -> str:
    return mean_words(mean, dollars)


def _mean_duration(mean: Mean | None) -> str:
    return mean_words(mean, duration)


def _points(comparison: PairedDifference | None) -> str:
    """A difference of accuracies in percentage points."""
    return UNKNOWN if comparison is None else _percent_points(comparison.difference)


def _percent_points(share: float) -> str:
    points = round(100 * share, 1)
    return _minus(f"{points:+.1f}") if points else "0.0"


def _p(comparison: PairedDifference | None) -> str:
    return UNKNOWN if comparison is None else p_value(comparison.read_p)


def _signed(number: float | None) -> str:
    if number is None:
        return UNKNOWN
    return _minus(f"{round(number):+,}") if round(number) else "0"


def _signed_dollars(difference: MeanDifference | None) -> str:
    if difference is None:
        return UNKNOWN
    sign = "" if not difference.mean else "+" if difference.mean > 0 else "\u2212"
    return f"{sign}{dollars(abs(difference.mean))}"


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "share": _share,
    "mean": _mean,
    "mean_dollars": _mean_dollars,
    "mean_duration": _mean_duration,
    "points": _points,
    "percent_points": _percent_points,
    "p": _p,
    "signed": _signed,
    "signed_dollars": _signed_dollars,
    "planner": planner_name,
    "edits": edit_words,
    "outages": outage_words,
}
TEMPLATES.globals |= {"without_verdict": WITHOUT_VERDICT}
