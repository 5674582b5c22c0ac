"""Offers a choice for each worker of a workflow that the pool lacks, and makes one edit of all."""

from __future__ import annotations

import streamlit as st

from conductor.text.formatting import named, quantity
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.workbench.editor import Editor
from studio.gallery import workers_for
from studio.workbench import Workbench


def missing_workers(bench: Workbench, tab: TabState, view: SessionView) -> bool:
    """Draw what gives their steps to the pool's workers; False if the pool has all of them."""
    if view.head is None or view.busy:
        return False
    missing = view.head.workflow.missing_workers(bench.pool.cards)
    if not missing:
        return False
    editor = Editor.of(bench, tab, view.head, place="page")
    names, proposed = bench.pool.names, workers_for(missing, bench.pool)
    keys = {name: f"instead-{view.session.id}-{name}" for name in missing}
    st.info(
        f"Made with workers that your pool does not have: {plain(named(missing))}. "
        "Give their steps to yours to run it.",
        icon=":material/history:",
    )
    with row("missing-workers-ways"):
        action(
            "Use my workers",
            "swap_horiz",
            _use,
            editor,
            proposed,
            key="missing-workers-use",
            type="primary",
            help=plain(", ".join(f"{worker} for {name}" for name, worker in proposed.items())),
        )
        with (
            st.popover("Choose", icon=":material/tune:", key="missing-workers", width="content"),
            st.container(key="missing-workers-rows", gap="small"),
        ):
            for name, worker in proposed.items():
                role = ", a fallback" if name in view.head.workflow.fallbacks else ""
                label = f"In place of {plain(name)}{role}"
                st.selectbox(label, names, index=names.index(worker), key=keys[name])
            action(
                f"Change {quantity(len(missing), 'worker')}",
                "check",
                lambda: _use(editor, {name: str(st.session_state[key]) for name, key in keys.items()}),
                key="missing-workers-change",
            )
    return True


def _use(editor: Editor, chosen: dict[str, str]) -> None:
    note = ", ".join(f"{name} to {worker}" for name, worker in chosen.items())
    editor.commit(lambda: editor.workflow.with_workers(chosen), f"Workers: {note}")
