"""Which things a query compares, read from everyday English.

Knows the ways people ask; knows neither workers nor plans. Give it one or two thousand characters, not
a whole document: the more words it sees, the likelier one of them means a comparison by chance.
"""

from __future__ import annotations

import re

_COMPARED = (
    re.compile(r"\b(?:compare and contrast|compare|contrast|differences? between)\b[ :]*(?P<items>.+)", re.I),
    re.compile(r"\bhow (?:do|does) (?P<items>[^.?!]+) (?:differ|compare)\b", re.I),
    re.compile(r"\bwhich\b[^.?!,]*, (?P<items>[^.?!]+ or [^.?!]+)", re.I),
)
_VERSUS = re.compile(r" (?:versus|vs\.?) ", re.I)
_UNSPLIT = "".join(
    f"(?<!{name})" for name in ("Bosnia", "Trinidad", "Antigua", "Kitts", "Tomé", "Tome", "Vincent")
)
_SPLIT = re.compile(rf" ?, (?:and |or )?|{_UNSPLIT} and | (?:with|to|or|versus|vs\.?) ", re.I)


def compared(query: str) -> list[str]:
    """The things a query compares, in order; fewer than two when it compares nothing."""
    items = next((found["items"] for pattern in _COMPARED if (found := pattern.search(query))), None)
    if items is None:
        sides = _VERSUS.split(query, maxsplit=1)
        items = " and ".join((re.split(r"[.?!:,\n]", sides[0])[-1], sides[1])) if len(sides) > 1 else ""
    things = _things(re.split(r"[.?!:;](?: |$)|\n", items, maxsplit=1)[0])
    return things if all(re.search(r"[^\W\d_]{2}", thing) for thing in things) else []


def _things(listed: str) -> list[str]:
    """The things of a list, without the property that is asked of them ("the capitals of")."""
    pieces = listed.split(" of ")
    for last in range(len(pieces) - 1, 0, -1):
        owners = _split(" of ".join(pieces[last:]))
        # A property is written small; "the Isle of Man" is a name.
        if len(owners) > 1 and " of ".join(pieces[:last]).islower():
            return owners
    return _split(listed)


def _split(listed: str) -> list[str]:
    return [item for part in _SPLIT.split(listed) if (item := _item(part))]


def _item(text: str) -> str:
    bare = re.sub(r"\b(by|in terms of|regarding|with respect to)\b.*", "", text, flags=re.I)
    asking = r"^(?:the|of|is|are|what is|how does|should (?:i|we) \w+) "
    return re.sub(asking, "", bare.strip(" .?!:;\"'"), flags=re.I)[:80]
