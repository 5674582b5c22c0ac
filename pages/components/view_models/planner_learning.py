"""Learnings of planners as the page shows them: how far one is, and its examination as rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from conductor.baselines.planner_file.planner_file import ExamRow, Learner, PlannerFile, PlanUse
from conductor.evaluation.report.names import planner_name
from conductor.text.formatting import dollars, p_value, percent, quantity, tokens
from conductor.values.budget import Budget
from studio.evaluation.outlook import EvaluationOutlook
from studio.learning.planner_run import PlannerRun


class Method(NamedTuple):
    """How a planner learns and plans: its `title` and one sentence about it."""

    learner: Learner
    use: PlanUse
    title: str
    sentence: str

    @property
    def reads_prompt(self) -> bool:
        """Whether it needs a Conductor that reads a prompt."""
        return self.use == "prompt"


METHODS = (
    Method(
        "examples",
        "nearest",
        "Use the plan of similar questions",
        "A question gets the plan that was right most often on similar ones. Where the Conductor's own plans "
        "were, the Conductor plans.",
    ),
    Method(
        "search",
        "nearest",
        "Search for better plans",
        "Plans are edited and tried, one generation after another. A question gets the plan that is right "
        "most likely.",
    ),
    Method(
        "examples",
        "prompt",
        "Show the Conductor similar questions",
        "The Conductor plans, with similar solved questions in its prompt.",
    ),
    Method(
        "reflect",
        "prompt",
        "Rewrite the Conductor's prompt",
        "A model reads what went wrong and rewrites the instruction, the strengths and the examples. What "
        "helps on questions that it did not see stays.",
    ),
)


def phase(run: PlannerRun) -> str:
    """What goes on in a learning, or would go on."""
    state = run.learning
    if state is None or state.fit is None:
        return "Starting"
    if state.exam is not None:
        return "Examining it on held-out questions"
    if state.candidates:
        return "Reflecting on what went wrong"
    return "Trying plans" if state.origins is None else "Trying the right plans on all questions"


def progress_words(*, scored: int, cells: int, right: int, used: int) -> str:
    """How far an evaluation is, and the tokens that learning took so far."""
    return f"{scored:,} of {cells:,} answers · {right:,} right · {tokens(used)}"


def whole(trials: EvaluationOutlook, exam: EvaluationOutlook) -> EvaluationOutlook:
    """The sum of two forecasts; what one of them does not know is unknown."""
    return replace(
        trials,
        calls=trials.calls + exam.calls,
        shared=trials.shared + exam.shared,
        tokens=None if trials.tokens is None or exam.tokens is None else trials.tokens + exam.tokens,
        cost=None if trials.cost is None or exam.cost is None else trials.cost + exam.cost,
        seconds=None if trials.seconds is None or exam.seconds is None else trials.seconds + exam.seconds,
    )


def forecast_words(*, fit: int, held_out: int, between: str, budget: Budget) -> str:
    """What is done with the questions, what the figures of a forecast leave out, and where it stops."""
    lines = [
        f"Plans are tried on {quantity(fit, 'question')}; the planner is examined on {held_out:,} others.",
    ]
    if between:
        lines.append(f"The figures leave out what comes between: {between}.")
    limits = [
        *([] if budget.cost is None else [dollars(budget.cost)]),
        *([] if budget.tokens is None else [quantity(budget.tokens, "token")]),
    ]
    if limits:
        lines.append(f"It stops at {' or '.join(limits)}.")
    return " ".join(lines)


def facts(run: PlannerRun) -> tuple[str, ...]:
    """What a learning is of, and what came of it."""
    card = None if run.planner is None else run.planner.card
    if card is None:
        return () if run.learning is None else (run.learning.settings.data,)
    learnt = f"learnt from {quantity(card.fit, 'question')}"
    if not card.exam:
        return card.data, learnt
    return card.data, learnt, f"{_share(card.exam[0])} right on {card.held_out:,} others"


def learning_took(learnt: PlannerFile) -> str:
    """What learning took, and of what."""
    card = learnt.card
    took = [quantity(card.calls, "call"), tokens(card.tokens)]
    took += [] if card.cost is None else [dollars(card.cost)]
    return (
        f"{quantity(len(learnt.plans), 'plan')} tried on {quantity(card.fit, 'question')}; "
        f"{learnt.solved:,} solved. Learning took {', '.join(took)}."
    )


def exam_rows(learnt: PlannerFile) -> Sequence[Mapping[str, str]]:
    """The planners on the held-out questions, this one first; without the cost if none is known."""
    exam = learnt.card.exam
    has_cost = any(row.cost is not None for row in exam)
    return [
        {
            "Planner": learnt.name if at == 0 else planner_name(row.planner),
            "Right": _share(row),
            "Tokens per question": "-" if row.tokens is None else f"{row.tokens:,.0f}",
            **({"Cost per question": dollars(row.cost)} if has_cost else {}),
            f"Lead of {learnt.name}": "" if row.difference is None else f"{_points(row.difference)} points",
            "95% interval": ""
            if row.between is None
            else f"{_points(row.between[1])} to {_points(row.between[0])}",
            "p (Holm)": "" if row.p is None else p_value(row.p),
        }
        for at, row in enumerate(exam)
    ]


def _share(row: ExamRow) -> str:
    return percent(row.right / row.answers) if row.answers else "-"


def _points(difference: float) -> str:
    """By how much this planner is ahead of one with that difference to it."""
    return f"{0 - 100 * difference:+.1f}"
