"""A model at an endpoint that calls a tool which writes a line into a file, and the pool file with both."""

from __future__ import annotations

import json
from pathlib import Path

from tests.studio.api.answers.tool_cases import calls
from tests.support.endpoints.fake_openai import Served
from tests.support.tools.tool_servers import SAMPLE

_POOL = """
[[worker]]
name = "alpha"
base_url = "{url}"
model = "simulated"
tools = ["sample:append"]
[[tools]]
name = "sample"
command = {command}
"""


def writing_pool(served: Served) -> str:
    """The text of the pool file."""
    return _POOL.format(url=served.base_url, command=json.dumps(list(SAMPLE)))


def write_next(served: Served, log: Path, text: str = "one", *, seconds: float = 0.0) -> None:
    """Has the model write a line, then answer."""
    arguments = {"path": str(log), "text": text, "seconds": seconds}
    served.fake.texts += [calls(("w1", "sample__append", json.dumps(arguments))), "It is noted."]


def lines_of(log: Path) -> list[str]:
    """What was written so far."""
    return log.read_text().splitlines() if log.exists() else []
