"""Which things a query compares, and by what, read from everyday English.

Knows the ways people ask; knows neither workers nor plans. Give it one or two thousand characters, not
a whole document: the more words it sees, the likelier one of them means a comparison by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_LONGEST_CRITERIA = 200
_TRIES = 8
"""How many places of a list are tried for where the things end, or where a property does."""

_IN_TERMS = (
    "in terms of|in respect (?:of|to)|with (?:respect|regard|reference) to|regarding|concerning|considering|"
    "as regards|as to|according to|based on|on the basis of|when it comes to|under the aspects? of|"
    "focus(?:ing|ed) on|using"
)
# Written large inside a list, it is of a name: "Stand By Me".
_BY = f"(?:(?-i:by|BY)|{_IN_TERMS})"
_COMPARED = (
    re.compile(r"\bhow (?:do|does) (?P<items>[^.?!]+) (?:differ|compare)\b(?P<rest>[^.?!\n]*)", re.I),
    re.compile(
        r"\b(?:compare and contrast|compare|contrast|differences?(?: (?:by|in) [^.?!,\n]{1,60})? between)\b"
        r"[ :,]*(?P<items>.+)",
        re.I,
    ),
    re.compile(r"\bwhich\b[^.?!,]*, (?P<items>[^.?!]+ or [^.?!]+)", re.I),
)
_VERSUS = re.compile(r" (?:versus|vs\.?) ", re.I)
_AGAINST = re.compile(r",? (?:to|with|from) (?!(?:respect|regard|reference) to )", re.I)
_UNSPLIT = "".join(
    f"(?<!{name})" for name in ("Bosnia", "Trinidad", "Antigua", "Kitts", "Tomé", "Tome", "Vincent")
)
_SPLIT = re.compile(rf" ?, (?:and |or )?|{_UNSPLIT} and | (?:with|to|or|versus|vs\.?) ", re.I)
_END = re.compile(r"[.?!:;](?: |$)|\n")
_OWNED = re.compile(r" (?:of|by) ")
_SIDE_BY_SIDE = re.compile(r",? \b(\w{1,20}) by \1\b", re.I)

_AHEAD = re.compile(
    rf"(?:^|[ ,.])(?P<criteria>(?:by|{_IN_TERMS}|(?<=ence )in|(?<=ences )in) [^,.?!:;\n]{{1,200}}?)"
    r"(?:[,:]| between\b)",
    re.I,
)
_FIRST = re.compile(rf"{_BY} (?:[^.?!:;\n]+: |[^.?!:;,\n]+, )", re.I)
_BEHIND = re.compile(rf",? (?P<criteria>{_BY} .+)", re.I)
# These begin criteria only where they do nothing else in the list, and no name follows.
_LOOSELY_BEHIND = re.compile(r",? (?P<criteria>(?:(?:in|on|for|across) |\()(?:(?![A-Z][a-z]).)+)")
_LOOSE = re.compile(r" (?:(?:in|on|for|across) |\()")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things or more, in order, and `criteria` in the query's words ("by area"), "" for none."""

    things: tuple[str, ...]
    criteria: str = ""


def comparison_in(query: str) -> Comparison | None:
    """What a query compares; None when it compares nothing."""
    ahead, items = _listed(_SIDE_BY_SIDE.sub("", query))
    found = _read(items)
    if found is None or not all(re.search(r"[^\W\d_]{2}", thing) for thing in found.things):
        return None
    leading = list(_AHEAD.finditer(ahead))
    criteria = found.criteria or (leading[-1]["criteria"] if leading else "")
    if criteria[1:2].islower():
        criteria = criteria[0].lower() + criteria[1:]
    return Comparison(found.things, criteria.strip(" ,;\"'")[:_LONGEST_CRITERIA])


def _listed(query: str) -> tuple[str, str]:
    """What precedes the things that a query compares, and the things with what follows them."""
    for pattern in _COMPARED:
        found = pattern.search(query)
        if found is None:
            continue
        items = found["items"]
        if "rest" in pattern.groupindex:
            # "How does A differ from B in size": what follows the verb is part of the list.
            items += _AGAINST.sub(" and ", found["rest"], count=1)
        ahead = _FIRST.match(items)
        start = 0 if ahead is None else ahead.end()
        return query[: found.start("items")] + items[:start], items[start:]
    sides = _VERSUS.split(query, maxsplit=1)
    if len(sides) == 1:
        return query, ""
    *before, first = re.split(r"[.?!:,\n]", sides[0])
    return ",".join([*before, ""]), f"{first} and {sides[1]}"


def _read(items: str) -> Comparison | None:
    """The things of a list and the criteria behind them."""
    listed = _END.split(items, maxsplit=1)[0].strip()
    for found in _criteria(listed):
        things = _things(listed[: found.start()])
        if len(things) > 1:
            return Comparison(tuple(things), found["criteria"])
    things = _things(listed)
    return Comparison(tuple(things)) if len(things) > 1 else None


def _criteria(listed: str) -> Iterator[re.Match[str]]:
    """Where criteria may begin, the likeliest first."""
    at = 0
    for _ in range(_TRIES):
        found = _BEHIND.search(listed, at)
        if found is None:
            break
        yield found
        at = found.start("criteria")
    loose = _LOOSELY_BEHIND.search(listed) if len(_LOOSE.findall(listed)) == 1 else None
    if loose is not None and loose.end() == len(listed):
        yield loose


def _things(listed: str) -> list[str]:
    """The things of a list, without the property that the query wants of them ("the capitals of")."""
    for owned in islice(reversed(list(_OWNED.finditer(listed))), _TRIES):
        owners = _split(listed[owned.end() :])
        # A property is written small; "the Isle of Man" is a name.
        if len(owners) > 1 and listed[: owned.start()].islower():
            return owners
    return _split(listed)


def _split(listed: str) -> list[str]:
    return [item for part in _SPLIT.split(listed) if (item := _item(part))]


def _item(text: str) -> str:
    asking = r"^(?:the|of|is|are|what is|how does|should (?:i|we) \w+) "
    return re.sub(asking, "", text.strip(" .?!:;,\"'"), flags=re.I)[:80]
