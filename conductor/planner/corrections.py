"""Turns people's corrections of plans into rows to train a Conductor with.

Pure: a correction in, a row in one of TRL's conversational forms out. Knows how a plan is written and read
back; knows neither where corrections are stored nor files.

Both plans of a row are written again in the form that the Conductor's prompt required, without the reasoning:
the Conductor's argued for its own plan, and the edited one has none. Every text is read back before it
counts. The edited plan is the better one, unless its answer has a thumbs down: then the planned one is, where
its own answer has a thumbs up, and where not, nothing is learnt from either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from conductor.errors import WorkflowError
from conductor.values.messages import Sampling, Value
from conductor.values.output import WorkerKind
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect, PlanPrompt

Thumbs = Literal["up", "down"]

RowKind = Literal["preferences", "supervised", "judged", "revisions"]
"""Pairs of a chosen and a rejected plan, the better plan alone, each judged plan with its judgement, or pairs
of plans that were changed as a person asked for in words.
"""

Row = dict[str, Any]
"""One line of the file: `prompt` and `chosen`, `rejected` or `completion`, each a list of chat messages; of a
judged plan also `label`, whether it is good.
"""


class Judged(Value):
    """What a finished run of a workflow answered, and a person's judgement of it (None: not judged)."""

    run: str
    answer: str | None
    thumbs: Thumbs | None
    pool_label: str | None


class _OfAPlan(Value):
    """Who wrote a plan for what; `prompt` is None if the prompt was not stored."""

    session: str
    query: str
    plan: str
    planner: str
    planner_kind: WorkerKind
    dialect: Dialect
    prompt: PlanPrompt | None


class Correction(_OfAPlan):
    """A person's change of a Conductor's plan.

    `revision` is the changed state and `planned_revision` the Conductor's own; others may be equal to it
    as plans. `current`: the session shows one of them now. A run is None if the plan was not run to an end
    without outputs written by hand.
    """

    pool_label: str | None
    reasoning: str
    planned_revision: str
    planned: Workflow
    planned_run: Judged | None
    revision: str
    edited: Workflow
    edited_run: Judged | None
    created_at: float
    note: str
    current: bool

    @property
    def thumbs(self) -> Thumbs | None:
        """What a person thinks of the edited plan's answer."""
        return None if self.edited_run is None else self.edited_run.thumbs

    @property
    def better(self) -> Literal["edited", "planned"] | None:
        """The plan to learn; None if the judgements favour neither."""
        if self.thumbs != "down":
            return "edited"
        return "planned" if self.planned_run is not None and self.planned_run.thumbs == "up" else None


class JudgedPlan(_OfAPlan):
    """A plan whose answer a person judged: a Conductor's own, or what a person made of it (`edited`).

    `run` is the one that counts.
    """

    revision: str
    workflow: Workflow
    edited: bool
    run: Judged


class Revised(_OfAPlan):
    """A person's wish, and what they did with the plan that a Conductor changed by it.

    `planned` is the plan before, `proposed` the Conductor's changed one, `chosen` the one that the session
    went on with.
    """

    pool_label: str | None
    change: str
    wish: str
    decision: Literal["taken", "part", "left"]
    planned: Workflow
    proposed: Workflow
    chosen: Workflow
    created_at: float

    @property
    def rejected(self) -> Workflow:
        """The plan that was not chosen: the one before where the Conductor's was taken, else that."""
        return self.planned if self.decision == "taken" else self.proposed


class LeftOut(Value):
    """Why a correction gives no row. `reason` is the same for all of its kind; `detail` may add to it."""

    reason: str
    detail: str = ""


_NO_PROMPT = LeftOut(reason="an older version, which did not store the prompt, has planned it")
_NOT_WRITABLE = "no Conductor could have written it in the required form"


def judged_row_of(judged: JudgedPlan, *, bare: bool = False) -> Row | LeftOut:
    """The plan with its judgement as one row, for trainers that need no pairs, such as KTO."""
    prompt = judged.prompt
    if prompt is None:
        return _NO_PROMPT
    workflow = as_plan(judged.workflow, first_round=prompt.round == 1, tools=bool(prompt.tools))
    row = _answers(judged, prompt, completion=workflow)
    if isinstance(row, LeftOut):
        return row
    row["label"] = judged.run.thumbs == "up"
    about = {name: getattr(judged, name) for name in ("session", "query", "plan", "revision", "edited")}
    pool = {"label": judged.run.pool_label, "workers": list(prompt.workers)}
    about |= {**_planning(judged, prompt), "pool": pool, "answer": judged.run.model_dump()}
    return row if bare else row | {"metadata": about}


def revised_row_of(revised: Revised, *, bare: bool = False) -> Row | LeftOut:
    """The chosen and the rejected plan for a wish as one row; its prompt has the plan before and the wish."""
    prompt = revised.prompt
    if prompt is None:
        return _NO_PROMPT
    first, tools = prompt.round == 1, bool(prompt.tools)
    chosen, rejected = (
        as_plan(each, first_round=first, tools=tools) for each in (revised.chosen, revised.rejected)
    )
    if chosen == rejected:
        return LeftOut(reason="the changed plan is the one before")
    row = _answers(revised, prompt, chosen=chosen, rejected=rejected)
    named = ("session", "query", "change", "wish", "decision", "plan", "created_at")
    about = {name: getattr(revised, name) for name in named}
    pool = {"label": revised.pool_label, "workers": list(prompt.workers)}
    if bare or isinstance(row, LeftOut):
        return row
    return row | {"metadata": {**about, **_planning(revised, prompt), "pool": pool}}


def row_of(
    correction: Correction, *, kind: Literal["preferences", "supervised"], bare: bool = False
) -> Row | LeftOut:
    """The correction as one row, with where it comes from under `metadata` unless `bare`."""
    prompt = correction.prompt
    if prompt is None:
        return _NO_PROMPT
    first, tools = prompt.round == 1, bool(prompt.tools)
    planned = as_plan(correction.planned, first_round=first, tools=tools)
    edited = as_plan(correction.edited, first_round=first, tools=tools)
    if planned == edited:
        return LeftOut(reason="it changes nothing that a plan contains")
    better = correction.better
    if better is None:
        return LeftOut(reason="its answer has a thumbs down, and the planned one's has no thumbs up")
    chosen, rejected = (edited, planned) if better == "edited" else (planned, edited)
    row = _answers(correction, prompt, chosen=chosen, rejected=rejected)
    if isinstance(row, LeftOut):
        return row
    if kind == "supervised":
        row = {"prompt": row["prompt"], "completion": row["chosen"]}
    return row if bare else row | {"metadata": _metadata(correction, prompt, better)}


def _answers(plan: _OfAPlan, prompt: PlanPrompt, **workflows: Workflow) -> Row | LeftOut:
    """The prompt, and under their names the workflows as a Conductor's answers."""
    row: Row = {"prompt": [message.model_dump() for message in prompt.messages]}
    try:
        for name, workflow in workflows.items():
            row[name] = [{"role": "assistant", "content": _written(workflow, prompt, plan.dialect)}]
    except WorkflowError as error:
        return LeftOut(reason=_NOT_WRITABLE, detail=str(error))
    return row


def as_plan(workflow: Workflow, *, first_round: bool, tools: bool = False) -> Workflow:
    """The workflow as a plan holds it: no sampling, no prompt style, no pin, no gate, no rule for
    failures, in a first round no sight of one before, and a step's tools only where the prompt lists `tools`.
    """
    plain: dict[str, object] = {
        "sampling": Sampling(),
        "prompt_style": None,
        "pin": None,
        "gate": False,
        "sees_files": True,
        "on_failure": None,
    }
    if first_round:
        plain["sees_previous"] = False
    if not tools:
        plain["tools"] = None
    return Workflow.of(step.model_copy(update=plain) for step in workflow.steps)


def _written(workflow: Workflow, prompt: PlanPrompt, dialect: Dialect) -> str:
    """The plan's text. Raises `WorkflowError` where the prompt allows no such plan."""
    # The store's records have these values, and who only lists sessions does not wait for the parser.
    from conductor.planner.format import format_plan  # noqa: PLC0415
    from conductor.planner.parsing.parse import parse  # noqa: PLC0415

    text = format_plan(
        workflow,
        prompt.workers,
        dialect=dialect,
        form=prompt.form,
        round=prompt.round,
        tools=bool(prompt.tools),
    )
    report = parse(
        text,
        workers=prompt.workers,
        dialect=dialect,
        max_steps=prompt.max_steps,
        round=prompt.round,
        tools=prompt.tools,
    )
    if report.workflow != workflow:
        reasons = " ".join(problem.message for problem in report.problems)
        raise WorkflowError(reasons or "The text of the plan reads back as another one.")
    return text


_PLACE = ("session", "query", "plan", "planned_revision", "revision", "current", "note", "created_at")


def _metadata(correction: Correction, prompt: PlanPrompt, better: str) -> Row:
    return {
        **{name: getattr(correction, name) for name in _PLACE},
        **_planning(correction, prompt),
        "pool": {"label": correction.pool_label, "workers": list(prompt.workers)},
        "reasoning": correction.reasoning,
        "better": better,
        "answers": {
            name: None if run is None else run.model_dump()
            for name, run in (("planned", correction.planned_run), ("edited", correction.edited_run))
        },
        "not_written": [*_not_written(correction.edited.steps, tools=bool(prompt.tools))],
    }


def _planning(plan: Correction | JudgedPlan | Revised, prompt: PlanPrompt) -> Row:
    """Who planned, and in what form it was to."""
    return {
        "planner": {"name": plan.planner, "kind": plan.planner_kind},
        "prompt_sent": prompt.sent,
        "dialect": plan.dialect,
        "form": prompt.form,
        "round": prompt.round,
    }


def _not_written(steps: Sequence[Step], *, tools: bool) -> Iterator[str]:
    """What of the edited workflow has no place in a plan."""
    for at, step in enumerate(steps, start=1):
        if not step.sampling.unset:
            yield f"the sampling parameters of step {at}"
        if step.pin is not None:
            yield f"the pinned output of step {at}"
        if step.tools is not None and not tools:
            yield f"the tools of step {at}"
