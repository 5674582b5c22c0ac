"""Regular expressions are those that every Python from 3.11.2 on reads rightly.

Before 3.11.5, `re` matches some possessive repeats and atomic groups wrongly (python/cpython#106052), and
Debian 12 has 3.11.2. No expression needs them: what follows a repeat begins with another character, or
`(?!...)` sees to that.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("app.py", "conductor", "storage", "studio", "pages", "benchmarks", "tests")

WRITTEN = re.compile(r"[*+?}]\+|\(\?>")
"""How the two are written; also in texts that are no expression, so that is not enough."""


def texts_in(source: str) -> Iterator[tuple[int, str]]:
    """Each string of a file with its line, put together from its parts; a value in it is a 0."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(text := _text(node), str):
            yield node.lineno, text  # type: ignore[attr-defined]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # No docstring.
            pending.extend(ast.iter_child_nodes(node))


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=bytes() as data):
            return data.decode("latin-1")
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "0" for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right) if (first := _text(left)) is not None:
            return first + (_text(right) or "0")
    return None


def is_possessive(text: str) -> bool:
    """Whether this is an expression with one of the two; a letter with `++`, as in C++, is none."""
    if not WRITTEN.search(text):
        return False
    for flags in (0, re.VERBOSE):
        try:
            with warnings.catch_warnings(action="ignore"):
                return _holds(parser.parse(text, flags))
        except (re.error, OverflowError):
            continue
    return False


def _holds(part: Any) -> bool:
    if isinstance(part, parser.SubPattern):
        return any(_holds(each) for each in part.data)
    if not isinstance(part, tuple | list):
        return False
    match part:
        case (codes.ATOMIC_GROUP, _):
            return True
        case (codes.POSSESSIVE_REPEAT, (_, _, repeated)):
            [*inner] = repeated
            is_letter = len(inner) == 1 and inner[0][0] is codes.LITERAL and chr(inner[0][1]).isalpha()
            return not is_letter or _holds(repeated)
    return any(_holds(each) for each in part)


@pytest.mark.slow
def test_no_expression_has_a_possessive_repeat_or_an_atomic_group() -> None:
    matches = []
    for place in PLACES:
        for file in [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            if file != Path(__file__) and WRITTEN.search(source):
                lines = [line for line, text in texts_in(source) if is_possessive(text)]
                matches += [f"{file.relative_to(ROOT)}:{line}" for line in lines]
    assert matches == []


@pytest.mark.parametrize(
    "source",
    [
        r'A = re.compile(r"/\*(?:[^*]|\*(?!/)){0,500}+\*/")',
        r'A = re.compile(r"\s*+[a-z]")',
        r'A = re.compile(rb"\s++x")',
        r'A = re.compile(r"(?:a|b)?+")',
        r'A = re.compile(rf"(?:{B}){{2,3}}+")',
        r'A = re.compile(r"(?>a|b)c")',
        r'A = re.compile("( # one (\n a | b\n)*+", re.VERBOSE)',
        r'A = r"[ab" + re.escape(c) + r"]*+"',
        r'A = {"words": r"(?=(?:\w++ )+)"}',
        r"def f():" + '\n    return re.match(r"\\d{1,3}+", text)',
    ],
)
def test_an_expression_with_one_is_found_however_it_is_written(source: str) -> None:
    assert [text for _, text in texts_in(source) if is_possessive(text)]


@pytest.mark.parametrize(
    "source",
    [
        'A = "cpp c++ cc hpp"',
        '"""The clusters of k-means++."""',
        r'A = re.compile(r"[*+]+\++")',
        r'A = re.compile(r"a*\+|[?+]")',
        'A = "for (let at = 0; at < n; at++) { x(); }"',
        'A = "{{+{}+}}"',
        "A = 1  # (?:a|b)*+",
    ],
)
def test_what_is_none_is_not_found(source: str) -> None:
    assert not [text for _, text in texts_in(source) if is_possessive(text)]
