"""What a file of sessions, or of a workflow, holds, shown before it is imported. Draws only."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.text.formatting import LISTED, counted, named, size
from pages.components.tab.state import plain
from studio.session_file import ImportPreview, PlanPreview, SessionPreview


def told(preview: ImportPreview) -> bool:
    """Draw it. Returns whether the file cannot be imported."""
    with st.container(border=True, gap="xsmall", key="import-preview"):
        if preview.plan is not None:
            st.markdown(f"**A workflow of {counted(preview.plan.steps, 'step')}**")
            st.caption(plain(preview.plan.query or "It names no query.", limit=300))
        elif len(preview.sessions) == 1:
            _one(preview.sessions[0])
        else:
            _several(preview.sessions)
        st.caption(plain(size(preview.size)))
    if preview.plan is not None:
        return _refused(preview.plan)
    if preview.unknown_workers:
        who = named(preview.unknown_workers)
        said = f"This pool does not have {who}. You can read all of it; to run it, choose other workers."
        st.warning(plain(said), icon=":material/person_off:")
    return False


def _refused(plan: PlanPreview) -> bool:
    if plan.unknown_workers:
        who = named(plan.unknown_workers)
        said = (
            f"It cannot be imported: this pool does not have {who}. Add what is missing on the Pool page, or "
            "name workers of this pool in the file."
        )
    elif plan.query is None:
        said = "It cannot be imported here: it names no query. Import it on the workbench, beside a query."
    else:
        return False
    st.error(plain(said), icon=":material/error:")
    return True


def _one(session: SessionPreview) -> None:
    st.markdown(f"**{plain(session.title, limit=110)}**")
    st.caption(plain(session.query, limit=300))
    st.caption(plain(" · ".join(_holds(session))))
    if session.called != session.title:
        st.caption(
            f"Another session has this title, so it will be called \u2068{plain(session.called)}\u2069."
        )
    if session.live:
        runs = counted(session.live, "run")
        st.caption(f"{runs} had not ended when the file was written, and will be shown as interrupted.")


def _several(sessions: Sequence[SessionPreview]) -> None:
    st.markdown(f"**{counted(len(sessions), 'session')}**")
    for session in sessions[:LISTED]:
        # A title may change the direction of writing: the marks around it confine that to the title.
        st.caption(plain(f"\u2068{session.called}\u2069 · {' · '.join(_holds(session)[:2])}", limit=200))
    if len(sessions) > LISTED:
        st.caption(f"and {len(sessions) - LISTED:,} more")
    renamed = sum(session.called != session.title for session in sessions)
    if renamed:
        st.caption(f"{counted(renamed, 'title')} exist already and get a number behind them.")


def _holds(session: SessionPreview) -> list[str]:
    """Its parts, counted."""
    return [
        counted(session.revisions, "revision"),
        counted(session.runs, "run"),
        *([counted(session.trials, "trial")] if session.trials else []),
        f"{counted(session.outputs, 'output')} of {counted(session.output_characters, 'character')}",
        counted(session.events, "event"),
        *([f"tagged {', '.join(session.tags)}"] if session.tags else []),
    ]
