"""A program of a model: Python that runs in a limited process, isolated unless this user chose otherwise.

Knows the limits and the one variable that lifts the isolation; nothing of what a program is for.
"""

from __future__ import annotations

from dataclasses import replace

from conductor.limited.command import Ended, limited, python
from conductor.limited.supervisor import Limits
from conductor.own_settings import setting

LIMITS = Limits(seconds=20.0)

UNSAFE_CODE = "CONDUCTOR_UNSAFE_CODE"
"""The environment variable that, set to 1, lets programs run where the system cannot isolate them."""

_COMMAND = python("exec(compile(__import__('sys').stdin.buffer.read(), '<stdin>', 'exec'))")


async def check_isolation() -> None:
    """Raises `WorkerError` where programs would not be run, since the system cannot isolate them."""
    await run_program("")


async def run_program(script: str, limits: Limits = LIMITS) -> Ended:
    """Run `script`; its output has what it writes to standard error, too. Raises as `limited`."""
    isolated = setting(UNSAFE_CODE) != "1"
    return await limited(_COMMAND, sent=script.encode(), limits=replace(limits, isolated=isolated))
