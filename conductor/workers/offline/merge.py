"""Several visible responses merged into one: their statements, disagreements and common answer.

Only repeats and compares; every line is a source's own or names the step that it comes from.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

from conductor.workers.offline.countries import NUMBERS, TITLES, country_named
from conductor.workers.offline.summary import sentences_of
from conductor.workers.offline.task import Refusal, SeenStep, Task

MAX_LINES = 12
"""Lines repeated of one response, or in addition to facts; the number of lines left out is shown."""

MAX_NUMBER = 1_000
"""Characters of a number compared by value, and about the most digits a power of ten adds to it."""

_FACT = re.compile(rf"^(?P<property>{'|'.join(TITLES.values())}) of (?P<of>[^:]+): (?P<value>.+)$")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*")
_COMPARES = re.compile(r"\bcompar", re.IGNORECASE)
_WHICH_OF_THEM = re.compile(r"\b(?:which|who|whose)\b[^.!]*\bor\b", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"^[^\w\n]*(?:final )?answer[^\w\n]*:", re.IGNORECASE)
_LARGE_POWER = re.compile(r"e[-+]?[\d_]{4,}", re.IGNORECASE)


def merged(task: Task) -> list[str]:
    """The merged text as lines; compared facts become one line a property, below all other lines."""
    missing = [_named(response) for response in task.seen if response.refusal]
    if missing and (len(missing) == len(task.seen) or _COMPARES.search(task.instruction)):
        # Of several answers to one question some may be missing, of a comparison none.
        return [*_repeated(task.seen), Refusal(f"{', '.join(missing)} gave none.")]
    disagreements = _disagreements(task.seen)
    if (table := _comparison(task.seen)) and not disagreements:
        if _WHICH_OF_THEM.search(task.query) and "larger" not in table[-1]:
            # What they have in common and what not is no answer to which of them it is.
            *facts, _ = table
            return [
                *_beside_facts(task.seen),
                *facts,
                Refusal("these facts do not decide which of them it is."),
            ]
        return [*_beside_facts(task.seen), *table]
    return [*_repeated(task.seen), *disagreements, *_conclusion(task.answers)]


# -- facts side by side ---------------------------------------------------------------------------


def _comparison(seen: Sequence[SeenStep]) -> list[str]:
    """One line for each property with the value of each thing; empty for fewer than two things."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for line in (line for response in seen for line in response.response.splitlines()):
        if fact := _FACT.match(line.strip()):
            values[fact["property"]][fact["of"]] = fact["value"]
    compared = {title: each for title, each in values.items() if len(each) > 1}
    if not compared:
        return []
    found: dict[str, list[str]] = defaultdict(list)
    for title, each in compared.items():
        number = next((of for of in NUMBERS if TITLES[of] == title), None)
        if number is not None:
            named = filter(None, map(country_named, each))
            found[f"larger {title.lower()}:"].append(max(named, key=lambda of: of.number(number)).name)
        else:
            found["same" if len(set(each.values())) == 1 else "different"].append(title.lower())
    lines = [
        f"{title}: {'; '.join(f'{of} - {value}' for of, value in each.items())}"
        for title, each in values.items()
    ]
    ordered = sorted(found, key=lambda word: (word.startswith("larger"), word == "different"))
    return [*lines, "Answer: " + "; ".join(f"{word} {', '.join(found[word])}" for word in ordered)]


def _beside_facts(seen: Sequence[SeenStep]) -> list[str]:
    """Each line that is neither a fact nor an answer, once; with its step's name unless all steps have it."""
    found: dict[str, list[tuple[SeenStep, str]]] = defaultdict(list)
    for response in seen:
        for line in dict.fromkeys(map(str.strip, response.response.splitlines())):
            if line and not _FACT.match(line) and not _ANSWER_LINE.match(line):
                found[_plain(line)].append((response, line))
    lines = [
        sources[0][1] if len(sources) == len(seen) else f"{_named(sources[0][0])}: {sources[0][1]}"
        for sources in found.values()
    ]
    return _shortened(lines, of="")


# -- what each step adds ------------------------------------------------------------------------------


def _repeated(seen: Sequence[SeenStep]) -> list[str]:
    """Each step's lines that no earlier step had, under its name."""
    known: set[str] = set()
    lines: list[str] = []
    for response in seen:
        own = []
        for line in _statements(response.response):
            if (key := _plain(line)) not in known:
                known.add(key)
                own.append(line)
        lines.append(f"{_named(response)}:" if own else f"{_named(response)} adds nothing new.")
        lines += _shortened(own, of=" of this step")
    return lines


def _named(response: SeenStep) -> str:
    return f"Step {response.step + 1} ({response.worker})"


def _shortened(lines: Sequence[str], *, of: str) -> list[str]:
    more = len(lines) - MAX_LINES
    left_out = [f"({more} more lines{of} are left out.)"] if more > 0 else []
    return [*lines[:MAX_LINES], *left_out]


def _statements(response: str) -> list[str]:
    lines = (sentence for line in response.splitlines() for sentence in sentences_of(line))
    return [line for line in lines if not _ANSWER_LINE.match(line)]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+|[-+*/^=<>]", text.lower()))


# -- where they disagree ------------------------------------------------------------------------------


def _disagreements(seen: Sequence[SeenStep]) -> list[str]:
    """Statements alike but for their values, made by different steps."""
    stated: dict[str, dict[int, tuple[str, str]]] = defaultdict(dict)
    for response in seen:
        for line in _statements(response.response):
            for subject, value in _claims(line):
                stated[subject].setdefault(response.step, (value, line))
    return [
        "Disagreement: " + "; ".join(f'step {step + 1} states "{line}"' for step, (_, line) in claims.items())
        for claims in stated.values()
        if len({value for value, _ in claims.values()}) > 1
    ]


def _claims(line: str) -> list[tuple[str, str]]:
    """What a line states of what: a fact, or numbers in a sentence of at least four words."""
    if fact := _FACT.match(line):
        return [(f"{fact['property']} of {fact['of']}", _plain(fact["value"]))]
    numbers = _NUMBER.findall(line)
    subject = _plain(_NUMBER.sub(" number ", line))
    if numbers and ":" not in line and "=" not in line and len(subject.split()) >= 4:
        return [(subject, " ".join(numbers))]
    return []


# -- what follows -----------------------------------------------------------------------------------------


def _conclusion(answers: Sequence[SeenStep]) -> list[str]:
    """The common answer; else the disagreement, and the answer that was checked or that most give."""
    if not answers:
        return ["None of the visible steps ends with an answer."]
    if len({comparable(answer.answer) for answer in answers}) == 1:
        agree = [f"All {len(answers)} answers agree."] if len(answers) > 1 else []
        return [*agree, f"Answer: {answers[-1].answer}"]
    differing = "; ".join(f"{answer.source} answers {answer.answer}" for answer in answers)
    return [f"Disagreement: {differing}.", *_decided(answers)]


def _decided(answers: Sequence[SeenStep]) -> list[str]:
    checks = [
        each for each in answers if re.search(r"^(?:Verified|Correction):", each.response, re.MULTILINE)
    ]
    if checks:
        return [f"The check in {checks[-1].source} decides.", f"Answer: {checks[-1].answer}"]
    votes = Counter(comparable(answer.answer) for answer in answers)
    winner, count = votes.most_common(1)[0]
    if 2 * count > len(answers):
        text = next(answer.answer for answer in answers if comparable(answer.answer) == winner)
        return [f"{count} of {len(answers)} answers agree.", f"Answer: {text}"]
    return [Refusal("The visible answers differ, and nothing visible decides between them.")]


def comparable(answer: str) -> str:
    """An answer for comparing: numbers by value, text without case, marks and spacing."""
    bare = answer.strip().strip("*$ .").replace(",", "")
    text = re.sub(r"\s+", "", bare.lower())
    # A fraction is written out in full: 1e4000000 would be a number of four million digits.
    if len(bare) > MAX_NUMBER or _LARGE_POWER.search(bare):
        return text
    try:
        return str(Fraction(bare))
    except (ValueError, ZeroDivisionError):
        return text
