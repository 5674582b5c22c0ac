"""What the documentation names is there: commands with their options, make's targets, variables, files.

Knows how the pages write them; knows nothing of what they do.
"""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from studio.cli.line import _COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
PRODUCT = ("app.py", "conductor", "storage", "studio", "pages", "Makefile", "compose.yaml", ".ci", "tests")

CODE = re.compile(r"^ {4}(.+)$|`([^`\n]+)`", re.MULTILINE)
COMMAND = re.compile(
    r"^(?:\w+=\S+ |for .+ do |docker compose exec (?:-T )?app(?:-1)? |uvx --from \. )?"
    r"(?:python -m )?conductor +([a-z].*)"
)

pytestmark = pytest.mark.slow

OWN = re.compile(r"(?:conductor|storage|studio|pages|tests|docs|deploy|benchmarks|examples|\.ci)/[\w./-]+")
"""A path of the repository."""


def code_of(page: Path) -> list[str]:
    """The lines of code and what stands between backticks; a line that ends in a backslash has the next."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line or inline for line, inline in CODE.findall(text)]


def faults(arguments: list[str]) -> list[str]:
    """The commands and options of a line of arguments that there are not."""
    command: Any = None
    for at, word in enumerate(arguments):
        commands = getattr(command, "commands", {}) if command else _COMMANDS
        if word not in commands:
            if at == 0 or (commands and not word.startswith("-")):
                return [word]
            break
        command = (
            commands[word] if command else get_command(import_module(f"studio.cli.{_COMMANDS[word][0]}").app)
        )
    names = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    options = [word.partition("=")[0] for word in arguments if word.startswith("--") and word != "--"]
    return [option for option in options if option not in names | {"--help"}]


def commands_of(page: Path) -> list[list[str]]:
    """The arguments of each command of ours, without comments, pipes and other programs' flags."""
    codes = (re.split(r" -- | [|>&]|; |\s# ", code)[0] for code in code_of(page))
    return [shlex.split(match[1]) for code in codes if (match := COMMAND.match(code))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_is_there(page: Path) -> None:
    assert [(line, wrong) for line in commands_of(page) if (wrong := faults(line))] == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("run Why --json --budget-cost=0.5", []),
        ("sessions list --state finished", []),
        ("walk Why", ["walk"]),
        ("sessions walk", ["walk"]),
        ("run Why --jsn --json", ["--jsn"]),
    ],
)
def test_a_command_or_option_that_is_not_there_is_found(line: str, wrong: list[str]) -> None:
    assert faults(line.split()) == wrong


def test_every_command_of_a_container_is_there() -> None:
    team = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    commands = [service["command"] for service in team["services"].values() if "command" in service]
    assert commands
    assert [(command, wrong) for _, *command in commands if (wrong := faults(command))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_target_of_make_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for code in code_of(page) for name in re.findall(r"(?:^|\s)make ([a-z-]+)", code)}
    assert named - targets == set()


def test_ci_runs_the_gate_and_the_real_model() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    assert {".ci/run", ".ci/audit", "make test-real"} <= commands | set(
        jobs["beside"]["strategy"]["matrix"]["command"]
    )


def test_every_variable_is_read_by_the_program() -> None:
    named = {name for page in PAGES for name in re.findall(r"CONDUCTOR_[A-Z_]+\b", page.read_text("utf-8"))}
    files = [file for place in PRODUCT for file in [ROOT / place, *(ROOT / place).rglob("*")]]
    texts = [
        file.read_text("utf-8")
        for file in files
        if file.is_file() and file.suffix in {".py", ".yaml", ""} and "node_modules" not in file.parts
    ]
    source = "\n".join(texts)
    assert {name for name in named if name not in source} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_the_repository_is_there(page: Path) -> None:
    assert [name for name in code_of(page) if OWN.fullmatch(name) and not (ROOT / name).exists()] == []
