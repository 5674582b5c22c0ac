"""Rules about tools: a step names one that its worker does not have, or lacks one that its task demands.

Reads English, and only orders that hardly mean anything else, as "Search the web" where a sentence begins.
Which tools there are is known by their names in the pool file alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache, partial

from conductor.workflow.lint.finding import Finding, Fix, Subject
from conductor.workflow.lint.mentions import sentences
from conductor.workflow.step_tools import unnamed

_BEGINS = r"\W*(?:(?:please|now|then|first|next|finally|carefully|also)[\s,]+){0,2}"
_ONLINE = r"(?:web|internet|news|wikipedia|google|arxiv|pubmed|github|stack\s?overflow)"
_KINDS = {
    "search": (
        re.compile(
            rf"{_BEGINS}(?:(?:search|browse|check|query)\s+(?:\w+\s+)?{_ONLINE}\b|(?:search|browse)\s+online\b"
            rf"|(?:look\s+(?:it\s+|them\s+|this\s+)?up|search(?:\s+for)?|find)\s[^.]{{0,120}}?\b"
            rf"(?:online\b|(?:on|in|from)\s+(?:the\s+)?{_ONLINE}\b)|google\s|look\s+up\s)",
            re.I,
        ),
        re.compile(r"search|brows|web|google|wiki|lookup|look_up|fetch|crawl|news|arxiv|tavily|exa\b", re.I),
    ),
    "fetch a page": (
        re.compile(rf"{_BEGINS}(?:fetch|download|open|visit|browse|read)\s[^.]{{0,60}}?https?://", re.I),
        re.compile(r"fetch|brows|http|url|web|download|crawl|curl", re.I),
    ),
    "query a database": (
        re.compile(
            rf"{_BEGINS}(?:query\s+(?:\w+\s+){{0,3}}?database\b|(?:run|execute)\s+(?:\w+\s+){{0,2}}?sql\b)",
            re.I,
        ),
        re.compile(r"sql|database|postgres|duckdb|db\b", re.I),
    ),
    "run code": (
        re.compile(
            rf"{_BEGINS}(?:run|execute)\s+(?:the\s+|this\s+|that\s+|its\s+|your\s+|all\s+)?(?:python\s+)?"
            r"(?:code|program|script|unit\s+tests?|tests)\b",
            re.I,
        ),
        re.compile(r"python|code|shell|bash|exec|terminal|sandbox|jupyter|(?:^|[:_])run", re.I),
    ),
}
"""What a sentence orders, and names of tools that can do it."""

_MATERIAL = re.compile(
    r"\b(?:above|below|given|provided|attached|supplied|table|text|passage|excerpt|document|dictionary|"
    r"quotation|conversation|question|previous|step|memory|mentally)\b"
    r"|\b(?:the|these|those|each|this|your)\s+(?:list|notes|answers?|responses?|outputs?)\b",
    re.I,
)
"""In a sentence about what the step is shown."""

_NO_TOOLS = re.compile(
    r"\b(?:without|no|not|never|n['’]t)\b[^.]{0,40}?\b(?:tools?|search\w*|brows\w*|internet|web|look\w*|run\w*|"
    r"execut\w*)\b|\bfrom\s+(?:your\s+(?:own\s+)?)?(?:memory|knowledge)\b",
    re.I,
)


def tool_of_another(subject: Subject) -> Iterator[Finding]:
    """Steps that name tools which their workers do not have."""
    for step, own in enumerate(subject.workflow.steps):
        has = subject.tools.get(own.worker, ())
        wrong = unnamed(own.tools, has)
        if not wrong or not _is_called(subject, step):
            continue
        there = f"has {', '.join(has)}" if has else "has no tools"
        left = tuple(each for each in own.tools or () if each not in wrong)
        narrower = left if left or not has else None
        label = f"only {', '.join(left)}" if left else f"all tools of {own.worker}" if has else "no tool"
        fixes = [
            Fix(f"Let step {step + 1} call {label}", partial(subject.workflow.with_tools, step, narrower))
        ]
        names = (name for name, tools in subject.tools.items() if not unnamed(own.tools, tools))
        yield Finding(
            "tool-of-another",
            step,
            "warning",
            f"Step {step + 1} names the tools {', '.join(wrong)}, and {own.worker} {there}: it would fail.",
            (*_others(subject, step, names), *fixes),
        )


def lacks_a_tool(subject: Subject) -> Iterator[Finding]:
    """Steps that are to act where their worker cannot, and a tool of the pool can."""
    for step, own in enumerate(subject.workflow.steps):
        if not _is_called(subject, step):
            continue
        has = subject.tools.get(own.worker, ())
        may = has if own.tools is None else own.tools
        for kind in _ordered(own.instruction):
            able = {name: _fitting(kind, tools) for name, tools in subject.tools.items()}
            able = {name: tools for name, tools in able.items() if tools}
            if not able or _fitting(kind, may):
                continue
            fixes = []
            if mine := able.get(own.worker):
                listed = ", ".join(mine)
                more = partial(subject.workflow.with_tools, step, {*(own.tools or ()), *mine})
                fixes = [Fix(f"Let step {step + 1} call {listed}", more)]
            elif own.tools is None:
                fixes = _others(subject, step, able)
            yield Finding(
                "lacks-a-tool",
                step,
                "warning",
                f"Step {step + 1} has no tool that can {kind}, as its instruction demands.",
                tuple(fixes),
            )
            break


def _is_called(subject: Subject, step: int) -> bool:
    """Whether the step's worker is called, and its tools are known."""
    own = subject.workflow.steps[step]
    in_pool = subject.workers is None or own.worker in subject.workers
    return own.pin is None and in_pool and bool(subject.tools)


def _others(subject: Subject, step: int, workers: Collection[str] | Iterator[str]) -> list[Fix]:
    names = [name for name in workers if subject.workers is None or name in subject.workers]
    return [
        Fix(f"Give step {step + 1} to {name}", partial(subject.workflow.with_worker, step, name))
        for name in names[:2]
    ]


def _fitting(kind: str, tools: Collection[str]) -> tuple[str, ...]:
    """Those of the tools that can do it, by their names."""
    return tuple(tool for tool in tools if _KINDS[kind][1].search(tool))


@lru_cache(maxsize=2_048)
def _ordered(instruction: str) -> tuple[str, ...]:
    """What the sentences of an instruction order that takes a tool."""
    read = sentences(instruction)
    if any(_NO_TOOLS.search(sentence) for sentence in read):
        return ()
    orders = [sentence for sentence in read if _MATERIAL.search(sentence) is None]
    return tuple(kind for kind, (order, _) in _KINDS.items() if any(map(order.match, orders)))
