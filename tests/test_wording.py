"""What people read is in plain technical English: screen texts, messages, docstrings and comments.

Knows how Python, JavaScript and CSS are written; knows no meaning: a listed word is wrong in every sense.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("app.py", "conductor", "storage", "studio", "pages")

INSTEAD = {
    r"whoever|whomever": "a person, a caller, the reader",
    r"nobody|somebody": "no one, a person, a caller",
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"hear(?:s|d|ing)?": "receive, read",
    r"tells?|told|telling": "return, send, show, report",
    r"says?|said|saying": "state, show, report, answer, name",
    r"troubles?": "failure",
    r"farewell|labour|deeds?|heirs?|tidings|haste|hasty": "a word of the field",
}
"""Words that do not belong into the program, and what to write in their place."""

FIXED = "This was said before the overall task, oldest first:\n"
"""A prompt's line: the fingerprints of stored outputs cover it, so it is as it was."""

LISTED = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)

SCRIPT_TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", re.DOTALL
)
"""A comment or a string of JavaScript; of CSS, a comment."""


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring, comment and string of more than one word, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value.replace(FIXED, "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts_of_script(source: str) -> Iterator[tuple[int, str]]:
    """Each comment, and each string of more than one word, with its line."""
    for match in SCRIPT_TEXT.finditer(source):
        if " " in match[0]:
            yield source.count("\n", 0, match.start()) + 1, match[0]


def listed(text: str) -> list[str]:
    return LISTED.findall(text)


def product_files() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / place
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.suffix in {".py", ".js", ".css"})


@pytest.mark.slow
def test_no_text_of_the_program_has_a_word_of_the_list():
    found = []
    for file in product_files():
        source = file.read_text(encoding="utf-8")
        texts = texts_of_python(source) if file.suffix == ".py" else texts_of_script(source)
        for line, text in texts:
            found += [f"{file.relative_to(ROOT)}:{line}: {word}" for word in listed(text)]
    assert found == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs", "benchmarks/README.md"])
def test_no_page_of_the_documentation_has_a_word_of_the_list(name: str):
    path = ROOT / name
    pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
    assert [
        f"{page.name}: {word}" for page in pages for word in listed(page.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "text", ["Ask whoever wrote it.", "Plan anew", "It SAYS so.", "Mended.", "// hears of a run", "trouble"]
)
def test_a_word_of_the_list_is_found_however_it_is_written(text: str):
    assert len(listed(text)) == 1


@pytest.mark.parametrize("text", ["Rerun all", "essays", "intelligent", "a shearing force", "retelling"])
def test_a_part_of_another_word_is_not_found(text: str):
    assert listed(text) == []
