"""Made-up words: the same for the same seed, and nothing anybody could take for knowledge.

Also says what the fake takes for a token. Knows nothing of requests.
"""

from __future__ import annotations

import re
from hashlib import sha256
from random import Random

WORDS = (
    "the claim holds when each part is read beside its source and no number stands alone so we "
    "compare both sides weigh what is known name what is missing and keep the shorter naïve way"
).split()

_TOKEN = re.compile(r"\s*\S+|\s+")


def seeded(*parts: str) -> Random:
    """A source of choices that depends on `parts` only."""
    key = "\x1f".join(parts).encode("utf-8", "backslashreplace")
    return Random(sha256(key).digest())  # noqa: S311 - made-up text, not a secret


def prose(source: Random, count: int) -> str:
    """`count` words in sentences of about eight."""
    sentences = []
    while count > 0:
        length = min(count, source.randint(6, 10))
        count -= length
        sentences.append(" ".join(source.choice(WORDS) for _ in range(length)).capitalize() + ".")
    return " ".join(sentences)


def tokens(text: str) -> list[str]:
    """Pieces that joined give the text: a word each, with the space before it."""
    return _TOKEN.findall(text)
