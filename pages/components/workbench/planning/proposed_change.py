"""A change that the Conductor proposes: a ghost in the graph, or why there is none; taking and leaving it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from conductor.errors import ConductorError, EditConflict
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.ghost import Ghost, growing_ghost
from pages.components.widgets.controls import action, row
from pages.components.workbench.planning.plan import plan_panel, plan_so_far
from pages.components.workbench.question.draft import put_wish
from studio.workbench import Proposal, Workbench

PLACE = "change"
"""Where what is refused of it is shown."""

_WISH_LENGTH = 300


def drawn_change(bench: Workbench, view: SessionView) -> Proposal | None:
    """The proposal that the graph shows: the newest one, undecided, of the workflow that there is now."""
    proposal = _undecided(bench, view)
    return proposal if proposal is not None and not _obstacle(proposal, view) else None


def _undecided(bench: Workbench, view: SessionView) -> Proposal | None:
    if view.locked or view.replay is not None or view.head is None:
        return None
    return bench.changing.newest(view.session.id)


def _obstacle(proposal: Proposal, view: SessionView) -> str:
    """Why it cannot be drawn, or "" where it can."""
    if proposal.diff is None:
        return f"No change came of it. {proposal.problem or ''}"
    if not proposal.changed_rows:
        return "The Conductor would change nothing."
    if view.head is None or view.head.id != proposal.base.id:
        return "The workflow was edited since: undo that edit to see the change, or leave it and ask again."
    return ""


def drawn_ghost(bench: Workbench, view: SessionView) -> tuple[Ghost | None, Proposal | None]:
    """The change that the graph shows, with its proposal; or one that is being written, as far as it is."""
    change = drawn_change(bench, view)
    if change is not None and change.diff is not None:
        return Ghost(change.diff), change
    live = bench.activities.live_alternatives(view.session.id)
    if live is None or not live.is_change or view.head is None:
        return None, None
    return growing_ghost(view.head.workflow, plan_so_far(bench, view, live.states[0])), None


def proposal_data(proposal: Proposal, ghost: Ghost) -> Mapping[str, Any]:
    """What the graph is given of it."""
    wish = " ".join(proposal.record.wish.split())
    short = wish if len(wish) <= _WISH_LENGTH else f"{wish[:_WISH_LENGTH]}…"
    return {"change": proposal.record.id, "wish": short, "parts": [asdict(part) for part in ghost.parts]}


def why_this_change(bench: Workbench, view: SessionView) -> bool:
    """Draw the Conductor's reasoning for the change that the graph shows; whether there is one."""
    proposal = drawn_change(bench, view)
    if proposal is not None and proposal.plan is not None:
        st.markdown(f"**Proposed:** “{plain(proposal.record.wish, limit=_WISH_LENGTH)}”")
        plan_panel(proposal.plan, None)
    return proposal is not None


def undrawn_change(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw what came of a wish where that is no change that the graph can show, and what was refused."""
    tab.show_notice(PLACE)
    proposal = _undecided(bench, view)
    if proposal is None or not (reason := _obstacle(proposal, view)):
        return
    with row("undrawn-change"):
        st.warning(
            f"**Asked:** “{plain(proposal.record.wish, limit=_WISH_LENGTH)}” {plain(reason)}",
            icon=":material/rule:",
        )
        action(
            "Word it differently",
            "edit",
            _reword,
            bench,
            tab,
            proposal,
            key="reword-change",
            help="Leave this change and edit the request",
            place=PLACE,
        )
        action(
            "Leave",
            "close",
            bench.changing.leave,
            proposal.record.id,
            key="leave-change",
            help="Keep the workflow as it is",
            place=PLACE,
        )


def _reword(bench: Workbench, tab: TabState, proposal: Proposal) -> None:
    bench.changing.leave(proposal.record.id)
    put_wish(tab, proposal.record.session, proposal.record.wish)


def decide(bench: Workbench, tab: TabState, proposal: Proposal, decision: Any) -> None:
    """Take or leave the proposal that a page showed, as the browser asks; one of another name is ignored."""
    if not isinstance(decision, Mapping) or decision.get("change") != proposal.record.id:
        return
    rows = decision.get("rows")
    part = [at for at in rows if isinstance(at, int)] if isinstance(rows, list) else None
    try:
        if decision.get("take") is not True:
            bench.changing.leave(proposal.record.id)
        else:
            tab.note_own(bench.changing.take(proposal.record.id, part).id)
    except EditConflict:
        tab.notify(
            "error",
            "Not taken: the workflow was edited since. Undo that edit, or leave the change.",
            place=PLACE,
        )
    except ConductorError as error:
        tab.notify("error", str(error), place=PLACE)
    else:
        tab.select(None)
