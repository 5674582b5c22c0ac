"""Rules that read instructions: a step that refers to outputs which it may not read, or judges its own work.

Reads English, one instruction at a time, and only phrases that hardly mean anything else: a numbered step's
result, and sentences that begin like "Improve the previous answer".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from conductor.workflow.lint.finding import Finding, Fix, Subject, given_to_others, let_read, step_numbers

_EDGE = 3_000
"""Characters read at either end of an instruction; what lies between is material."""

_ANSWER = r"(?:answers?|responses?|repl(?:y|ies)|outputs?|solutions?)"
_PRODUCT = (
    r"(?:attempts?|drafts?|analys[ie]s|plans?|code|programs?|proofs?|critiques?|calculations?|results?|work|"
    r"reasoning|findings)"
)
_JUDGED = (
    rf"(?:{_ANSWER}|{_PRODUCT}|workings?|implementations?|functions?|computations?|derivations?|translations?|"
    r"summar(?:y|ies)|counts?|claims?|conclusions?|arguments?|essays?)"
)
_CHECK = r"(?:re-?check|double-?check|check|verify|validate|review|critique|evaluate|assess|inspect)"
_EARLIER = r"(?:previous|prior|preceding|earlier|foregoing)"
_WORKER = r"(?:worker|agent|expert)"
_NUMBERS = r"#?\d{1,3}(?:\s*(?:,(?:\s*and)?|and|&|or|to|-|–)\s*(?:steps?\s+)?#?\d{1,3})*"
_ORDINALS = ("first", "second", "third", "fourth", "fifth")

_OF_STEP = re.compile(
    rf"(?:\bthe\s+)?\b(?:{_ANSWER}|{_PRODUCT})\s+(?:from|of|in|by|at)\s+(?:"
    rf"(?:sub-?)?(?:step|task)s?\s+({_NUMBERS})(?!\w)|the\s+({'|'.join(_ORDINALS)})\s+step\b)"
    rf"|\b(?:step|subtask)\s+({_NUMBERS})['’]s\s+(?:[\w-]+\s+)?(?:{_ANSWER}|{_PRODUCT})\b",
    re.I,
)
"""The result of step 1; the result of the first step; step 1's plan."""

_OF_A_METHOD = re.compile(r"\s+(?:of|in|from|for)\s+(?:the|this|that|your|an?|\w+['’]s)\b|\s+of\s+\w", re.I)
"""After "step 2": the step of a method or a recipe is meant."""

_TURNED_AWAY = re.compile(
    r"\b(?:without|ignor\w+|independent\w*|regardless|not|never|unlike|than|differ\w*|instead|avoid\w*|rather|"
    r"whatever|no|if\s+there|should\s+there)\b[^.]{0,40}\Z|n['’]t\b[^.]{0,40}\Z",
    re.I,
)
"""Shortly before: the output is named so that it is left alone."""

_WORKS_ON = re.compile(
    rf"\W*(?:(?:please|now|carefully)[\s,]+)?(?:{_CHECK}|us(?:e|ing)|based\s+on|continue|extend|improve|refine|"
    r"correct|fix|combine|merge|summari[sz]e|take|consider|read|polish|revise|apply|implement|execute)\s+"
    rf"(?:from\s+|on\s+|what\s+(?=the\s+\w+\s+{_WORKER}))?(?P<words>(?:the|all|all\s+the|both|both\s+the)\s+"
    rf"(?:{_EARLIER}\s+(?:{_ANSWER}|{_WORKER}s?)\b"
    # Not "the previous attempts at a treaty".
    rf"|{_EARLIER}\s+(?:{_PRODUCT}|steps?|stages?)\b(?!\s+(?:of|to|for|in|at|on|by|about|regarding|concerning)\b)"
    rf"|(?:{_ANSWER}|{_PRODUCT})\s+(?:\w+\s+)?(?:from|of|by)\s+(?:all\s+)?the\s+{_EARLIER}\s+"
    rf"(?:steps?|stages?|{_WORKER}s?)\b))",
    re.I,
)
"""A sentence that begins with the work on an earlier output."""

_OF_THE_QUESTION = re.compile(
    r"\b(?:in|from|of|by|under)\s+(?:the|this|that|his|her|their)\s+(?:[\w-]+\s+)?(?:question|query|prompt|user|"
    r"student|author|teacher|message|conversation|passage|document|e-?mail|letter|article|transcript|text|excerpt|"
    r"file|chat|thread|exam|paper|book|forum)\b|\b(?:user|student|author|customer|client|teacher)['’]?s\b",
    re.I,
)
"""The sentence is about something of the question's."""

_QUOTED = re.compile(r"```.{0,20000}?```|`[^`\n]{1,400}`|“[^”]{1,2000}”|\"[^\"\n]{1,2000}\"", re.S)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.](?=\S)[^.!?;\n]+)*")
_PLURAL = re.compile(
    r"\b(?:all|both)\b|(?:answer|response|output|solution|attempt|step|worker|agent)s\b", re.I
)

_JUDGES = re.compile(
    r"\W*(?:(?:please|now|then|finally|first|carefully|critically|independently|thoroughly)[\s,]+){0,2}"
    rf"(?:{_CHECK}|audit|proofread|judge|grade|examine|confirm|test)\s+(?:[\w'-]+\s+){{0,5}}?{_JUDGED}\b",
    re.I,
)
"""How an instruction begins that judges the work of another step."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Words that refer to the output of other steps: of those with these numbers, as written, or of earlier
    ones, of several where `plural`.
    """

    words: str
    plural: bool = False
    steps: tuple[int, ...] = ()


@lru_cache(maxsize=2_048)
def mentions(instruction: str) -> tuple[Mention, ...]:
    """Every mention of other steps' output, those that name a step by its number first."""
    long = len(instruction) > 2 * _EDGE
    read = f"{instruction[:_EDGE]}\n{instruction[-_EDGE:]}" if long else instruction
    text = _QUOTED.sub(" ", read)
    return (*_numbered(text), *_earlier(text))


def sentences(instruction: str) -> tuple[str, ...]:
    """Those of an instruction, at its beginning, without what it quotes."""
    return tuple(_SENTENCE.findall(_QUOTED.sub(" ", instruction[:_EDGE])))


def _numbered(text: str) -> Iterator[Mention]:
    for match in _OF_STEP.finditer(text):
        before = text[max(0, match.start() - 45) : match.start()]
        if _TURNED_AWAY.search(before) is None and _OF_A_METHOD.match(text, match.end()) is None:
            number, ordinal, owner = match.groups()
            steps = tuple(int(digits) for digits in re.findall(r"\d+", number or owner or ""))
            if ordinal:
                steps = (_ORDINALS.index(ordinal.lower()) + 1,)
            yield Mention(_one_line(match[0]), len(steps) > 1, steps)


def _earlier(text: str) -> Iterator[Mention]:
    for sentence in _SENTENCE.findall(text):
        match = _WORKS_ON.match(sentence)
        if match is not None and _OF_THE_QUESTION.search(sentence) is None:
            words = _one_line(match["words"])
            yield Mention(words, _PLURAL.search(words) is not None)


def _one_line(words: str) -> str:
    return " ".join(words.split())[:80]


def speaks_of_unseen(subject: Subject) -> Iterator[Finding]:
    """Instructions that refer to the previous answer, or to a numbered step's, where it may not be read."""
    workflow = subject.workflow
    query = " ".join(subject.query.casefold().split())
    for step, own in enumerate(workflow.steps):
        references = [] if own.pin is not None else mentions(own.instruction)
        # The same words in the query mean something of the query's.
        references = [mention for mention in references if mention.words.casefold() not in query]
        if not references:
            continue
        sources = sorted({at for mention in references for at in _sources(mention, step)})
        if subject.sees_nothing(step):
            fixes = tuple(_ways(subject, step, references[0], sources))
            sentence = f"Step {step + 1} refers to “{references[0].words}” but reads no step."
        else:
            unseen = [at for at in sources if at not in own.access]
            fixes = (let_read(workflow, step, unseen),) if unseen else ()
            words = next(
                (mention.words for mention in references if {*_sources(mention, step)} & {*unseen}), ""
            )
            sentence = f"Step {step + 1} refers to “{words}” but may not read it."
        # What comes before the first step is the question's, whatever it is called.
        if fixes:
            yield Finding("speaks-of-unseen", step, "warning", sentence, fixes)


def _sources(mention: Mention, step: int) -> Sequence[int]:
    """The earlier positions that numbers mean; an instruction that names a step 0 counts from 0."""
    first = 0 if 0 in mention.steps else 1
    return [number - first for number in mention.steps if 0 <= number - first < step]


def _ways(subject: Subject, step: int, mention: Mention, sources: Sequence[int]) -> Iterator[Fix]:
    """How a step that reads nothing can be given what it refers to."""
    workflow = subject.workflow
    if mention.steps and not sources:
        return
    if subject.later_round and not sources and (step == 0 or not mention.plural):
        see = partial(workflow.with_sight_of_previous, step, True)
        yield Fix(f"Let step {step + 1} see the previous round", see)
    if not sources and step:
        sources = range(step) if mention.plural else [step - 1]
    if sources:
        yield let_read(workflow, step, sources)
        if len(sources) < step:
            yield let_read(workflow, step, range(step))


def checks_own_work(subject: Subject) -> Iterator[Finding]:
    """A step that judges only work which its own worker did, where the pool has another one."""
    workflow = subject.workflow
    if subject.workers is not None and len(set(subject.workers)) < 2:
        return
    for step, own in enumerate(workflow.steps):
        if own.pin is not None or not own.access or not _JUDGES.match(own.instruction):
            continue
        # What a step reads that came before in the same line of work is not what it judges.
        judged = workflow.waits[step]
        if all(workflow.steps[read].worker == own.worker for read in judged):
            sentence = f"Step {step + 1} checks {step_numbers(judged)}, and {own.worker} does both."
            fixes = tuple(given_to_others(subject, step, besides={own.worker}))
            yield Finding("checks-own-work", step, "warning", sentence, fixes)
        elif may := set(own.workers).intersection(*(workflow.steps[read].workers for read in judged)):
            sentence = (
                f"Step {step + 1} checks {step_numbers(judged)}, and {min(may)} does both if a worker fails."
            )
            yield Finding("checks-own-work", step, "note", sentence)
