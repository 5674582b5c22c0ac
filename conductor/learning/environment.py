"""Checks whether this environment can train a Conductor, and sets it up for that."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from conductor.errors import ConductorError
from conductor.extras import install_command

_NEEDED = ("torch", "transformers", "trl", "accelerate", "datasets", "peft")


def check_environment(*, cpu: bool, report_to: str | None = None) -> None:
    """Raises `ConductorError` with what to install, or that there is no GPU."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConductorError(
            f"Training needs {', '.join(missing)}, which this environment does not have; install the extra "
            f"`grpo` (`{install_command('grpo')}`), best in an environment of its own."
        )
    if report_to is not None and find_spec(report_to) is None:
        raise ConductorError(
            f"--report-to {report_to} needs its package, which this environment does not have; "
            f"`pip install {report_to}` installs it."
        )
    if cpu:
        return
    import torch  # noqa: PLC0415 - only an environment for training has it

    if not torch.cuda.is_available():
        raise ConductorError(
            "torch finds no GPU here, and the recipe needs at least one. --dry-run needs none, and --cpu "
            "tries the whole path with a tiny model."
        )
    if find_spec("vllm") is None:
        raise ConductorError(
            "Completions are sampled by vLLM, which this environment does not have; install the extra `grpo` "
            f"(`{install_command('grpo')}`)."
        )


def training_module(name: str) -> Any:
    """The module of this name, which imports torch to train a small Conductor.

    Raises `ConductorError` with what to install where this environment cannot.
    """
    # Threads that wait for work leave the core to others.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return import_module(name)
    except ImportError as error:
        if error.name not in ("torch", "transformers"):
            raise
        raise ConductorError(
            f"Training needs {error.name}, which this environment does not have; install the extra `learn` "
            f"(`{install_command('learn')}`, 1.5 GB), best in an environment of its own."
        ) from error
