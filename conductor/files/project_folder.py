"""Finds a project's files in the current folder or the nearest one above, as git does; else this user's own.

Knows the names of a pool file and of a store, and reads neither.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

POOL = Path("pool.toml")
STORE = Path("data/conductor.db")

_STORES = (STORE, STORE.with_name("api-token"))
"""What a store leaves in its project; a server on PostgreSQL only its token."""

_OWN = "conductor-studio"
_WHY_OWN = "this user's own, as no folder from here up has one"


@dataclass(frozen=True)
class ProjectFile:
    """A file, and why it is that one."""

    path: Path
    why: str


def pool_place() -> ProjectFile | None:
    """The pool file; None if there is none."""
    if (there := _nearest(POOL)) is not None:
        return there
    own = own_pool_file()
    return ProjectFile(own, _WHY_OWN) if own.exists() else None


def new_pool_file() -> Path:
    """Where the first pool file is written: beside the nearest store, else in this user's own folder."""
    there = _nearest(*_STORES)
    return own_pool_file() if there is None else _root(there.path) / POOL


def store_place() -> ProjectFile:
    """The store on SQLite: the nearest one, or beside a pool file that is nearer, else this user's own."""
    if (there := _nearest(*_STORES, POOL)) is not None:
        return ProjectFile(_root(there.path) / STORE, there.why)
    return ProjectFile(own_store(), _WHY_OWN)


def own_store() -> Path:
    """Where this user's own store is, or would be."""
    import platformdirs  # noqa: PLC0415 - seldom needed

    return platformdirs.user_data_path(_OWN, appauthor=False) / STORE.name


def own_pool_file() -> Path:
    """Where this user's own pool file is, or would be."""
    import platformdirs  # noqa: PLC0415 - seldom needed

    return platformdirs.user_config_path(_OWN, appauthor=False) / POOL


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
