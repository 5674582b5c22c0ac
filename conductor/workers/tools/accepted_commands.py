"""Stores the commands of tool servers that a person has accepted on this machine: no other one is started.

A command runs with this user's rights, and any person who can edit a pool file could name one: it counts
where it was accepted for that pool file, with its folder and its variables, in a terminal of this machine.
"""

from __future__ import annotations

import json
import shlex
from hashlib import sha256
from pathlib import Path

from conductor.errors import ToolError
from conductor.files.project_folder import own_pool_file
from conductor.own_settings import command_name, setting
from conductor.workers.keys.own_file import add_own_line, own_text
from conductor.workers.tools.tool_server import ToolServer

ALLOWED = "CONDUCTOR_TOOL_COMMANDS"
"""The environment variable that accepts all commands, with the value "all": for containers, whose pool file
comes with them."""


def commands_file() -> Path:
    """A line for each accepted command, in this user's own configuration folder: a hash, then its words."""
    return own_pool_file().with_name("tool-commands.txt")


def is_accepted(server: ToolServer) -> bool:
    """Whether the server may be started: it has no command, or that was accepted. Raises `PoolError` where
    what was accepted cannot be read.
    """
    if not server.command or setting(ALLOWED) == "all":
        return True
    lines = own_text(commands_file(), kind="a text file in UTF-8").splitlines()
    return any(line.split(" ", 1)[0] == _hash(server) for line in lines)


def accept(server: ToolServer) -> None:
    """Let the server be started from now on. Raises `PoolError` where that cannot be written."""
    if not is_accepted(server):
        add_own_line(commands_file(), f"{_hash(server)} {json.dumps(command_words(server))}", once=True)


def check_command(server: ToolServer) -> None:
    """Raise `ToolError` where the command was not accepted, and `PoolError`."""
    if not is_accepted(server):
        raise ToolError(
            f"The command of the tool server {server.name!r} was not accepted on this machine, so it is not "
            f"started: {command_words(server)}. Look at it, and accept it in a terminal of this machine by "
            f"`{command_name()} doctor --accept-tools`, or set {ALLOWED}=all where the pool file cannot be "
            "edited by others."
        )


def command_words(server: ToolServer) -> str:
    """The command as a shell takes it, bounded."""
    return shlex.join(server.command)[:300]


def _hash(server: ToolServer) -> str:
    deciding = [list(server.command), server.cwd, list(server.env), server.pool]
    return sha256(json.dumps(deciding).encode("utf-8", "surrogatepass")).hexdigest()
