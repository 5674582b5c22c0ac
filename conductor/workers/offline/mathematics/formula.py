"""A formula as a tree, read by the grammar of `formula.lark`, and written out again.

Knows grammar only: nothing is computed here, and nothing that is read can run. `expression.py` gives a tree
to SymPy, `numeric.py` evaluates it with mpmath.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Node:
    """A number, a name, a quantity, or an operation on `parts`.

    `kind` is "number", "name", "quantity" or the operation: "add", "neg", "pow", "percent", "sin", "gcd"...
    `text` is a number's digits, a name, or a quantity's unit.
    """

    kind: str
    parts: tuple[Node, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Relation:
    """Two formulas and the sign between them: = != < <= > >=."""

    left: Node
    sign: str
    right: Node


class _Builder(Transformer[Token, list[Any]]):
    """Lark's tree as `Node`s."""

    def number(self, parts: list[str]) -> Node:
        return Node("number", text=str(parts[0]))

    def name(self, parts: list[str]) -> Node:
        word = str(parts[0])
        return Node("name", text=word.lower() if word.isalpha() and len(word) > 1 else word)

    def quantity(self, parts: list[str]) -> Node:
        return Node("quantity", (Node("number", text=str(parts[0])),), str(parts[1])[1:-1])

    def call(self, parts: list[Node]) -> Node:
        return Node(str(parts[0]).lower(), tuple(parts[1:]))

    def power_of_call(self, parts: list[Node]) -> Node:
        function, exponent, *arguments = parts
        return Node("pow", (self.call([function, *arguments]), exponent))

    def start(self, parts: list[Any]) -> list[Any]:
        return parts

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Node | Tree[Any]:
        # Lark hands the children of a rule that begins with _ to the rule above it.
        return Tree(data, children, meta) if data.startswith("_") else Node(str(data), tuple(children))


_GRAMMAR = Path(__file__).with_name("formula.lark").read_text(encoding="utf-8")
_PARSER = Lark(_GRAMMAR, parser="lalr", transformer=_Builder(), maybe_placeholders=False)
FUNCTION = _PARSER.get_terminal("FUNCTION").pattern.to_regexp().removeprefix("(?i:").removesuffix(")")
"""A regular expression of the functions' names."""

_GLUED = re.compile(
    rf"(?<![a-z])([a-z])(?={FUNCTION})|(?<![a-z])([xyz]{{2,3}}|[abc]{{2,3}}|a[xyz]|b[xz]|c[xyz])(?![a-z])",
    re.I,
)


def parse_statement(text: str) -> Node | tuple[Relation, ...]:
    """A formula, or the relations of a chain such as 1 < x < 5. Raises `FormatError`."""
    if len(text) > MAX_CHARACTERS:
        raise FormatError(
            f"The formula has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Shorten it."
        )
    parted = _GLUED.sub(lambda match: " ".join(match[0]) + " ", text)
    if len(re.findall(r"[\d.]+|[a-z]+|\S", parted, re.I)) > MAX_TOKENS:
        raise FormatError(f"The formula has more than {MAX_TOKENS} parts. Split it.")
    try:
        read: Any = _PARSER.parse(parted)
    except UnexpectedCharacters as error:
        raise FormatError(
            f"{parted[error.pos_in_stream or 0]!r} has no meaning here; write formulas with "
            "+ - * / ^ ( ) and variables of one letter."
        ) from None
    except LarkError:
        raise FormatError(f"{text!r} is not a complete formula. Check its signs and brackets.") from None
    nodes: list[Node] = read[::2]
    if max(map(_depth, nodes)) > MAX_DEPTH:
        raise FormatError(f"The formula is nested more than {MAX_DEPTH} deep; write it flatter.")
    signs = ["=" if sign == "==" else str(sign) for sign in read[1::2]]
    return tuple(map(Relation, nodes, signs, nodes[1:])) or nodes[0]


def parse_formula(text: str) -> Node:
    """The tree of a formula without = or <. Raises `FormatError` when it is not one, or is too long."""
    content = parse_statement(text)
    if isinstance(content, tuple):
        raise FormatError(f"{text!r} compares formulas; one formula is needed.")
    return content


def _depth(node: Node) -> int:
    """How deep a tree is nested, without the left sides of a chain such as 1 + 2 + 3."""
    if not node.parts:
        return 0
    chain = node.kind in ("add", "sub", "mul", "div", "mod")
    return max(_depth(part) + (at > 0 or not chain) for at, part in enumerate(node.parts))


def names_in(nodes: Iterable[Node | Relation]) -> frozenset[str]:
    """The variables of formulas and relations: names that are no constants."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, Relation):
            found |= names_in((node.left, node.right))
        elif node.kind == "name":
            found |= {node.text} - CONSTANTS
        else:
            found |= names_in(node.parts)
    return found


def substituted(node: Node, name: str, value: Node) -> Node:
    """The tree with a name replaced by another tree."""
    if node.kind == "name" and node.text == name:
        return value
    return replace(node, parts=tuple(substituted(part, name, value) for part in node.parts))


# -- writing ----------------------------------------------------------------------------------------

_INFIX = {"add": " + ", "sub": " - ", "mul": "*", "div": "/", "mod": " mod ", "pow": "^"}
_TIGHTNESS = {"add": 1, "sub": 1, "mul": 2, "div": 2, "mod": 2, "neg": 3, "pow": 4}
_POSTFIX = {"factorial": "!", "percent": "%", "degree": "°"}


def formula_text(node: Node | Relation) -> str:
    """The tree written out again, every multiplication shown, brackets only where needed."""
    if isinstance(node, Relation):
        return f"{formula_text(node.left)} {node.sign} {formula_text(node.right)}"
    if node.kind in ("number", "name"):
        return node.text
    if node.kind == "quantity":
        return f"{node.parts[0].text} {node.text}"
    if node.kind == "neg":
        return f"-{_inside(node.parts[0], 3)}"
    if node.kind in _POSTFIX:
        return _inside(node.parts[0], 5) + _POSTFIX[node.kind]
    if node.kind in _INFIX:
        tight = _TIGHTNESS[node.kind]
        left, right = (5, 3) if node.kind == "pow" else (tight, tight + 1)
        return _inside(node.parts[0], left) + _INFIX[node.kind] + _inside(node.parts[1], right)
    return f"{node.kind}({', '.join(map(formula_text, node.parts))})"


def _inside(node: Node, tight: int) -> str:
    return formula_text(node) if _TIGHTNESS.get(node.kind, 5) >= tight else f"({formula_text(node)})"
