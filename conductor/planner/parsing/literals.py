"""The content of a list or object literal in a completion: frozen values with spans.

Knows neither how they are read nor what they mean in a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conductor.workflow.plan_report import Repair, Span


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text, its escapes decoded."""

    value: str
    span: Span
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    value: int
    span: Span
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """Anything else without quotes: None, true, 0.5, all, a name."""

    value: str
    span: Span
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    items: tuple[Literal, ...]
    span: Span
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """An object, its keys and values in the order written."""

    fields: tuple[tuple[str, Literal], ...]
    span: Span
    repairs: tuple[Repair, ...] = ()


Literal = Text | Number | Word | Listing | Table


def repairs_of(literal: Literal) -> Iterator[Repair]:
    """The repairs in a literal and everything inside it, a bracket's own before its entries'."""
    pending = [literal]
    while pending:
        top = pending.pop()
        yield from top.repairs
        pending.extend(reversed(inner(top)))


def inner(literal: Literal) -> tuple[Literal, ...]:
    """What is directly inside a literal."""
    match literal:
        case Listing(items=items):
            return items
        case Table(fields=fields):
            return tuple(value for _, value in fields)
        case _:
            return ()
