"""The form in which a worker, or the Conductor, is added and changed, with each fault beside its field.

A dialog over the pool page. Knows the document it edits; the fields are in `fields`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.keys.services import Service
from conductor.workers.pool.kinds import table_faults
from conductor.workers.pool.toml_editor import Entry, PoolDocument
from conductor.workers.pool.toml_file import Place
from pages.components.keyboard.focus import focus_fallback
from pages.components.pool.fields import (
    SERVICES,
    Field,
    TableKind,
    entry_of,
    fields,
    first_value,
    kind_of,
    missing,
    other_kind,
)
from pages.components.streamlit_patches.initial_values import note_drawing, on_choice, show_first
from pages.components.tab.state import plain
from pages.components.widgets.dialog import Dialog
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.pool_saving import save

focus_fallback("pool-save", "pool-undo", "pool-add")

_FAULTS = "pool-faults"
_GENERAL = ""

_KINDS: dict[TableKind, str] = {
    "model": "Served model",
    "embedded": "Small model on this machine",
    "calculator": "Calculator",
    "python": "Runs programs",
    "simulated": "Simulated",
}
_CONDUCTORS: dict[TableKind, str] = {
    "conductor": "Served model",
    "local": "Trained model in this program",
    "embedded conductor": "Small model on this machine",
}
_OTHERS: dict[TableKind, str] = {
    "simulated": "Pace and failure",
    "local": "Sampling",
    "embedded": "Sampling",
    "embedded conductor": "Sampling and form",
}
_CALCULATOR: Entry = {"kind": "calculator", "name": "calculator"}


@dataclass(frozen=True)
class Form:
    """An open form of a table of a document. `place` is None for a new worker.

    `old` is the table as it was.
    """

    document: PoolDocument
    place: Place | None
    old: Entry


_FORM = Dialog[Form]("pool-form")


def _key(name: str) -> str:
    """The key of a field of the open form."""
    return f"pool-{_FORM.serial}-{name}"


def open_form(document: PoolDocument, place: Place | None) -> None:
    """Show the form on the next run of the page."""
    if place is None:
        old: Entry = {}
    else:
        old = (document.conductor or {}) if place == "conductor" else document.workers[place]
    _FORM.open(Form(document, place, old))
    st.session_state[_FAULTS] = {}


def pool_form() -> None:
    """Draw the form, where one is open."""
    _FORM.show(_title, _draw, width="medium")


def _title(form: Form) -> str:
    if form.place == "conductor":
        return "Change the Conductor" if form.old else "Add a Conductor"
    return f"Change {plain(str(form.old.get('name', '')), limit=60)}" if form.old else "Add a worker"


def _draw(form: Form) -> None:
    if (other := other_kind(form.old)) is not None:
        st.markdown(
            f"The kind **{plain(other)}** comes from an installed package and has no form here. Change its "
            "keys in the file as text, below the table of workers."
        )
        st.button("Close", key="pool-form-cancel", on_click=_FORM.close)
        return
    kind = _kind(form)
    faults = cast("dict[str, str]", st.session_state.get(_FAULTS, {}))
    if form.place is None and kind == "model":
        service_field(
            "Service",
            key=_key("service"),
            address=_key("base_url"),
            variable=_key("api_key_env"),
            placeholder="Choose a service to fill in its URL, or enter one below",
        )
    usual, others = fields(kind)
    _grid(form, usual, faults)
    if others:
        named = _OTHERS.get(kind, "Limits, prices and timing")
        already = sum(field.key in form.old for field in others)
        label = f"{named} · {already} set" if already else named
        with st.expander(label, expanded=any(field.key in faults for field in others)):
            _grid(form, others, faults)
    if form.place is None and form.document.before is None:
        st.checkbox("Also add the calculator", key=_key("add-calculator"))
        st.caption(
            f"{plain(str(form.document.path))} will be created. Its workers replace the built-in ones."
        )
    labels = ", ".join(field.label for field in (*usual, *others) if field.key in faults)
    # Beside the button, which may be far from the field.
    summary = (faults.get(_GENERAL) or f"Not saved. Check: {labels}.") if faults else ""
    _FORM.buttons("Save", "save", _save, form, kind, key="pool-save", fault=summary)


def _kind(form: Form) -> TableKind:
    if form.old:
        kind = kind_of(form.old)
        if form.place == "conductor" and kind != "local":
            return "embedded conductor" if kind == "embedded" else "conductor"
        return kind
    kinds = _CONDUCTORS if form.place == "conductor" else _KINDS
    return st.segmented_control(
        "Kind",
        tuple(kinds),
        default=next(iter(kinds)),
        required=True,
        format_func=distinct_labels(kinds),
        key=_key("kind"),
    )


def service_field(label: str, *, key: str, address: str, variable: str, placeholder: str) -> None:
    """A field whose choice fills in the fields with the keys `address` and `variable`."""
    note_drawing(key, st.session_state.get(key))

    def fill_in(service: Service | None) -> None:
        if service is not None:
            st.session_state[address] = service.base_url
            st.session_state[variable] = service.api_key_env or ""

    st.selectbox(
        label,
        SERVICES,
        index=None,
        format_func=distinct_labels({service: service.name for service in SERVICES}),
        placeholder=placeholder,
        key=key,
        on_change=on_choice(key, fill_in),
    )


def _grid(form: Form, group: Sequence[Field], faults: dict[str, str]) -> None:
    wide = [field for field in group if field.kind in ("long", "table") or field.key == "strengths"]
    narrow = [field for field in group if field not in wide]
    for at in range(0, len(narrow), 2):
        for column, field in zip(st.columns(2), narrow[at : at + 2], strict=False):
            with column:
                _field(form, field, faults)
    for field in wide:
        with st.container():
            _field(form, field, faults)


def _field(form: Form, field: Field, faults: dict[str, str]) -> None:
    key = _key(field.key)
    # A default would come back where a person empties the field.
    show_first(key, first_value(field, form.old))
    tip, hint = field.help or None, field.hint or None
    match field.kind:
        case "text":
            st.text_input(field.label, key=key, help=tip, placeholder=hint)
        case "long" | "table":
            st.text_area(field.label, key=key, help=tip, placeholder=hint, height=80)
        case "whole":
            st.number_input(field.label, key=key, help=tip, placeholder=hint, step=1, value=None)
        case "number":
            st.number_input(field.label, key=key, help=tip, placeholder=hint, format="%g", value=None)
        case "flag":
            st.checkbox(field.label, key=key, help=tip)
        case "several":
            st.multiselect(field.label, field.options, key=key, help=tip, placeholder=hint)
        case "choice" | "worker":
            own = form.old.get("name")
            others = (name for worker in form.document.workers if (name := worker.get("name")) != own)
            options = field.options if field.kind == "choice" else tuple(filter(None, others))
            st.selectbox(field.label, options, key=key, help=tip, placeholder=hint, index=None)
    if field.key in faults:
        with st.container(key=f"pool-fault-{field.key}"):
            message = faults[field.key]
            st.markdown(f":material/error: {plain(message[:1].upper() + message[1:])}")


def _save(form: Form, kind: TableKind) -> None:
    keys = [field.key for group in fields(kind) for field in group]
    typed = {key: st.session_state.get(_key(key)) for key in keys}
    entry, faults = entry_of(kind, typed, old=form.old)
    # The kind is known here, so that a missing address is reported as a missing address.
    complaints = table_faults(kind, entry)
    requirements = missing(kind, entry)
    faults = {fault.key: requirements.get(fault.key, fault.message) for fault in complaints} | faults
    if not faults:
        faults = _saved(form, entry)
    if not set(faults) <= set(keys):
        # All of them in one text, because some are of keys without a field.
        own = (*keys, _GENERAL)
        texts = (text if key in own else f"{key}: {text}" for key, text in faults.items())
        faults = {_GENERAL: " ".join(texts)}
    st.session_state[_FAULTS] = faults
    if not faults:
        _FORM.close()


def _saved(form: Form, entry: Entry) -> dict[str, str]:
    """Why the table cannot be saved, by key; empty where it was saved."""
    name = str(entry.get("name", "the Conductor"))
    try:
        if not form.old:
            save(_added(form, entry), notice=f"{name} was added.")
        else:
            assert form.place is not None, "what was there has a place"
            save(form.document.changed(form.place, entry), notice=f"{name} was changed.")
    except PoolError as error:
        _follow(form)
        return {error.key or _GENERAL: error.reason or str(error)}
    return {}


def _added(form: Form, entry: Entry) -> PoolDocument:
    if form.place == "conductor":
        return form.document.with_conductor(entry)
    document = form.document.with_worker(entry)
    added = st.session_state.get(_key("add-calculator"))
    return document.with_worker(_CALCULATOR) if added else document


def _follow(form: Form) -> None:
    """Go on with the file as it is now, where the table is still the one that is being changed."""
    try:
        now = PoolDocument.opened(form.document.path)
        if now.before == form.document.before:
            return
        tables = now.workers
        same = form.place is None or (
            now.conductor == form.old if form.place == "conductor" else form.old in tables
        )
    except PoolError:
        return
    if same:
        place = tables.index(form.old) if isinstance(form.place, int) else form.place
        _FORM.change(replace(form, document=now, place=place))
