"""How stored JSON refers to fragments. Knows JSON and digests; knows no value and no table.

- `{"$text": DIGEST}` stands for a text.
- `{"$value": DIGEST}` stands for the value whose JSON that fragment is.
- `{"$parts": DIGESTS, "nonce": NONCE}` stands, in a list, for the elements of the lists whose JSON those
  fragments are, one digest after another. In their frames `MARK` stands for the nonce, in which alone the
  requests that show a step differ; an empty nonce leaves them as they are.

No value has a name that begins with a dollar sign, and quotation marks inside JSON's texts are escaped: the
references are found in JSON that is read as text.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Self

TEXT, VALUE, PARTS, NONCE = "$text", "$value", "$parts", "nonce"

MARK = "\ue000"
"""A character that Unicode leaves to private use."""

ANY = '{"$'
"""What stored JSON contains where it refers to anything."""

DIGEST_LENGTH = 22

_REFERENCE = re.compile(r'\{"\$(text|value|parts)":"([\w-]+)"')


def digest_of(text: str) -> str:
    """128 bits over the text, as `DIGEST_LENGTH` characters. Raises `UnicodeEncodeError` for half a pair."""
    return urlsafe_b64encode(blake2b(text.encode(), digest_size=16).digest()).decode()[:DIGEST_LENGTH]


def digests_in(joined: str) -> list[str]:
    """The digests that were written one after another."""
    return [joined[at : at + DIGEST_LENGTH] for at in range(0, len(joined), DIGEST_LENGTH)]


@dataclass
class Reached:
    """The digests that stored JSON refers to: of texts, and of JSON that may refer to more."""

    texts: set[str] = field(default_factory=set)
    json: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, *stored: str) -> Self:
        """What these refer to."""
        reached = cls()
        for text in stored:
            reached.add(text)
        return reached

    def add(self, stored: str) -> None:
        """Add what this JSON refers to, even if it is damaged."""
        if ANY in stored:
            for kind, digests in _REFERENCE.findall(stored):
                (self.texts if kind == "text" else self.json).update(digests_in(digests))
