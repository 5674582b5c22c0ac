"""Which vLLM a Python interpreter has. Runs a script in it; knows nothing of how a server is started."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from pydantic import ValidationError

from conductor.errors import ServeError
from conductor.values.messages import Value

_PROBE = Path(__file__).with_name("probe.py")
_OLDEST = (0, 12)
"""The first vLLM with `structured_outputs`; before it, a constraint would be ignored in silence."""


class Installed(Value):
    """A vLLM: the interpreter that has it, the module that is its server, whether it is a CPU build."""

    python: str
    server: str
    version: str | None
    cpu: bool


class _Answer(Value):
    server: str | None
    version: str | None
    cpu: bool


def installed(python: str) -> Installed:
    """The vLLM of this interpreter. Raises `ServeError` when there is none that we can use."""
    try:
        probe = subprocess.run(  # noqa: S603 - the interpreter that the user named, and our own file
            [python, str(_PROBE)], env=script_environment(), capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise ServeError(
            f"{python} cannot be run: {error.strerror}. Name the Python that has vLLM by --python."
        ) from error
    try:
        answer = _Answer.model_validate_json(probe.stdout)
    except ValidationError as error:
        lines = (probe.stderr or probe.stdout).strip().splitlines()
        why = lines[-1] if lines else f"exit code {probe.returncode}"
        raise ServeError(f"{python} does not answer as Python does: {why}") from error
    if answer.server is None:
        raise ServeError(_missing(python, answer.version))
    if answer.version is not None and _older(answer.version):
        raise ServeError(
            f"vLLM {answer.version} of {python} is too old to constrain a plan; "
            f"install {'.'.join(map(str, _OLDEST))} or newer: {python} -m pip install --upgrade vllm"
        )
    return Installed(python=python, server=answer.server, version=answer.version, cpu=answer.cpu)


def script_environment() -> dict[str, str]:
    """Our environment for scripts and for vLLM, but that no folder of ours hides a module from them."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}


def _missing(python: str, version: str | None) -> str:
    if version is not None:
        return f"vLLM {version} of {python} has no server module that we know; install another version."
    return (
        f"vLLM is not installed for {python}; install it with: {python} -m pip install vllm - "
        "or name another environment's Python by --python."
    )


def _older(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < _OLDEST
