"""Code as HTML with its words in colour, in the languages that answers are written in.

Pygments reads the code; of its many kinds of tokens a few remain. A language that is not named here, and code
that is very long, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)

from conductor.markdown.escaping import text_html

LONGEST = 12_000
"""Characters of code that are coloured at most."""

_UNLIKELY = re.compile(r"[^\n]{400}|\n{20}|\s{200}")
"""No code that anybody reads, but what some of the rules of Pygments would take very long for."""

_LEXERS = {
    name: lexer
    for lexer, names in {
        "python": "python py python3 py3",
        "pycon": "pycon",
        # Also for two whose own rules take very long for lines of many words.
        "javascript": "javascript js mjs cjs jsx java csharp c# cs",
        "typescript": "typescript ts tsx",
        "json": "json jsonc json5",
        "yaml": "yaml yml",
        "toml": "toml",
        "ini": "ini cfg dosini",
        "bash": "bash sh shell zsh",
        "powershell": "powershell ps1",
        "sql": "sql sqlite postgresql mysql",
        "html": "html",
        "xml": "xml svg",
        "css": "css scss",
        "c": "c h",
        "cpp": "cpp c++ cc hpp",
        "kotlin": "kotlin kt",
        "swift": "swift",
        "go": "go golang",
        "rust": "rust rs",
        "ruby": "ruby rb",
        "php": "php",
        "perl": "perl pl",
        "lua": "lua",
        "r": "r",
        "julia": "julia jl",
        "matlab": "matlab",
        "haskell": "haskell hs",
        "scala": "scala",
        "docker": "dockerfile docker",
        "make": "makefile make",
        "diff": "diff patch",
        "tex": "latex tex",
    }.items()
    for name in names.split()
}

_CLASSES = (
    (Comment, "comment"),
    (Keyword, "keyword"),
    (Operator.Word, "keyword"),
    (String, "string"),
    (Number, "number"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Tag, "keyword"),
    (Name.Attribute, "name"),
    (Name.Builtin, "name"),
    (Name.Decorator, "name"),
    (Name.Variable, "name"),
    (Generic.Inserted, "added"),
    (Generic.Deleted, "removed"),
    (Generic.Prompt, "comment"),
    (Generic.Heading, "comment"),
)


@lru_cache(maxsize=64)
def code_html(code: str, language: str) -> str:
    """The HTML of code, letter for letter; `language` is the word after the fence."""
    lexer = _lexer(language.lower())
    if lexer is None or len(code) > LONGEST or _UNLIKELY.search(code):
        return text_html(code)
    parts = [(_class(kind), value) for kind, value in lexer.get_tokens(code)]
    if "".join(value for _, value in parts) != code:
        return text_html(code)
    return "".join(_merged(parts))


def _merged(parts: list[tuple[str, str]]) -> Iterator[str]:
    for kind, group in groupby(parts, key=lambda part: part[0]):
        html = text_html("".join(value for _, value in group))
        yield f'<span class="{kind}">{html}</span>' if kind else html


@cache
def _lexer(language: str) -> Lexer | None:
    name = _LEXERS.get(language)
    return None if name is None else get_lexer_by_name(name, stripnl=False, ensurenl=False)


@cache
def _class(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")
