"""An extractive summary: the sentences that share most words with the others, in their own order.

Nothing is reworded.
"""

from __future__ import annotations

import re
from collections import Counter

LONGEST_ABBREVIATION = 8
"""Characters at a sentence's end that can decide whether it ends there."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z0-9À-Þ])|\n\s*\n|\n(?=\s*[-*•])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|Dr|Mr|Mrs|Ms|Prof|St|vs|etc|No|Fig|cf)|\b[A-Z])\.$")
_STOP = frozenset(
    "a about after all also an and any are as at be because been before but by can could did do does for "
    "from had has have he her his how i if in into is it its may more most no not of on one only or other "
    "our out over she so some such than that the their them then there these they this to was we were what "
    "when which who will with would you your".split()
)


def summarised(text: str, count: int) -> list[str]:
    """At most `count` sentences of `text`, in the text's order."""
    sentences = sentences_of(text)
    words = [_content_words(sentence) for sentence in sentences]
    uses = Counter(word for each in words for word in each)
    # Five words more, so that a short sentence of one frequent word does not come first.
    shared = [sum(uses[word] - 1 for word in each) / (len(each) + 5) for each in words]
    best = sorted(range(len(sentences)), key=lambda at: (-shared[at], at))[:count]
    return [sentences[at] for at in sorted(best)]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, white space tidied; abbreviations do not end one."""
    sentences: list[str] = []
    for piece in _SENTENCE_END.split(text):
        tidy = " ".join(piece.split())
        if sentences and _ABBREVIATION.search(sentences[-1][-LONGEST_ABBREVIATION:]):
            sentences[-1] = f"{sentences[-1]} {tidy}"
        elif tidy:
            sentences.append(tidy)
    return sentences


def _content_words(sentence: str) -> frozenset[str]:
    """The words that carry content, lower case, plural s removed."""
    words = re.findall(r"[^\W_]+", sentence.lower())
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _STOP)
