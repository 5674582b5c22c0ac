"""The offline Conductor: rules over the query that give the shapes the paper observed.

It computes a plan and never pretends to be a model: the rule that fired is its reasoning. It writes
the same three lists as a model, and they are read by the same parser. Knows the built-in experts by
their cards, and which countries the facts expert knows; in a pool without experts it hands out workers
in turn.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from conductor.errors import PlanError
from conductor.planner.format import format_plan, write_steps
from conductor.planner.protocol import PlanRequest
from conductor.planner.rule_comparison import Comparison, comparison_in
from conductor.values.messages import Completion, Delta
from conductor.workers.offline.countries import named_countries
from conductor.workers.offline.questions.reply import subject_of
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect

NO_WISHES = (
    "The offline rules cannot change a plan in words: they know forms of questions and read no wishes. Use a "
    "Conductor that is a language model ([conductor] in pool.toml), or edit the plan by hand."
)
"""Why the rules refuse a request with a `change`."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A step before its worker is chosen: which expert, what to do, what to see (0-based)."""

    expert: str
    instruction: str
    access: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    rule: str
    why: str
    drafts: tuple[Draft, ...]


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
    """The rule that fires for a request of a first round, and its workflow; may wait for the mathematics."""
    experts = any(card.model.startswith("expert/") for card in request.workers)
    subject = subject_of(request.query) if experts else None
    ruling = rule_for(request.query, max_steps=request.max_steps, subject=subject)
    return ruling, Workflow.of(_step(draft, at, request.workers) for at, draft in enumerate(ruling.drafts))


def _step(draft: Draft, at: int, workers: Sequence[WorkerCard]) -> Step:
    expert = next((card.name for card in workers if card.model == f"expert/{draft.expert}"), None)
    worker = workers[at % len(workers)].name if expert is None else expert
    return Step(instruction=draft.instruction, worker=worker, access=draft.access)


def rule_for(query: str, *, max_steps: int, subject: str | None = None) -> Ruling:
    """The first rule that fits and whose plan keeps within `max_steps`; the last one always does.

    `subject` is the expert that understands the whole query, None where none does.
    """
    rulings = chain(_understood(subject, query), _rulings(_asked(query)))
    return next(ruling for ruling in rulings if len(ruling.drafts) <= max_steps)


def _understood(subject: str | None, query: str) -> Iterator[Ruling]:
    match subject:
        case "mathematics":
            # Here, because its grammar takes a while to build, and most programs plan nothing.
            from conductor.workers.offline.mathematics.question import read_problem  # noqa: PLC0415

            yield _CALCULATION_IN_ONE_WAY if read_problem(query) is None else _CALCULATION
            yield _CALCULATION_IN_ONE
        case "facts":
            yield _FACT_RULING
        case "text":
            yield Ruling(
                rule="text",
                why="The query asks for something to be done with a text it holds; one worker does it.",
                drafts=(Draft("text", "Do with the text of the question what it asks for."),),
            )


_EDGE = 2_000
"""Characters read at either end of a query; what lies between is material, not the question."""


def _asked(query: str) -> str:
    """The part of a query that rules read: its two ends, one space between words, no blank lines."""
    ends = query if len(query) <= 2 * _EDGE else f"{query[:_EDGE]}\n{query[-_EDGE:]}"
    return "\n".join(filter(None, (" ".join(line.split()) for line in ends.splitlines())))


# -- rules -----------------------------------------------------------------------------------------

_SUMMARY = re.compile(
    r"\b(summari[sz]e|summary|shorten|condense|tl;?dr|key (?:points|sentences)|main points|"
    r"in (?:one|two|three) sentences?)\b",
    re.I,
)
_PROOF = re.compile(r"\b(prove|proof|show that|demonstrate that|verify that)\b", re.I)
_HARD = re.compile(
    r"\b(step by step|maximi[sz]e|minimi[sz]e|optimi[sz]e|optimal|word problem|system of|simultaneous)\b",
    re.I,
)
_STORY = re.compile(r"\b(how (?:many|much|long|far|fast|old)|average speed|altogether|in total)\b", re.I)
_DATE = re.compile(r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b")
_FORMULA = re.compile(
    r"(?<![\w-])(?:\d[\d.,]*|[a-z])\s?(?:[-+*/^×÷·]|\*\*)\s?[-(]?(?:\d|[a-z]\b|\()|"
    r"\)\s?[-+*/^×÷·]|\b[a-z]\s?(?:=|[<>]=?)\s?-?[\da-z]|[=≤≥]\s?-?\d|\d\s?%|\d!(?!\s*$)|^\d+!$|√|∫|\b(?:sqrt|log|sin|cos|tan)\b",
    re.I,
)
_MATHS = re.compile(
    r"\b(calculate|compute|evaluate|solve|integra\w+|deriv\w+|differentiat\w+|factori\w+|factors?|simplify|"
    r"expand|limit of|sum of|product of|difference between|average|mean|median|prime|gcd|lcm|divisors?|"
    r"divisible|multiples?|remainder|modulo|(?:square|cube) roots?|squared|cubed|percent|per cent|plus|minus|"
    r"times|multiply|multiplied|divided?|subtract|add|power|half of|double|twice|equation|"
    r"areas?|perimeter|circumference|hypotenuse|volume|distance|probability|chance|odds|interest|tip|tax|discount|"
    r"costs?|convert|days?|weeks?|weekday|leap year|ways|digits|even|odd|slope|gradient|cube of|square of|"
    r"reciprocal|decimal)\b",
    re.I,
)
_QUANTITY = re.compile(
    r"\d\s?(?:°?[cfk]|celsius|fahrenheit|[kcmd]?m|[km]?g|[cmd]?l|h|hr|min|s|ft|lbs?|oz|mph|(?:kilo|centi|milli)?"
    r"(?:met(?:er|re)|gram|lit(?:er|re))s?|miles?|feet|inches|yards?|pounds?|ounces?|hours?|minutes?|seconds?|"
    r"years?|months?)\b",
    re.I,
)
_CALENDAR = re.compile(r"\b(?:days?|weeks?|months?|years?|weekday)\b", re.I)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand|million|die|dice|coin|deck)\b",
    re.I,
)
_FACT = re.compile(
    r"\b(capitals?|continents?|currency|currencies|languages?|country|countries|who|where|when)\b", re.I
)
_QUESTION = re.compile(
    r"^(?:what|which|is|are|does|do|did|can|in|on|name|list|tell|give|state)\b|\?\s*$", re.I
)


_SOLVE_AND_CHECK = (
    Draft("mathematics", "Solve the problem and show the working."),
    Draft("checker", "Check the result by an independent way, and give the answer.", (0,)),
)
_PLAN_SOLVE_VERIFY = (
    Draft(
        "mathematics",
        "Plan the solution: name the kind of problem, the unknowns and the method; do not solve.",
    ),
    Draft("mathematics", "Follow the plan, solve the problem and show the working.", (0,)),
    Draft("checker", "Verify the result by substituting it back, and give the answer.", (0, 1)),
)


_CALCULATION = Ruling(
    rule="calculation",
    why="The query asks for a calculation; one worker solves it, another checks the result.",
    drafts=_SOLVE_AND_CHECK,
)
_CALCULATION_IN_ONE = Ruling(
    rule="calculation in one step",
    why="The query asks for a calculation, and the limit leaves no step to check it.",
    drafts=_SOLVE_AND_CHECK[:1],
)
_CALCULATION_IN_ONE_WAY = Ruling(
    rule="calculation in words",
    why="The experts know one way to the calculation that the query asks for; a check would repeat it.",
    drafts=_SOLVE_AND_CHECK[:1],
)
_FACT_RULING = Ruling(
    rule="fact",
    why="The query asks for a fact; one step that looks it up is enough.",
    drafts=(Draft("facts", "Look up the fact that the question asks for and state it."),),
)


def _rulings(query: str) -> Iterator[Ruling]:
    """What fits a query, from the most to the least particular rule."""
    if _SUMMARY.search(query):
        yield Ruling(
            rule="summary",
            why="The query asks for a shorter form of a text it holds; one worker reads it.",
            drafts=(Draft("text", "Summarise the text of the question in its most important sentences."),),
        )
    compared = comparison_in(query)
    if compared is not None:
        yield _comparison(compared)
    if _PROOF.search(query):
        yield Ruling(
            rule="proof",
            why="The query asks for a proof; one worker solves it with its working, another checks it.",
            drafts=_SOLVE_AND_CHECK,
        )
    hard = _hard(query)
    if hard:
        yield Ruling(
            rule="hard problem",
            why=f"Here {hard}; one worker plans, one executes the plan, one verifies both.",
            drafts=_PLAN_SOLVE_VERIFY,
        )
    if _calculates(query):
        yield _CALCULATION
        yield _CALCULATION_IN_ONE
    if _FACT.search(query) or (_QUESTION.search(query) and named_countries(query)):
        yield _FACT_RULING
    yield Ruling(
        rule="none fits",
        why="No rule knows this kind of query; one worker answers as well as it can, or declines to.",
        drafts=(Draft("text", "Answer the question from the text it holds."),),
    )


def _comparison(found: Comparison) -> Ruling:
    items, by = found.things, f" {found.criteria}" if found.criteria else ""
    asked = ", ".join(items[:-1]) + f" and {items[-1]}{by}"
    drafts = [Draft("facts", f"{item}: state the facts that the comparison{by} needs.") for item in items]
    everything = tuple(range(len(items)))
    drafts.append(Draft("text", f"Compare {asked}: merge the answers into one, point by point.", everything))
    return Ruling(
        rule="comparison",
        why=f"The query compares {asked}; independent workers look at one each, and an aggregator reads "
        "them all.",
        drafts=tuple(drafts),
    )


def _hard(query: str) -> str:
    """Why a query needs a plan of its own, "" where it does not."""
    if query.count("=") >= 2:
        return "several equations hold at once"
    asks_much = _HARD.search(query) and _calculates(query, anything=True)
    story = _STORY.search(query) and len(re.findall(r"\d+", _DATE.sub("", query))) >= 2
    several = asks_much or (story and not _FORMULA.search(query))
    return "the query asks for more than one calculation" if several else ""


def _calculates(query: str, *, anything: bool = False) -> bool:
    """Whether a query can be calculated.

    It holds a formula, a quantity, a date with a word of the calendar, or a word of mathematics with a
    number (`anything`: or either).
    """
    undated = _DATE.sub("", query)
    if _FORMULA.search(undated) or _QUANTITY.search(undated):
        return True
    if _DATE.search(query) and _CALENDAR.search(undated):
        return True
    words, numbers = bool(_MATHS.search(undated)), bool(_NUMBER.search(undated))
    return (words or numbers) if anything else words and (numbers or bool(re.search(r"\b[xyz]\b", undated)))
