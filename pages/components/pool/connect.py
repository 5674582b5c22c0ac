"""The dialog that connects an endpoint: its address and key once, its models as workers, and who plans.

Knows the document that it adds to. A key that is typed goes to the app's secrets and to that endpoint alone.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, replace

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.discovery.models import strengths_of
from conductor.workers.discovery.offers import Offer, served_models, usual_choice, with_offer
from conductor.workers.health.probe import targets
from conductor.workers.keys.hosts import KeyHost, confirm
from conductor.workers.keys.secret import find_secret, name_fault, secrets_path
from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.pool.fields import SERVICES
from pages.components.pool.form import service_field
from pages.components.pool.offers import key_on_trial
from pages.components.tab.services import services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.dialog import Dialog
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.pool_saving import save
from studio.workbench import Workbench

_AS_NOW = ""
_OPEN_ROWS = 4
"""Models whose strengths are written without scrolling."""


@dataclass(frozen=True)
class Connection:
    """An open dialog. `offer` has all models of the endpoint once they are listed."""

    document: PoolDocument
    offer: Offer | None = None
    fault: str = ""


_CONNECTION = Dialog[Connection]("pool-connection")


def _key(name: str) -> str:
    return f"connect-{_CONNECTION.serial}-{name}"


def _typed(name: str) -> str:
    return str(st.session_state.get(_key(name)) or "").strip()


def open_connection(document: PoolDocument) -> None:
    """Show the dialog on the next run of the page."""
    _CONNECTION.open(Connection(document))


def connection_dialog(bench: Workbench) -> None:
    def draw(connection: Connection) -> None:
        if connection.offer is None:
            _address(bench, connection)
        else:
            _models(connection, connection.offer)

    _CONNECTION.show("Connect an endpoint", draw, width="medium")


# -- where it is ----------------------------------------------------------------------------------------


def _address(bench: Workbench, connection: Connection) -> None:
    service_field(
        "Service",
        key=_key("service"),
        address=_key("url"),
        variable=_key("variable"),
        placeholder="Choose one, or enter a URL below",
    )
    st.text_input("URL", key=_key("url"), placeholder="https://api.example.com/v1")
    with st.container(horizontal=True, gap="small"):
        st.text_input(
            "Key",
            key=_key("secret"),
            type="password",
            autocomplete="off",
            placeholder="Only if the endpoint needs one",
        )
        st.text_input(
            "Name of the key",
            key=_key("variable"),
            placeholder="Derived from the URL",
            help="The environment variable with the key. A key entered here is stored in "
            f"{secrets_path()}; the pool file has only this name.",
        )
    st.caption("Listing models sends the key to this URL only.")
    _CONNECTION.buttons(
        "List models", "list", _list, bench, connection, key="connect-list", fault=connection.fault
    )


def _list(bench: Workbench, connection: Connection) -> None:
    url, secret, variable = (_typed(name) for name in ("url", "secret", "variable"))
    service = next((one for one in SERVICES if one.base_url == url), None)
    offer = Offer(service.name if service else "", url, variable or None)
    try:
        host = offer.origin.partition("//")[2] if url else ""
        if not host:
            raise PoolError("Enter the URL where the models are served, like https://api.openai.com/v1.")
        name = variable or f"ENDPOINT_{re.sub('[^A-Z0-9]+', '_', host.upper()).strip('_')}_API_KEY"
        if (secret or variable) and (wrong := name_fault(name)) is not None:
            raise PoolError(f"Name of the key: {wrong}.")
        has_key = secret or (variable and find_secret(variable))
        offer = Offer(offer.name or host, url, name if has_key or variable else None)
        pool = str(connection.document.path.resolve())
        with key_on_trial(name, secret) if secret else nullcontext():
            if offer.api_key_env is not None:
                confirm(KeyHost(offer.api_key_env, offer.origin, pool))
            listing = served_models(offer, of="The URL", pool=pool)
            models = bench.background.spawn(listing).result()
        if not models:
            raise PoolError(f"{offer.name} lists no chat model. Use Add a worker.")
    except PoolError as error:
        _CONNECTION.change(replace(connection, fault=str(error)))
        return
    _CONNECTION.change(replace(connection, offer=offer._replace(models=models), fault=""))


# -- what of it is used -----------------------------------------------------------------------------------


def _models(connection: Connection, offer: Offer) -> None:
    names = [model.name for model in offer.models or ()]
    chosen = st.multiselect(
        f"Workers, of {len(names):,} models of {plain(offer.name)}",
        names,
        default=usual_choice(offer.name, offer.models or ()),
        key=_key("models"),
    )
    if chosen:
        st.caption("Strengths, which the Conductor reads")
        with st.container(height=260 if len(chosen) > _OPEN_ROWS else "content", border=False):
            for name in chosen:
                st.text_input(plain(name), strengths_of(name) or "", key=_key(f"strengths {name}"))
    planners = [_AS_NOW, *names]
    st.selectbox(
        "Planner",
        planners,
        index=0 if connection.document.conductor else min(1, len(chosen)) and planners.index(chosen[0]),
        format_func=distinct_labels({_AS_NOW: "No change", **{name: name for name in names}}),
        key=_key("planner"),
    )
    _CONNECTION.buttons(
        "Add and test", "add", _add, connection, offer, key="connect-add", fault=connection.fault
    )


def _add(connection: Connection, offer: Offer) -> None:
    by_name = {model.name: model for model in offer.models or ()}
    chosen = [name for name in st.session_state[_key("models")] if name in by_name]
    planner = by_name.get(_typed("planner"))
    strengths = {name: _typed(f"strengths {name}") for name in chosen}
    try:
        if not chosen and planner is None:
            raise PoolError("Choose at least one model.")
        workers = offer._replace(models=tuple(by_name[name] for name in chosen))
        document, done = with_offer(connection.document, workers, planner=planner, strengths=strengths)
        save(document, notice=done)
    except PoolError as error:
        _CONNECTION.change(replace(connection, fault=str(error)))
        return
    before = {str(worker.get("name")) for worker in connection.document.workers}
    new = [target for target in targets(document.pool()) if target.name not in before]
    services().probe.begin(new)
    _CONNECTION.close()
    TabState().ask_redraw()
