"""The table of who is in the pool: where each is served, what it may cost, whether its key is set, how it is.

Knows targets and their health, and the document that its buttons edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import streamlit as st

from conductor.drawing.marks import Mark
from conductor.errors import PoolError
from conductor.text.formatting import duration
from conductor.values.output import KIND_LABELS
from conductor.workers.health.findings import Health
from conductor.workers.health.probe import HealthProbe, ProbeTarget, targets
from conductor.workers.keys.secret import find_secret
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.toml_editor import PoolDocument
from conductor.workers.pool.toml_file import Place
from pages.components.keyboard.focus import focus_fallback
from pages.components.pool.form import open_form
from pages.components.tab.state import plain
from pages.components.view_models.workflow.card_content import worker_marks
from pages.components.widgets.controls import action
from pages.components.widgets.pool_saving import PLACE, save

focus_fallback("pool-icon-remove-*", "pool-undo")

_WIDTHS = (2.1, 2.5, 0.95, 1.05, 1.15, 1.25, 1.95, 1.45)
_HEADINGS = ("Name", "Model and endpoint", "Context", "$ per million", "Limits", "Key", "Health", "")
_NAME_CHARACTERS = 120


class PoolRow(NamedTuple):
    """Who is shown, which table of the file that is, or None if it is in no file, and a worker's mark."""

    target: ProbeTarget
    place: Place | None
    mark: Mark | None


def pool_rows(pool: Pool, places: Sequence[Place | None] | None = None) -> list[PoolRow]:
    """The rows of a pool, the Conductor's first; `places` are those of its file, None if it has none."""
    own, all_targets = worker_marks(pool.cards), targets(pool)
    return [
        PoolRow(target, place, None if target.role == "conductor" else own[target.name])
        for target, place in zip(all_targets, places or [None] * len(all_targets), strict=True)
    ]


def pool_table(rows: Sequence[PoolRow], probe: HealthProbe, document: PoolDocument | None) -> None:
    """Draw it; without a document to edit it has no buttons."""
    with st.container(key="pool-table", gap=None):
        with st.container(key="pool-head"):
            for column, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
                column.caption(heading)
        for number, row in enumerate(rows):
            with st.container(key=f"pool-row-{number}", gap=None):
                _row(number, row, probe, document)


def remove_key(row: PoolRow) -> str:
    """The key of the button that removes it, which goes with it."""
    mark = f"{row.target.role} {row.target.name}"
    return f"pool-icon-remove-{sha256(mark.encode()).hexdigest()[:12]}"


def key_label(target: ProbeTarget) -> str:
    """Whether the key can be sent: set, missing, unusable, not confirmed, or no key is named."""
    endpoint = target.endpoint
    if endpoint is None or endpoint.api_key_env is None:
        return "none"
    try:
        if find_secret(endpoint.api_key_env) is None:
            return "missing"
        return "set" if endpoint.unconfirmed is None else "not confirmed"
    except PoolError:
        return "unusable"


def _row(number: int, row: PoolRow, probe: HealthProbe, document: PoolDocument | None) -> None:
    target = row.target
    name, served, context, price, limits, key, health, buttons = st.columns(
        _WIDTHS, vertical_alignment="center"
    )
    with name:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            if row.mark is not None:
                st.html(row.mark.html, width="content")
            st.markdown(f"**{plain(target.name, limit=_NAME_CHARACTERS)}**", width="content")
        with st.container(key=f"pool-strengths-{number}"):
            st.caption(plain(_what(target), limit=200))
    with served:
        st.markdown(plain(target.card.model, limit=_NAME_CHARACTERS))
        st.caption(plain(target.card.endpoint or "in this program"))
    context.markdown(plain("-" if target.card.context is None else f"{target.card.context:,}"))
    prices = target.card.price
    price.markdown(plain("-" if prices is None else f"{prices.prompt:g} in, {prices.completion:g} out"))
    limits.markdown(plain(_limits(target)))
    with key:
        _key(target)
    with health:
        _health(target, probe.health(target), going=probe.examines(target))
    if document is not None:
        with buttons, st.container(horizontal=True, gap=None, horizontal_alignment="right"):
            _buttons(number, row, probe, document)
    _complaints(number, target, probe.health(target))


def _what(target: ProbeTarget) -> str:
    if target.role == "conductor":
        own = (
            target.card.strengths if target.endpoint is None else KIND_LABELS.get(target.card.kind, "a model")
        )
        return f"Conductor, {own}"
    # The default strengths repeat what the row shows already.
    card = target.card
    own = "" if card.kind == "model" and card.model in card.strengths else card.strengths
    own = " · ".join(filter(None, (own, "sees images" if card.vision else "")))
    return " · ".join(filter(None, (KIND_LABELS.get(card.kind, "model"), own)))


def _limits(target: ProbeTarget) -> str:
    endpoint = target.endpoint
    if endpoint is None:
        return "-"
    limits = []
    if endpoint.concurrency is not None:
        limits.append(f"{endpoint.concurrency} at a time")
    if endpoint.requests_per_minute is not None:
        limits.append(f"{endpoint.requests_per_minute:g} a minute")
    return ", ".join(limits) or "none"


def _key(target: ProbeTarget) -> None:
    word = key_label(target) if target.endpoint else "-"
    icons = {"set": ":material/key: ", "none": "", "-": ""}
    st.markdown(f"{icons.get(word, ':material/key_off: ')}{plain(word)}")
    if target.endpoint is not None and target.endpoint.api_key_env is not None:
        st.caption(plain(target.endpoint.api_key_env))


def _health(target: ProbeTarget, health: Health | None, *, going: bool) -> None:
    if going:
        latest = health.findings[-1] if health is not None and health.findings else None
        doing = {None: "waiting", "key": "connecting", "model": "waiting for the first token"}
        st.markdown(f":material/progress_activity: {doing.get(latest.check if latest else None, 'testing')}")
    elif health is None and target.card.unusable is not None:
        st.markdown(":material/error: cannot be used")
    elif health is None:
        st.caption("not tested")
    else:
        icon = ":material/help:" if health.complaints else ":material/check_circle:"
        st.markdown(f"{':material/error:' if health.failing else icon} {_word(health)}")
        if health.first_token is not None:
            st.caption(plain(f"{duration(health.first_token)} to the first token"))
            st.caption(plain(f"{_rate(health.tokens_per_second)} tokens/s"))


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


def _buttons(number: int, row: PoolRow, probe: HealthProbe, document: PoolDocument) -> None:
    name, target, place = plain(row.target.name, limit=_NAME_CHARACTERS), row.target, row.place

    button = partial(action, type="tertiary")
    tested = probe.examines(target)
    key = f"pool-icon-test-{number}"
    button(f"Test {name}", "network_check", probe.begin, [target], key=key, help="Test", disabled=tested)
    if place is not None:
        key = f"pool-icon-change-{number}"
        button(f"Change {name}", "edit", open_form, document, place, key=key, help="Change")
        remove = partial(button, f"Remove {name}", "delete", _remove, document, place)
        remove(key=remove_key(row), help="Remove", place=PLACE)


def _remove(document: PoolDocument, place: Place) -> None:
    entry = (document.conductor if place == "conductor" else document.workers[place]) or {}
    name = entry.get("name", "The Conductor")
    try:
        rest, notice = document.without(place), f"{name} was removed."
        if place != "conductor" and not rest.workers and not document.built_in:
            rest, notice = rest.with_built_in("built-in"), f"{notice} The built-in workers are in use now."
        save(rest, notice=notice)
    except PoolError as error:
        raise PoolError(f"{name} was not removed: {error}") from error


def _means(target: ProbeTarget) -> str:
    if target.role == "conductor":
        return "It cannot plan"
    if target.offered:
        return f"{target.card.fallback} answers instead of it"
    return "It is not offered to the Conductor"


def _complaints(number: int, target: ProbeTarget, health: Health | None) -> None:
    """What is wrong, and what to do about it, under the row."""
    complaints = () if health is None else health.complaints
    if not complaints and target.card.unusable is None:
        return
    with st.container(key=f"pool-complaints-{number}", gap=None):
        if target.card.unusable is not None:
            st.markdown(f":material/error: {plain(f'{_means(target)}: {target.card.unusable}', limit=1000)}")
        for finding in complaints:
            if target.card.unusable is not None and finding.check == "key":
                continue  # shown above already
            icon = ":material/error:" if finding.state == "failing" else ":material/help:"
            st.markdown(f"{icon} {plain(finding.sentence, limit=1000)}")
