"""An extractive summary: the sentences that share most words with the others, in their own order.

TextRank over the sentences, by power iteration. Nothing is reworded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

MAX_RANKED = 100
"""Sentences compared with one another; of a longer text those with the most frequent words."""

LONGEST_ABBREVIATION = 8
"""Characters at a sentence's end that can decide whether it ends there."""

DAMPING = 0.85
ROUNDS = 20

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
    if len(sentences) <= count:
        return sentences
    frequent = _most_frequent(sentences)
    ranks = _ranks([words_of(sentences[at]) for at in frequent])
    best = sorted(range(len(frequent)), key=lambda at: (-ranks[at], at))[:count]
    return [sentences[frequent[at]] for at in sorted(best)]


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


def words_of(sentence: str) -> frozenset[str]:
    """The words that carry content, lower case, plural s removed."""
    words = re.findall(r"[^\W_]+", sentence.lower())
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _STOP)


def _most_frequent(sentences: Sequence[str]) -> list[int]:
    """Positions of the sentences worth ranking, ascending."""
    if len(sentences) <= MAX_RANKED:
        return list(range(len(sentences)))
    words = [words_of(sentence) for sentence in sentences]
    counts = Counter(word for each in words for word in each)
    weight = [sum(counts[word] for word in each) / (len(each) + 5) for each in words]
    best = sorted(range(len(sentences)), key=lambda at: (-weight[at], at))[:MAX_RANKED]
    return sorted(best)


def _ranks(sentences: Sequence[frozenset[str]]) -> list[float]:
    """The rank of each sentence among those that share words (TextRank, Mihalcea and Tarau 2004)."""
    links: list[dict[int, float]] = [{} for _ in sentences]
    for (i, left), (j, right) in combinations(enumerate(sentences), 2):
        if shared := len(left & right):
            links[i][j] = links[j][i] = shared / (1 + math.log(len(left)) + math.log(len(right)))
    strength = [sum(near.values()) for near in links]
    ranks = [1.0] * len(sentences)
    for _ in range(ROUNDS):
        ranks = [
            1 - DAMPING + DAMPING * sum(ranks[j] * weight / strength[j] for j, weight in near.items())
            for near in links
        ]
    return ranks
