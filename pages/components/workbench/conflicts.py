"""An edit that met another person's edit: a description of both, and the choices. Nothing is overwritten or
lost.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.errors import EditConflict
from conductor.text.formatting import quantity
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.merge import Rebased, rebase
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.edit_memory import EditAside
from pages.components.tab.page_part import PagePart
from pages.components.tab.state import TabState, plain
from pages.components.view_models.revision_text import Meanwhile, meanwhile, news, origin_text
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.view_models.workflow.plan_text import change_lines, clash_sentence
from pages.components.widgets.controls import action
from pages.components.widgets.text_block import text_block
from pages.components.widgets.text_diff import text_diff
from storage import Revision
from studio.workbench import Workbench

focus_fallback("conflict-decisions", "run", "share")

_CHANGED_AGAIN = "The workflow was changed again. Look at it and decide once more."

_MOST = 6
"""Lines that are shown of each side's changes; more are counted."""

_TEXTS = 2
"""Instructions whose difference is shown of each side."""


def conflicts(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the oldest edit of this tab that waits for a decision, if there is one."""
    waiting = tab.edits_aside(view.session.id)
    if not waiting or view.head is None:
        return
    edit, head = waiting[0], view.head
    merged = rebase(edit.edited.workflow, edit.workflow, head.workflow)
    with st.container(border=True, key="conflict", gap="small"):
        more = f" · 1 of {len(waiting)}" if len(waiting) > 1 else ""
        st.markdown(f":orange[:material/call_split:] **{_headline(merged, head)}**{more}")
        mine, theirs = st.columns(2, gap="medium")
        with mine:
            st.markdown(f"**Yours:** {plain(edit.note)}")
            st.caption(f"Based on revision {edit.edited.number}; stays in this tab until you decide.")
            _changes(plan_diff(edit.edited.workflow, edit.workflow), key="mine")
        with theirs:
            way = meanwhile(bench.store.revisions.history(edit.session), edited=edit.edited.id, head=head.id)
            _changed_by(way, head)
            _changes(plan_diff(edit.edited.workflow, head.workflow), key="theirs")
        for clash in merged.clashes:
            st.markdown(f":material/block: {plain(clash_sentence(clash, edit.edited.workflow))}")
        _decisions(bench, tab, edit, head, merged, locked=view.locked or view.replay is not None)
        tab.show_notice("conflict")


def show_news(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Show in a toast what another person did to the workflow since this tab drew it last."""
    head = view.session.head
    before = None if head is None else tab.note_drawing(view.session.id, head)
    if head is None or before is None:
        return
    entries = {entry.id: entry for entry in bench.store.revisions.history(view.session.id)}
    if before in entries and entries[head].origin != "conductor":
        way = meanwhile(tuple(entries.values()), edited=before, head=head)
        st.toast(plain(news(way, entries[head])), icon=":material/sync:")


def _headline(merged: Rebased, head: Revision) -> str:
    if merged.workflow == head.workflow:
        return "The same change was made in the meantime; your edit adds nothing"
    if merged.workflow is None:
        return "Your edit was not applied: the same part was changed in the meantime"
    return "Your edit was not applied: the workflow was changed in the meantime"


def _changed_by(way: Meanwhile, head: Revision) -> None:
    """Who changed what since the edit's revision was drawn."""
    facts = []
    if way.new:
        last = way.new[-1]
        st.markdown(f"**Meanwhile:** {plain(last.note or 'another workflow')}")
        facts.append(origin_text(last))
        if len(way.new) > 1:
            facts.append(f"{quantity(len(way.new) - 1, 'revision')} before it")
    else:
        st.markdown(f"**Meanwhile:** back to revision {head.number}")
    if way.undone:
        facts.append(f"revision {', '.join(str(entry.number) for entry in way.undone)} undone")
    sentence = "; ".join(facts)
    st.caption(plain(f"{sentence[:1].upper()}{sentence[1:]}."))


def _changes(diff: PlanDiff, *, key: str) -> None:
    lines = change_lines(diff)
    bullets = [f"- {plain(line, limit=300)}" for line in lines[:_MOST]]
    texts = [pair for pair in diff.pairs if "instruction" in pair.changes]
    left_out = max(0, len(lines) - _MOST) + max(0, len(texts) - _TEXTS)
    if left_out:
        bullets.append(f"- and {quantity(left_out, 'more change')}")
    if bullets:
        st.markdown("\n".join(bullets))
    for pair in texts[:_TEXTS]:
        text_diff(
            diff.old.steps[pair.old].instruction,
            diff.new.steps[pair.new].instruction,
            key=f"conflict-{key}-{pair.new}",
            label=step_name(diff.new, pair.new),
            notes=["instruction"],
            context=120,
            height=110,
        )
    for pair in diff.pairs:
        pin = diff.new.steps[pair.new].pin
        if "pin" in pair.changes and pin is not None and pin.hand is not None:
            name = f"Output of {step_name(diff.new, pair.new)}"
            text_block(
                pin.text, key=f"conflict-{key}-pin-{pair.new}", label=name, notes=["by hand"], height=110
            )


def _decisions(
    bench: Workbench, tab: TabState, edit: EditAside, head: Revision, merged: Rebased, *, locked: bool
) -> None:
    """What becomes of an edit, seen against the `head` that the page was drawn with."""

    def settle(keep: Callable[[], Revision], *, leads: bool) -> None:
        """Store the edit and forget that it waits, once, however often it is pressed; `leads`: the stored
        revision is the head then.
        """
        if edit not in tab.edits_aside(edit.session):
            return
        seen = PagePart(tab, head, place="page").seen
        try:
            if seen is not None and seen.revision != head.id:
                raise EditConflict
            revision = keep()
        except EditConflict:
            tab.notify("error", _CHANGED_AGAIN, place="conflict")
            return
        if leads:
            tab.note_own(revision.id)
        else:
            branched = f"Kept as revision {revision.number}, a branch of revision {edit.edited.number}."
            tab.notify("info", branched, place="run")
        tab.settle(edit)

    def merge() -> Revision:
        assert merged.workflow is not None, "offered only where the edit can be merged"
        note = f"{edit.note}, on top of revision {head.number}"
        return bench.editing.edit(edit.session, merged.workflow, note=note, head=head)

    def branch(instead_of: str | None) -> Revision:
        return bench.editing.keep_branch(
            edit.session,
            edit.workflow,
            note=edit.note,
            edited=edit.edited,
            instead_of=instead_of,
        )

    possible = merged.workflow is not None
    tip = "Apply your changes to the current workflow"
    with st.container(horizontal=True, gap="small", key="conflict-decisions"):
        if merged.workflow != head.workflow:
            action(
                "Apply on top",
                "merge",
                lambda: settle(merge, leads=True),
                key="conflict-apply",
                help=tip if possible else "Not possible, for the reason above",
                type="primary" if possible else "secondary",
                disabled=locked or not possible,
                place="conflict",
            )
            action(
                "Keep as a branch",
                "call_split",
                lambda: settle(lambda: branch(None), leads=False),
                key="conflict-branch",
                help="Keep your version in the history; the workflow does not change",
                place="conflict",
            )
            action(
                "Branch and use mine",
                "alt_route",
                lambda: settle(lambda: branch(head.id), leads=True),
                key="conflict-switch",
                help="Keep your version as a branch and make it the workflow; the other stays in the history",
                disabled=locked,
                place="conflict",
            )
        tip = "Discard your edit; the workflow does not change"
        action("Discard mine", "close", tab.settle, edit, key="conflict-discard", help=tip)
