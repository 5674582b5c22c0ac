"""The rule about instructions that repeat, word for word, an output which their step may not read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import partial

from conductor.workflow.lint.finding import Finding, Fix, Subject, let_read

_STRETCH = 8
"""So many words in a row are no coincidence."""

_SHORT, _LEAST_CHARACTERS = 4, 20
"""A shorter output counts from so many words and characters on, where all of it is repeated."""

_WORD = re.compile(r"\w+")
_QUOTE = 80


def leaked_output(subject: Subject) -> Iterator[Finding]:
    """Instructions that repeat an output, of any other step, which their step may not read."""
    lengths = {source: _length(output.text) for source, output in subject.outputs.items()}
    for length in {length for length in lengths.values() if length is not None}:
        for (step, source), runs in _leaks(subject, length).items():
            if lengths[source] == length:
                yield _leak(subject, step, source, runs, length)


def _leaks(subject: Subject, length: int) -> Mapping[tuple[int, int], Set[int]]:
    """The runs of so many words that a step (first) has of an output which it may not read (second).

    It may know all the same what the query has, another instruction, or an output that the step reads.
    """
    steps = subject.workflow.steps
    instructions = [frozenset(_runs(own.instruction, length)) for own in steps]
    holders = Counter(run for runs in instructions for run in runs)
    of_query = frozenset(_runs(subject.query, length))
    sources: defaultdict[int, set[int]] = defaultdict(set)
    for source, output in subject.outputs.items():
        for run in _runs(output.text, length):
            sources[run].add(source)
    leaks: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for step, own in enumerate(steps):
        for run in instructions[step] & sources.keys() if own.pin is None else ():
            otherwise = holders[run] > 1 or run in of_query or not sources[run].isdisjoint(own.access)
            for source in () if otherwise else sources[run]:
                if source != step and source < len(steps):
                    leaks[step, source].add(run)
    return leaks


def _length(output: str) -> int | None:
    """So many words of an output in a row show that it was repeated; None: it is too short."""
    words = len(_WORD.findall(output))
    if words < _STRETCH and (words < _SHORT or len(output.strip()) < _LEAST_CHARACTERS):
        return None
    return min(words, _STRETCH)


def _runs(text: str, length: int) -> Iterator[int]:
    """Every run of so many words in a text, in order, by the hash of the folded words."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return map(hash, zip(*(words[start:] for start in range(length)), strict=False))


def _leak(subject: Subject, step: int, source: int, leaked: Set[int], length: int) -> Finding:
    workflow = subject.workflow
    instruction = workflow.steps[step].instruction
    start, end = _repeated(instruction, leaked, length)[0]
    words = " ".join(instruction[start:end].split())
    quote = words if len(words) <= _QUOTE else f"{words[:_QUOTE].rstrip()}…"
    fixes = [let_read(workflow, step, (source,))] if source < step else []
    rest = _without(instruction, leaked, length)
    if _WORD.search(rest):
        label = f"Take the words out of step {step + 1}"
        fixes.insert(0, Fix(label, partial(workflow.with_instruction, step, rest)))
    sentence = (
        f"Step {step + 1} may not read step {source + 1}, yet its instruction repeats it word for word: "
        f"“{quote}”."
    )
    return Finding("leaked-output", step, "warning", sentence, tuple(fixes))


def _repeated(text: str, leaked: Set[int], length: int) -> list[tuple[int, int]]:
    """Where a text repeats one of these runs, as [start, end) characters; what touches is one."""
    places = [word.span() for word in _WORD.finditer(text)]
    starts = [at for at, run in enumerate(_runs(text, length)) if run in leaked]
    spans: list[tuple[int, int]] = []
    end = 0
    for at in starts:
        first = spans.pop()[0] if spans and at <= end else places[at][0]
        end = at + length
        spans.append((first, places[end - 1][1]))
    return spans


def _without(instruction: str, leaked: Set[int], length: int) -> str:
    """The instruction without the repeated words; more of them may touch once some are gone."""
    while spans := _repeated(instruction, leaked, length):
        for start, end in reversed(spans):
            instruction = f"{instruction[:start].rstrip()} {instruction[end:].lstrip()}"
    return instruction.strip()
