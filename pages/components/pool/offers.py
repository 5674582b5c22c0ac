"""Offers what can be added to the pool: models on this machine, keys that are set, and a field for a key.

One click puts the models into the pool file. Nothing outside this machine is asked before that click, and a
key is shown nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import streamlit as st

from conductor.errors import PoolError
from conductor.text.bounded_value import toml_value
from conductor.text.formatting import named
from conductor.workers.discovery.offers import Offer, list_models, of_service, offers, with_offer
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.keys.secret import find_secret, secrets_path
from conductor.workers.keys.secrets_file import keep_key
from conductor.workers.keys.services import HOSTED, Service, service_of
from conductor.workers.pool.built_in import ORCHARD, built_in_file
from conductor.workers.pool.pool import path_to_write
from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.account import is_local
from pages.components.tab.services import access, services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row, watched
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.pool_saving import save, saved_notice, was_saved
from studio.workbench import Workbench

focus_fallback("found", "pool-add")

_FIRST_SECONDS = 0.1
"""How long a page waits for servers that answer; slower ones come in afterwards."""

_POLL_SECONDS = 0.3

_KEY = "found-key"
_SERVICE = "found-service"
_PASTED = "found-pasted"


def first_models(bench: Workbench, tab: TabState) -> None:
    """Draw it, folded, where no model answers yet, or one was just added."""
    if access().editing_refusal is None and (bench.pool.label is not None or was_saved()):
        names = [offer.name for offer in _offers(bench)]
        answers = f"Answers come from: {bench.pool.label}" if bench.pool.label else "Models answer"
        more = f"found: {named(names)}" if names else "use your own models"
        with st.expander(plain(f"{answers} · {more}"), icon=":material/hub:", key="own-models"):
            found_models(bench, tab)
        # Below, so that no other button slides under the pointer that has just pressed one.
        saved_notice(tab)


def found_models(bench: Workbench, tab: TabState) -> None:
    """Draw what the pool does not have yet, and the field, for a person who may change the pool."""
    tab.show_notice("found")
    finder = services().finder
    try:
        finder.look(wait=_FIRST_SECONDS)
    except PoolError as error:
        st.error(plain(str(error)), icon=":material/error:")

    def draw(_looking: bool) -> None:
        with st.container(border=True, key="found", gap="xsmall"):
            for offer in _offers(bench):
                with row():
                    _offer(bench, offer)
            for name in _sets_to_use():
                with row():
                    st.markdown(_SETS[name].row)
                    st.space("stretch")
                    key = f"found-use-{name}"
                    action(_SETS[name].use, None, _pressed, _use_set, name, key=key, place="found")
            with row():
                st.caption("Keys are stored with the app's secrets, never in a session.", width="content")
                st.space("stretch")
                _paste(bench)

    watched(lambda: finder.looking, draw, key="found-part", seconds=_POLL_SECONDS)


def _offers(bench: Workbench) -> Sequence[Offer]:
    try:
        return offers(bench.pool, services().finder.look(wait=0))
    except PoolError:
        # Shown above, or where the pool is used.
        return ()


def _offer(bench: Workbench, offer: Offer) -> None:
    key = f"found-use-{sha256(f'{offer.name} {offer.base_url}'.encode()).hexdigest()[:8]}"
    use = partial(action, key=key, place="found")
    if offer.models is not None:
        names = plain(named([model.name for model in offer.models]))
        where = "on this machine" if is_local() else "on the server's machine"
        st.markdown(f":material/dns: **{names}** {where}, served by {plain(offer.name)}")
        st.space("stretch")
        use("Use them", None, _pressed, _use, bench, offer, type="primary")
        return
    where = "" if offer.has_known_host else f", to be sent to {plain(offer.origin)}"
    st.markdown(f":material/key: **{plain(offer.api_key_env or '')}** is set{where}")
    st.space("stretch")
    use(f"Use {offer.name}", None, _pressed, _use, bench, offer, help="Lists its models and takes the newest")


class _Set(NamedTuple):
    """A built-in set: the pool file that has it, its row, its button, and the beginning of the notice."""

    text: str
    row: str
    use: str
    notice: str


_SETS = {
    "built-in": _Set(
        'workers = "built-in"\n',
        ":material/home: **A tiny model and a calculator**: no network, no key",
        "Use the built-in workers",
        "The built-in workers are",
    ),
    "orchard": _Set(
        ORCHARD,
        ":material/park: **A trained Conductor** on the orchard, its test bed: no network, no key",
        "Use the orchard",
        "The orchard and its Conductor are",
    ),
}


def _sets_to_use() -> Sequence[str]:
    """The built-in sets that could replace the pool; empty if its file has anything else."""
    path = path_to_write()
    if built_in_file(path) is not None:
        return ()
    try:
        tables = toml_value(PoolDocument.opened(path).text or _SETS["built-in"].text)
    except (PoolError, ValueError):
        return ()  # the page that shows the file reports it
    others = [name for name, each in _SETS.items() if toml_value(each.text) != tables]
    return others if len(others) < len(_SETS) else ()


def _pressed(use: Callable[..., None], *args: object) -> None:
    """Take an offer. The second press of a double click, which reaches another one, is none."""
    if not TabState().pressed_again("found"):
        use(*args)


def _use_set(name: str) -> None:
    """Write the pool file of the set. Raises `PoolError`."""
    path = path_to_write()
    document = PoolDocument.opened(path).with_text(_SETS[name].text)
    save(document, notice=f"{_SETS[name].notice} the pool now, in {path}.")


def _use(bench: Workbench, offer: Offer) -> None:
    """Put the offer's models into the pool file. Raises `PoolError`."""
    listed = bench.background.spawn(list_models(offer)).result()
    path = path_to_write()
    document, done = with_offer(PoolDocument.opened(path), listed)
    save(document, notice=done)


# -- a key -------------------------------------------------------------------------------------------


def _paste(bench: Workbench) -> None:
    # With a new key after each use the popover is closed.
    key = f"found-paste-{st.session_state.get(_PASTED, 0)}"
    with (
        st.popover("Paste a key", icon=":material/key:", key=key),
        st.form("found-form", border=False),
    ):
        st.text_input("Key", key=_KEY, type="password", autocomplete="off", placeholder="sk-…")
        st.selectbox(
            "Service",
            HOSTED,
            index=None,
            format_func=distinct_labels({service: service.name for service in HOSTED}),
            placeholder="Detect from the key",
            key=_SERVICE,
        )
        st.caption(f"It is stored in {secrets_path()} on the app's machine and sent to that service only.")
        st.form_submit_button("Use the key", on_click=_pasted, args=(bench,))


def _pasted(bench: Workbench) -> None:
    tab = TabState()
    key, chosen = str(st.session_state.get(_KEY) or "").strip(), st.session_state.get(_SERVICE)
    # The field forgets the key with this click, whatever comes of it.
    st.session_state[_KEY], st.session_state[_SERVICE] = "", None
    st.session_state[_PASTED] = st.session_state.get(_PASTED, 0) + 1
    tab.ask_redraw()
    try:
        service = _service(key, chosen)
        with key_on_trial(service.api_key_env or "", key):
            _use(bench, of_service(service))
    except PoolError as error:
        tab.notify("error", str(error), place="found")


@contextmanager
def key_on_trial(variable: str, key: str) -> Iterator[None]:
    """Keep the key, unless the block raises that its service refuses it. Raises `PoolError`."""
    before = find_secret(variable)
    keep_key(variable, key)
    try:
        yield
    except PoolError as error:
        cause = error.__cause__
        if isinstance(cause, EndpointFailure) and cause.status in (401, 403):
            keep_key(variable, before)
            raise PoolError(f"{cause.reason}; the key was not stored.") from cause
        raise


def _service(key: str, chosen: Service | None) -> Service:
    """Whose key it is. Raises `PoolError` where that is not known, or the choice is another one."""
    owner = service_of(key)
    if owner is not None and chosen is not None and owner != chosen:
        raise PoolError(f"This looks like a key of {owner.name}, not of {chosen.name}; choose {owner.name}.")
    if owner is None and chosen is None:
        raise PoolError("This key does not show its service. Paste it again and choose the service.")
    service = owner or chosen
    assert service is not None
    return service
