"""The content of a list or object literal in a completion, and the kinds of loose writing understood in it.

Knows neither how literals are read nor what they mean in a plan.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass

from conductor.workflow.plan_report import Repair, Span

RepairKind = typing.Literal[
    "code-fence", "backtick", "bold-label", "bullet", "colon-label", "label-variant", "json-object",
    "json-steps", "quoted-plan", "typographic-quotes", "apostrophe", "raw-newline", "triple-quotes",
    "trailing-comma", "comment", "missing-bracket", "number-as-string", "bare-word", "worker-name",
    "bare-access", "repeated-access", "backslash", "other-marks", "json-text",
    "other-tools",
]  # fmt: skip


def repair(kind: RepairKind, detail: str, span: Span) -> Repair:
    """A repair of a known kind; `span` is its place in the completion."""
    return Repair(kind=kind, detail=detail, span=span)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text, its escapes decoded."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Word:
    """Anything else without quotes: None, true, 0.5, all, a name."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Listing:
    items: tuple[Literal, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ObjectLiteral:
    """An object, its keys and values in the order written."""

    fields: tuple[tuple[str, Literal], ...]
    span: Span


Literal = Text | Number | Word | Listing | ObjectLiteral


def short(literal: Literal | None) -> str:
    """A literal as it appears in a message, shortened."""
    match literal:
        case None:
            return "nothing"
        case Text(value=value):
            return repr(value if len(value) <= 60 else value[:60] + "...")
        case Number(value=number):
            return str(number)
        case Word(value=value):
            return value[:60]
        case Listing():
            return "a list"
        case _:
            return "an object"
