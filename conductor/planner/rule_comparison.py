"""Finds the things that a query compares, and their property. Knows neither workers nor plans."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_THINGS = 8
_LONGEST = 80

_COMPARED = re.compile(
    r"\b(?:compare and contrast|compare|contrast|differences? between)\b[ :]*(?P<things>[^.?!;\n]{3,300})"
    r"|\bhow (?:do|does) (?P<verb>[^.?!;\n]{3,300}?) (?:differ|compare)\b(?P<rest>[^.?!;\n]{0,200})"
    r"|(?P<versus>[^.?!,:;\n]{1,100} (?:versus|vs\.?) [^.?!;\n]{1,200})",
    re.IGNORECASE,
)
_CRITERIA = re.compile(
    r"[, ]+(?P<criteria>(?:by|in terms of|with (?:respect|regard) to|regarding|based on) .+)$", re.IGNORECASE
)
_LINK = re.compile(r" ?, (?:and |or )?| and | (?:with|to|from|or|versus|vs\.?) ", re.IGNORECASE)
_PROPERTY = re.compile(r"^(?:the )?[a-z ,]{3,60} of (?=[A-Z])")
_ARTICLE = re.compile(r"^(?:the|is|are|should (?:i|we) \w+) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things or more, in order, and `criteria` in the query's words ("by area"), "" for none."""

    things: tuple[str, ...]
    criteria: str = ""


def comparison_in(query: str) -> Comparison | None:
    """What a query compares; None when it compares no two things of words."""
    match = _COMPARED.search(query)
    if match is None:
        return None
    if match["verb"] is not None:
        names = match["verb"] + re.sub(r"^ (?:from|to|with) ", " and ", match["rest"])
    else:
        names = match["things"] or match["versus"]
    by = _CRITERIA.search(names)
    criteria = "" if by is None else by["criteria"].strip()
    names = names if by is None else names[: by.start()]
    # A property is written small, the names of its owners large: "the capitals of France and Peru".
    split = _LINK.split(_PROPERTY.sub("", names))
    parts = (_ARTICLE.sub("", part.strip(" ,\"'"))[:_LONGEST] for part in split)
    things = tuple(dict.fromkeys(part for part in parts if re.search(r"[^\W\d_]{2}", part)))
    return Comparison(things, criteria) if 2 <= len(things) <= MAX_THINGS else None
