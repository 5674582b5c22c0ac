"""The snippets that the app shows, as programs of their own against the API."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from pages.components.workbench.bar.code_snippets import snippets
from tests.support.processes.api_server import ServedApi, serving_api

ANSWER = "It is seventeen."


@pytest.fixture(scope="module")
def served(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("snippets") / "conductor.db")
    with serving_api(file, Pool(workers=(SimulatedWorker(name="alpha", answer=ANSWER),))) as served:
        yield served


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "program", "key"),
    [
        ("Python", (sys.executable, "-c"), None),
        ("Python", (sys.executable, "-c"), "token"),
        ("curl", ("bash", "-c"), None),
        ("curl", ("bash", "-c"), "token"),
    ],
)
def test_a_snippet_prints_the_answer(
    served: ServedApi, language: str, program: Sequence[str], key: str | None, tmp_path: Path
) -> None:
    if shutil.which(program[0]) is None or (language == "curl" and shutil.which("curl") is None):
        pytest.skip(f"{language} is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "CONDUCTOR_API_KEY"}
    token, text = (None, "") if key is None else served.bench.store.tokens.create("snippet")
    if token is not None:
        environment["CONDUCTOR_API_KEY"] = text
    query = "Which?\n'\"`${x}` $HOME is it? \u202e\U000e0001"
    file = tmp_path / "it's $HOME" / "api-token"
    file.parent.mkdir()
    file.write_text(served.key, encoding="utf-8")
    token_file = None if key is not None else file
    snippet = snippets(url=served.base_url, model="worker:alpha", query=query, token=token_file)[language]
    done = subprocess.run(
        [*program, snippet],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    if language == "Python":
        assert done.stdout == ANSWER
    else:
        assert "seventeen" in done.stdout
        assert done.stdout.rstrip().endswith("data: [DONE]")
    assert served.bench.store.sessions.listed(limit=1)[0].query == query
    if token is not None:
        served.bench.store.tokens.revoke(token.id)
