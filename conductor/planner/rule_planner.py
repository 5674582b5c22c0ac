"""The rule planner: a few plain rules over the query that give three shapes, without a model.

The shapes are one step, fan-out with an aggregator, and plan, execute, verify. The rule that fired is the
reasoning. The plan has the same three lists as a model's and is read by the same parser. Knows the workers by
their cards: a calculator takes what is a calculation; it and what runs programs take no other step if there
are other workers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from conductor.errors import PlanError
from conductor.planner.conductor import PlanRequest
from conductor.planner.format import format_plan, write_steps
from conductor.text.final_answer import without_ask
from conductor.values.messages import Completion, Delta
from conductor.workers import python_worker
from conductor.workers.calculator.calculator_worker import MODEL, is_calculation
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect

NO_WISHES = (
    "The built-in planner follows fixed rules and cannot change a plan from words. Use a language "
    "model as the Conductor ([conductor] in pool.toml), or edit the plan by hand."
)
"""Why the rules refuse a request with a `change`."""


@dataclass(frozen=True, slots=True)
class StepDraft:
    """A step before its worker is chosen: what to do, and which steps to see (0-based)."""

    instruction: str
    access: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rule that fired, why, and its steps; `calculates`: they are for a calculator."""

    rule: str
    why: str
    drafts: tuple[StepDraft, ...]
    calculates: bool = False


class OfflineConductor:
    """Plans by rule. See `Conductor` for the protocol."""

    card = WorkerCard(
        name="offline planner",
        kind="offline",
        strengths="plans by rule, without a model",
        model="planner/rules",
    )
    dialect: Dialect = "any"

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        """The rule that fired, then the three lists; a later round returns the answer as it is.

        Raises `PlanError` where a plan is to be changed in words.
        """
        if request.change is not None:
            raise PlanError(NO_WISHES)
        if request.round > 1:
            reasoning = "Rule: one round. Rules would write the same plan again, so the answer stands.\n\n"
            plan = write_steps((), form="lists")
        else:
            ruling, workflow = await asyncio.to_thread(plan_by_rules, request)
            reasoning = f"Rule: {ruling.rule}. {ruling.why}\n\n"
            plan = format_plan(workflow, [card.name for card in request.workers])
        yield Delta(text=reasoning)
        yield Delta(text=plan)
        yield Completion(text=reasoning + plan)


def plan_by_rules(request: PlanRequest) -> tuple[Ruling, Workflow]:
    """The rule that fires for a request of a first round, and its workflow."""
    query = without_ask(request.query)
    ruling = rule_for(query, max_steps=request.max_steps)
    workers = _workers(ruling, query, request.workers)
    steps = (
        Step(instruction=draft.instruction, worker=workers[at % len(workers)].name, access=draft.access)
        for at, draft in enumerate(ruling.drafts)
    )
    return ruling, Workflow.of(steps)


def _workers(ruling: Ruling, query: str, cards: Sequence[WorkerCard]) -> Sequence[WorkerCard]:
    """The workers that take the steps, in turn."""
    calculators = [card for card in cards if card.model == MODEL]
    if ruling.calculates and calculators:
        return calculators
    others = (
        [card for card in cards if card.model not in (MODEL, python_worker.MODEL)] or calculators or cards
    )
    if len(ruling.drafts) > 1:
        return others
    # The first of the workers whose strengths share most words with the query.
    words = _words(query) | ({"compute", "sum"} if ruling.calculates else frozenset())
    return [max(others, key=lambda card: len(words & _words(card.strengths)))]


def _words(text: str) -> frozenset[str]:
    """The longer words of a text, in lower case and without a plural s."""
    words = re.findall(r"[^\W\d_]{3,}", text[:_EDGE].lower())
    return frozenset(word.removesuffix("s") for word in words) - {"the", "and", "what", "one"}


def rule_for(query: str, *, max_steps: int) -> Ruling:
    """The first rule that fits and whose plan keeps within `max_steps`; the last one always does."""
    return next(ruling for ruling in _rulings(query) if len(ruling.drafts) <= max_steps)


_EDGE = 2_000
"""Characters read at either end of a query; what lies between is material, not the question."""


def _rulings(query: str) -> Iterator[Ruling]:
    """What fits a query, from the most to the least particular rule."""
    if len(query) <= _EDGE and is_calculation(query):
        yield _calculation(query)
    ends = query if len(query) <= 2 * _EDGE else f"{query[:_EDGE]}\n{query[-_EDGE:]}"
    text = "\n".join(filter(None, (" ".join(line.split()) for line in ends.splitlines())))
    if (compared := comparison_in(text)) is not None:
        yield _comparison(compared)
    story = _STORY.search(text) and len(re.findall(r"\d+", text)) >= 2
    if story or _HARD.search(text) or text.count("=") >= 2:
        yield _PLAN_EXECUTE_VERIFY
    yield Ruling("one step", "No rule splits this query; one worker answers it.", _whole(query))


_HARD = re.compile(
    r"\b(?:prove|proof|show that|step by step|solve|maximi[sz]e|minimi[sz]e|optimi[sz]e|"
    r"(?:plan|design) (?:a|an|the|my|our))\b",
    re.IGNORECASE,
)
_STORY = re.compile(r"\bhow (?:many|much|long|far|fast|old)\b", re.IGNORECASE)
"""With two numbers, a story that asks for more than one calculation."""

_PLAN_EXECUTE_VERIFY = Ruling(
    rule="hard problem",
    why="The query asks for more than one step; one worker plans, one executes the plan, one verifies both.",
    drafts=(
        StepDraft("Plan the solution: name what is asked, what is known and the method; do not solve."),
        StepDraft("Follow the plan and show the working.", (0,)),
        StepDraft("Verify the result against the question and the plan, and give the answer.", (0, 1)),
    ),
)

_MOST_REPEATED = 200
"""Characters of a query that one step repeats: a tiny model answers a question that is its own task, and
loses a task that only refers to one.
"""


def _whole(query: str) -> tuple[StepDraft, ...]:
    """One step that answers a query."""
    short = 0 < len(query) <= _MOST_REPEATED
    return (StepDraft(" ".join(query.split()) if short else "Answer the question."),)


def _calculation(query: str) -> Ruling:
    why = "The query is a calculation; one exact step is enough."
    return Ruling("calculation", why, _whole(query), calculates=True)


def _comparison(compared: Comparison) -> Ruling:
    things, by = compared.things, f" {compared.criteria}" if compared.criteria else ""
    names = ", ".join(things[:-1]) + f" and {things[-1]}{by}"
    drafts = [
        StepDraft(f"Describe {thing}{by}." if by else f"What is {thing} known for?") for thing in things
    ]
    everything = tuple(range(len(things)))
    drafts.append(StepDraft(f"Compare {names}: merge the answers into one, point by point.", everything))
    return Ruling(
        rule="comparison",
        why=f"The query compares {names}; independent workers look at one each, and an aggregator reads "
        "them all.",
        drafts=tuple(drafts),
    )


# -- what a query compares -------------------------------------------------------------------------

MAX_THINGS = 8
_LONGEST = 80

_COMPARED = re.compile(
    r"\b(?:compare and contrast|compare|contrast|differences? between)\b[ :]*(?P<things>[^.?!;\n]{3,300})"
    r"|\bhow (?:do|does) (?P<verb>[^.?!;\n]{3,300}?) (?:differ|compare)\b(?P<rest>[^.?!;\n]{0,200})"
    r"|(?P<versus>[^.?!,:;\n]{1,100} (?:versus|vs\.?) [^.?!;\n]{1,200})",
    re.IGNORECASE,
)
_CRITERIA = re.compile(
    r"[, ]+(?P<criteria>(?:by|in terms of|with (?:respect|regard) to|regarding|based on) .+)$", re.IGNORECASE
)
_LINK = re.compile(r" ?, (?:and |or )?| and | (?:with|to|from|or|versus|vs\.?) ", re.IGNORECASE)
_PROPERTY = re.compile(r"^(?:the )?[a-z ,]{3,60} of (?=[A-Z])")
_ARTICLE = re.compile(r"^(?:the|is|are|should (?:i|we) \w+) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things or more, in order, and `criteria` in the query's words ("by area"), "" for none."""

    things: tuple[str, ...]
    criteria: str = ""


def comparison_in(query: str) -> Comparison | None:
    """What a query compares; None when it compares no two things of words."""
    match = _COMPARED.search(query)
    if match is None:
        return None
    if match["verb"] is not None:
        names = match["verb"] + re.sub(r"^ (?:from|to|with) ", " and ", match["rest"])
    else:
        names = match["things"] or match["versus"]
    by = _CRITERIA.search(names)
    criteria = "" if by is None else by["criteria"].strip()
    names = names if by is None else names[: by.start()]
    if match["things"] is not None:
        # "Compare three ways to heat a house: gas, wood and oil"
        topic, _, names = names.rpartition(": ")
        criteria = criteria or (topic and f"among {topic.strip()}")
    # A property is written small, the names of its owners large: "the capitals of France and Peru".
    split = _LINK.split(_PROPERTY.sub("", names))
    parts = (_ARTICLE.sub("", part.strip(" ,\"'"))[:_LONGEST] for part in split)
    things = tuple(dict.fromkeys(part for part in parts if re.search(r"[^\W\d_]{2}", part)))
    return Comparison(things, criteria) if 2 <= len(things) <= MAX_THINGS else None
