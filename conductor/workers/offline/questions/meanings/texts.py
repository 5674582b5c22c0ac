"""What the grammar's rules about texts mean: counting, sorting, reversing, extracting; no new words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from conductor.workers.offline.countries import value_names
from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.summary import sentences_of

VOWELS = frozenset("aeiouAEIOUäöüÄÖÜàáâãèéêìíîòóôõùúû")


class Bare(str):
    """A word that stands in a question without quotes."""

    __slots__ = ()


def _letters(text: str) -> list[str]:
    return [letter for letter in text if letter.isalpha()]


def count_letters(kind: str, text: str) -> Answer:
    kind = kind.lower().removesuffix("s")
    if isinstance(text, Bare) and (kind == "character" or text.casefold() in value_names("languages")):
        raise NotUnderstood("this word or what it names?")
    if kind == "character":
        return Answer(f"{len(text)}", (f"Counted with {text.count(' ')} spaces",))
    letters = _letters(text)
    if kind == "vowel":
        if any(letter in "yY" for letter in letters) and not any(letter in VOWELS for letter in letters):
            raise NotUnderstood("y may be a vowel")
        letters = [letter for letter in letters if letter in VOWELS]
    elif kind == "consonant":
        letters = [letter for letter in letters if letter not in VOWELS]
    return Answer(str(len(letters)), (f"Counted: {' '.join(letters)}",))


def count_letter(letter: str, text: str) -> Answer:
    if len(letter) != 1 or not letter.isalpha():
        raise NotUnderstood("one letter is needed")
    return Answer(str(text.casefold().count(letter.casefold())), (f"Counted {letter} in {text!r}",))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text)


def count_words(kind: str, text: str) -> Answer:
    if isinstance(text, Bare):
        raise NotUnderstood("one word")
    if kind.lower().startswith("sentence"):
        return Answer(str(len(sentences_of(text))))
    words = _words(text)
    return Answer(str(len(words)), (f"Counted: {', '.join(words)}",))


def count_word(word: str, text: str) -> Answer:
    found = [each.casefold() for each in _words(text)].count(word.casefold())
    if found != text.casefold().count(word.casefold()):
        raise NotUnderstood("it is also a part of other words")
    return Answer(str(found))


def listed(text: str) -> list[str]:
    """The items of a list with commas, with lines, or of single words."""
    text = text.strip().removesuffix(".").removesuffix("?")
    if "\n" in text:
        items = text.splitlines()
    elif "," in text or ";" in text:
        items = re.split(r"[,;]\s*(?:and\s+|or\s+)?|\s+and\s+", text)
    else:
        items = [word for word in text.split() if word != "and"]
    items = [item.strip(" -*•\"'") for item in items]
    if len(items) < 2 or not all(items) or any(re.search(r"[.!?]\s", item) for item in items):
        raise NotUnderstood("several words are needed")
    return items


def sorted_text(text: str) -> Answer:
    items = listed(text)
    if any(item[0].isdigit() for item in items):
        raise NotUnderstood("these are numbers")
    return Answer(", ".join(sorted(items, key=str.casefold)))


def sorted_bare(items: list[str]) -> Answer:
    return Answer(", ".join(sorted(items, key=str.casefold)))


def nth(at: int, items: list[str]) -> Answer:
    if not items or (at > 0 and at > len(items)):
        raise NotUnderstood("there are not so many")
    return Answer(items[at - 1 if at > 0 else at])


def by_length(longest: bool) -> Callable[[str], Answer]:
    def found(text: str) -> Answer:
        words = _words(text)
        length = (max if longest else min)(map(len, words), default=0)
        of_length = list(dict.fromkeys(word for word in words if len(word) == length))
        return Answer(", ".join(of_length), (f"{length} letters",))

    return found


def palindrome(text: str) -> Answer:
    letters = "".join(_letters(text)).casefold()
    if len(letters) < 2:
        raise NotUnderstood("too short")
    holds = letters == letters[::-1]
    return Answer("yes" if holds else "no", (f"Backwards it is {letters[::-1]}.",))


def anagrams(left: str, right: str) -> Answer:
    counts = [Counter("".join(_letters(text)).casefold()) for text in (left, right)]
    return Answer("yes" if counts[0] == counts[1] else "no")


def extracted(kind: str, text: str) -> Answer:
    kind = (
        kind.lower().removesuffix("es")
        if kind.lower().endswith("addresses")
        else kind.lower().removesuffix("s")
    )
    kind = "email" if "mail" in kind else kind
    found = re.findall(WORDS["extracted"][kind], text)
    if not found and (kind == "date" or any(character.isdigit() for character in text)):
        raise NotUnderstood("none in a form that is known")
    return Answer(", ".join(found) if found else "none")


_REMOVED: Mapping[str, Callable[[str], str]] = {
    "vowels": lambda text: "".join(letter for letter in text if letter not in VOWELS),
    "spaces": lambda text: text.replace(" ", ""), "digits": lambda text: re.sub(r"\d", "", text),
    "numbers": lambda text: re.sub(r" ?\d+", "", text),
    "punctuation": lambda text: re.sub(r"[^\w\s]", "", text),
    "duplicates": lambda text: ", ".join(dict.fromkeys(listed(text))),
    "duplicate words": lambda text: ", ".join(dict.fromkeys(listed(text))),
}  # fmt: skip


def replaced(old: str, new: str, text: str) -> Answer:
    if old not in text:
        raise NotUnderstood("it is not there")
    return Answer(text.replace(old, new))


def _of(function: Callable[[str], str]) -> Callable[[str], Answer]:
    return lambda text: Answer(function(text))


def _unsure(_: str) -> Answer:
    raise NotUnderstood("all letters or the first?")


def _one_word(text: str) -> str:
    if " " in text.strip():
        raise NotUnderstood("the words backwards or the letters?")
    return text[::-1]


RULES: Mapping[str, Callable[..., Any]] = {
    "capitals": str, "named_word": Bare, "bare_word": Bare,
    "count_letters_only": lambda text: count_letters("letters", text),
    "length_of": lambda text: count_letters("letters", str(text)),
    "count_plural": lambda letter, text: count_letter(letter[0], text), "reversed": _of(_one_word),
    "upper": _of(str.upper), "lower": _of(str.lower), "title": _of(str.title), "upper_unsure": _unsure,
    "sorted_words": sorted_text, "bare_list": lambda *items: list(items),
    "nth_letter": lambda at, text: nth(at, _letters(text)),
    "nth_word": lambda at, text: nth(at, _words(text)), "longest_word": by_length(True),
    "shortest_word": by_length(False), "removed": lambda kind, text: Answer(_REMOVED[kind.lower()](text)),
    "nth": lambda text: (
        text if isinstance(text, int) else {"last": -1, "second to last": -2}.get(text.lower(), 1)
    ),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""
