"""Compares answers: whether two are the same, whether a text contains one, and which of many are. Pure.

Amounts are compared by value and unit, other texts as words without case. A letter is a word like any other
here: `choice` knows those of choices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.text.equality.amount import Amount, amounts_in, whole_amount
from conductor.text.equality.units import is_money, is_share
from conductor.text.equality.writing import bare, plain

_ARTICLE = re.compile(
    r"(?:the (?!(?:who|what|the)\b)|an? (?!(?:and|or|but|not|nor|is|are|plus|minus|major|minor|flat|sharp"
    r"|natural|positive|negative|priori|posteriori|fortiori|cappella|la|levels?|list|team|bombs?)\b))(?=[^\W\d_]{2})"
)
"""But for the letter as the name of a note, a blood group or the like, and before what is no name alone."""

OPENING = r"(?:because|hence|however|it|its|since|so|that|then|therefore|these|this|thus|we|which)\b"
"""A word that may open a sentence behind a letter and its full stop, where a name would follow an initial."""

IS_WORD = r"\s+(?!(?:and|as|because|but|for|is|not|or|since)\b)\w"
"""What follows "A" as an article, or "I" as a pronoun."""

_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|without)|n't) (?:(?:the|an?) )?[\"'(]?$", re.IGNORECASE
)
_ARTICLE_OR_PRONOUN = re.compile(rf"(?<!\S)(?:[ai]|[AI](?={IS_WORD}))(?!\S)")
_MARKUP = re.compile(r"^[ \t]*[-*+•][ \t]+|</?[A-Za-z]\w*>", re.MULTILINE)
"""Bullets and tags."""
_PARTS_BEFORE = {
    "letter": re.compile(r"[^\s(\"*:,]$"),
    "word": re.compile(r"[\w.@\\^*!/]$|\w[-+&]$"),
    "number": re.compile(r"[\w.-]$|\d[,:]$"),
    "sign": re.compile(r"[\w)-]$"),
}
_PARTS_AFTER = {
    "letter": re.compile(rf"[^\s).,;:?\"*]|\*(?!\*)|\. ?(?!{OPENING})[^\W\d_]", re.IGNORECASE),
    "word": re.compile(r"\w|[-/.&@]\w|[+#^]|\*(?!\*)|'t\b"),
    "number": re.compile(r"\w|[.,:-]\d| ?[%‰/^]"),
    "sign": re.compile(r"\w"),
}
"""What makes a text a part of a longer one, by the kind of its first or last character. Behind a letter it is
also what makes it an initial, a function, or a variable with a mark.
"""


def comparable(answer: str) -> str:
    """Text that is equal for two answers that are one: an amount by its value and unit, else its words."""
    if (amount := whole_amount(answer)) is not None:
        return " ".join((str(amount.value), *sorted(amount.unit)))
    return words(answer)


def words(answer: str) -> str:
    """The answer without case, an article before it, and the punctuation and quotation marks around it."""
    text = " ".join(bare(plain(answer)).casefold().split())
    return text if (article := _ARTICLE.match(text)) is None else text[article.end() :]


def same(one: str, other: str) -> bool:
    """Whether two answers are one. A number with a currency and the same without one are."""
    if comparable(one) == comparable(other):
        return True
    first, second = whole_amount(one), whole_amount(other)
    return first is not None and second is not None and first.value == second.value and _priced(first, second)


def _priced(one: Amount, other: Amount) -> bool:
    """Whether one of two has a currency alone, and the other has no unit."""
    return is_money(one.unit | other.unit) and not (one.unit and other.unit)


def ballots(answers: Sequence[str]) -> list[list[int]]:
    """The positions of the answers that are one, as lists in the order in which each was given first.

    A number without a currency joins the same number with one, where no other currency stands with it.
    """
    groups: dict[str, list[int]] = {}
    for at, answer in enumerate(answers):
        groups.setdefault(comparable(answer), []).append(at)
    amounts = {key: whole_amount(answers[group[0]]) for key, group in groups.items()}
    for key, amount in amounts.items():
        if amount is None or amount.unit:
            continue
        priced = [
            other
            for other, each in amounts.items()
            if each is not None and each.value == amount.value and is_money(each.unit)
        ]
        if len(priced) == 1:
            groups[key] = sorted(groups[key] + groups.pop(priced[0]))
    return sorted(groups.values())


def stands_in(answer: str, text: str) -> bool:
    """Whether an answer stands in a text, and is not denied straight before: an amount by its value, with no
    other unit or percent; another answer as whole words.
    """
    text = plain(_MARKUP.sub(" ", text))
    if (amount := whole_amount(answer)) is not None:
        return any(
            each.value == amount.value
            and (amount.unit & each.unit or _priced(amount, each) or not (amount.unit or is_share(each.unit)))
            for before, each in amounts_in(text)
            if not _DENIED.search(before)
        )
    text, answer = " ".join(text.split()), words(answer)
    if len(answer) == 1:
        # "A" is an article, "I" a pronoun; in small letters they are no letters.
        text = _ARTICLE_OR_PRONOUN.sub(" ", text)
    text = text.casefold()
    at = text.find(answer) if answer else -1
    while at >= 0:
        if not _is_part(answer, text[max(0, at - 100) : at], text[at + len(answer) : at + len(answer) + 100]):
            return True
        at = text.find(answer, at + 1)
    return False


def _is_part(answer: str, before: str, after: str) -> bool:
    """Whether what stands between two texts is a part of something else there, or denied."""
    first, last = _kind(answer, 0), _kind(answer, -1)
    if _PARTS_BEFORE[first].search(before) or _PARTS_AFTER[last].match(after) or _DENIED.search(before):
        return True
    return "sign" in (first, last) and (before[-1:] == answer[0] or after[:1] == answer[-1])


def _kind(answer: str, at: int) -> str:
    if answer[at].isalpha():
        return "letter" if len(answer) == 1 else "word"
    return "number" if answer[at].isdigit() else "sign"
