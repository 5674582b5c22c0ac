"""What single entries of a plan mean: a whole number, a worker of the pool, the steps that a step reads.

Knows literals, the pool's names and the dialects of access lists, one entry at a time; knows nothing of where
plans are in a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from conductor.planner.parsing.literals import Listing, Literal, Number, Table, Text, Word
from conductor.planner.parsing.repairs import repair
from conductor.workflow.plan_report import Dialect, Repair

ABSENT = frozenset(("none", "null"))
"""Words, in any case, that mean that there is nothing."""

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


_ALL = "all"

_LEGAL: dict[Dialect, str] = {
    "any": '[], "all" or a list of earlier steps\' numbers',
    "binary": '[] or "all"',
    "position": "[] or a list of earlier steps' numbers",
    "worker": "[] or a list of workers' numbers",
}


@dataclass(slots=True)
class Meaning:
    """An entry understood: 0-based positions, what was repaired, and why it is not legal (if so).

    `everything`: the entry is "all", which in a later round means the round before as well.
    """

    access: tuple[int, ...] = ()
    everything: bool = False
    repairs: list[Repair] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an entry: at `step` (0-based), whose worker and the earlier steps' are `workers`.

    `workers` has `step + 1` pool numbers, None where a step's worker is not known; `pool` are all names.
    """

    step: int
    workers: Sequence[int | None]
    pool: Sequence[str]


def access_of(entry: Literal | None, place: Place, *, dialect: Dialect) -> Meaning:
    """The meaning of the entry at `place`; problems count steps from 1."""
    meaning = Meaning()
    if entry is None or (isinstance(entry, Word) and entry.value.casefold() in ABSENT):
        meaning.problems.append(
            f"Step {place.step + 1} has no access list; write {_LEGAL[dialect]} ([] reads nothing)."
        )
        return meaning
    reads: set[int] = set()
    for item in _items(entry, meaning, dialect):
        read = _reads(item, place, meaning, dialect)
        if read and reads.issuperset(read):
            detail = f"{shown(item)} repeats what the list reads already, and was ignored"
            meaning.repairs.append(repair("repeated-access", detail, item.span))
        reads.update(read)
    meaning.access = tuple(sorted(reads))
    meaning.problems = list(dict.fromkeys(meaning.problems))
    return meaning


def _items(entry: Literal, meaning: Meaning, dialect: Dialect) -> Sequence[Literal]:
    if isinstance(entry, Listing):
        return entry.items
    # "all" without brackets is how the binary dialect itself writes it.
    if not isinstance(entry, Table) and not (dialect == "binary" and _is_all(entry)):
        meaning.repairs.append(repair("bare-access", f"{shown(entry)} was read as a list of one", entry.span))
    return (entry,)


def _is_all(item: Literal) -> bool:
    return isinstance(item, Text | Word) and item.value.strip().casefold() == _ALL


def _reads(item: Literal, place: Place, meaning: Meaning, dialect: Dialect) -> Sequence[int]:
    """The steps that one item of an entry means."""
    name = f"Step {place.step + 1}"
    if _is_all(item):
        return _everything(item, place, meaning, dialect)
    if dialect == "worker":
        number, _ = worker_index(item, place.pool, meaning.repairs)
    else:
        number = whole_number(item, meaning.repairs)
    if number is None:
        meaning.problems.append(f"{name} has the access entry {shown(item)}; write {_LEGAL[dialect]}.")
    elif dialect == "binary":
        meaning.problems.append(
            f"{name} reads {number}, but numbers are legal in another dialect only; write {_LEGAL[dialect]}."
        )
    elif dialect == "worker":
        return _of_worker(number, place, meaning)
    else:
        problem = _position_problem(number, place.step)
        if problem is None:
            return (number,)
        meaning.problems.append(f"{name} {problem}")
    return ()


def _everything(item: Literal, place: Place, meaning: Meaning, dialect: Dialect) -> Sequence[int]:
    if dialect in ("position", "worker"):
        meaning.problems.append(
            f'Step {place.step + 1} reads "all", which is legal in another dialect only; '
            f"write {_LEGAL[dialect]}."
        )
        return ()
    if isinstance(item, Word):
        meaning.repairs.append(repair("bare-word", f'{item.value} was read as "all"', item.span))
    meaning.everything = True
    return range(place.step)


def _position_problem(number: int, step: int) -> str | None:
    """Why a step may not read position `number`, None when it may."""
    may = f"the numbers of earlier steps, 0 to {step - 1}" if step else "nothing: write []"
    if number < 0:
        return f"reads {number}, but steps are numbered from 0; it may read {may}."
    if number == step:
        return f"reads itself (written {number}); it may read {may}."
    if number > step:
        return f"reads step {number + 1} (written {number}), which is not before it; it may read {may}."
    return None


def _of_worker(number: int, place: Place, meaning: Meaning) -> Sequence[int]:
    """Every earlier step that ran on the worker `number`."""
    name = f"Step {place.step + 1}"
    if not 0 <= number < len(place.pool):
        meaning.problems.append(
            f"{name} reads worker {number}, which the pool does not have; "
            f"write numbers from 0 to {len(place.pool) - 1}."
        )
        return ()
    earlier = [step for step in range(place.step) if place.workers[step] == number]
    if not earlier and place.workers[place.step] != number:
        ran = sorted({worker for worker in place.workers[: place.step] if worker is not None})
        have = f"write one of {', '.join(map(str, ran))}, or []" if ran else "write []"
        meaning.problems.append(f"{name} reads worker {number}, but no earlier step runs on it; {have}.")
    return earlier
