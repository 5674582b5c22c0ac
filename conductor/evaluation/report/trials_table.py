"""The HTML of a trial: what each variant of a workflow changes. The template engine escapes everything."""

from __future__ import annotations

from conductor.evaluation.report.templates import TEMPLATES
from conductor.evaluation.trials import TrialRow, Trials


def trials_html(trials: Trials, *, best: TrialRow | None) -> str:
    """The variants with their differences, as an element `table`; `best` is marked."""
    return TEMPLATES.get_template("trials.html").render(trials=trials, best=best)
