"""The choices of a question, and which of them an answer names: by its letter, or by its whole text. Pure.

A letter is one of a choice only where the question has it and nothing but the choice follows: "B", "(B)",
"B." and "B) King" where King is B. "B. Smith" is a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.text.equality.same_answer import IS_WORD, OPENING, comparable, same, words
from conductor.text.equality.writing import bare, plain
from conductor.text.final_answer import final_answer, own_words

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LISTED = re.compile(r"^[ \t]*(?:[-*] +)?[(\[*]*([A-Z])[*]*[).:\]][*]*[ \t]+(\S.*)", re.MULTILINE)
_INLINE = re.compile(r"(?<!\S)\(([A-Z])\)\s+([^()]+)")

_MOST = 2 * len(LETTERS)
"""The last letters of an answer that are read, each against all choices."""

_NEAR = 400
"""Characters beside a letter that decide whether it is one of a choice."""

_MARKS = "✓✔✅☑👉➡→⇒•●▪★⭐"
_LEAD = rf"(?:[->#+]+ |[\s(\[{{<*_\"'{_MARKS}])*"
_ALONE = re.compile(rf"{_LEAD}([A-Za-z])[\s)\]}}>.,:;!*_\"{_MARKS}]*")
_FIRST = re.compile(rf"{_LEAD}(?:(?i:option|choice|answer)[\s:(\[*]+)?(?:([A-Z])|([a-z])(?=[).:]))(?!\w)")
_NAMED = re.compile(
    r"\b(?i:answer|choice|option)\b(?: (?i:is|(?:would|should|must|has to|can only) be))?"
    r"(?: (?i:option|choice))?(?:[\s:=(\[*\"]|-\s)*?([A-Z])(?!\w)"
)
_STATED = re.compile(
    r"(?<!\w)([A-Z])[)\]*\"]* (?i:is|was|must be|has to be|would be|seems|looks|fits)"
    r"(?: (?i:the|clearly|more|most|also))* (?i:right|correct|true|best|better|answer|one)\b"
    r"|\b(?i:only) ([A-Z]) (?i:remains|is left|fits|works|matches)\b"
)
_PREFERRED = re.compile(
    r"(?:^(?i:I(?: would|'d)? (?:think|guess|sa(?:y|id))|(?:most )?(?:probably|likely))"
    r"|\b(?i:choose|chose|prefer|select|go(?:ing)? (?:with|for)|opt for|settle on|leav(?:es|ing)(?: us with)?"
    r"|only|so|thus|hence|therefore|but|it(?:'s| is| (?:must|should|would|has to|can only) be)|ans|correct"
    r"|definitely|elimination|(?:fits|selection|letter|vote|label|selected|pick)(?: is)?))"
    r"(?: (?i:option|choice))?[\s.:=,(\[*\"]+([A-Z])(?!\w)"
)
_NUMBER = re.compile(
    r"^[^\w\n]{0,9}(?:q(?:uestion)? ?)?#?\d{1,3} ?[.):-] *(?=[^\w\s]*[a-z](?!\w))",
    re.IGNORECASE | re.MULTILINE,
)
"""The number of a question before a letter alone."""
_SUBJECT = re.compile(r"[\s)\]*\"]*(?:is|was|would)\b")
_MARKED = re.compile(r"\(([A-Z])\)")
_SECOND = re.compile(r"[\s)\].]*(?:and|or|,|/|&|\+)\s*[(\[]*([A-Za-z])(?!\w)")
_DENIED = re.compile(r"\W*\s(?:is|was)(?:n't| not| wrong| incorrect| false)\b")
_NEGATED = re.compile(r"(?:\b(?:not|never|neither|nor)|n't)\W*$", re.IGNORECASE)
_SEPARATED = re.compile(rf"[\s(\[)\]}}.,;:!*\"$|—/={_MARKS}]*(?:->?\s)?\s*")
_LONGER = re.compile(r"\w|[.,/^]\d|[%!'+#^]")
_GOES_ON = re.compile(
    rf"[\s)\],;-]*(?:{OPENING}|(?:according|although|and|as|based|but|by|due|for|from|given|here|if|in|instead|is"
    r"|fits|matches|nor|not|on|or|over|rather|remains|seems|though|was|where|while|with|works|would)\b)|[\s)\].]*\s\(|[)\]]*;"
    rf"|[\s)\]]*\.\s+(?i:{OPENING})"
)
"""A sentence that goes on, a remark in brackets, or another sentence."""


def choices_in(question: str) -> tuple[str, ...]:
    """The texts of the choices A, B and so on that a question lists last, each on a line or behind "(A)".

    Empty for a question without choices.
    """
    for pattern in (_LISTED, _INLINE):
        lists: list[list[str]] = [[]]
        for letter, text in pattern.findall(question):
            if letter == "A":
                lists.append([])
            if letter == LETTERS[len(lists[-1]) : len(lists[-1]) + 1]:
                lists[-1].append(text.strip())
        if listed := [each for each in lists if len(each) > 1]:
            return tuple(listed[-1])
    return ()


def chosen_answer(response: str, choices: Sequence[str]) -> str:
    """The letter of the one choice that a response names, else its final answer."""
    letters = letters_in(response, choices) if choices else ""
    return letters if len(letters) == 1 else final_answer(response)


def same_choice(answer: str, target: str, choices: Sequence[str]) -> bool:
    """Whether two answers are one choice, each its letter, its text or both, and nothing else."""
    letter = _whole(answer, choices) if choices else ""
    return bool(letter) and letter == _whole(target, choices)


def _whole(answer: str, choices: Sequence[str]) -> str:
    answer = bare(plain(answer))
    if letter := _by_text(answer, choices):
        return letter
    first = _ALONE.fullmatch(answer) or _FIRST.match(answer)
    letter = "" if first is None else first[first.lastindex or 1].upper()
    if first is None or letter not in _letters(choices):
        return ""
    text = _SEPARATED.sub("", answer[first.end() :], count=1)
    return letter if not text or same(text, choices[LETTERS.index(letter)]) else ""


def letters_in(response: str, choices: Sequence[str]) -> str:
    """The letter of the choice that a response names, by it or by the choice's whole text; several where it
    names several, "" for none.

    A letter alone is never looked for among the texts. A response whose final answer names no choice is
    read for its last "answer", "choice" or "option" with a letter, as lm-evaluation-harness' flexible extract
    and simple-evals do. Without `choices` every letter is one.
    """
    answer = bare(plain(final_answer(response)))
    if len(_NUMBER.findall(response)) == 1:
        answer = bare(_NUMBER.sub("", answer))
    if (alone := _ALONE.fullmatch(answer)) is not None:
        return alone[1].upper() if alone[1].upper() in _letters(choices) else ""
    if letter := _by_text(answer, choices):
        return letter
    first = _FIRST.match(answer)
    letter = "" if first is None else _read(first, choices)
    if first is not None and letter and not _SUBJECT.match(answer, first.end()):
        return letter
    # "A is tempting, but D is right": the first letter need not be the answer.
    letters = _all(_STATED, answer, choices) or _last(_NAMED, answer, choices)
    if not letters and not any(len(text) == 1 for text in choices):
        letters = _last(_PREFERRED, answer, choices)
    letters = letters or letter or _all(_MARKED, answer, choices)
    return letters or _last(_NAMED, plain(own_words(response)), choices)


def _letters(choices: Sequence[str]) -> str:
    return LETTERS[: len(choices) or len(LETTERS)]


def _by_text(answer: str, choices: Sequence[str]) -> str:
    """The letter of the one choice whose text an answer is."""
    if _ALONE.fullmatch(answer):
        return ""
    equal = [at for at, text in enumerate(choices) if comparable(text) == comparable(answer)]
    equal = equal or [at for at, text in enumerate(choices) if same(answer, text)]
    return LETTERS[equal[0]] if len(equal) == 1 else ""


def _all(pattern: re.Pattern[str], text: str, choices: Sequence[str]) -> str:
    matches = [*pattern.finditer(text)][-_MOST:]
    return "".join(sorted(set("".join(_read(match, choices) for match in matches))))


def _last(pattern: re.Pattern[str], text: str, choices: Sequence[str]) -> str:
    matches = reversed([*pattern.finditer(text)][-_MOST:])
    return next(filter(None, (_read(match, choices) for match in matches)), "")


def _read(match: re.Match[str], choices: Sequence[str]) -> str:
    """The letter of a match, with another that is named beside it; "" for one that is something else."""
    letter = match[match.lastindex or 1]
    start = match.start(match.lastindex or 1)
    rest = match.string[start + 1 : start + _NEAR].partition("\n")[0]
    is_word = letter in "AI" and re.match(IS_WORD, rest)
    denied = _DENIED.match(rest) or _NEGATED.search(match.string[max(0, start - _NEAR) : start])
    if letter.upper() not in _letters(choices) or is_word or denied:
        return ""
    second = _SECOND.match(rest)
    if (
        second is not None
        and second[1].upper() in _letters(choices)
        and second[1].isupper() == letter.isupper()
    ):
        return letter.upper() + second[1].upper()
    return letter.upper() if _may_follow(rest, LETTERS.index(letter.upper()), choices) else ""


def _may_follow(rest: str, at: int, choices: Sequence[str]) -> bool:
    """Whether what stands behind a letter is nothing, the text of its choice, or a remark."""
    if _SEPARATED.fullmatch(rest):
        return True
    text = words(_SEPARATED.sub("", rest, count=1))
    texts = [words(each) for each in choices]
    for named in (
        [number for number, each in enumerate(texts) if _begins(text, each)],
        [number for number, each in enumerate(texts) if _begins(each, text) and len(text) > 2],
        [number for number, each in enumerate(choices) if same(text, each)],
    ):
        if named:
            return max(named, key=lambda number: (len(texts[number]), number == at)) == at
    return bool(_GOES_ON.match(rest)) or (not choices and rest[:1] in (")", "]"))


def _begins(text: str, beginning: str) -> bool:
    return bool(beginning) and text.startswith(beginning) and not _LONGER.match(text[len(beginning) :])
