"""The brief of every process on a cluster, which compares it with its own machine before it begins.

Values without secrets. Knows pools and the name of the machine; knows no Ray.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from conductor.workers.pool.built_in import from_any_folder
from conductor.workers.pool.pool import Pool, configured_path
from storage.store import default_url


@dataclass(frozen=True)
class Brief:
    """`pool` is a path on each machine, or a built-in one; the workers `usable` must be usable there."""

    pool: str
    usable: tuple[str, ...]

    @classmethod
    def of(cls, pool: Pool, file: Path | None) -> Brief:
        """For processes that are to have this pool, which was read from that file or the configured one."""
        path = configured_path(file)
        label = "built-in" if path is None else str(from_any_folder(path))
        return cls(label, tuple(name for name in pool.names if name not in pool.unusable))

    def unusable_in(self, pool: Pool) -> str | None:
        """Why one of the workers cannot be called with the settings here, or None."""
        here = pool.unusable
        missing = next((f"{name}: {here[name]}" for name in self.usable if name in here), None)
        return None if missing is None else on_this_machine(missing)


def no_store(database: str | None) -> str | None:
    """Why a process that was not sent the store's URL cannot find it here, or None."""
    if database is not None or default_url().startswith("postgres"):
        return None
    return on_this_machine("CONDUCTOR_DATABASE_URL does not name the store there.")


def on_this_machine(reason: str) -> str:
    return f"On the machine {platform.node()} of the Ray cluster: {reason}"
