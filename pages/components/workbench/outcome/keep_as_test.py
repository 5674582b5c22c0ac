"""*Keep as a test*: the form beside an answer that puts the question into a set of the team.

Knows the form; what may be kept is `studio.evaluation.team_tests`'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from conductor.errors import ConductorError
from conductor.evaluation.team_tests import TeamCheck, TeamTest
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row
from pages.components.widgets.labels import distinct_labels
from storage import Session
from studio.evaluation.team_tests import TEAM_SET, TeamTests, proposed
from studio.workbench import Workbench

NOTICE = "kept-test"
"""Where it is shown that a test was kept."""

_FORM = "keep-test-form"
_CHECKS: Mapping[TeamCheck, str] = {
    "contains": "contains it",
    "number": "is its number",
    "mathematics": "is the same formula",
    "judge": "means the same, by a judge",
}


def keep_as_test(bench: Workbench, tab: TabState, session: Session, *, run: str, answer: str) -> None:
    """Draw the button and, once it is pressed, the tests that ask this question and the form of a new one."""
    tests = bench.store.tests.of_question(session.query)
    key = f"keep-test-{run}"
    # Streamlit closes a popover whose label changes, so that of an open one stays.
    if not st.session_state.get(key) or f"{key}-label" not in st.session_state:
        st.session_state[f"{key}-label"] = "Kept as a test" if tests else "Keep as a test"
    box = st.popover(
        st.session_state[f"{key}-label"],
        icon=":material/bookmark_add:",
        key=key,
        on_change="rerun",
        width="content",
    )
    if not box.open:
        return
    with box, st.container(key="keep-test", gap="small"):
        _tests(bench, tests)
        _form(bench, tab, session, tests, run=run, answer=answer)


def _tests(bench: Workbench, tests: Sequence[TeamTest]) -> None:
    """The tests that there are, each with a way to delete it."""
    for test in tests:
        with row():
            words = f"In {test.data_set}: right where the answer {_CHECKS[test.scorer]}: {test.accepted}"
            st.caption(plain(words, limit=160), width="stretch")
            action(
                "Delete",
                "delete",
                bench.store.tests.delete,
                test.id,
                key=f"keep-test-delete-{test.id}",
                type="tertiary",
                help=f"Delete the test of the set {test.data_set} for good",
                place=_FORM,
            )


def _form(
    bench: Workbench, tab: TabState, session: Session, tests: Sequence[TeamTest], *, run: str, answer: str
) -> None:
    key = f"keep-test-{run}"
    used_names = {test.data_set for test in tests}
    free = [name for name in bench.store.tests.sets() if name not in used_names]
    if TEAM_SET not in (*free, *used_names):
        free.insert(0, TEAM_SET)

    def keep() -> None:
        fields = {name: st.session_state[f"{key}-{name}"] for name in ("accepted", "check", "set")}
        try:
            test = TeamTests(bench.store).keep(
                session.id,
                accepted=fields["accepted"],
                scorer=fields["check"],
                data_set=fields["set"] or "",
                run=run,
                author=bench.asker.person,
            )
        except ConductorError as error:
            tab.notify("error", str(error), place=_FORM)
            return
        st.session_state[key] = False
        tab.notify("info", f"Kept in the set {test.data_set}; evaluations can use it.", place=NOTICE)
        tab.ask_redraw()

    with st.form(f"{key}-form", border=False):
        st.text_area("Accepted answer", proposed(answer), key=f"{key}-accepted", height=100)
        st.selectbox(
            "Right if the answer", list(_CHECKS), key=f"{key}-check", format_func=distinct_labels(_CHECKS)
        )
        st.selectbox(
            "Set",
            free,
            index=0 if free else None,
            key=f"{key}-set",
            accept_new_options=True,
            placeholder="Name a new set",
            help="Choose a set of the team, or enter a new name",
        )
        if session.conversation is not None:
            st.caption("The test asks only this question, without its files and earlier messages.")
        st.form_submit_button("Keep", icon=":material/bookmark_add:", key=f"{key}-keep", on_click=keep)
    tab.show_notice(_FORM)
