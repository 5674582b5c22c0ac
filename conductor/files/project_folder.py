"""Where a project's files are: in the current folder or the nearest one above, as git finds them; else this
user's own.

Knows the names of a pool file and of a store, and reads neither.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

POOL = Path("pool.toml")
STORE = Path("data/conductor.db")

_OWN = "conductor-studio"


@dataclass(frozen=True)
class ProjectFile:
    """A file, and why it is that one."""

    path: Path
    why: str


def pool_place() -> ProjectFile | None:
    """The pool file; None if there is none."""
    return _nearest(POOL) or _own_pool()


def store_place() -> ProjectFile:
    """The store on SQLite: beside the nearest pool file, if no store is nearer, and new in the current folder
    without either.
    """
    if (there := _nearest(STORE, POOL)) is not None:
        return ProjectFile(STORE if there.path in (STORE, POOL) else _root(there.path) / STORE, there.why)
    if (own := _own_pool()) is not None:
        import platformdirs  # noqa: PLC0415 - seldom needed

        return ProjectFile(platformdirs.user_data_path(_OWN, appauthor=False) / STORE.name, own.why)
    return ProjectFile(STORE, "a new one in this folder")


def own_pool_file() -> Path:
    """Where this user's own pool file is, or would be."""
    import platformdirs  # noqa: PLC0415 - seldom needed

    return platformdirs.user_config_path(_OWN, appauthor=False) / POOL


def _own_pool() -> ProjectFile | None:
    path = own_pool_file()
    return ProjectFile(path, "this user's own, as no folder from here up has one") if path.exists() else None


def _nearest(*names: Path) -> ProjectFile | None:
    """The first of these files in the nearest folder that has one; above only what belongs to this user, as
    another one may write to a folder such as /tmp.
    """
    for name in names:
        if name.exists():
            return ProjectFile(name, "in this folder")
    try:
        above = Path.cwd().parents
    except OSError:  # the folder was removed
        return None
    for folder in above:
        for name in names:
            try:
                owner = (folder / name).stat().st_uid
            except OSError:
                continue
            if not hasattr(os, "geteuid") or owner == os.geteuid():
                return ProjectFile(folder / name, f"in {folder}, above this folder")
    return None


def _root(path: Path) -> Path:
    return path.parent if path.name == POOL.name else path.parent.parent
