"""What is searched for stands in the address, and an address that makes no sense is no error."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.sessions.filter_url import (
    NAMES,
    STATES,
    TOPOLOGIES,
    address_of,
    begin_of,
    end_of,
    filter_of,
)
from storage import EVERYTHING, SessionFilter

_DAYS = st.none() | st.dates(date(1980, 1, 1), date(2100, 1, 1))
_TOKENS = st.none() | st.integers(0, 10**9)
_NAMES = st.lists(st.text(min_size=1), max_size=3, unique=True).map(tuple)


def _some(options):
    return st.sets(st.sampled_from(options)).map(
        lambda chosen: tuple(option for option in options if option in chosen)
    )


@pytest.mark.slow
@given(
    st.builds(
        SessionFilter,
        search=st.text(),
        states=_some(STATES),
        topologies=_some(TOPOLOGIES),
        workers=_NAMES,
        tags=_NAMES,
        since=_DAYS.map(lambda day: None if day is None else begin_of(day)),
        until=_DAYS.map(lambda day: None if day is None else end_of(day)),
        least_tokens=_TOKENS,
        most_tokens=_TOKENS,
        deleted=st.booleans(),
        evaluated=st.booleans(),
    )
)
def test_an_address_leads_back_to_its_filter(filter):
    assert filter_of(address_of(filter)) == filter


def test_an_address_states_only_what_is_asked_for():
    assert address_of(EVERYTHING) == {}
    assert address_of(SessionFilter(search="sky", deleted=True)) == {"q": ["sky"], "deleted": ["yes"]}


@pytest.mark.parametrize(
    "named",
    [
        {"state": ["asleep"], "topology": ["ring"], "deleted": ["maybe"]},
        {"from": ["yesterday"], "to": ["2026-02-31"]},
        {"least": ["-1"], "most": ["many"]},
        {"least": ["9" * 400], "most": ["9" * 5000]},
        {name: [] for name in NAMES},
    ],
)
def test_what_no_one_understands_is_left_out(named):
    assert filter_of(named) == EVERYTHING
