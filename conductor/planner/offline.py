"""The offline Conductor: rules over the query that give the shapes the paper observed.

It computes a plan and never pretends to be a model: the rule that fired is its reasoning. It writes
the same three lists as a model, and they are read by the same parser. Knows the built-in experts by
their cards; in a pool without them it hands out workers in turn.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from conductor.messages import Completion, Delta
from conductor.plan import Dialect
from conductor.planner.conductor import PlanRequest
from conductor.planner.format import format_plan
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Step, Workflow


@dataclass(frozen=True, slots=True)
class Draft:
    """A step before its worker is chosen: which expert, what to do, what to see (0-based)."""

    expert: str
    instruction: str
    access: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule decided and why."""

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
        """The rule that fired, then the three lists."""
        ruling = rule_for(request.query, max_steps=request.max_steps)
        workflow = Workflow.of(_step(draft, at, request.workers) for at, draft in enumerate(ruling.drafts))
        reasoning = f"Rule: {ruling.rule}. {ruling.why}\n\n"
        plan = format_plan(workflow, [card.name for card in request.workers])
        yield Delta(text=reasoning)
        yield Delta(text=plan)
        yield Completion(text=reasoning + plan)


def _step(draft: Draft, at: int, workers: Sequence[WorkerCard]) -> Step:
    expert = next((card.name for card in workers if card.model == f"expert/{draft.expert}"), None)
    worker = workers[at % len(workers)].name if expert is None else expert
    return Step(instruction=draft.instruction, worker=worker, access=draft.access)


def rule_for(query: str, *, max_steps: int) -> Ruling:
    """The first rule that fits and whose plan keeps within `max_steps`; the last one always does."""
    for rule in _RULES:
        ruling = rule(query)
        if ruling is not None and len(ruling.drafts) <= max_steps:
            return ruling
    return _PLAIN


# -- rules: from the most to the least particular ---------------------------------------------------

_SUMMARY = re.compile(
    r"\b(summari[sz]e|summary|shorten|condense|key points|in (one|two|three) sentences?)\b", re.I
)
_COMPARISON = re.compile(
    r"\b(?:compare|contrast|differences? between|versus|vs)\b[\s:]*(?P<items>.+)", re.I | re.S
)
_VERSUS = re.compile(r"(?P<left>[^.?!]+?)\s+(?:versus|vs\.?)\s+(?P<right>[^.?!]+)", re.I)
_PROOF = re.compile(r"\b(prove|proof|show that|demonstrate that|verify that)\b", re.I)
_HARD = re.compile(
    r"\b(step by step|maximi[sz]e|minimi[sz]e|optimi[sz]e|optimal|word problem|system of|simultaneous)\b",
    re.I,
)
_FORMULA = re.compile(r"\d\s*[-+*/^=×÷%!]|[-+*/^=×÷]\s*\d|\b[a-z]\s*[\^=]|[=<>]\s*-?[\da-z]|√|∫|\d\s*%", re.I)
_MATHS = re.compile(
    r"\b(calculate|compute|evaluate|solve|integra\w+|deriv\w+|differentiat\w+|factori\w+|factor|limit of|"
    r"sum of|product of|prime|gcd|lcm|divisor|multiple|remainder|modulo|square root|squared|cubed|percent|"
    r"plus|minus|times|divided by|equation)\b",
    re.I,
)
_NUMBER = re.compile(r"\d")
_FACT = re.compile(
    r"\b(capital|continent|currency|currencies|languages?|country|countries|who|where|when)\b", re.I
)


def _summary(query: str) -> Ruling | None:
    if not _SUMMARY.search(query):
        return None
    return Ruling(
        rule="summary",
        why="The query asks for a shorter form of a text it holds; one worker reads it.",
        drafts=(Draft("text", "Summarise the text of the question in its most important sentences."),),
    )


def _comparison(query: str) -> Ruling | None:
    items = compared(query)
    if len(items) < 2:
        return None
    asked = ", ".join(items[:-1]) + f" and {items[-1]}"
    drafts = [Draft("facts", f"{item}: state the facts that the comparison needs.") for item in items]
    everything = tuple(range(len(items)))
    drafts.append(Draft("text", f"Compare {asked}: merge the answers into one, point by point.", everything))
    return Ruling(
        rule="comparison",
        why=f"The query compares {asked}; independent workers look at one each, and an aggregator reads "
        "them all.",
        drafts=tuple(drafts),
    )


def compared(query: str) -> list[str]:
    """The things a query compares, in order; fewer than two when it compares nothing."""
    found = _COMPARISON.search(query)
    versus = _VERSUS.search(query)
    if found is None:
        return []
    if versus and not re.search(r"\b(compare|contrast|between)\b", query, re.I):
        return [_item(versus["left"]), _item(versus["right"])]
    listed = re.split(r"[.?!:;\n]", found["items"].strip(), maxsplit=1)[0]
    of = re.match(r"(?:the\s+)?[\w\s,]+?\bof\s+(?P<items>.+)", listed, re.I)
    parts = re.split(
        r"\s*,\s*(?:and\s+)?|\s+(?:and|with|to|versus|vs\.?)\s+", (of or {"items": listed})["items"]
    )
    return [_item(part) for part in parts if _item(part)]


def _item(text: str) -> str:
    bare = re.sub(r"\b(by|in terms of|regarding|with respect to)\b.*", "", text, flags=re.I | re.S)
    return re.sub(r"^(?:the|is|are|what is|how does)\s+", "", bare.strip(" .?!:;\"'"), flags=re.I)[:80]


def _proof(query: str) -> Ruling | None:
    if not _PROOF.search(query):
        return None
    return Ruling(
        rule="proof",
        why="The query asks for a proof; one worker solves it with its working, another checks it.",
        drafts=_solve_and_check(),
    )


def _hard(query: str) -> Ruling | None:
    mathematical = _FORMULA.search(query) or _MATHS.search(query) or _NUMBER.search(query)
    several = query.count("=") >= 2
    if not mathematical or not (several or _HARD.search(query)):
        return None
    why = "several equations hold at once" if several else "the query asks for more than one calculation"
    return Ruling(
        rule="hard problem",
        why=f"Here {why}; one worker plans, one executes the plan, one verifies both.",
        drafts=(
            Draft(
                "mathematics", "Plan: name the kind of problem, the unknowns and the method; do not solve."
            ),
            Draft("mathematics", "Follow the plan, solve the problem and show the working.", (0,)),
            Draft("checker", "Verify the result by substituting it back, and give the answer.", (0, 1)),
        ),
    )


def _calculation(query: str) -> Ruling | None:
    if not (_FORMULA.search(query) or (_MATHS.search(query) and (_NUMBER.search(query) or "x" in query))):
        return None
    return Ruling(
        rule="calculation",
        why="The query asks for a calculation; one worker solves it, another checks the result.",
        drafts=_solve_and_check(),
    )


def _solve_and_check() -> tuple[Draft, ...]:
    return (
        Draft("mathematics", "Solve the problem and show the working."),
        Draft("checker", "Check the result by an independent way, and give the answer.", (0,)),
    )


def _fact(query: str) -> Ruling | None:
    if not _FACT.search(query):
        return None
    return Ruling(
        rule="fact",
        why="The query asks for a fact; one step that looks it up is enough.",
        drafts=(Draft("facts", "Look up the fact that the question asks for and state it."),),
    )


_PLAIN = Ruling(
    rule="none fits",
    why="No rule knows this kind of query; one worker answers as well as it can, or says that it cannot.",
    drafts=(Draft("text", "Answer the question from the text it holds."),),
)

_RULES: tuple[Callable[[str], Ruling | None], ...] = (
    _summary,
    _comparison,
    _proof,
    _hard,
    _calculation,
    _fact,
)
