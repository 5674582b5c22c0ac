"""A formula as people write it, and its tree: 2x + 3(x - 1)^2, sin^2 x, 5!, 15%.

Knows grammar only: nothing is computed here, and nothing that is read can run. `expression.py`
gives a tree to SymPy, `numeric.py` evaluates it in plain Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from conductor.errors import FormatError

MAX_CHARACTERS = 2_000
MAX_TOKENS = 400
MAX_DEPTH = 50

FUNCTIONS = frozenset(
    "sin cos tan sec csc cot asin acos atan arcsin arccos arctan sinh cosh tanh exp log log2 log10 ln "
    "sqrt cbrt abs factorial floor ceil gcd lcm binomial max min mean median prime nextprime prevprime "
    "inverse".split()
)
CONSTANTS = frozenset({"pi", "e", "i", "oo", "infinity"})


@dataclass(frozen=True)
class Number:
    """A number as written: digits, perhaps a decimal point and an exponent of ten."""

    text: str


@dataclass(frozen=True)
class Name:
    """A constant or a variable."""

    text: str


@dataclass(frozen=True)
class Negative:
    """Minus something."""

    operand: Node


@dataclass(frozen=True)
class Binary:
    """Two operands and what stands between them."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    """A function of its arguments; `percent` and `factorial` are written behind theirs."""

    function: str
    arguments: tuple[Node, ...]


Node = Number | Name | Negative | Binary | Call
Sign = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Relation:
    """Two formulas and how they are said to compare."""

    left: Node
    sign: Sign
    right: Node


TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3}(?![\w.(]))?)"
    r"|(?P<name>log10|log2|[A-Za-z]_?\d+(?![\w(])|[A-Za-z]+)"
    r"|(?P<sign><=|>=|!=|==|\*\*|[-+*/^!%(),|=<>])"
)
_GLUED = re.compile(rf"([a-z])({'|'.join(sorted(FUNCTIONS, key=len, reverse=True))})")
_LETTERS = re.compile(r"[xyz]{2,3}|[abc]{2,3}|a[xyz]|b[xz]|c[xyz]")
_RELATIONS: dict[str, Sign] = {
    "=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="
}  # fmt: skip


def parse_formula(text: str) -> Node:
    """The tree of a formula without = or <. Raises `FormatError` when it is not one, or is too long."""
    parser = _Parser(tokens_of(text))
    node = parser.sum()
    parser.end()
    return node


def parse_statement(text: str) -> tuple[Relation, ...] | Node:
    """A formula, or the relations of a chain such as 1 < x < 5. Raises `FormatError`."""
    parser = _Parser(tokens_of(text))
    left = parser.sum()
    relations: list[Relation] = []
    while parser.next in _RELATIONS:
        sign = _RELATIONS[parser.take()]
        right = parser.sum()
        relations.append(Relation(left, sign, right))
        left = right
    parser.end()
    return tuple(relations) or left


def tokens_of(text: str) -> tuple[str, ...]:
    """The formula's tokens. Raises `FormatError` at the first character that belongs to none."""
    if len(text) > MAX_CHARACTERS:
        raise FormatError(
            f"The formula has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Shorten it."
        )
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = TOKEN.match(text, at)
        if match is None:
            raise FormatError(f"{text[at]!r} has no meaning in a formula; write it with + - * / ^ and ( ).")
        tokens.extend(name_parts(match[0]) if match["name"] else (match[0],))
        at = match.end()
    if len(tokens) > MAX_TOKENS:
        raise FormatError(f"The formula has {len(tokens)} parts; at most {MAX_TOKENS} are read. Split it.")
    return tuple(tokens)


def name_parts(word: str) -> tuple[str, ...]:
    """A run of letters as names: a function, a variable, or glued ones (xy, xsin). Raises `FormatError`."""
    lower = word.lower()
    if lower in FUNCTIONS or lower == "mod" or (lower in CONSTANTS and len(word) > 1):
        return (lower,)
    if len(word) == 1 or re.fullmatch(r"[A-Za-z]_?\d+", word):
        return (word,)
    if glued := _GLUED.fullmatch(lower):
        return glued.groups()
    if _LETTERS.fullmatch(word):
        return tuple(word)
    raise FormatError(f"{word!r} is neither a function nor a variable; variables have one letter.")


class _Parser:
    """Precedence climbing, from loose to tight: sum, product, sign, power, postfix, atom."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str) -> None:
        if self.next != token:
            raise FormatError(f"The formula needs {token!r} {self._where()}.")
        self.at += 1

    def end(self) -> None:
        if self.next:
            raise FormatError(f"The formula should end {self._where()}.")

    def _where(self) -> str:
        return f"before {self.next!r}" if self.next else "at its end"

    def sum(self) -> Node:
        left = self.product()
        while self.next in ("+", "-"):
            left = Binary(self.take(), left, self.product())
        return left

    def product(self) -> Node:
        left = self.signed()
        while True:
            if self.next in ("*", "/", "mod"):
                left = Binary(self.take(), left, self.signed())
            elif self.next == "%":
                self.take()
                left = Binary("mod", left, self.signed())
            elif self._starts_factor():
                left = Binary("*", left, self.power())
            else:
                return left

    def _starts_factor(self) -> bool:
        """Whether the next token multiplies without a sign; two numbers side by side do not."""
        return self.next == "(" or (self.next[:1].isalpha() and self.next != "mod")

    def signed(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormatError(f"The formula is nested more than {MAX_DEPTH} deep; write it flatter.")
        node = self._signed()
        self.depth -= 1
        return node

    def _signed(self) -> Node:
        if self.next == "-":
            self.take()
            return Negative(self.signed())
        if self.next == "+":
            self.take()
            return self.signed()
        return self.power()

    def power(self) -> Node:
        base = self.postfix()
        if self.next in ("^", "**"):
            self.take()
            return Binary("^", base, self.signed())
        return base

    def postfix(self) -> Node:
        node = self.atom()
        while self.next == "!" or (self.next == "%" and self._percent_ends()):
            node = Call("factorial" if self.take() == "!" else "percent", (node,))
        return node

    def _percent_ends(self) -> bool:
        """A % sign with an operand behind it means the remainder, else hundredths."""
        after = self.tokens[self.at + 1 : self.at + 2]
        return not after or not (after[0] == "(" or after[0][0].isalnum() or after[0][0] == ".")

    def atom(self) -> Node:
        first = self.next
        if first[:1].isdigit() or (first[:1] == "." and first[1:]):
            return Number(self.take())
        if first in FUNCTIONS:
            return self.call()
        if first[:1].isalpha() and first != "mod":
            return Name(self.take())
        if first == "(":
            self.take()
            node = self.sum()
            self.expect(")")
            return node
        if first == "|":
            self.take()
            node = self.sum()
            self.expect("|")
            return Call("abs", (node,))
        raise FormatError(f"The formula needs a number, a variable or '(' {self._where()}.")

    def call(self) -> Node:
        function = self.take()
        exponent: Node | None = None
        if self.next in ("^", "**"):
            self.take()
            exponent = self.atom()
        call = Call(function, self.arguments())
        return call if exponent is None else Binary("^", call, exponent)

    def arguments(self) -> tuple[Node, ...]:
        if self.next != "(":
            return (self.bare_argument(),)
        self.take()
        arguments = [self.sum()]
        while self.next == ",":
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        return tuple(arguments)

    def bare_argument(self) -> Node:
        """What a function without brackets takes: sin 2x cos x is sin(2x) * cos(x)."""
        node = self.signed() if self.next in ("-", *FUNCTIONS) else self.power()
        while self._starts_factor() and self.next not in FUNCTIONS and self.next != "(":
            node = Binary("*", node, self.power())
        return node


_TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2, "^": 4}


def formula_text(node: Node) -> str:
    """The tree written out again, every multiplication shown, brackets only where needed."""
    match node:
        case Number(text) | Name(text):
            return text
        case Negative(operand):
            return f"-{_inside(operand, 3)}"
        case Binary(sign, left, right):
            tight = _TIGHTNESS[sign]
            left_tight, right_tight = (5, 3) if sign == "^" else (tight, tight + 1)
            glue = sign if sign in ("^", "/", "*") else f" {sign} "
            return _inside(left, left_tight) + glue + _inside(right, right_tight)
        case Call("factorial" | "percent" as function, (operand,)):
            return _inside(operand, 5) + ("!" if function == "factorial" else "%")
        case Call(function, arguments):
            return f"{function}({', '.join(map(formula_text, arguments))})"
        case _:
            assert_never(node)


def _inside(node: Node, tight: int) -> str:
    own = _TIGHTNESS[node.sign] if isinstance(node, Binary) else 3 if isinstance(node, Negative) else 5
    return formula_text(node) if own >= tight else f"({formula_text(node)})"


def relation_text(relation: Relation) -> str:
    """The relation written out again."""
    return f"{formula_text(relation.left)} {relation.sign} {formula_text(relation.right)}"


def variables_of(node: Node | Relation) -> frozenset[str]:
    """Names in it that are not constants."""
    match node:
        case Number():
            return frozenset()
        case Name(text):
            return frozenset() if text in CONSTANTS else frozenset({text})
        case Negative(operand):
            return variables_of(operand)
        case Binary(_, left, right) | Relation(left, _, right):
            return variables_of(left) | variables_of(right)
        case Call(_, arguments):
            return frozenset().union(*map(variables_of, arguments))
        case _:
            assert_never(node)


def substituted(node: Node, name: str, value: Node) -> Node:
    """The tree with a name replaced by another tree."""
    match node:
        case Name(text) if text == name:
            return value
        case Binary(sign, left, right):
            return Binary(sign, substituted(left, name, value), substituted(right, name, value))
        case Call(function, arguments):
            return Call(function, tuple(substituted(each, name, value) for each in arguments))
        case Number() | Name():
            return node
        case _:
            return replace(node, operand=substituted(node.operand, name, value))
