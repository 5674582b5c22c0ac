"""The texts of the screen, one a line: file, line, a tab, the text. `make texts` prints them.

Knows how Python and JavaScript write a text; does not know which message of the library a page shows: it
lists all of them. A value inside a text is {}.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.test_wording import ROOT, SCRIPT_TEXT

SCREEN = ("app.py", "pages")
BEHIND = ("conductor", "storage", "studio")
"""Whose sentences a page shows."""

ELSEWHERE = (
    "studio/api",
    "studio/cli",
    "studio/mcp",
    "studio/telemetry/metrics.py",
    "conductor/baselines",
    "conductor/orchard",
    "conductor/planner/prompt",
    "conductor/workers/orchard",
)
"""What is for programs, for the terminal or for models."""

LABEL = re.compile(r"[A-Z][a-z]+|(?=.*[a-z]{2}).*\S .*", re.DOTALL)
SENTENCE = re.compile(r"[A-Z{][^\n]* [^\n]*[a-z}.?!:]")
CODE = re.compile(r"[{};]\s*$|^[.#:@&<*]|[a-z]\(|=>|--[a-z]|</|^(?:SELECT|INSERT|UPDATE|DELETE|CREATE) ")


def strings_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Each string with its line, in the order of the file; without docstrings."""
    tree = ast.parse(source)
    parts: set[ast.AST] = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            texts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            lines.append((node.lineno, "".join(texts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            lines.append((node.lineno, node.value))
    yield from sorted(lines)


def strings_of_script(source: str) -> Iterator[tuple[int, str]]:
    """Each string with its line; without comments."""
    for match in SCRIPT_TEXT.finditer(source):
        if not match[0].startswith("/"):
            yield source.count("\n", 0, match.start()) + 1, re.sub(r"\$\{[^}]*\}", "{}", match[0][1:-1])


def texts(file: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The strings of a file that are words for people: of this pattern, and not code."""
    strings = strings_of_python if file.suffix == ".py" else strings_of_script
    for line, text in strings(file.read_text(encoding="utf-8")):
        if pattern.fullmatch(text) and not CODE.search(text):
            yield line, text


def screen_texts() -> Iterator[tuple[str, int, str]]:
    """The file, the line and the text of all texts of the screen, by file."""
    for pattern, places in ((LABEL, SCREEN), (SENTENCE, BEHIND)):
        for path in map(ROOT.joinpath, places):
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                name = file.relative_to(ROOT).as_posix()
                if file.suffix in {".py", ".js"} and not name.startswith(ELSEWHERE):
                    yield from ((name, line, text) for line, text in texts(file, pattern))


if __name__ == "__main__":
    for name, line, text in screen_texts():
        print(f"{name}:{line}", text.replace("\n", r"\n"), sep="\t")
