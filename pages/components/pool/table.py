"""The table of who is in the pool: where each is served, what it may cost, whether its key is set, how it is.

Knows subjects and their health; what a button does is the page's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

import streamlit as st

from conductor.amounts import duration
from conductor.errors import PoolError
from conductor.workers.checkup import Checkup
from conductor.workers.findings import Health
from conductor.workers.pool_document import Place
from conductor.workers.protocol import Price
from conductor.workers.secret import find_secret
from conductor.workers.subject import Subject
from pages.components.state import plain

_WIDTHS = (2.1, 2.5, 0.95, 1.05, 1.15, 1.25, 1.95, 1.45)
_HEADINGS = ("Name", "Model and endpoint", "Context", "$ a million", "Limits", "Key", "Health", "")
_NAME_CHARACTERS = 120


class Row(NamedTuple):
    """Who is shown, and which table of the file that is; None where it stands in no file."""

    subject: Subject
    place: Place | None


class Actions(NamedTuple):
    """What the buttons of a row do."""

    examine: Callable[[Sequence[Subject]], None]
    change: Callable[[Place], None]
    remove: Callable[[Place], None]


def pool_table(rows: Sequence[Row], checkup: Checkup, actions: Actions) -> None:
    """Draw it."""
    with st.container(key="pool-table", gap=None):
        with st.container(key="pool-head"):
            for column, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
                column.caption(heading)
        for number, row in enumerate(rows):
            with st.container(key=f"pool-row-{number}", gap=None):
                _row(number, row, checkup, actions)


def remove_key(row: Row) -> str:
    """The key of the button that removes it, which goes with it."""
    mark = f"{row.subject.role} {row.subject.name}"
    return f"pool-icon-remove-{sha256(mark.encode()).hexdigest()[:12]}"


def key_word(subject: Subject) -> str:
    """Whether the key is there: set, missing, unusable, or none where none is named."""
    variable = subject.endpoint.api_key_env if subject.endpoint else None
    if variable is None:
        return "none"
    try:
        return "missing" if find_secret(variable) is None else "set"
    except PoolError:
        return "unusable"


def _row(number: int, row: Row, checkup: Checkup, actions: Actions) -> None:
    subject = row.subject
    name, served, context, price, limits, key, health, buttons = st.columns(
        _WIDTHS, vertical_alignment="center"
    )
    with name:
        st.markdown(f"**{plain(subject.name, limit=_NAME_CHARACTERS)}**")
        with st.container(key=f"pool-strengths-{number}"):
            st.caption(plain(_what(subject), limit=200))
    with served:
        st.markdown(plain(subject.model, limit=_NAME_CHARACTERS))
        st.caption(plain(subject.endpoint.base_url if subject.endpoint else "in this program"))
    context.markdown(plain("-" if subject.context is None else f"{subject.context:,}"))
    price.markdown(plain(_price(subject.price)))
    limits.markdown(plain(_limits(subject)))
    with key:
        _key(subject)
    with health:
        _health(checkup.health(subject), going=checkup.examines(subject))
    with buttons, st.container(horizontal=True, gap=None, horizontal_alignment="right"):
        _buttons(number, row, checkup, actions)
    _complaints(number, checkup.health(subject))


def _what(subject: Subject) -> str:
    if subject.role == "conductor":
        return "Conductor, a model"
    kind = {"model": "model", "offline": "offline, no model", "simulated": "simulated, no model"}
    # What stands in for strengths that nobody wrote says nothing that the row does not.
    own = "" if subject.kind == "model" and subject.model in subject.strengths else subject.strengths
    return " · ".join(filter(None, (kind[subject.kind], own)))


def _price(price: Price | None) -> str:
    return "-" if price is None else f"{price.prompt:g} in, {price.completion:g} out"


def _limits(subject: Subject) -> str:
    endpoint = subject.endpoint
    if endpoint is None:
        return "-"
    said = []
    if endpoint.concurrency is not None:
        said.append(f"{endpoint.concurrency} at a time")
    if endpoint.requests_per_minute is not None:
        said.append(f"{endpoint.requests_per_minute:g} a minute")
    return ", ".join(said) or "none"


def _key(subject: Subject) -> None:
    word = key_word(subject) if subject.endpoint else "-"
    icon = {"set": ":material/key: ", "missing": ":material/key_off: ", "unusable": ":material/key_off: "}
    st.markdown(f"{icon.get(word, '')}{plain(word)}")
    if subject.endpoint is not None and subject.endpoint.api_key_env is not None:
        st.caption(plain(subject.endpoint.api_key_env))


def _health(health: Health | None, *, going: bool) -> None:
    if going:
        known = health.findings[-1] if health is not None and health.findings else None
        doing = {None: "waiting", "key": "reaching it", "model": "waiting for a word"}
        st.markdown(f":material/progress_activity: {doing.get(known.check if known else None, 'testing')}")
    elif health is None:
        st.caption("not tested")
    else:
        st.markdown(f"{_icon(health)} {_word(health)}")
        if health.first_token is not None:
            st.caption(plain(f"{duration(health.first_token)} to the first token"))
            st.caption(plain(f"{_rate(health.tokens_per_second)} tokens/s"))


def _icon(health: Health) -> str:
    if health.failing:
        return ":material/error:"
    return ":material/help:" if health.complaints else ":material/check_circle:"


def _word(health: Health) -> str:
    """The first thing that is wrong, else that it answers."""
    failing = next((finding for finding in health.findings if finding.state == "failing"), None)
    if failing is not None:
        return {"key": f"key {failing.word}", "reachable": "not reachable"}.get(failing.check, failing.word)
    doubtful = next(iter(health.complaints), None)
    return "answers" if doubtful is None else f"answers, {doubtful.word}"


def _rate(tokens_per_second: float | None) -> str:
    if tokens_per_second is None:
        return "-"
    return f"{tokens_per_second:.1f}" if tokens_per_second < 10 else f"{tokens_per_second:,.0f}"


def _buttons(number: int, row: Row, checkup: Checkup, actions: Actions) -> None:
    name = plain(row.subject.name, limit=_NAME_CHARACTERS)
    st.button(
        f"Test {name}",
        key=f"pool-icon-test-{number}",
        icon=":material/network_check:",
        type="tertiary",
        help="Test",
        disabled=checkup.examines(row.subject),
        on_click=actions.examine,
        args=([row.subject],),
    )
    if row.place is None:
        return
    st.button(
        f"Change {name}",
        key=f"pool-icon-change-{number}",
        icon=":material/edit:",
        type="tertiary",
        help="Change",
        on_click=actions.change,
        args=(row.place,),
    )
    st.button(
        f"Remove {name}",
        key=remove_key(row),
        icon=":material/delete:",
        type="tertiary",
        help="Remove",
        on_click=actions.remove,
        args=(row.place,),
    )


def _complaints(number: int, health: Health | None) -> None:
    """What is wrong, and what to do about it, under the row."""
    if health is None or not health.complaints:
        return
    with st.container(key=f"pool-complaints-{number}", gap=None):
        for finding in health.complaints:
            icon = ":material/error:" if finding.state == "failing" else ":material/help:"
            st.markdown(f"{icon} {plain(finding.sentence, limit=1000)}")
