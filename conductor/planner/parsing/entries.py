"""What an access entry means: the earlier steps whose work a step may see, by dialect.

Knows one entry at a time and the steps before it; knows nothing of where plans stand in a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from conductor.plan import Dialect, Repair
from conductor.planner.literals import Listing, Literal, Table, Text, Word
from conductor.planner.repairs import repair
from conductor.planner.scalars import ABSENT, shown, whole_number, worker_index

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

    `everything`: the entry says "all", which in a later round means the round before as well.
    """

    access: tuple[int, ...] = ()
    everything: bool = False
    repairs: list[Repair] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands: at `step` (0-based), whose worker and the earlier steps' are `workers`.

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
        reads.update(_reads(item, place, meaning, dialect))
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
