"""The types of the installed package: `mypy --strict` accepts the documented blocks and the examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = sorted((ROOT / "examples" / "library").glob("*.py"))
FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(?:from|import) .*\n(?:(?: {4}.*)?\n)*", re.MULTILINE)


def strictly(command: Path, *files: Path) -> str:
    """What mypy prints about files beside which the installed package is, and nothing of the checkout."""
    options = ["--strict", "--disable-error-code=top-level-await", "--no-incremental"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--python-executable", command.with_name("python"), *files],
        cwd=files[0].parent,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("page", "block", "least"), [("docs/library.md", FENCED, 15), ("README.md", INDENTED, 2)]
)
def test_the_documented_blocks_have_their_types(
    command: Path, tmp_path: Path, page: str, block: re.Pattern[str], least: int
) -> None:
    """Those of a page in turn, as in a notebook, which may await outside of a function. OpenAI's client is no
    part of the package.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    every = [dedent(match[block.groups]) for match in block.finditer(text)]
    blocks = [one for one in every if "from openai import" not in one]
    assert len(blocks) >= least
    file = tmp_path / "blocks.py"
    file.write_text("".join(blocks), encoding="utf-8")
    assert strictly(command, file) == "Success: no issues found in 1 source file\n"


def test_the_example_programs_have_their_types(command: Path) -> None:
    assert strictly(command, *PROGRAMS) == f"Success: no issues found in {len(PROGRAMS)} source files\n"


def test_a_wrong_use_is_an_error(command: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        'from conductor import plan\n\nplan(3).workflow.with_worker("1", "a")\n', encoding="utf-8"
    )
    assert strictly(command, file).count("error:") == 2
