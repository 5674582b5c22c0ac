"""*Use this Conductor*: the pool file names a trained Conductor, on the workers that it knows."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import configured_path, path_to_write
from conductor.workers.pool.toml_editor import Entry, PoolDocument
from pages.components.learning.runs import PLACE
from pages.components.tab.services import access
from pages.components.tab.state import plain
from pages.components.widgets.controls import action
from pages.components.widgets.pool_saving import save

_WORKERS = "orchard"
"""The set of workers that small Conductors are trained on."""


def use_button(folder: Path, *, key: str) -> None:
    """Draw it; where the pool may not be edited here, why."""
    refusal = access().editing_refusal
    if refusal is not None:
        st.caption(plain(refusal))
        return
    action(
        "Use this Conductor", "check_circle", use, folder, key=key, type="primary", place=PLACE,
        help="Writes it and the workers it was trained on to the pool file; you can undo this",
    )  # fmt: skip


def use(folder: Path) -> None:
    """Save a pool file that names the Conductor in `folder`. Raises `PoolError`."""
    path = configured_path()
    if path is not None and built_in_file(path) is not None:
        raise PoolError(
            f"The pool is the built-in set {path}, chosen by its name when the app was started; start it "
            "with a pool file, or without one, to choose a Conductor here."
        )
    document = PoolDocument.opened(path_to_write())
    before = document.conductor
    entry = {"kind": "local", "model": named(folder, document.path), "name": folder.parent.name}
    edited = document.with_built_in(_WORKERS)
    edited = edited.with_conductor(entry) if before is None else edited.changed("conductor", entry)
    notice = f"{folder.parent.name} is the Conductor now{_replaced(before)}, on the orchard's workers."
    if document.before is None:
        notice += f" {document.path} is new; remove it to go back."
    save(edited, notice=notice)


def _replaced(before: Entry | None) -> str:
    """How the notice names the Conductor that is replaced."""
    if before is None:
        return ""
    name = before.get("name", before.get("model"))
    return ", replacing the previous one" if name is None else f", replacing {name}"


def named(folder: Path, pool: Path) -> str:
    """The folder as the pool file names it: from where that is, else as a whole."""
    folder, beside = folder.absolute(), pool.absolute().parent
    return str(folder.relative_to(beside)) if folder.is_relative_to(beside) else str(folder)
