"""The workflows to start from, and how their roles are given to the workers of a pool.

A workflow is a file in `files/`, in the format of every exported workflow: its workers are roles, and it has
no query. Knows a pool's cards; stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from conductor.errors import FormatError
from conductor.workers.calculator.calculator_worker import MODEL
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.file import read_plan
from conductor.workflow.model import Workflow

_FILES = Path(__file__).parent / "files"

_CALCULATORS = ("calculator", "second-calculator")
"""The roles of workers that compute exactly."""


class GalleryEntry(NamedTuple):
    """A workflow of the gallery: `fill_in` is what its query must hold, `example` such a query."""

    name: str
    title: str
    sentence: str
    fill_in: str
    example: str

    @property
    def workflow(self) -> Workflow:
        """The file's workflow, whose workers are roles."""
        return _read(self.name)


_MINUTES = """\
Summarise these minutes:

The library committee met on 4 March 2025 with nine of eleven members. The roof of the reading room leaks
in two places; the repair costs 18,400 euros, of which the town has promised 12,000. Ms Aydin proposed to
pay the rest from the book fund, as rain has already spoiled a shelf of atlases. Mr Brandt objected that
the book fund was given for books and nothing else. After half an hour the committee voted six to three
for a loan of 6,400 euros without interest, to be paid back in two years. The opening hours on Saturday
become longer by one hour from 1 May, on trial until the end of the year. The vote on a second printer
was put off, as it is not known what the first one costs in a month. The next meeting is on 6 May."""

GALLERY = (
    GalleryEntry(
        "research-report",
        "Research report",
        "Three readers look at a question from different sides; an editor writes the report.",
        "The question, and sources or notes if you have them",
        "Should a town of 20,000 people make its buses free? Write a report of one page.",
    ),
    GalleryEntry(
        "code-review",
        "Code review",
        "One looks for errors, one for security, one for clarity; an editor puts the worst first.",
        "The code, and what it is meant to do",
        "Review this function, which shall return the median of a list:\n\n"
        "def median(values):\n    values.sort()\n    return values[len(values) / 2]",
    ),
    GalleryEntry(
        "maths-check",
        "Maths with an independent check",
        "One solves the problem; another checks the result in a different way.",
        "The problem, with all numbers",
        "Solve x^2 - 5x + 6 = 0",
    ),
    GalleryEntry(
        "debate",
        "Debate",
        "Two argue and reply to each other; a judge decides which arguments hold.",
        "A claim, or two options to choose from",
        "Should a team of five rewrite a working program in another language?",
    ),
    GalleryEntry(
        "mixture-of-agents",
        "Mixture of Agents",
        "Three answer, three improve after reading all answers, one merges the best of them.",
        "Any question that has more than one good answer",
        "Explain to a curious ten-year-old why the sky is blue and the sunset red.",
    ),
    GalleryEntry(
        "translate-check",
        "Translate and check back",
        "One translates, another translates back; differences are corrected.",
        "The language to translate into, and the text",
        "Translate into German:\n\nThe meeting was put off until Tuesday, as half of us were down with flu.",
    ),
    GalleryEntry(
        "plan-execute-verify",
        "Plan, execute, verify",
        "One plans, one carries the plan out, one verifies the result against both.",
        "A task of several steps",
        "Solve the system 3x + 2y = 12 and x - y = 1",
    ),
    GalleryEntry(
        "look-up-compute-check",
        "Look it up, compute it, check it",
        "One looks up the numbers; one with a calculator as its tool computes and checks the result.",
        "A question that needs a calculation, with the numbers for it",
        "What is 12 * 4.20 + 3 * 18.90?",
    ),
    GalleryEntry(
        "summarise",
        "Summarise a long text",
        "One reader extracts the claims, one the numbers and dates; an editor writes the summary.",
        "The text, up to 50,000 characters",
        _MINUTES,
    ),
)


def entry_of(name: str) -> GalleryEntry:
    """The entry of that name. Raises `FormatError` for another name."""
    entry = next((entry for entry in GALLERY if entry.name == name), None)
    if entry is None:
        names = ", ".join(entry.name for entry in GALLERY)
        raise FormatError(f"The gallery has no workflow {name!r}; it has {names}.")
    return entry


def workflow_for(entry: GalleryEntry, pool: Pool) -> Workflow:
    """The entry's workflow with workers of the pool: each role another one, in turn where they are fewer.

    Workers that cannot be used are left out if there are others, and so is what computes, as a calculator,
    but for the roles of one.
    """
    names = workers_for(entry.workflow.workers(), pool)
    if _CALCULATORS[0] in names:
        names |= dict(zip(_CALCULATORS, cycle(_computing(pool)), strict=False))
    return entry.workflow.with_workers(names)


def _computing(pool: Pool) -> Sequence[str]:
    """Those that can call a built-in tool, and then other models; without any, the pool's calculators."""
    cards = [worker.card for worker in pool.workers if worker.card.unusable is None]
    built_in = {server.name for server in pool.tool_servers if server.built_in is not None}
    callers = [card.name for card in cards if built_in & {tool.partition(":")[0] for tool in card.tools}]
    if callers:
        return [*callers, *(card.name for card in able_workers(pool) if card.name not in callers)]
    return [card.name for card in cards if card.model == MODEL]


def workers_for(roles: Sequence[str], pool: Pool) -> dict[str, str]:
    """A worker of the pool for each role, as in `workflow_for`."""
    return dict(zip(roles, cycle(card.name for card in able_workers(pool)), strict=False))


def needs_models(pool: Pool) -> bool:
    """Whether the pool has only workers that compute, which can do none of these workflows."""
    return {worker.card.kind for worker in pool.workers} == {"offline"}


def able_workers(pool: Pool) -> Sequence[WorkerCard]:
    """The pool's workers that can do most steps: its models if it has any, without those that compute."""
    cards = tuple(worker.card for worker in pool.workers)
    models = tuple(card for card in cards if card.kind == "model")
    writing = tuple(card for card in cards if card.kind != "offline")
    for some in (models, writing, cards):
        usable = tuple(card for card in some if card.unusable is None and not card.nested)
        if usable:
            return usable
    return cards


@cache
def _read(name: str) -> Workflow:
    return read_plan((_FILES / f"{name}.json").read_bytes()).workflow
