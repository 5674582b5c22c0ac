"""A real vLLM server as the tests see it: how to ask it, and which processes it consists of."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from typing import Any

import httpx

KEY = "sk-integration-5f0c"
VARIABLE = "CONDUCTOR_KEY"
WORKERS = ("alpha", "beta", "gamma")


@dataclass(frozen=True)
class Served:
    """A running server: how its process is known, and the pool lines it printed."""

    process: int
    pool: str

    @property
    def conductor(self) -> dict[str, Any]:
        """The printed [conductor] table."""
        table: dict[str, Any] = tomllib.loads(self.pool)["conductor"]
        return table

    def client(self, key: str | None = KEY) -> httpx.Client:
        """Sends to the server's API."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(
            base_url=self.conductor["base_url"], headers=headers, timeout=120, trust_env=False
        )


def commands() -> list[str]:
    """Every living process of this machine: its group, its parent's id, its id and its command line."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pgid=,ppid=,pid=,stat=,args="],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return [line for line in listed.stdout.splitlines() if not line.split()[3].startswith("Z")]


def groups_below(process: int) -> set[str]:
    """The process groups that a process started."""
    return {line.split()[0] for line in commands() if line.split()[1] == str(process)}
