"""*Use this Conductor* and *Use this planner*: the pool file names what was trained, or learnt."""

from __future__ import annotations

from contextlib import suppress
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
from studio.evaluation.planner_learning.learning_folder import PLANNER
from studio.evaluation.planner_learning.planner_use import path_beside, using
from studio.learning.planner_run import PlannerRun

_WORKERS = "orchard"
"""The set of workers that small Conductors are trained on."""


def use_button(folder: Path, *, key: str) -> None:
    """Draw it; where the pool may not be edited here, why."""
    if may_edit():
        action(
            "Use this Conductor", "check_circle", use, folder, key=key, type="primary", place=PLACE,
            help="Writes it and the workers it was trained on to the pool file; you can undo this",
        )  # fmt: skip


def may_edit() -> bool:
    """Whether the pool may be edited here; draws why not."""
    refusal = access().editing_refusal
    if refusal is not None:
        st.caption(plain(refusal))
    return refusal is None


def use(folder: Path) -> None:
    """Save a pool file that names the Conductor in `folder`. Raises `PoolError`."""
    document = pool_document()
    before = document.conductor
    entry = {"kind": "local", "model": path_beside(folder, document.path), "name": folder.parent.name}
    edited = document.with_built_in(_WORKERS)
    edited = edited.with_conductor(entry) if before is None else edited.changed("conductor", entry)
    notice = f"{folder.parent.name} is the Conductor now{_replaced(before)}, on the orchard's workers."
    save(edited, notice=notice + _new_file(document))


def planner_in_use() -> str | None:
    """The planner that the pool file lets plan; None if none, or if that cannot be read."""
    path = configured_path()
    if path is None or built_in_file(path) is not None:
        return None
    with suppress(PoolError):
        return PoolDocument.opened(path).pool().planner
    return None


def stop_using_planner() -> None:
    """Save a pool file whose Conductor plans by itself. Raises `PoolError`."""
    save(pool_document().without_planner(), notice="The Conductor plans by itself again.")


def use_planner(run: PlannerRun) -> None:
    """Save a pool file by whose planner questions are planned. Raises `PoolError`, and `PlanError` where its
    workers are others than those it learnt on.
    """
    document = pool_document()
    pool = None if run.settings is None or run.settings.pool is None else Path(run.settings.pool)
    edited = using(document, run.path / PLANNER, name=run.name, pool=pool)
    save(edited, notice=f"{run.name} plans now.{_new_file(document)}")


def pool_document() -> PoolDocument:
    """The app's pool file, which may not exist yet. Raises `PoolError`."""
    path = configured_path()
    if path is not None and built_in_file(path) is not None:
        raise PoolError(
            f"The pool is the built-in set {path}, chosen by its name when the app was started; start it "
            "with a pool file, or without one, to choose a Conductor here."
        )
    return PoolDocument.opened(path_to_write())


def _new_file(document: PoolDocument) -> str:
    """What the notice adds where there was no file that could be restored."""
    return f" {document.path} is new; remove it to go back." if document.before is None else ""


def _replaced(before: Entry | None) -> str:
    """How the notice names the Conductor that is replaced."""
    if before is None:
        return ""
    name = before.get("name", before.get("model"))
    return ", replacing the previous one" if name is None else f", replacing {name}"
