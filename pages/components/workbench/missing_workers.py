"""Where a workflow names workers that the pool does not have: one choice for each of them, and one edit."""

from __future__ import annotations

from itertools import cycle

import streamlit as st

from conductor.text.formatting import quantity
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.workbench.editor import Editor
from studio.workbench import Workbench


def missing_workers(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the button and what it opens; nothing where the pool has all of them."""
    if view.head is None or view.busy:
        return
    missing = [name for name in view.head.workflow.workers() if name not in bench.pool.cards]
    if not missing:
        return
    editor = Editor.of(bench, tab, view.head, place="page")
    names = bench.pool.names
    keys = {name: f"instead-{view.session.id}-{name}" for name in missing}
    with (
        st.popover("Use my workers", icon=":material/swap_horiz:", key="missing-workers", width="content"),
        st.container(key="missing-workers-rows", gap="small"),
    ):
        # As many different ones as there are, in the order of the pool; a calculator answers few questions.
        able = [at for at, name in enumerate(names) if bench.pool.cards[name].kind != "offline"]
        for name, worker in zip(missing, cycle(able or range(len(names))), strict=False):
            role = ", a fallback" if name in view.head.workflow.fallbacks else ""
            st.selectbox(f"In place of {plain(name)}{role}", names, index=worker, key=keys[name])
        action(
            f"Change {quantity(len(missing), 'worker')}",
            "check",
            _use,
            editor,
            keys,
            key="missing-workers-use",
            type="primary",
        )


def _use(editor: Editor, keys: dict[str, str]) -> None:
    chosen = {name: str(st.session_state[key]) for name, key in keys.items()}
    note = ", ".join(f"{name} to {worker}" for name, worker in chosen.items())
    editor.commit(lambda: editor.workflow.with_workers(chosen), f"Workers: {note}")
