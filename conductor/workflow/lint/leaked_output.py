"""The rule about instructions that repeat, word for word, an output which their step may not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from conductor.workflow.lint.finding import Finding, Fix, Subject, reading

_STRETCH = 8
"""So many words in a row are no coincidence."""

_SHORT, _LEAST_CHARACTERS = 4, 20
"""A shorter output counts from so many words and characters on, where all of it is repeated."""

_WORD = re.compile(r"\w+")
_QUOTE = 80


def leaked_output(subject: Subject) -> Iterator[Finding]:
    """Instructions that repeat an output, of any other step, which their step may not read."""
    steps = subject.workflow.steps
    leaks: dict[tuple[int, int], Finding] = {}
    for source, output in subject.outputs.items():
        words = len(_WORD.findall(output.text))
        length = min(words, _STRETCH)
        if length < _STRETCH and (length < _SHORT or len(output.text.strip()) < _LEAST_CHARACTERS):
            continue
        of_output = set(_runs(output.text, length))
        for step, own in enumerate(steps):
            if own.pin is not None or step == source or source in own.access or source >= len(steps):
                continue
            leaked = of_output.intersection(_runs(own.instruction, length))
            if leaked and (leaked := leaked - _known_otherwise(subject, step, length)):
                leaks[step, source] = _leak(subject, step, source, leaked, length)
    yield from (leaks[place] for place in sorted(leaks))


def _runs(text: str, length: int) -> Iterator[int]:
    """Every run of so many words in a text, in order, by the hash of the folded words."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return map(hash, zip(*(words[start:] for start in range(length)), strict=False))


def _known_otherwise(subject: Subject, step: int, length: int) -> Set[int]:
    """The runs that a step may know all the same: of the query, the other instructions, and what it reads."""
    steps, outputs = subject.workflow.steps, subject.outputs
    others = [own.instruction for other, own in enumerate(steps) if other != step]
    seen = [outputs[read].text for read in steps[step].access if read in outputs]
    return {run for text in (subject.query, *others, *seen) for run in _runs(text, length)}


def _leak(subject: Subject, step: int, source: int, leaked: Set[int], length: int) -> Finding:
    workflow = subject.workflow
    instruction = workflow.steps[step].instruction
    start, end = _repeated(instruction, leaked, length)[0]
    words = " ".join(instruction[start:end].split())
    quote = words if len(words) <= _QUOTE else f"{words[:_QUOTE].rstrip()}…"
    fixes = [reading(workflow, step, (source,))] if source < step else []
    rest = _without(instruction, leaked, length)
    if _WORD.search(rest):
        label = f"Take the words out of step {step + 1}"
        fixes.insert(0, Fix(label, workflow.with_instruction(step, rest)))
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
