"""What people read is in plain technical English: screen texts, messages, docstrings and comments.

Knows how Python, JavaScript and CSS are written; knows no meaning: a listed word is wrong in every sense.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("app.py", "conductor", "storage", "studio", "pages")
OTHERS = ("benchmarks", "examples", "tests")

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
    r"(?:None )?where (?:none|there is none)|None where": "or None, if there is none",
    r"be it|of which|those who": "a clause with a subject and a verb",
}
"""Words that do not belong into the program, and what to write in their place."""

PARTICIPLES = {
    "asked", "begun", "counted", "drawn", "found", "given", "kept", "known", "made", "meant", "said", "shown",
    "taken", "told", "wanted",
}  # fmt: skip
"""What a name must not end in: it leaves open what was asked or found."""

VERBS = {"are", "be", "has", "is", "was", "were"}

SMALL_WORDS = {
    "about", "after", "again", "also", "at", "before", "by", "for", "from", "here", "in", "into", "now", "of",
    "off", "on", "once", "out", "over", "then", "there", "through", "to", "under", "up", "while", "with",
}  # fmt: skip

STORED = {
    "conductor/evaluation/evaluation_table.py questions_asked", "conductor/evaluation/spec.py given",
    "conductor/runs/events.py AnswerKept", "conductor/runs/events.py StepKept",
    "storage/tables/plans.py stop_asked", "studio/api/serving/server.py connection_made",
    "studio/mcp/evaluating.py questions_asked",
}  # fmt: skip
"""Names that stored or published formats have, and one of asyncio."""

FIXED = "This was said before the overall task, oldest first:\n"
"""A prompt's line: the fingerprints of stored outputs cover it, so it is as it was."""

SAMPLE = "of which the town has promised"
"""A text that a recorded run was given."""

LISTED = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)

SCRIPT_TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", re.DOTALL
)
"""A comment or a string of JavaScript; of CSS, a comment."""

SCRIPT_BINDING = re.compile(
    r"\b(?:const|let|var|function|class) (\w+)|\bthis\.(\w+) = |(\w+) =>"
    r"|[(,] ?(\w+)(?=[,)][^;\n]*(?:=>|\{\n))"
)
"""A constant, a variable, a function, a class, a field or a parameter of JavaScript."""


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring, comment and string of more than one word, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value.replace(FIXED, "").replace(SAMPLE, "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts_of_script(source: str) -> Iterator[tuple[int, str]]:
    """Each comment, and each string of more than one word, with its line."""
    for match in SCRIPT_TEXT.finditer(source):
        if " " in match[0]:
            yield source.count("\n", 0, match.start()) + 1, match[0]


def prose_of_tests(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring, comment and name of a test, with its line. Other strings are data."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield node.lineno, name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def listed(text: str) -> list[str]:
    return LISTED.findall(text)


def files_of(*places: str) -> Iterator[Path]:
    for place in places:
        path = ROOT / place
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (
            file
            for file in files
            if file.suffix in {".py", ".js", ".mjs", ".css"} and "node_modules" not in file.parts
        )


@pytest.mark.slow
def test_no_text_of_the_program_has_a_word_of_the_list():
    lines = []
    for file in files_of(*PLACES):
        source = file.read_text(encoding="utf-8")
        if not listed(source):
            continue
        texts = texts_of_python(source) if file.suffix == ".py" else texts_of_script(source)
        for line, text in texts:
            lines += [f"{file.relative_to(ROOT)}:{line}: {word}" for word in listed(text)]
    assert lines == []


@pytest.mark.thorough
def test_no_prose_of_the_tests_has_a_word_of_the_list():
    assert [
        f"{file.relative_to(ROOT)}:{line}: {word}"
        for file in files_of(*OTHERS)
        if file.suffix == ".py" and listed((source := file.read_text(encoding="utf-8")).replace("_", " "))
        for line, text in prose_of_tests(source)
        for word in listed(text)
    ] == []


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs", "benchmarks/README.md"]
)
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


def bindings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each name that a module gives to something, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def sources(*places: str) -> Iterator[tuple[Path, ast.Module]]:
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if "node_modules" in file.parts:
                continue
            yield file.relative_to(ROOT), parsed(file)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def ends_in_participle(name: str) -> bool:
    """Whether a name lacks what its participle describes, which those of `is_known` and `asked_at` do not."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    while words and words[-1] in SMALL_WORDS - {"at"}:
        words.pop()
    return bool(words) and words[-1] in PARTICIPLES and VERBS.isdisjoint(words)


@pytest.mark.thorough
def test_no_name_ends_in_a_participle_as_a_noun():
    named = [
        f"{file} {name}"
        for file, tree in sources(*PLACES, *OTHERS)
        for _, name in bindings(tree)
        if not name.startswith("test_")
    ]
    for file in files_of(*PLACES, *OTHERS):
        named += [f"{file} {part}" for part in file.relative_to(ROOT).with_suffix("").parts]
        if file.suffix in {".js", ".mjs"}:
            bound = SCRIPT_BINDING.findall(file.read_text(encoding="utf-8"))
            named += [f"{file} {''.join(groups)}" for groups in bound]
    assert [name for name in named if ends_in_participle(name.split()[-1]) and name not in STORED] == []


@pytest.mark.parametrize("name", ["found", "StepShown", "_GIVEN_UP", "given_out"])
def test_a_participle_as_a_noun_is_found_at_the_end(name: str):
    assert ends_in_participle(name)


@pytest.mark.parametrize(
    "line", ["const asked = 1;", "this.asked = 1;", "asked => 1", "(a, asked) => {", "function asked(a) {"]
)
def test_a_name_is_found_wherever_a_script_gives_it(line: str):
    assert "asked" in map("".join, SCRIPT_BINDING.findall(line))


@pytest.mark.parametrize("name", ["is_known", "was_drawn", "known_outputs", "asked_at", "unknown"])
def test_a_participle_of_a_sentence_or_before_a_noun_is_none(name: str):
    assert not ends_in_participle(name)


@pytest.mark.thorough
def test_a_header_begins_with_its_subject_or_verb():
    question = re.compile(r"(?:As|From|How|To|What|When|Where|Whether|Which|Who|Whose|Why)\b")
    headers = [(file, ast.get_docstring(tree) or "") for file, tree in sources(*PLACES)]
    assert [str(file) for file, header in headers if question.match(header)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("stratum", ["conductor", "storage", "studio", "pages"])
def test_no_two_classes_and_no_two_modules_of_a_stratum_have_one_name(stratum: str):
    names = Counter[str]()
    for file, tree in sources(stratum):
        if file.stem != "__init__" and file.parent != Path("pages"):
            names[f"module {file.stem}"] += 1
        names.update(f"class {node.name}" for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.thorough
def test_no_private_function_is_named_by_small_words_alone():
    named = [
        f"{file.relative_to(ROOT)}:{part.lineno} {part.name}"
        for place in PLACES
        for file in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py")))
        for part in ast.walk(parsed(file))
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(r"_[a-z]", part.name)
        if set(part.name.strip("_").split("_")) <= SMALL_WORDS
    ]
    assert named == []
