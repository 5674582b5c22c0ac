"""Each command's help ends with two examples, and each is one that the command takes."""

from __future__ import annotations

import re
import shlex
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from studio.cli.line import _COMMANDS, _command, examples_by_command
from tests.studio.cli.command_line import Line

EXAMPLES = examples_by_command()


def commands() -> dict[str, Any]:
    """All of them by their words; those of a module that an extra brings, too."""
    tree: dict[str, Any] = {}
    for name in _COMMANDS:
        command = _command(name, None)
        below = getattr(command, "commands", None)
        tree |= {name: command} if below is None else {f"{name} {each}": below[each] for each in below}
    return tree


@pytest.mark.slow
def test_every_example_is_one_that_its_command_takes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = commands()
    assert EXAMPLES.keys() == tree.keys()
    for path, examples in EXAMPLES.items():
        assert len(examples) == 2, path
        for example in examples:
            words = shlex.split(example)
            assert " ".join(words[: len(path.split())]) == path
            arguments = words[len(path.split()) :]
            monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"text")))
            if "--help" not in arguments:
                tree[path].make_context(path, arguments, help_option_names=["--help", "-h"])


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES)
def test_help_has_ranges_in_words_and_ends_with_examples(line: Line, path: str) -> None:
    text = line(*path.split(), "--help").out
    assert re.findall("<=x|x[<>]=|list\\[", text) == []
    assert (
        text.split("Examples:")[1].split()
        == " ".join(f"python -m conductor {example}" for example in EXAMPLES[path]).split()
    )


@pytest.mark.slow
def test_common_options_have_short_forms(line: Line) -> None:
    for command, forms in {
        "run": "-h -j -q -f -m -p",
        "export": "-o -F",
        "set": "-s -w -i",
        "sessions list": "-n",
        "edit": "-y",
    }.items():
        text = line(*command.split(), "-h").out
        assert [form for form in forms.split() if f" {form}" not in text] == [], command
