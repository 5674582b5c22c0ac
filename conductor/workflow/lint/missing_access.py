"""Rules about instructions that refer to outputs which their step may not read, or repeat them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import groupby

from conductor.workflow.lint.access import reading
from conductor.workflow.lint.finding import Finding, Fix, Subject
from conductor.workflow.lint.references import Mention, mentions

_STRETCH = 8
"""So many words in a row are no coincidence."""

_SHORT = 4
"""A shorter output counts from so many words on, where all of it is repeated."""

_LEAST_CHARACTERS = 20
_WORD = re.compile(r"\w+")
_QUOTE = 80


def speaks_of_unseen(subject: Subject) -> Iterator[Finding]:
    """Instructions that refer to the previous answer, or to a numbered step's, where it may not be read."""
    workflow = subject.workflow
    for step, own in enumerate(workflow.steps):
        found = [] if own.pin is not None else _mentions(subject, step)
        if not found:
            continue
        meant = sorted({at for mention in found for at in _meant(mention, step)})
        if subject.sees_nothing(step):
            fixes = tuple(_ways(subject, step, found[0], meant))
            sentence = f"Step {step + 1} refers to “{found[0].words}” but reads no step."
        else:
            unseen = [at for at in meant if at not in own.access]
            fixes = (reading(workflow, step, unseen),) if unseen else ()
            words = next((mention.words for mention in found if {*_meant(mention, step)} & {*unseen}), "")
            sentence = f"Step {step + 1} refers to “{words}” but may not read it."
        # What comes before the first step is the question's, whatever it is called.
        if fixes:
            yield Finding("speaks-of-unseen", step, "warning", sentence, fixes)


def _mentions(subject: Subject, step: int) -> Sequence[Mention]:
    """What an instruction refers to; the same words in the query mean something of the query's."""
    found = mentions(subject.workflow.steps[step].instruction)
    if not found:
        return ()
    asked = " ".join(subject.query.casefold().split())
    return [mention for mention in found if mention.words.casefold() not in asked]


def _meant(mention: Mention, step: int) -> Sequence[int]:
    """The earlier positions that numbers mean; an instruction that names a step 0 counts from 0."""
    first = 0 if 0 in mention.steps else 1
    return [number - first for number in mention.steps if 0 <= number - first < step]


def _ways(subject: Subject, step: int, mention: Mention, meant: Sequence[int]) -> Iterator[Fix]:
    """How a step that reads nothing can be given what it refers to."""
    workflow = subject.workflow
    if mention.steps and not meant:
        return
    if subject.later_round and not meant and (step == 0 or not mention.plural):
        yield Fix(f"Let step {step + 1} see the round before", workflow.with_sight_of_previous(step, True))
    if not meant and step:
        meant = range(step) if mention.plural else [step - 1]
    if meant:
        yield reading(workflow, step, meant)
        if len(meant) < step:
            yield reading(workflow, step, range(step))


# -- word for word ---------------------------------------------------------------------------------------


Run = int
"""Words in a row, folded, by their hash; there are as many as words."""


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, ...]:
    """A text's words, folded."""
    return tuple(word.casefold() for word in _WORD.findall(text))


def _runs(words: Sequence[str], length: int) -> Iterator[Run]:
    """Every run of so many words, in order."""
    return map(hash, zip(*(words[start:] for start in range(length)), strict=False))


def leaked_output(subject: Subject) -> Iterator[Finding]:
    """Instructions that repeat an output, of any other step, which their step may not read."""
    steps = subject.workflow.steps
    asked = {step: _words(own.instruction) for step, own in enumerate(steps) if own.pin is None}
    vocabulary = {word for words in asked.values() for word in words}
    runs: dict[int, dict[int, Set[Run]]] = {}
    found = {}
    for source, output in subject.outputs.items():
        words_of_output = _words(output.text)
        length = _length(words_of_output, output.text)
        if length is None or source >= len(steps):
            continue
        if length not in runs:
            runs[length] = {step: set(_runs(words, length)) for step, words in asked.items()}
        output_runs = _runs_of(words_of_output, vocabulary, length)
        for step, of_step in runs[length].items():
            common = of_step & output_runs
            if common and step != source and source not in steps[step].access:
                common -= _known_otherwise(subject, step, length)
                if common:
                    found[step, source] = _leak(subject, step, source, common, length)
    yield from (found[place] for place in sorted(found))


def _length(words_of_output: Sequence[str], text: str) -> int | None:
    """How many words of an output in a row count as repeated; None where it is too short."""
    if len(words_of_output) >= _STRETCH:
        return _STRETCH
    long_enough = len(words_of_output) >= _SHORT and len(text.strip()) >= _LEAST_CHARACTERS
    return len(words_of_output) if long_enough else None


def _runs_of(words_of_output: Sequence[str], vocabulary: Set[str], length: int) -> Set[Run]:
    """The runs of a text that only use these words. A long text has most words from elsewhere."""
    found: set[Run] = set()
    for known, words in groupby(words_of_output, vocabulary.__contains__):
        if known:
            found.update(_runs(list(words), length))
    return found


def _known_otherwise(subject: Subject, step: int, length: int) -> Set[Run]:
    """What a step may know all the same: the query, the other instructions, and what it reads."""
    steps, outputs = subject.workflow.steps, subject.outputs
    others = [own.instruction for other, own in enumerate(steps) if other != step]
    seen = [outputs[read].text for read in steps[step].access if read in outputs]
    return {run for text in (subject.query, *others, *seen) for run in _runs(_words(text), length)}


def _leak(subject: Subject, step: int, source: int, common: Set[Run], length: int) -> Finding:
    workflow = subject.workflow
    instruction = workflow.steps[step].instruction
    spans = list(_repeated(instruction, common, length))
    start, end = spans[0]
    words = " ".join(instruction[start:end].split())
    quote = words if len(words) <= _QUOTE else f"{words[:_QUOTE].rstrip()}…"
    fixes = [reading(workflow, step, (source,))] if source < step else []
    rest = _without(instruction, common, length)
    if rest is not None:
        label = f"Take the words out of step {step + 1}"
        fixes.insert(0, Fix(label, workflow.with_instruction(step, rest)))
    sentence = (
        f"Step {step + 1} may not read step {source + 1}, yet its instruction repeats it word for word: "
        f"“{quote}”."
    )
    return Finding("leaked-output", step, "warning", sentence, tuple(fixes))


def _repeated(text: str, common: Set[Run], length: int) -> Iterator[tuple[int, int]]:
    """Where a text repeats one of `common`, as [start, end) characters; what overlaps is one."""
    places = [word.span() for word in _WORD.finditer(text)]
    start = end = 0
    for at, run in enumerate(_runs(_words(text), length)):
        if run not in common:
            continue
        if start < end < at:
            yield places[start][0], places[end - 1][1]
        start, end = at if end < at or start == end else start, at + length
    if start < end:
        yield places[start][0], places[end - 1][1]


def _without(instruction: str, common: Set[Run], length: int) -> str | None:
    """The instruction without the repeated words; None where nothing else would be left."""
    while spans := list(_repeated(instruction, common, length)):
        for start, end in reversed(spans):
            instruction = f"{instruction[:start].rstrip()} {instruction[end:].lstrip()}"
    instruction = instruction.strip()
    return instruction if _WORD.search(instruction) else None
