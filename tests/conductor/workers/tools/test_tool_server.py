"""Which servers of tools can be written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from conductor.workers.tools.tool_server import ToolServer

URL = "https://example.org/mcp"
FAULTS: list[tuple[Mapping[str, Any], str]] = [
    ({}, "one of built_in, command and url"),
    ({"command": ("a",), "url": URL}, "one of built_in, command and url"),
    ({"built_in": "shell"}, "calculator"),
    ({"name": "a b", "command": ("a",)}, "name"),
    ({"name": "", "command": ("a",)}, "name"),
    ({"command": ("a",), "cwd": "folder"}, "whole path"),
    ({"command": ("a",), "env": ("A=b",)}, "env"),
    ({"command": ("a",), "headers": (("X-Key", "A_API_KEY"),)}, "belong to a url"),
    ({"url": URL, "env": ("A",)}, "belong to a command"),
    ({"url": "file:///etc/passwd"}, "whole URL"),
    ({"url": "https://me:secret@example.org/mcp"}, "user and password"),
    ({"url": URL, "headers": (("X-Key", "sk-1234567890abcdef"),)}, "not the key itself"),
    ({"url": URL, "headers": (("X-Key", "HOME"),)}, "may not be sent"),
    ({"url": URL, "headers": (("X Key", "A_API_KEY"),)}, "headers"),
    ({"command": ("a",), "seconds": 0}, "seconds"),
]


@pytest.mark.parametrize(("entry", "fault"), FAULTS, ids=lambda each: str(each)[:60])
def test_a_server_that_cannot_be_is_refused(entry: Mapping[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        ToolServer(**{"name": "tools", **entry})


def test_servers_of_the_same_words_are_one() -> None:
    one, same = (ToolServer(name="a", url=URL, headers=(("X-Key", "A_API_KEY"),)) for _ in range(2))
    assert {one: 1}[same] == 1


@pytest.mark.slow
def test_the_library_of_the_protocol_is_loaded_with_the_first_server_alone() -> None:
    program = (
        "import sys, conductor.workers.tools.connections as c; c.connections(); print('mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False\n"
