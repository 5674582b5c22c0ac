"""What a command loads: nothing that only draws, computes, migrates or serves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

POOL = """
[conductor]
base_url = "{url}"
model = "conductor"

[[worker]]
name = "one"
base_url = "{url}"
model = "simulated"
"""

DRAWS = "pyvis networkx IPython jinja2 markdown_it latex2mathml conductor.report pages".split()
COMPUTES = "sympy mpmath numpy pandas pyarrow scipy tokenizers torch math_verify".split()
SERVES = "streamlit fastapi starlette uvicorn prometheus_client mcp ray openai studio.api".split()
STORES = "alembic mako sqlalchemy.orm sqlalchemy.dialects.postgresql psycopg".split()
PRINTS = "rich.console pygments click".split()
CHECKS = "jsonschema referencing".split()
PARSES = "conductor.planner.parsing conductor.workflow.lint studio.session_file".split()
CALLS = "httpx aiohttp conductor.workers.endpoint".split()
ALL = (*DRAWS, *COMPUTES, *SERVES, *STORES, *PRINTS, *CHECKS)

COMMANDS: list[tuple[Sequence[str], Sequence[str]]] = [
    (("sessions", "list"), (*ALL, *CALLS, *PARSES)),
    (("plan", "What is 2 + 2?"), ALL),
    (("run", "What is 2 + 2?"), ALL),
    (("run", "What is 2 + 2?", "--json"), ALL),
]

SCRIPT = """
import atexit, json, sys
atexit.register(lambda: open("modules.json", "w").write(json.dumps([n for n, m in sys.modules.items() if m])))
from conductor.__main__ import run
sys.exit(run())
"""


@pytest.fixture(scope="module")
def endpoint() -> Served:
    with serving(FakeOpenAI()) as served:
        yield served


@pytest.fixture
def folder(endpoint: Served, tmp_path: Path) -> Path:
    """One with a pool, and a store that is up to date."""
    (tmp_path / "pool.toml").write_text(POOL.format(url=endpoint.base_url))
    run(tmp_path, "sessions", "list")
    return tmp_path


def run(folder: Path, *arguments: str) -> list[str]:
    """The modules that a command has loaded at its end."""
    root = str(Path(__file__).parents[3])
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{SCRIPT}", *arguments],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    modules: list[str] = json.loads((folder / "modules.json").read_text())
    return modules


@pytest.mark.parametrize(("command", "absent"), COMMANDS, ids=lambda each: " ".join(each[:3]))
def test_a_command_loads_nothing_that_it_does_not_need(
    folder: Path, command: Sequence[str], absent: Sequence[str]
) -> None:
    modules = run(folder, *command)
    loaded = {name for name in absent for each in modules if each == name or each.startswith(f"{name}.")}
    assert loaded == set()
    assert "storage.store.session_store" in modules
