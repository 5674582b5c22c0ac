"""Plans to choose from: those in one completion, and those that were requested at once. Pure.

Equal plans are one choice. Knows kept plans and workflows, no Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conductor.planner.parsing.parse import over_limit
from conductor.text.formatting import quantity
from conductor.workflow.diff import plan_diff
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import Candidate
from pages.components.view_models.workflow.plan_text import headline
from storage import Plan


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A plan to look at, use or compare: `candidate` (from 0) of the kept `plan`, or None.

    `workflow` is None if the plan is not valid (see `verdict`; `problems` are the reasons) or keeps the
    answer; `over_limit` is that of a plan that is invalid only for its number of steps. `remarks` compare it
    with the others, `difference` is how it differs from the workflow shown.
    """

    name: str
    plan: Plan
    candidate: int | None
    workflow: Workflow | None
    verdict: str
    over_limit: Workflow | None = None
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    difference: str = ""

    @property
    def address(self) -> str:
        """What it is called by the compare page."""
        return f"plan:{self.plan.id}:{self.candidate}"

    @property
    def key(self) -> str:
        """A name for its widgets."""
        return f"{self.plan.id}-{self.candidate}"

    @property
    def shape(self) -> str:
        """Topology, steps and workers in one line."""
        if self.workflow is None:
            return ""
        workers = self.workflow.workers()
        named = ", ".join(workers[:4]) + (f" and {len(workers) - 4} more" if len(workers) > 4 else "")
        return f"{self.workflow.topology} · {quantity(len(self.workflow), 'step')} · {named}"


def choices_of_text(plan: Plan, *, current: Workflow | None) -> tuple[PlanChoice, ...]:
    """Every complete plan in a completion, in its order; `current` is the workflow on the page."""
    report = plan.report
    if report is None:
        return ()
    valid = any(candidate.ok for candidate in report.candidates)
    counts = "used as the last valid one" if valid else "used as the last one; none is valid"
    choices = [
        replace(
            _choice(plan, at, candidate, name=f"Plan {at + 1}"),
            remarks=(counts,) if at == report.chosen else (),
        )
        for at, candidate in enumerate(report.candidates)
    ]
    return _compared(choices, current)


def choices_of_batch(plans: Sequence[Plan], *, current: Workflow | None) -> tuple[PlanChoice, ...]:
    """The plans that were requested at once, equal ones as one; `current` is the workflow on the page."""
    choices: list[PlanChoice] = []
    for plan in plans:
        chosen = None if plan.report is None else plan.report.chosen
        name = f"Alternative {plan.attempt}"
        if plan.report is None or chosen is None:
            reasons = tuple(problem.message for problem in plan.report.problems) if plan.report else ()
            problems = reasons or (plan.failure or "The Conductor returned nothing.",)
            choices.append(PlanChoice(name, plan, None, None, verdict="no plan", problems=problems))
        else:
            choices.append(_choice(plan, chosen, plan.report.candidates[chosen], name=name))
    return _compared(_together(choices), current)


def _choice(plan: Plan, at: int, candidate: Candidate, *, name: str) -> PlanChoice:
    verdict = "keeps the answer" if candidate.return_previous else "valid" if candidate.ok else "not valid"
    problems = tuple(problem.message for problem in candidate.problems)
    beyond = over_limit(plan.report, at)
    return PlanChoice(
        name, plan, at, candidate.workflow, verdict=verdict, over_limit=beyond, problems=problems
    )


def _together(choices: Sequence[PlanChoice]) -> list[PlanChoice]:
    """Equal workflows as one choice, under the numbers of all of them."""
    alike: dict[Workflow | int, list[PlanChoice]] = {}
    for at, choice in enumerate(choices):
        alike.setdefault(at if choice.workflow is None else choice.workflow, []).append(choice)
    return [group[0] if len(group) == 1 else _as_one(group) for group in alike.values()]


def _as_one(alike: Sequence[PlanChoice]) -> PlanChoice:
    *most, last = (str(choice.plan.attempt) for choice in alike)
    return replace(alike[0], name=f"Alternatives {', '.join(most)} and {last}", remarks=("the same plan",))


def _compared(choices: Sequence[PlanChoice], current: Workflow | None) -> tuple[PlanChoice, ...]:
    """Each with how it differs from what is shown; where nothing is, from the first valid one."""
    first = next((choice for choice in choices if choice.workflow is not None), None)
    compared = []
    for choice in choices:
        difference = ""
        if choice.workflow is not None and current is not None:
            same = choice.workflow == current.unpinned
            difference = "The workflow shown." if same else headline(plan_diff(current, choice.workflow))
        elif choice.workflow is not None and first is not None and choice is not first:
            assert first.workflow is not None, "the first one is valid"
            against = headline(plan_diff(first.workflow, choice.workflow))
            difference = f"Beside {first.name.lower()}: {against}"
        compared.append(replace(choice, difference=difference))
    return tuple(compared)
