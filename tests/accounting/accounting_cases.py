"""Cases of the accounts, drawn by Hypothesis: who works, what the upstream does to each of them, and by which
door it is asked.

Knows the upstream's behaviours and the values of workflows; calls nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pprint import pformat
from typing import Any, Literal

from hypothesis import strategies as st

from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.accounting.reporting_upstream import (
    ANSWERS,
    FAILURES,
    NUMBER,
    PLAN,
    REFUSALS,
    STALLS,
    UpstreamScript,
    marked,
)
from tests.support.runs.conductor_cases import BROKEN, KEEP, plan_text
from tests.support.runs.workflow_cases import PINNED

MODELS = ("a", "b", "c", "d", "e")
NEST = "nest"
"""The Conductor as a worker."""
WORKERS = (*MODELS, NEST)

DEFAULTS = {"d": "no usage"}

Door = Literal["chat", "responses", "background", "workbench"]
Act = Literal["continue", "all again", "a step again", "from a step", "another round", "alternatives"]


@dataclass(frozen=True)
class PlannedStep:
    """A step that the Conductor writes."""

    worker: str
    access: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """One session and all that is done in it. Its `workflow` is given, or the planner writes one of `plans`:
    steps, or a text that is no plan. The mark of step 2 of plan 1 is 1.1, and of the given workflow 0.1.

    `model` is what the API is asked for, `acts` what a person does after the first run, with a position.
    """

    door: Door
    behaviours: Mapping[str, Sequence[str]]
    seed: int
    workflow: Workflow | None = None
    plans: Sequence[str | Sequence[PlannedStep]] = ()
    rounds: int = 1
    budget: Mapping[str, float] = field(default_factory=dict)
    model: str = "conductor"
    streams: bool = False
    includes_usage: bool = True
    is_stored: bool = True
    answers: int = 1
    asks_json: bool = False
    is_stopped: bool = False
    resumes: int = 0
    acts: Sequence[tuple[Act, int]] = ()

    @property
    def question(self) -> str:
        """With a mark, for a worker that is asked without a plan."""
        return f"Why is case {self.seed} so? {marked('0.0')}"

    @property
    def script(self) -> UpstreamScript:
        """What the upstream plays."""
        plans = [plan if isinstance(plan, str) else _written(plan) for plan in self.plans]
        return UpstreamScript(self.behaviours, plans or [""], DEFAULTS, self.seed)

    def __str__(self) -> str:
        fields = {name: value for name, value in vars(self).items() if name != "workflow"}
        steps = () if self.workflow is None else self.workflow.steps
        written = [step.model_dump(mode="json", exclude_defaults=True, exclude={"pin"}) for step in steps]
        return pformat({**fields, "steps": written}, sort_dicts=False, width=110)


def _written(steps: Sequence[PlannedStep]) -> str:
    return plan_text(
        *(
            (WORKERS.index(step.worker), marked(f"{NUMBER}.{at}"), str(list(step.access)))
            for at, step in enumerate(steps)
        )
    )


_ANSWERS = st.sampled_from(["ok", *ANSWERS])
_ENDS = st.lists(st.sampled_from([*FAILURES, *FAILURES, *ANSWERS]), max_size=3).map(tuple)
_RULES = st.none() | st.builds(
    OnFailure,
    retries=st.integers(0, 2),
    pause=st.just(0.0),
    fallback=st.none() | st.sampled_from(MODELS),
    output=st.sampled_from([None, None, "", "By rule."]),
    keep=st.booleans(),
)
_BUDGETS = st.just({}) | st.just({}) | st.fixed_dictionaries(
    {},
    optional={
        "tokens": st.integers(500, 20_000),
        "cost": st.sampled_from([0.001, 0.01, 0.05]),
        "calls": st.integers(1, 8),
    },
)  # fmt: skip


def _access(draw: st.DrawFn, at: int) -> tuple[int, ...]:
    return tuple(sorted(draw(st.sets(st.integers(0, at - 1), max_size=2)))) if at else ()


def _scripted(draw: st.DrawFn, marks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Behaviours of some of these marks."""
    scripted = draw(st.sets(st.sampled_from(marks), max_size=3))
    return {mark: ends for mark in sorted(scripted) if (ends := draw(_ENDS))}


@st.composite
def _workflows(draw: st.DrawFn) -> Workflow:
    """One to five steps; the Conductor does one at most."""
    count, workers = draw(st.integers(1, 5)), list(MODELS)
    nested = draw(st.none() | st.integers(0, count - 1))
    steps = []
    for at in range(count):
        worker = NEST if at == nested else draw(st.sampled_from(workers))
        rule = draw(_RULES)
        step = Step(
            instruction=marked(f"0.{at}"),
            worker=worker,
            access=_access(draw, at),
            gate=draw(st.sampled_from([False] * 7 + [True])),
            on_failure=None if rule is None else rule.of_worker(worker),
            pin=PINNED if at < count - 1 and draw(st.sampled_from([False] * 7 + [True])) else None,
        )
        steps.append(step)
    return Workflow.of(steps)


@st.composite
def _plans(draw: st.DrawFn, *, workers: Sequence[str]) -> list[str | list[PlannedStep]]:
    """What the Conductor writes, one text after another."""
    plans: list[str | list[PlannedStep]] = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 4)) == 0:
            plans.append(draw(st.sampled_from([BROKEN, KEEP])))
            continue
        count = draw(st.integers(1, 3))
        steps = [PlannedStep(draw(st.sampled_from(workers)), _access(draw, at)) for at in range(count)]
        plans.append(steps)
    return plans


@st.composite
def cases_by(draw: st.DrawFn, door: Door, *, stops: bool = False) -> Case:
    """A case that comes through this door; `stops`: its first run or its planning may stand still."""
    more: dict[str, Any] = {"door": door, "seed": draw(st.integers(0, 2**20))}
    is_given = draw(st.booleans())
    is_worker_alone = door in ("chat", "responses") and draw(st.integers(0, 5)) == 0
    if is_worker_alone:
        more |= {"model": f"worker:{draw(st.sampled_from(MODELS))}"}
    elif is_given:
        more |= {"workflow": draw(_workflows())}
    if not is_worker_alone:
        more |= {
            "rounds": 1 if is_given else draw(st.sampled_from([1, 1, 2, 3])),
            "budget": draw(_BUDGETS),
            # A Conductor that does a step asks the planner, too; its plans have no step for itself.
            "plans": draw(_plans(workers=MODELS)),
        }
    marks = [f"{plan}.{step}" for plan in range(4) for step in range(3 if plan else 5)]
    behaviours = _scripted(draw, [*marks, PLAN, PLAN])
    workflow = more.get("workflow")
    # A Conductor that does the final step is refused there.
    if door != "workbench" and (workflow is None or workflow.steps[workflow.final].worker != NEST):
        more |= {"asks_json": draw(st.sampled_from([False, False, False, True]))}
    match door:
        case "chat":
            more |= {
                "streams": draw(st.booleans()),
                "includes_usage": draw(st.booleans()),
                "is_stored": draw(st.sampled_from([True, True, False])),
                "answers": draw(st.sampled_from([1, 1, 2, 3])),
            }
        case "responses":
            more |= {
                "streams": draw(st.booleans()),
                "is_stored": draw(st.sampled_from([True, True, False])),
                "resumes": draw(st.integers(0, 2)),
            }
        case "background":
            more |= {"is_stopped": draw(st.booleans()), "resumes": draw(st.integers(0, 2))}
        case "workbench":
            acts: st.SearchStrategy[Act] = st.sampled_from(
                ["continue", "all again", "a step again", "from a step", "another round", "alternatives"]
            )
            more |= {
                "is_stopped": stops or draw(st.integers(0, 3)) == 0,
                "acts": tuple(draw(st.lists(st.tuples(acts, st.integers(0, 4)), max_size=2))),
            }
    if more.get("is_stopped"):
        steps = ["0.0", "0.0", "0.1", "1.0"] if "workflow" in more else ["1.0", "1.1", PLAN]
        behaviours[draw(st.sampled_from(steps))] = (draw(st.sampled_from(STALLS)),)
    # An outage lasts for the first requests of a mark, then it answers; some never do.
    for mark in sorted(behaviours):
        if behaviours[mark][-1] in REFUSALS and draw(st.booleans()):
            behaviours[mark] = (*behaviours[mark], *(behaviours[mark][-1],) * 8)
    return Case(behaviours=behaviours, **more)
