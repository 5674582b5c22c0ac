"""A server of tools, a tool as the server describes it, and the result of a call. Values only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from conductor.values.messages import Value
from conductor.workers.endpoint.config import BaseUrl, Endpoint, KeyVariable, Seconds

MAX_RESULT = 50_000
"""Characters of a result; the rest is cut off."""


def _whole(path: str) -> str:
    if not Path(path).is_absolute():
        raise ValueError("write a whole path")
    return path


ToolServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
BuiltInTools = Literal["calculator", "python"]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


class ToolServer(Value):
    """Where a server is: in this program, a process that a command starts, or a URL of streamable HTTP.

    No secret is in here: `env` are the names of variables that the process gets beside `PATH`, `HOME` and the
    like, `headers` pairs of a header and the variable that has its value. `seconds` is the longest call.
    Without `trust`, what it states of its tools does not count; unless they are `pinned`, they may describe
    themselves otherwise at any time.
    `pool` is the whole path of the pool file that names it, for which its keys were confirmed, or "".
    """

    name: ToolServerName
    built_in: BuiltInTools | None = None
    command: tuple[str, ...] = ()
    cwd: Annotated[str, AfterValidator(_whole)] | None = None
    env: tuple[Variable, ...] = ()
    url: BaseUrl | None = None
    headers: tuple[tuple[Header, KeyVariable], ...] = ()
    seconds: Seconds = 60.0
    trust: bool = Field(default=True, exclude_if=lambda trust: trust)
    pinned: bool = Field(default=True, exclude_if=lambda pinned: pinned)
    pool: str = ""

    def model_post_init(self, _context: object) -> None:
        """Check that it is in one place. Raises `ValueError`."""
        if sum(map(bool, (self.built_in, self.command, self.url))) != 1:
            raise ValueError("write one of built_in, command and url")
        if (self.cwd or self.env) and not self.command:
            raise ValueError("cwd and env belong to a command")
        if self.headers and self.url is None:
            raise ValueError("headers belong to a url")

    def key_endpoint(self, variable: str) -> Endpoint:
        """Its URL with a header's variable as the key, which goes there only where that is confirmed."""
        return Endpoint(base_url=self.url or "", model=self.name, api_key_env=variable, pool=self.pool)


class ServedTool(Value):
    """A tool of a server. `parameters` is a JSON Schema as JSON text. The four annotations are the server's
    own claims, None if it makes no such claim; `server_version` is the name and version that it reports.
    `changed_from` is how it described itself when it was allowed, if it does otherwise now.
    """

    server: str
    name: str
    description: str = ""
    parameters: str | None = None
    reads_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    server_version: str = ""
    changed_from: str | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether a further call gives the same: it reads, has no further effect, and looks at nothing that
        changes without it, as its server states.
        """
        return bool(self.reads_only and self.idempotent and not self.open_world)


class ToolResult(Value):
    """What a call gave. `cut` is the number of characters before `text` was cut, None if it is whole."""

    text: str
    is_error: bool = False
    seconds: float = 0.0
    cut: int | None = None


_LENGTH = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")


def allowed(patterns: Sequence[str], tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """The tools that a pattern names: `server`, which is all of its tools, or `server:tool`. Both may have *,
    ? and [...], and distinguish capital letters.
    """
    pairs = [(server, tool if colon else "*") for server, colon, tool in (p.partition(":") for p in patterns)]
    return tuple(
        each
        for each in tools
        if any(fnmatchcase(each.server, server) and fnmatchcase(each.name, tool) for server, tool in pairs)
    )


def wire_name(tool: ServedTool) -> str:
    """`server__tool` as every endpoint takes it; no two tools of one offer have the same.

    Where that would be too long, has other characters or could be of another server, it ends in a hash and
    has no two underscores in a row, as only the first form has.
    """
    name = f"{tool.server}__{tool.name}"
    is_plain = len(name) <= _LENGTH and _ALLOWED.fullmatch(name)
    if is_plain and "__" not in f"{tool.server}_":
        return name
    mark = sha256(f"{tool.server}:{tool.name}".encode()).hexdigest()[:12]
    clean = re.sub(r"[^a-zA-Z0-9-]+", "_", f"{tool.server}_{tool.name}")
    return f"{clean[: _LENGTH - len(mark) - 1]}_{mark}".replace("__", "_")
