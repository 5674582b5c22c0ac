"""What single entries of a plan mean: a whole number, a worker of the pool.

Knows literals and the pool's names; knows neither lists nor dialects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.plan import Repair
from conductor.planner.literals import Listing, Literal, Number, Text, Word
from conductor.planner.repairs import repair

ABSENT = frozenset(("none", "null"))
"""Words, in any case, that say that there is nothing."""

_NO_NAMES = ABSENT | {"true", "false"}
_WHOLE = re.compile(r"\s*(-?(?:0|[1-9][0-9]{0,17}))\s*")
_NUMERIC = re.compile(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?", re.IGNORECASE)


def shown(literal: Literal | None) -> str:
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


def whole_number(literal: Literal, repairs: list[Repair]) -> int | None:
    """The number that a literal is, or spells (a repair, added to `repairs`); None for anything else."""
    if isinstance(literal, Number):
        return literal.value
    spelt = _WHOLE.fullmatch(literal.value) if isinstance(literal, Text) else None
    if spelt is None:
        return None
    repairs.append(repair("number-as-string", f"{shown(literal)} was read as a number", literal.span))
    return int(spelt[1])


def worker_index(
    literal: Literal, workers: Sequence[str], repairs: list[Repair]
) -> tuple[int | None, str | None]:
    """The pool number that a literal names and what is wrong with it (one of them, or both)."""
    name = _name(literal)
    same = [i for i, worker in enumerate(workers) if name and worker.casefold() == name.casefold()]
    if len(same) == 1:
        repairs += _named(literal, same[0])
        return same[0], None
    if len(same) > 1:
        numbers = ", ".join(map(str, same))
        return None, f"names the worker {shown(literal)}, which is any of the numbers {numbers}; write one"
    number = whole_number(literal, repairs)
    if number is not None and 0 <= number < len(workers):
        return number, None
    choices = ", ".join(f"{i} ({worker})" for i, worker in enumerate(workers)) or "none, the pool is empty"
    if number is not None:
        return number, f"asks for worker {number}, which the pool does not have; choose one of: {choices}"
    if name is None:
        return None, f"has {shown(literal)} for its worker; choose one of: {choices}"
    return None, f"names the worker {shown(literal)}, which the pool does not have; choose one of: {choices}"


def _name(literal: Literal) -> str | None:
    """The name that a literal may be."""
    match literal:
        case Text(value=value):
            return value.strip()
        case Word(value=value) if value.casefold() not in _NO_NAMES and not _NUMERIC.fullmatch(value):
            return value
        case _:
            return None


def _named(literal: Literal, index: int) -> list[Repair]:
    named = repair("worker-name", f"the name {shown(literal)} was read as worker {index}", literal.span)
    if isinstance(literal, Word):
        return [repair("bare-word", f"{shown(literal)} was read as a name", literal.span), named]
    return [named]
