"""A problem of mathematics, read from a question in everyday English.

A question is understood whole or not at all: it fits one pattern from end to end and every part of it is a
formula, or nothing is left of it but formulas and words without a meaning for the problem. Everything else is
None: the formula in it may be beside the point. Computes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conductor.errors import FormatError
from conductor.workers.offline.mathematics.formula import (
    CONSTANTS,
    FUNCTION,
    Node,
    formula_text,
    names_in,
    parse_formula,
    parse_statement,
    substituted,
)
from conductor.workers.offline.questions.wording import with_digits

MAX_CHARACTERS = 5_000
"""Longer texts are no formula questions and are not read."""

MAX_WORDED = 600
"""Longer texts are read as formulas only, not as wordings."""


def _rows(file: str) -> list[tuple[str, str]]:
    """The two sides of every line `left => right` of a data file in this folder."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    rows = (line.partition(" =>") for line in lines if line and not line.startswith("#"))
    return [(left, right.strip().strip('"')) for left, _, right in rows]


@dataclass(frozen=True)
class Problem:
    """An operation and what it works on.

    `formulas` are relations for "claim" and "solve". `variable` is the one that the operation is about, None
    where it has no effect or is not given. `bounds` are the limits of an integral, sum or product, the point
    of a limit or series, or where a derivative is evaluated. `order` is that of a derivative or series, None
    where it is not given.
    `explicit` problems are named in the question ("differentiate"), others follow from the formula alone.
    """

    operation: str
    formulas: tuple[Node, ...] = ()
    variable: str | None = None
    bounds: tuple[Node, ...] = ()
    order: int | None = None
    explicit: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The free names in it, sorted."""
        return tuple(sorted(names_in(self.formulas)))


def read_problem(text: str) -> Problem | None:
    """The problem a text states, None when it states none that can be computed, or anything more than it."""
    if len(text) > MAX_CHARACTERS:
        return None
    plain = plain_text(text)
    wordings = dict.fromkeys((_bare(plain), plain)) if len(plain) <= MAX_WORDED else ()
    if _AMBIGUOUS.search(text):
        return None
    for operation, pattern, meaning in _PATTERNS:
        for asked in wordings:
            if (match := pattern.fullmatch(asked)) and (found := _worded(operation, match, meaning)):
                return replace(found, explicit=True)
    return _implied(plain)


def states_numbers(text: str) -> bool:
    """Whether a text holds a calculation with numbers, be it understood as a problem or not."""
    return bool(_CALCULATION.search(plain_text(text[:MAX_CHARACTERS])))


_CALCULATION = re.compile(rf"\d\s*(?:[*/^+!%]|mod\b|-\s*\d)|\b{FUNCTION}\s*\(?\s*\d", re.IGNORECASE)

# -- words and signs that mean arithmetic, as plain signs ---------------------------------------------------

_SIGNS = tuple((re.compile(pattern, re.IGNORECASE), signs) for pattern, signs in _rows("signs.txt"))


def plain_text(text: str) -> str:
    """The text with words and typographic signs that mean arithmetic replaced by plain signs."""
    text = with_digits(text)
    for pattern, signs in _SIGNS:
        text = pattern.sub(signs, text)
    return " ".join(text.split())


_VERBS = "calculate|compute|evaluate|find|determine|give|tell|show"
_BEFORE = re.compile(
    rf"(?:(?:please|kindly|(?:can|could|would) you|{_VERBS}|work out|me|us|"
    r"what(?: (?:is|are|was|were|will be|would be|does))?|how much (?:is|are)|exact|value of|"
    r"result of|answer to|i (?:want|need) to know|question|problem)\b[\s,:]*)+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s.?!,:]*(?:\b(?:please|exactly|for me|step by step|equal|be"
    r"|(?:and )?show (?:me )?(?:all )?(?:your |its )?(?:work(?:ing)?|steps))\b|=)?[\s.?!,:]*$",
    re.IGNORECASE,
)


def _bare(plain: str) -> str:
    """The question without the words that merely ask, at its ends."""
    begun = _BEFORE.match(plain)
    return _AFTER.sub("", plain[begun.end() :] if begun else plain)


# -- formulas among words that ask nothing ----------------------------------------------------------------

_ASKING = (
    "an|and|answer|any|are|as|at|be|by|calculate|can|compute|could|determine|do|does|equation|equations|"
    "evaluate|exact|exactly|expression|find|for|formula|from|get|give|given|has|have|how|if|in|instead|"
    "is|it|its|let|me|much|of|or|out|please|problem|question|result|roots|show|simplify|solution|"
    "solutions|solve|solving|step|steps|such|system|tell|that|the|their|then|this|to|unknown|unknowns|"
    "value|values|variable|want|we|what|when|where|which|whose|with|work|working|you|your|all|check|"
    "whether|true|hold|holds|satisfy|satisfies|satisfying|following|below|using|carefully|just|only|now|"
    "verify|correct|so|about|approximately"
)
_BETWEEN = re.compile(
    rf"(?<![a-z\d^*/+=(<>-])(?<![a-z\d^*/+=(<>-] )(?:a|i)(?= (?!{FUNCTION})[a-z]{{2}})"
    rf"|(?<![a-z])(?:{_ASKING})(?![a-z])"
    r"|,(?![^()]*\))|[;:?\"'`“”„‘]|\*\*(?!\s*[\w(-])|(?:\.|(?<=[a-z]{2})!)(?=\s|$)|^[-*•]\s",
    re.IGNORECASE,
)


def contents_of(plain: str) -> list[Node]:
    """The formulas and relations of a plain text between words that ask nothing.

    Raises `FormatError` for anything else.
    """
    pieces = (piece.strip() for piece in _BETWEEN.sub("\0", plain).split("\0"))
    return [node for piece in pieces if piece for node in parse_statement(piece)]


def _formula(text: str) -> Node:
    """The formula that a part of a question is; of a definition such as y = x^2 its right side.

    Raises `FormatError` where there is more in it than one formula and words that merely ask.
    """
    contents = contents_of(text)
    formulas = [each for each in contents if each.kind != "name"] or contents[:1]
    if len(formulas) != 1:
        raise FormatError("One formula is needed.")
    node = _defined(formulas[0]) if formulas[0].is_relation else formulas[0]
    names = {each.text for each in contents if each.kind == "name"}
    if not names - CONSTANTS <= names_in((node,)):
        raise FormatError("A name stands beside the formula.")
    return node


def _defined(relation: Node) -> Node:
    """What a definition such as y = x^2 or f(x) = x^2 defines. Raises `FormatError` for other relations."""
    left, right = relation.parts
    named = left.kind == "name" or (left.kind == "mul" and left.parts[0].text in ("f", "g", "h"))
    if relation.kind != "=" or not named:
        raise FormatError("This is no definition.")
    return right


# -- patterns ---------------------------------------------------------------------------------------------

_HOLES = {
    **{name: f"(?P<{name}>.+?)" for name in ("a", "b", "c", "d", "f", "low", "high", "at", "list")},
    **{name: rf"(?P<{name}>\d+)" for name in "nk"},
    "x": "(?P<x>[a-z])",
}
"""The regular expressions of the parts of a question, by their names in patterns."""

_ORDERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


def _patterns() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Operation, pattern and meaning of each row of `questions.txt`."""
    holes = dict(_HOLES)
    for before, after in _rows("questions.txt"):
        filled = re.sub(r"\{([a-z]+)\}", lambda match: holes[match[1]], before)
        if named := re.fullmatch(r"let (\w+)", before):
            holes[named[1]] = re.sub(r"\{([a-z]+)\}", lambda match: holes[match[1]], after)
        else:
            operation, _, pattern = filled.partition(": ")
            yield operation, re.compile(pattern, re.IGNORECASE), after


_PATTERNS = tuple(_patterns())


def _worded(operation: str, match: re.Match[str], meaning: str) -> Problem | None:
    """The problem of a question that fits a pattern, None where a part of it is no formula."""
    named = {name: text for name, text in match.groupdict().items() if text is not None}
    try:
        parts = {name: _part(name, text, operation) for name, text in named.items() if name in _HOLES}
        [node], *bounds = map(parse_statement, meaning.format(**parts).split("|"))
        points = [parse_formula(parts[name]) for name in ("low", "high", "at") if name in parts]
    except (FormatError, ValueError):
        return None
    if node.is_relation:
        return Problem(operation, (node,))
    if operation == "value" and points:
        node, points = substituted(node, {named["x"]: points[0]}), []
        if names_in((node,)):
            return None
    free = names_in((node,))
    if operation == "derivative" and not {named.get("respect"), named.get("point")} <= {None, *free}:
        return None
    if node.kind in ("add", "sub") and any(part.kind == "percent" for part in node.parts):
        return None  # 10 % of what is added?
    if operation == "value":
        operation = "simplify" if free else "value"
    return Problem(
        operation,
        (node,),
        variable=named.get("respect") or named.get("x") or main_variable(free),
        bounds=tuple(bound for (bound,) in bounds) or tuple(points),
        order=int(named["terms"]) if "terms" in named else _ORDERS.get(named.get("order", "").lower()),
    )


_COMMA = re.compile(r",|\band\b|;")


def _part(name: str, text: str, operation: str) -> str:
    """A part of a question in the notation of formulas, bracketed. Raises `FormatError` where it is none."""
    if name == "list":
        listed = [_part("a", piece, operation) for piece in _COMMA.split(text.strip(" ()")) if piece.strip()]
        if len(listed) < 2:
            raise FormatError("Several values are needed.")
        return ", ".join(listed)
    if name == "x":
        return text
    node = _formula(text)
    if name in "ab" and operation == "value" and node.kind in ("add", "sub"):
        raise FormatError("Where the words end is unclear: the product of 2 and 3 + 4.")
    return f"({formula_text(node)})"


def main_variable(free: frozenset[str]) -> str:
    """The name that a formula is most likely about."""
    return "x" if "x" in free or not free else min(free)


# -- what formulas mean without a wording ----------------------------------------------------------------

_AMBIGUOUS = re.compile(
    r"\b(?:prove|proof|explain why|show that|disprove)\b"
    r"|\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b|\b0[xbo][0-9a-f]+\b"
    r"|\b(?:root|factorial|absolute value|half) of\b[^(,;?]*[\w)]\s*(?:[-+]|plus\b|minus\b)"
    r"|(?<![\d)])(?<![\d)]\s)(?<!\b[a-z])(?<!\b[a-z]\s)-\s*\d[\d.]*\s+(?:squared|cubed)\b"
    r"|!!|(?:[-+]|\bplus|\bminus)\s*\d[\d.]*\s*(?:%|per ?cent\b)(?!\s*of\b)",
    re.IGNORECASE,
)
"""What is no formula, whatever it looks like: proofs, dates, numbers of another base, and wordings with two
readings: "the root of 9 + 16", "-5 squared", "80 minus 15%"."""

_DEFINITION = re.compile(r"\b[fgh] ?\([a-z]\) ?=(?!=)")
_SPACED_UNIT = re.compile(r"\d [a-z]\b", re.IGNORECASE)
"""10 m, which is a length rather than ten times m; 10m may be either."""


def _implied(plain: str) -> Problem | None:
    """A lone formula is evaluated, relations are solved; "y at x = 3" puts the numbers in."""
    try:
        contents = contents_of(_DEFINITION.sub("", plain))
    except FormatError:
        return None
    relations = [each for each in contents if each.is_relation]
    named = {each.text for each in contents if each.kind == "name"}
    formulas = [each for each in contents if not each.is_relation and each.kind != "name"]
    free = names_in((*relations, *formulas))
    if len(formulas) > 1 or not named <= free or any(node.kind == "number" for node in formulas):
        return None
    explicit = bool(re.search(r"\b(?:compute|calculate|evaluate|solve|work out)\b", plain, re.IGNORECASE))
    if formulas and relations:
        put_in = _with_values(formulas[0], relations)
        return None if put_in is None else Problem("value", (put_in,), explicit=explicit)
    if relations:
        variable = min(named) if len(named) == 1 else None
        operation = "solve" if free else "claim"
        return Problem(operation, tuple(relations), variable=variable, explicit=explicit)
    if formulas and free and _SPACED_UNIT.search(plain):
        return None
    return Problem("simplify" if free else "value", tuple(formulas), explicit=explicit) if formulas else None


def _with_values(node: Node, relations: Sequence[Node]) -> Node | None:
    """`node` with x = 3 put in, None unless every relation gives another name a number."""
    values = {left.text: right for left, right in (relation.parts for relation in relations)}
    given = (each.kind == "=" and each.parts[0].kind == "name" for each in relations)
    if not all(given) or len(values) < len(relations) or names_in(values.values()):
        return None
    put_in = substituted(node, values)
    return None if names_in((put_in,)) else put_in
