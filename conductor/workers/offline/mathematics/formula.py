"""A formula as a tree, read by the grammar of `formula.lark`, and written out again.

Nothing is computed here, and nothing that is read can run: `expression.py` gives a tree to SymPy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import LarkError, UnexpectedCharacters
from lark.tree import Meta

from conductor.errors import FormatError

MAX_CHARACTERS = 2_000
MAX_TOKENS = 400
MAX_DEPTH = 50

CONSTANTS = frozenset({"pi", "e", "E", "i", "I", "oo", "infinity"})
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Node:
    """A number, a name, an operation on `parts`, or a relation between two.

    `kind` is "number", "name", the operation ("add", "neg", "pow", "percent", "sin", "gcd"...)
    or one of `RELATIONS`. `text` is a number's digits or a name.
    """

    kind: str
    parts: tuple[Node, ...] = ()
    text: str = ""

    @property
    def is_relation(self) -> bool:
        return self.kind in RELATIONS

    def walk(self) -> Iterator[Node]:
        """This node and all below it, from left to right."""
        yield self
        for part in self.parts:
            yield from part.walk()


class _Builder(Transformer[Token, tuple[Node, ...]]):
    """Lark's tree as `Node`s."""

    def number(self, parts: list[str]) -> Node:
        return Node("number", text=str(parts[0]))

    def name(self, parts: list[str]) -> Node:
        word = str(parts[0])
        return Node("name", text=word.lower() if word.isalpha() and len(word) > 1 else word)

    def call(self, parts: list[Any]) -> Node:
        return Node(parts[0].lower(), tuple(parts[1:]))

    def power_of_call(self, parts: list[Any]) -> Node:
        function, exponent, *arguments = parts
        return Node("pow", (self.call([function, *arguments]), exponent))

    def start(self, parts: list[Any]) -> tuple[Node, ...]:
        nodes, signs = parts[::2], ["=" if sign == "==" else str(sign) for sign in parts[1::2]]
        if not signs:
            return tuple(nodes)
        return tuple(map(Node, signs, pairwise(nodes)))

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Node | Tree[Any]:
        # Lark hands the children of a rule that begins with _ to the rule above it.
        return Tree(data, children, meta) if data.startswith("_") else Node(str(data), tuple(children))


_GRAMMAR = Path(__file__).with_name("formula.lark").read_text(encoding="utf-8")
_PARSER = Lark(_GRAMMAR, parser="lalr", transformer=_Builder(), maybe_placeholders=False)
FUNCTION = _PARSER.get_terminal("FUNCTION").pattern.to_regexp().removeprefix("(?i:").removesuffix(")")
"""A regular expression of the functions' names."""

_GLUED = re.compile(
    rf"(?<![a-z])(?!{FUNCTION})([a-z])(?={FUNCTION})|(?<![a-z])([xyz]{{2,3}}|[abc]{{2,3}}|a[xyz]|b[xz]|c[xyz])(?![a-z])",
    re.I,
)


def parse_statement(text: str) -> tuple[Node, ...]:
    """A formula, or the relations of a chain such as 1 < x < 5. Raises `FormatError`."""
    if len(text) > MAX_CHARACTERS:
        raise FormatError(
            f"The formula has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Shorten it."
        )
    parted = _GLUED.sub(lambda match: " ".join(match[0]) + " ", text)
    if len(re.findall(r"[\d.]+|[a-z]+|\S", parted, re.I)) > MAX_TOKENS:
        raise FormatError(f"The formula has more than {MAX_TOKENS} parts. Split it.")
    try:
        nodes: Any = _PARSER.parse(parted)
    except UnexpectedCharacters as error:
        raise FormatError(
            f"{parted[error.pos_in_stream or 0]!r} has no meaning here; write formulas with "
            "+ - * / ^ ( ) and variables of one letter."
        ) from None
    except LarkError:
        raise FormatError(f"{text!r} is not a complete formula. Check its signs and brackets.") from None
    if max(map(_depth, nodes)) > MAX_DEPTH:
        raise FormatError(f"The formula is nested more than {MAX_DEPTH} deep; write it flatter.")
    return tuple(nodes)


def parse_formula(text: str) -> Node:
    """The tree of a formula without = or <. Raises `FormatError` when it is not one, or is too long."""
    node, *more = parse_statement(text)
    if more or node.is_relation:
        raise FormatError(f"{text!r} compares formulas; one formula is needed.")
    return node


def _depth(node: Node) -> int:
    """How deep a tree is nested, without the left sides of a chain such as 1 + 2 + 3."""
    chain = node.kind in ("add", "sub", "mul", "div", "mod")
    return max((_depth(part) + (at > 0 or not chain) for at, part in enumerate(node.parts)), default=0)


def names_in(nodes: Iterable[Node]) -> frozenset[str]:
    """The variables of formulas and relations: names that are no constants."""
    return frozenset(each.text for node in nodes for each in node.walk() if each.kind == "name") - CONSTANTS


def substituted(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with names replaced by other trees."""
    if node.kind == "name":
        return values.get(node.text, node)
    return replace(node, parts=tuple(substituted(part, values) for part in node.parts))


# -- writing ----------------------------------------------------------------------------------------

_INFIX = {"add": " + ", "sub": " - ", "mul": "*", "div": "/", "mod": " mod ", "pow": "^"}
_INFIX |= {sign: f" {sign} " for sign in RELATIONS}
_TIGHTNESS = {"add": 1, "sub": 1, "mul": 2, "div": 2, "mod": 2, "neg": 3, "pow": 4}
_POSTFIX = {"factorial": "!", "percent": "%", "degree": "°"}


def formula_text(node: Node) -> str:
    """The tree written out again, every multiplication shown, brackets only where needed."""
    if node.kind in ("number", "name"):
        return node.text
    if node.kind == "neg":
        return f"-{_inside(node.parts[0], 3)}"
    if node.kind in _POSTFIX:
        return _inside(node.parts[0], 5) + _POSTFIX[node.kind]
    if node.kind in _INFIX:
        tight = _TIGHTNESS.get(node.kind, 0)
        left, right = (5, 3) if node.kind == "pow" else (tight, tight + 1)
        return _inside(node.parts[0], left) + _INFIX[node.kind] + _inside(node.parts[1], right)
    return f"{node.kind}({', '.join(map(formula_text, node.parts))})"


def _inside(node: Node, tight: int) -> str:
    return formula_text(node) if _TIGHTNESS.get(node.kind, 5) >= tight else f"({formula_text(node)})"
