"""The pool page: the workers of the pool, their health, its servers of tools, small models to download, and
the file that describes all of it, edited in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from conductor.errors import PoolError
from conductor.files.project_folder import new_pool_file
from conductor.text.formatting import percent, quantity
from conductor.workers.discovery.offers import with_model_file
from conductor.workers.embedded.model_hub import HUB_MODELS, HubModel, hub_address
from conductor.workers.health.probe import ProbeTarget, unconfirmed
from conductor.workers.health.tool_health import ToolServerHealth, place, tool_marks
from conductor.workers.keys.secret import secrets_path
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import Pool, built_in_pool, configured_path, path_to_write, read_pool
from conductor.workers.pool.toml_editor import PoolDocument
from conductor.workers.pool.toml_file import Place
from pages.components.keyboard.focus import focus_fallback
from pages.components.pool.connect import connection_dialog, open_connection
from pages.components.pool.file import file_fault, text_editor
from pages.components.pool.form import open_form, pool_form
from pages.components.pool.offers import found_models
from pages.components.pool.table import PoolRow, key_label, pool_rows, pool_table
from pages.components.pool.tokens import tokens_view
from pages.components.streamlit_patches.initial_values import drawn_to_the_end, show_stored, stored_key
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import Services, access, services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, page_head, row, watched
from pages.components.widgets.key_questions import key_questions
from pages.components.widgets.pool_saving import PLACE, saved_notice
from storage import data_folder, default_url

POLL_SECONDS = 0.4

focus_fallback("pool-test-all", "pool-stop")
focus_fallback("pool-stop", "pool-test-all")

_PER_PAGE = 20


def page() -> None:
    with page_notices("pool"):
        tab = TabState()
        tab.begin_page()
        shared = services()
        page_head("Pool")
        path = configured_path()
        built_in = path is not None and built_in_file(path) is not None
        document = PoolDocument.opened(new_pool_file() if path is None or built_in else path)
        refusal = access().editing_refusal
        if refusal is None:
            saved_notice(tab, asks=True)
        else:
            st.info(plain(refusal), icon=":material/lock:")
        if path is not None and built_in:
            _built_in(shared, read_pool(path), named=str(path))
        elif document.before is None:
            _without_file(shared, tab, document, named=path is not None)
        else:
            _with_file(shared, tab, document)
        workers = shared.configured().workers.names if shared.configured.usable else ()
        tokens_view(shared.workbench.store, tab, workers, asker=shared.workbench.asker)
        if refusal is None:
            pool_form()
            connection_dialog(shared.workbench)


def _may_edit() -> bool:
    """Whether what is drawn may change the pool or spend its keys; nothing else acts on this page."""
    return access().editing_refusal is None


def _with_file(shared: Services, tab: TabState, document: PoolDocument) -> None:
    try:
        pool = document.pool()
    except PoolError as error:
        file_fault(document, error)
        if shared.configured.usable:
            st.caption("Until that is fixed, the previous pool stays in use.")
        if _may_edit():
            text_editor(document)
        return
    pool_notice(link=False)
    places: tuple[Place | None, ...] = (*[None] * document.built_in, *range(len(document.workers)))
    if pool.conductor is not None:
        places = ("conductor", *places)
    rows = pool_rows(pool, places)
    count = len(pool.workers)
    label = f" · {pool.label}" if pool.label else ""
    st.caption(plain(f"{document.path} · {count:,} worker{'s' if count > 1 else ''}{label}"))
    if _may_edit():
        key_questions(unconfirmed([row.target for row in rows]), place=PLACE)
    _members(shared, document, rows, pool=pool)
    _tool_servers(pool, may_try=_may_edit())
    if not _may_edit():
        return
    found_models(shared.workbench, tab)
    _small_models()
    _keys([row.target for row in rows])
    with st.expander("The file as text", icon=":material/notes:", key="pool-file"):
        text_editor(document)


def _built_in(shared: Services, pool: Pool, *, named: str) -> None:
    """A set that was chosen by its name: there is no file to edit."""
    pool_notice(link=False)
    st.caption(plain(f"The built-in set {named} · {len(pool.workers):,} workers · {pool.label}"))
    pool_table(pool_rows(pool), shared.probe, None)


def _without_file(shared: Services, tab: TabState, document: PoolDocument, *, named: bool) -> None:
    where = plain(str(document.path))
    if named:
        st.error(f"There is no pool file at {where}; add a worker to create it.", icon=":material/error:")
        _members(shared, document, [], pool=None)
        return
    built_in = built_in_pool()
    st.info(
        f"**Without a model of your own: {built_in.label}.** A small one answers, a calculator is exact. "
        "To use other models, connect an endpoint: any that speaks OpenAI's chat completions, hosted or on "
        f"this machine. Its workers are stored in {where}; pool.example.toml has examples.",
        icon=":material/cloud_off:",
    )
    _members(shared, document, pool_rows(built_in), pool=None)
    if _may_edit():
        found_models(shared.workbench, tab)
        _small_models()


def _members(shared: Services, document: PoolDocument, rows: Sequence[PoolRow], *, pool: Pool | None) -> None:
    """The buttons and the table, drawn again and again while a worker is tested."""
    probe = shared.probe
    if not _may_edit():
        if visible_rows := _visible(rows):
            pool_table(visible_rows, probe, None)
        return

    def draw(busy: bool) -> None:
        with st.container(horizontal=True, key="pool-actions"):
            tip = "Enter a URL and a key once, then tick models"
            connect = partial(action, "Connect an endpoint", "cable", open_connection, document, help=tip)
            connect(key="pool-connect", type="primary")
            action("Add a worker", "add", open_form, document, None, key="pool-add")
            if pool is not None and pool.conductor is None:
                add = partial(action, "Add a Conductor", "account_tree", open_form, document, "conductor")
                help = "Without one, the built-in planner writes the workflows by rules"
                add(key="pool-add-conductor", help=help)
            if busy:
                action("Stop testing", "stop_circle", probe.stop, key="pool-stop")
            elif rows:
                help = "Asks each worker for a short answer"
                entries = [row.target for row in rows]
                action("Test all", "network_check", probe.begin, entries, key="pool-test-all", help=help)
        visible_rows = _visible(rows)
        if visible_rows:
            pool_table(visible_rows, probe, document)

    watched(lambda: probe.busy, draw, key="pool-members", seconds=POLL_SECONDS)


def _visible(rows: Sequence[PoolRow]) -> Sequence[PoolRow]:
    """The rows of the page of the list that is shown, as far as there still is one."""
    pages = -(-len(rows) // _PER_PAGE)
    if pages <= 1:
        return rows
    at = min(st.session_state.get(stored_key("pool-page"), 1), pages)
    at = st.pagination(pages, key=show_stored("pool-page", at))
    return rows[(at - 1) * _PER_PAGE : at * _PER_PAGE]


def _keys(entries: Sequence[ProbeTarget]) -> None:
    """How a key is set; open where one is missing."""
    words = {
        target.endpoint.api_key_env: key_label(target)
        for target in entries
        if target.endpoint is not None and target.endpoint.api_key_env is not None
    }
    missing = [variable for variable, word in words.items() if word in ("missing", "unusable")]
    if not words:
        return
    with st.expander("Keys", icon=":material/key:", expanded=bool(missing), key="pool-keys"):
        named = missing or list(words)
        st.markdown(
            "Keys are never shown or written to the pool file. The app reads each key from the "
            f"environment, otherwise from `{secrets_path()}`."
        )
        ways = st.columns(2)
        with ways[0]:
            st.caption("In the environment, before the app starts")
            st.code("\n".join(f'export {variable}="..."' for variable in named), language=None)
        with ways[1]:
            st.caption(f"In {secrets_path()}; it applies from the next call on")
            st.code("\n".join(f'{variable} = "..."' for variable in named), language=None)


def _tool_servers(pool: Pool, *, may_try: bool) -> None:
    """Draw the servers; `may_try`: with a button that starts one and lists its tools."""
    if not pool.tool_servers:
        return
    probe = services().tool_probe

    def draw(_busy: bool) -> None:
        with st.expander("Servers of tools", icon=":material/build:", key="pool-tools"):
            for server in pool.tool_servers:
                with row():
                    st.markdown(f"**{plain(server.name)}** · {plain(place(server))}", width="content")
                    st.space("stretch")
                    if probe.examines(server, pool):
                        st.caption("starting", width="content")
                    elif may_try:
                        key = f"tools-try-{server.name}"
                        action("Try", "network_check", probe.begin, server, pool, key=key)
                if (health := probe.health(server, pool)) is not None:
                    _tool_state(health)

    watched(lambda: probe.busy, draw, key="tools-part", seconds=POLL_SECONDS)


def _tool_state(health: ToolServerHealth) -> None:
    for finding in health.complaints:
        st.markdown(f":material/error: {plain(finding.sentence, limit=800)}")
    if health.seconds is None:
        return
    count = quantity(len(health.tools), "tool")
    st.caption(plain(f"{health.version or 'without a name'} · {health.seconds:.1f} s · {count}"))
    rows = [
        {"Tool": tool.name, "Marks": tool_marks(tool), "Workers": ", ".join(health.workers[tool.name])}
        for tool in health.tools
    ]
    if rows:
        st.dataframe(rows, hide_index=True)


def _small_models() -> None:
    """Draw the models and a button for each, for a person who may change the pool."""
    downloads = services().downloads

    def draw(_busy: bool) -> None:
        with st.expander("Small models on this machine", icon=":material/memory:", key="pool-embed"):
            st.caption(f"Each is downloaded from {plain(hub_address())}, once; no server, no key.")
            for model in HUB_MODELS:
                with row():
                    _model(model)

    watched(lambda: downloads.busy, draw, key="embed-part", seconds=POLL_SECONDS)


def _model(model: HubModel) -> None:
    downloads = services().downloads
    state = downloads.of(model)
    st.markdown(f"**{plain(model.name)}** · {plain(model.about)}", width="content")
    st.space("stretch")
    if state is not None and state.busy:
        share = state.have / state.size if state.size else 0.0
        st.progress(min(share, 1.0), text=percent(share), width=240)
        return
    if state is not None and state.failure:
        st.markdown(f":material/error: {plain(state.failure, limit=400)}")
    if state is not None and state.file is not None:
        st.caption(":material/check: in the pool file", width="content")
        return
    folder = data_folder(default_url()) / "models"
    begin = partial(downloads.begin, model, folder, then=partial(_add_model, model))
    action("Download", "download", begin, key=f"embed-{model.name}")


def _add_model(model: HubModel, file: Path) -> None:
    """Put the model into the pool file. Raises `PoolError`."""
    path = path_to_write()
    document, _ = with_model_file(PoolDocument.opened(path), model.name, file)
    document.save()


page()
drawn_to_the_end()
