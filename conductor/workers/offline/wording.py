"""The ways people ask in English for an operation on formulas: patterns, and what each of them means.

Knows wordings; computes nothing. A reader gives None where its pattern fits but no formula is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from conductor.workers.offline.formula import (
    Binary,
    Call,
    Name,
    Node,
    Number,
    Relation,
    parse_formula,
    substituted,
    variables_of,
)
from conductor.workers.offline.phrasing import passages_of
from conductor.workers.offline.problem import Operation, Problem

# -- pieces of a match ----------------------------------------------------------------------------


def _formula(text: str | None) -> Node | None:
    """The first formula in a piece of text; of an equation such as f(x) = x^2 its right side."""
    for passage in passages_of(text or ""):
        content = passage.content
        return content[-1].right if isinstance(content, tuple) else content
    return None


def _formulas(text: str) -> tuple[Node, ...]:
    """All the formulas in a list such as "84, 126 and 30"."""
    contents = (passage.content for piece in _COMMA.split(text) for passage in passages_of(piece))
    return tuple(content for content in contents if not isinstance(content, tuple))


_COMMA = re.compile(r",|\band\b|;")
_RESPECT = re.compile(r"\b(?:with respect to|w\.?r\.?t\.?|for)\s+([a-zA-Z])\b", re.IGNORECASE)
_AT = re.compile(r"\b(?:at|when|for)\s+([a-zA-Z])\s*=\s*([^,?;]+)", re.IGNORECASE)
_ORDERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


def _variable(text: str, node: Node) -> str | None:
    said = _RESPECT.search(text) or re.search(r"\bd([a-z])\b", text)
    free = sorted(variables_of(node))
    if said and said[1] in free:
        return said[1]
    return "x" if "x" in free or not free else free[0]


def _derivative(match: re.Match[str]) -> Problem | None:
    rest = match["rest"]
    at = _AT.search(rest)
    node = _formula(_RESPECT.split(_AT.sub("", rest))[0])
    if node is None:
        return None
    over = match["over"]
    point = _formula(at[2]) if at else None
    return Problem(
        "derivative",
        (node,),
        variable=over or _variable(rest, node),
        bounds=() if point is None else (point,),
        order=_ORDERS.get((match["order"] or "").lower(), 1),
    )


_RANGE = re.compile(
    r"\b(?:from|between)\s+(?:([a-zA-Z])\s*=\s*)?(?P<low>.+?)\s+(?:to|and)\s+(?:[a-zA-Z]\s*=\s*)?(?P<high>[^,?;]+)",
    re.IGNORECASE,
)


def _integral(match: re.Match[str]) -> Problem | None:
    rest = match["rest"]
    span = _RANGE.search(rest)
    body = rest[: span.start()] if span else rest
    node = _formula(_RESPECT.split(re.sub(r"\bd[a-z]\b", " ; ", body))[0])
    if node is None:
        return None
    bounds = (_formula(span["low"]), _formula(span["high"])) if span else ()
    if None in bounds:
        return None
    known = tuple(bound for bound in bounds if bound is not None)
    return Problem("integral", (node,), variable=_variable(body, node), bounds=known)


def _limit(match: re.Match[str]) -> Problem | None:
    node, point = _formula(match["body"]), _formula(match["point"])
    return None if node is None or point is None else Problem(
        "limit", (node,), variable=match["name"], bounds=(point,)
    )  # fmt: skip


def _summation(match: re.Match[str]) -> Problem | None:
    node, low, high = _formula(match["body"]), _formula(match["low"]), _formula(match["high"])
    if node is None or low is None or high is None:
        return None
    operation: Operation = "product" if match["what"].lower() == "product" else "sum"
    return Problem(operation, (node,), variable=match["name"], bounds=(low, high))


_FIRST = {
    "": "k", "odd": "2k - 1", "even": "2k", "square": "k^2", "cube": "k^3",
}  # fmt: skip


def _first_numbers(match: re.Match[str]) -> Problem | None:
    count = _formula(match["count"])
    kind = next((word for word in ("odd", "even", "square", "cube") if word in match["which"].lower()), "")
    if count is None:
        return None
    return Problem("sum", (parse_formula(_FIRST[kind]),), variable="k", bounds=(Number("1"), count))


def _number_range(match: re.Match[str]) -> Problem | None:
    low, high = _formula(match["low"]), _formula(match["high"])
    return None if low is None or high is None else Problem(
        "sum", (Name("k"),), variable="k", bounds=(low, high)
    )  # fmt: skip


def _series(match: re.Match[str]) -> Problem | None:
    body = re.split(r"\b(?:around|about|at|up to|to order|to the)\b", match["rest"])[0]
    node = _formula(body)
    point = re.search(r"\b(?:around|about|at)\s+(?:[a-z]\s*=\s*)?(-?\d+)", match["rest"])
    order = re.search(r"\border\s+(\d+)|(\d+)\s+terms", match["rest"])
    if node is None:
        return None
    return Problem(
        "series",
        (node,),
        variable=_variable(body, node),
        bounds=(parse_formula(point[1]) if point else Number("0"),),
        order=min(int(order[1] or order[2]), 20) if order else 6,
    )


# -- operations on one formula or a list ------------------------------------------------------------


def _on_formula(operation: Operation) -> Callable[[re.Match[str]], Problem | None]:
    def read(match: re.Match[str]) -> Problem | None:
        node = _formula(match["rest"])
        return None if node is None else Problem(operation, (node,))

    return read


def _on_list(function: str) -> Callable[[re.Match[str]], Problem | None]:
    def read(match: re.Match[str]) -> Problem | None:
        nodes = _formulas(match["rest"].strip().removeprefix("(").removesuffix("?").strip().removesuffix(")"))
        return Problem("value", (Call(function, nodes),)) if len(nodes) > 1 else None

    return read


def _on_two(build: Callable[[Node, Node], Node]) -> Callable[[re.Match[str]], Problem | None]:
    def read(match: re.Match[str]) -> Problem | None:
        left, right = _formula(match["left"]), _formula(match["right"])
        if left is None or right is None:
            return None
        node = build(left, right)
        return Problem("simplify" if variables_of(node) else "value", (node,))

    return read


def _on_one(function: str) -> Callable[[re.Match[str]], Problem | None]:
    def read(match: re.Match[str]) -> Problem | None:
        node = _formula(match["rest"])
        return None if node is None else Problem("value", (Call(function, (node,)),))

    return read


def _roots(match: re.Match[str]) -> Problem | None:
    """Zeros of a formula; an equation is left to the reader of equations."""
    passages = passages_of(match["rest"])
    if not passages or isinstance(passages[0].content, tuple) or not variables_of(passages[0].content):
        return None
    return Problem("solve", relations=(Relation(passages[0].content, "=", Number("0")),))


def _divisible(match: re.Match[str]) -> Problem | None:
    left, right = _formula(match["left"]), _formula(match["right"])
    if left is None or right is None:
        return None
    return Problem("claim", relations=(Relation(Binary("mod", left, right), "=", Number("0")),))


def _at_point(match: re.Match[str]) -> Problem | None:
    """A function defined in words, f(x) = ..., asked for at a number."""
    body, point = _formula(match["body"]), _formula(match["at"])
    if body is None or point is None or variables_of(body) != {match["name"]} or variables_of(point):
        return None
    return Problem("value", (substituted(body, match["name"], point),))


def _inverse(match: re.Match[str]) -> Problem | None:
    value, modulus = _formula(match["left"]), _formula(match["right"])
    return (
        None if value is None or modulus is None else Problem("value", (Call("inverse", (value, modulus)),))
    )


def _divided(left: Node, right: Node) -> Node:
    return Binary("/", left, right)


def _changed(sign: str) -> Callable[[Node, Node], Node]:
    return lambda value, percent: Binary(
        "*", value, Binary(sign, Number("1"), Binary("/", percent, Number("100")))
    )


def _signed(sign: str) -> Callable[[Node, Node], Node]:
    return lambda left, right: Binary(sign, left, right)


def _reversed(sign: str) -> Callable[[Node, Node], Node]:
    return lambda left, right: Binary(sign, right, left)


_REST = r"\s*(?:of|:|for)?\s*(?P<rest>.+)"
_TWO = r"(?P<left>.+?)"
READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Problem | None]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), read)
    for pattern, read in (
        (r"(?:(?P<order>first|second|third|fourth|fifth) )?"
         r"(?:\bderivative\b|\bdifferentiate\b|\bd[a-z]?/d(?P<over>[a-z])\b)"
         + _REST, _derivative),
        (r"(?:\bintegral\b|\bintegrate\b|\bantiderivative\b|∫)" + _REST, _integral),
        (r"\blim(?:it)?\b(?: of)?(?P<body>.+?)\bas (?P<name>[a-z])\b\s*(?:approaches|tends to|goes to|->)"
         r"(?P<point>.+)", _limit),
        (r"\blim(?:it)?_?\s*\(?(?P<name>[a-z])\s*->\s*(?P<point>-?[\w.]+)\)?(?: of)?(?P<body>.+)", _limit),
        (r"\b(?P<what>sum|product)\b(?: of)?(?P<body>.+?)\b(?:for|from|as|over)\s+(?P<name>[a-z])"
         r"\s*(?:=|from)\s*(?P<low>.+?)\s+to\s+(?P<high>.+)", _summation),
        (r"\bsum of (?:all )?(?:the )?first (?P<count>\d+) "
         r"(?P<which>(?:positive |natural |whole |odd |even )*"
         r"(?:integers|numbers|squares|cubes|square numbers|cube numbers))", _first_numbers),
        (r"\bsum of (?:the )?(?P<which>squares|cubes) of (?:the )?first (?P<count>\d+)", _first_numbers),
        (r"\bis (?P<left>.+?) divisible by (?P<right>.+)", _divisible),
        (r"\b(?P<f>[fgh])\((?P<name>[a-z])\)\s*=(?P<body>.+?)[,;.]?\s+(?:and |then )?"
         r"(?:what|find|compute|calculate|evaluate)\b.*?\b(?P=f)\((?P<at>[^()]+)\)", _at_point),
        (r"\bsum of (?:all )?(?:the )?(?:integers|numbers|whole numbers|natural numbers) "
         r"(?:from|between) (?P<low>\d+) (?:to|and) (?P<high>\d+)", _number_range),
        (r"\b(?:taylor|maclaurin|power) (?:series|expansion)\b" + _REST, _series),
        (r"\b(?:greatest common (?:divisor|factor)|highest common factor|gcd|gcf|hcf)\b" + _REST,
         _on_list("gcd")),
        (r"\b(?:least|lowest) common multiple\b" + _REST, _on_list("lcm")),
        (r"\blcm\b" + _REST, _on_list("lcm")),
        (r"\b(?:mean|average)\b" + _REST, _on_list("mean")),
        (r"\bmedian\b" + _REST, _on_list("median")),
        (r"\b(?:maximum|largest|max) of\b(?P<rest>.+)", _on_list("max")),
        (r"\b(?:minimum|smallest|min) of\b(?P<rest>.+)", _on_list("min")),
        (r"\b(?:is|whether|if|check|test)\s+(?:the number\s+)?(?P<rest>\d[^a-z,;?]*?)\s+"
         r"(?:is\s+)?(?:an?\s+)?prime\b",
         _on_formula("is prime")),
        (r"(?P<rest>\b\d+)(?:st|nd|rd|th) prime\b", _on_one("prime")),
        (r"\b(?:next|smallest|first) prime (?:number )?(?:after|above|greater than|larger than)(?P<rest>.+)",
         _on_one("nextprime")),
        (r"\b(?:previous|largest|last) prime (?:number )?(?:before|below|less than|smaller than)(?P<rest>.+)",
         _on_one("prevprime")),
        (r"\b(?:prime )?factori[sz]ation\b" + _REST, _on_formula("factor")),
        (r"\bprime factors\b" + _REST, _on_formula("factor")),
        (r"\bfactor(?:i[sz]e)?\b(?!s)" + _REST, _on_formula("factor")),
        (r"\b(?:how many|number of) (?:positive )?(?:divisors|factors)\b(?P<rest>.+)",
         _on_formula("divisor count")),
        (r"\b(?:divisors|factors)\b" + _REST, _on_formula("divisors")),
        (r"\bexpand\b" + _REST, _on_formula("expand")),
        (r"\bsimplify\b" + _REST, _on_formula("simplify")),
        (r"\b(?:roots|zeros|zeroes) of\b(?P<rest>.+)", _roots),
        (r"\bmodular inverse of " + _TWO + r" mod(?P<right>.+)", _inverse),
        (r"\bremainder (?:when|of|if) " + _TWO + r"(?: is)?\s*(?:/| by |when divided by)\s*(?P<right>[^?]+)",
         _on_two(_signed("mod"))),
        (r"\bwhat\s*(?:percentage|%)\s*(?:of|\*) (?P<right>.+?) is (?P<left>.+)",
         _on_two(lambda part, whole: _signed("*")(Number("100"), _divided(part, whole)))),
        (r"(?P<left>[\d.]+) is what\s*(?:percentage|%)\s*(?:of|\*) (?P<right>.+)",
         _on_two(lambda part, whole: _signed("*")(Number("100"), _divided(part, whole)))),
        (r"\bincrease[sd]? " + _TWO + r" by (?P<right>[\d.]+)\s*%", _on_two(_changed("+"))),
        (r"\b(?:decrease|reduce|discount)[sd]? " + _TWO + r" by (?P<right>[\d.]+)\s*%",
         _on_two(_changed("-"))),
        (r"\b(?P<left>\d+) choose (?P<right>\d+)", _on_two(lambda n, k: Call("binomial", (n, k)))),
        (r"\bchoose (?P<right>\d+) [a-z ]*?(?:from|out of|of) (?P<left>\d+)",
         _on_two(lambda n, k: Call("binomial", (n, k)))),
        (r"\badd " + _TWO + r" (?:to|and) (?P<right>.+)", _on_two(_reversed("+"))),
        (r"\bsubtract " + _TWO + r" from (?P<right>.+)", _on_two(_reversed("-"))),
        (r"\bmultiply " + _TWO + r" (?:by|with|and) (?P<right>.+)", _on_two(_signed("*"))),
        (r"\bdivide " + _TWO + r" by (?P<right>.+)", _on_two(_divided)),
        (r"\bsum of " + _TWO + r" and (?P<right>.+)", _on_two(_signed("+"))),
        (r"\bproduct of " + _TWO + r" and (?P<right>.+)", _on_two(_signed("*"))),
        (r"\bdifference (?:between|of) " + _TWO + r" and (?P<right>.+)", _on_two(_signed("-"))),
        (r"\bquotient of " + _TWO + r" and (?P<right>.+)", _on_two(_divided)),
    )
)  # fmt: skip
