"""Links to the compare page, for two runs or revisions, or for a session as it is and as it was before."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.view_models.comparable import last_two
from storage import SessionStore

PAGE = "pages/compare.py"


def compare_query(left: str, right: str) -> Mapping[str, str]:
    """Query parameters for `st.page_link` and `st.switch_page` to `PAGE`, from two addresses such as
    "run:1f0c".

    A plan that was not chosen is "plan:…"; the ids of runs and revisions do without a kind.
    """
    return {"left": left, "right": right}


def compare_page_link(left: str, right: str, *, label: str = "Compare", help: str | None = None) -> None:
    """Draw a link that opens the page on these two."""
    st.page_link(
        PAGE,
        label=label,
        icon=":material/compare_arrows:",
        help=help,
        query_params=compare_query(left, right),
    )


def session_comparison(store: SessionStore, session: str) -> None:
    """Draw the link that compares a session as it is now with how it was before; nothing where there is no
    before.
    """
    pair = last_two(store, session)
    if pair is not None:
        compare_page_link(*pair, help="Compare with the run or revision before")
