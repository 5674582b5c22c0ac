"""What `mcp` refuses before it serves; the servers themselves are tested beside `studio.mcp`."""

from __future__ import annotations

import pytest

from tests.studio.cli.command_line import Line


@pytest.mark.parametrize("option", [("--port", "8700"), ("--host", "127.0.0.1")])
def test_an_address_without_http_is_refused(line: Line, option: tuple[str, str]) -> None:
    result = line("mcp", *option)
    assert (result.code, result.out) == (1, "")
    assert "--port and --host belong to --http" in result.err
