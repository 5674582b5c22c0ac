"""The built-in sets of workers, by the name that a pool file has in `workers`.

A name also stands for a pool file, as in `--pool orchard`: the set, and the Conductor that was trained on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.embedded.embedded_worker import embedded_workers
from conductor.workers.orchard.skills import orchard_workers
from conductor.workers.pool.schema import EmbeddedEmbeddingsTable
from conductor.workers.protocol import Worker


def built_in_workers() -> tuple[Worker, ...]:
    """The workers of a program in which nothing is configured: a tiny language model and a calculator."""
    return (*embedded_workers(), Calculator())


BUILT_IN: Mapping[str, Callable[[], tuple[Worker, ...]]] = {
    "built-in": built_in_workers,
    "orchard": orchard_workers,
}
"""How the workers of each set are made."""

EMBEDDINGS = {"built-in": EmbeddedEmbeddingsTable(kind="embedded")}
"""What turns texts into vectors for a set, where the pool file names nothing else."""

ORCHARD = """\
# A small world to try orchestration in: workers that compute, and a small Conductor that was trained on it.
workers = "orchard"

[conductor]
kind = "local"
model = "orchard"
name = "orchard"
"""
"""The pool file of the orchard with its Conductor."""


def from_any_folder(path: Path) -> Path:
    """The same pool for a process that was started in another folder."""
    return path if built_in_file(path) is not None else path.absolute()


def built_in_file(path: Path) -> str | None:
    """The text of the pool file that `path` names if it is the name of a set and no file; else None."""
    name = str(path)
    if path.exists() or name not in BUILT_IN:
        return None
    return ORCHARD if name == "orchard" else f'workers = "{name}"\n'
