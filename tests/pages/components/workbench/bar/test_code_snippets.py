"""Snippets: each is a program of its language, whatever the question is, and holds no key."""

from __future__ import annotations

import ast
import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.workbench.bar.code_snippets import MOST_CHARACTERS, quoted, snippets

URL = "http://localhost:8501/v1"
MODEL = "workflow:9f6af4c713016740"
TOKEN = Path("/home/Ann O'Neill/studio/data/api-token")
HOSTILE = "It's \"$HOME\" `date` \\ ${x} $(id)\n'; rm -rf / #\u202e\u2028</script> 100 % é"


def sent_by(text: str, language: str) -> dict[str, object]:
    """What a snippet asks, read by the language's own rules."""
    if language == "curl":
        words = shlex.split(text)
        return json.loads(words[words.index("-d") + 1])
    [call] = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "create"
    ]
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["curl", "Python"])
@given(query=st.one_of(st.text(), st.just(HOSTILE)))
def test_a_snippet_asks_the_question_letter_for_letter(language: str, query: str) -> None:
    text = snippets(url=URL, model=MODEL, query=query)[language]
    messages = [{"role": "user", "content": query}]
    assert sent_by(text, language) == {"model": MODEL, "messages": messages, "stream": True}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_javascript_reads_the_question_as_it_is() -> None:
    script = f"process.stdout.write(JSON.stringify({quoted(HOSTILE)}))"
    process = subprocess.run(["node", "-e", script], capture_output=True, check=True, timeout=60)
    assert json.loads(process.stdout) == HOSTILE
    assert quoted(HOSTILE) in snippets(url=URL, model=MODEL, query=HOSTILE)["JavaScript"]


@pytest.mark.parametrize("token", [None, TOKEN])
def test_no_snippet_holds_a_key_or_what_cannot_be_seen(token: Path | None) -> None:
    for snippet in snippets(url=URL, model=MODEL, query=HOSTILE, token=token).values():
        assert ("api-token" in snippet) == (token is not None)
        assert "CONDUCTOR_API_KEY" in snippet
        assert "conductor_" not in snippet
        assert URL in snippet
        assert all(letter.isprintable() or letter == "\n" for letter in snippet)


def test_a_long_question_is_shown_by_its_beginning() -> None:
    text = snippets(url=URL, model=MODEL, query="x" * 100_000)["Python"]
    assert f"{'x' * MOST_CHARACTERS}…" in text
    assert len(text) < 2 * MOST_CHARACTERS + 500
