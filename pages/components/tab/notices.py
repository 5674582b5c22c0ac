"""The notices of a page that cannot work: an error with a way on, and what is wrong with the pool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from conductor.errors import ConductorError
from conductor.orchestration.runtime import Runtime
from pages.components.tab.services import services
from pages.components.tab.state import TabState, plain
from storage import left_out_rows

_NAMED = 3


@contextmanager
def showing_errors(place: str) -> Iterator[None]:
    """Show a `ConductorError` of the block where it happened; `place` keeps the buttons' keys apart."""
    try:
        yield
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.button("Try again", key=f"again-{place}", icon=":material/refresh:")


@contextmanager
def page_notices(place: str = "page") -> Iterator[None]:
    """`showing_errors` for a whole page, and at its end what it left out, because it cannot be read."""
    with showing_errors(place), left_out_rows() as sentences:
        yield
    # Who looks at one session by a link learns nothing of others.
    for sentence in () if TabState().watched else [*sentences][:_NAMED]:
        st.warning(plain(f"Left out: {sentence}"), icon=":material/warning:")


def pool_notice(*, link: bool = True) -> bool:
    """Draw the notice where there is one; returns whether there is a pool to work with."""
    configured = services().configured
    fault = configured.fault
    if fault is None:
        if link:
            _unusable(configured())
        return True
    usable = configured.usable
    with st.container(key="pool-notice", gap="small"):
        if usable:
            consequence = "Until that is fixed, the previous pool stays in use."
            st.warning(plain(f"{fault} {consequence}"), icon=":material/warning:")
        else:
            st.error(plain(str(fault)), icon=":material/error:")
        if link:
            st.page_link("pages/pool.py", label="Fix it on the pool page", icon=":material/groups:")
    return usable


def _unusable(runtime: Runtime) -> None:
    """Whether the Conductor cannot plan, and which workers it is not offered; nothing where all is well."""
    unusable, lines = runtime.workers.unusable, []
    if runtime.conductor.card.unusable is not None:
        lines.append("The Conductor cannot plan.")
    if unusable:
        names = ", ".join(list(unusable)[:_NAMED]) + (", ..." if len(unusable) > _NAMED else "")
        count = f"{len(unusable)} of {len(runtime.workers.names)} workers"
        lines.append(f"{count} cannot be used: {names}.")
    if not lines:
        return
    with st.container(key="pool-unusable", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(plain(" ".join(lines)))
        st.page_link("pages/pool.py", label="See why on the pool page", icon=":material/groups:")
