"""Pairs the steps of two workflows: those most alike are paired first.

Likeness is counted in points: the instruction's words, the worker, the position, and then, once most steps
are matched, the access lists and the neighbours. Pure and deterministic. Knows workflows; `diff` finds what
differs in a pair.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from conductor.workflow.model import Step, Workflow

Matching = dict[int, int]
"""New position by old position."""

_READ = 4_000
"""Characters of an instruction whose words are compared; equal instructions are known at any length."""

_MOST_PAIRS = 40_000
"""From so many pairs of steps on, only those at about the same place are compared."""

_WORD = re.compile(r"\w+|[-+*/^=<>%]")

_OF_ANY_STEP = frozenset("a an and as at by for from in is it its of on or the this to with".split())
"""Words that any two instructions have in common."""

# Points, in thousandths so that sums are exact. Less than `_LEAST` is another step.
_WORDS = 60_000
_SAME_INSTRUCTION = 20_000
_SAME_WORKER = 10_000
_PLACE = 10_000
_READS = 10_000
_READERS = 10_000
_ALONE = 25_000
_LEAST = 45_000


def places_in(old: Workflow, new: Workflow) -> Mapping[int, int]:
    """As `matching`; steps of workflows that differ at most in pins stay where they are. Cached."""
    return _places_in(old, new, old.lineage, new.lineage)


@lru_cache(maxsize=64)
def _places_in(
    old: Workflow, new: Workflow, old_lineage: tuple[int, ...], new_lineage: tuple[int, ...]
) -> Mapping[int, int]:
    # Equal workflows may differ in their lineage, so that is a part of the key.
    if old_lineage == new_lineage and old.unpinned == new.unpinned:
        return {at: at for at in range(len(old))}
    return matching(old, new)


def matching(old: Workflow, new: Workflow) -> Matching:
    """The new position of every old step that is still there."""
    # Steps whose instruction both workflows have exactly once.
    in_old, in_new = _only(old), _only(new)
    sure = {at: in_new[instruction] for instruction, at in in_old.items() if instruction in in_new}
    left_old = [at for at in range(len(old)) if at not in sure]
    partners = set(sure.values())
    left_new = [at for at in range(len(new)) if at not in partners]
    if not left_old or not left_new:
        return sure
    old_words, new_words = (list(map(_words, workflow.steps)) for workflow in (old, new))
    by_number = defaultdict[int, list[int]](list)
    for i in left_old:
        by_number[old.lineage[i]].append(i)
    of_number = {(i, j) for j in left_new for i in by_number[new.lineage[j]]}
    same = {(i, j) for i, j in of_number if _same_lineage(old, new, i, j)}
    compared = same.union(_near(left_old, left_new))
    shared = {(i, j): _shared(old_words[i], new_words[j]) for i, j in sorted(compared)}
    # Place, worker and neighbours make no step of one with another instruction, unless it was edited there.
    # What edits made of other steps has other numbers, whatever words it shares with them.
    least = _WORDS if any(step.lineage is not None for step in new.steps) else _WORDS // 2
    alike = {
        (i, j): _likeness(old, new, i, j) + words
        for (i, j), words in shared.items()
        if words >= least or (i, j) in same
    }
    likely = sure | _likest_pairs(alike, same)
    alone = _alone(likely, len(old), len(new))

    def around(i: int, j: int) -> int:
        """Points for what surrounds the two steps, as far as the first matching knows."""
        reads = _common(old.steps[i].access, new.steps[j].access, likely)
        readers = _common(old.readers[i], new.readers[j], likely)
        return int(_READS * reads + _READERS * readers) + _ALONE * ((i, j) in alone)

    return sure | _likest_pairs({(i, j): points + around(i, j) for (i, j), points in alike.items()}, same)


def _likest_pairs(points: Mapping[tuple[int, int], int], same: Collection[tuple[int, int]]) -> Matching:
    """Each step at most once, the pairs of the most points first, those of the `same` number before all."""
    pairs: Matching = {}
    chosen = set[int]()
    for (i, j), worth in sorted(points.items(), key=lambda pair: (pair[0] not in same, -pair[1])):
        if worth >= _LEAST and i not in pairs and j not in chosen:
            pairs[i] = j
            chosen.add(j)
    return pairs


def _near(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The steps that are compared with one another: all, but of many those at about the same place."""
    is_many = len(old) * len(new) > _MOST_PAIRS
    reach = _MOST_PAIRS // (2 * len(old)) if is_many else len(new)
    for place, i in enumerate(old):
        middle = place * len(new) // len(old)
        for j in new[max(0, middle - reach) : middle + reach + 1]:
            yield i, j


def _only(workflow: Workflow) -> dict[str, int]:
    count = Counter(step.instruction for step in workflow.steps)
    return {step.instruction: at for at, step in enumerate(workflow.steps) if count[step.instruction] == 1}


def _words(step: Step) -> frozenset[str]:
    words = frozenset(_WORD.findall(step.instruction[:_READ].lower()))
    return words - _OF_ANY_STEP or words


def _shared(one: frozenset[str], other: frozenset[str]) -> int:
    """Points for the words that two instructions share."""
    return _WORDS if one == other else _WORDS * 2 * len(one & other) // (len(one) + len(other))


def _likeness(old: Workflow, new: Workflow, i: int, j: int) -> int:
    """Points for the two steps' other fields."""
    one, other = old.steps[i], new.steps[j]
    same_worker = _SAME_WORKER * (one.worker == other.worker)
    if one.instruction != other.instruction:
        return same_worker + _place(i, len(old), j, len(new))
    return same_worker + _SAME_INSTRUCTION + _place(i, len(old), j, len(new))


def _same_lineage(old: Workflow, new: Workflow, i: int, j: int) -> bool:
    """Whether edits made one step of the other; positions alone show nothing."""
    numbered = old.steps[i].lineage is not None or new.steps[j].lineage is not None
    return numbered and old.lineage[i] == new.lineage[j]


def _place(i: int, old_steps: int, j: int, new_steps: int) -> int:
    """Squared, so that of two like steps on either side the former goes with the former."""
    most = max(old_steps, new_steps)
    return _PLACE - _PLACE * (i - j) ** 2 // most**2


def _common(old: Sequence[int], new: Sequence[int], pairs: Mapping[int, int]) -> float:
    """How much two lists of steps agree, from 0 to 1; lists without entries agree by 0."""
    if not old or not new:
        return 0.0
    agreed = len({pairs.get(at) for at in old} & set(new))
    return 2 * agreed / (len(old) + len(new))


def _alone(pairs: Matching, old_steps: int, new_steps: int) -> frozenset[tuple[int, int]]:
    """Pairs of unmatched steps, each the only one between two neighbours that are matched."""
    ends = pairs | {-1: -1, old_steps: new_steps}
    came_from = {to: at for at, to in ends.items()}
    return frozenset(
        (i, j + 1)
        for i in range(old_steps)
        if i not in ends and i - 1 in ends and i + 1 in ends
        for j in [ends[i - 1]]
        if ends[i + 1] == j + 2 and j + 1 not in came_from
    )
