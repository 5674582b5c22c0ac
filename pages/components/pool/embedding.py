"""Better small models for this machine, each with its size, its licence and how far its download is."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from conductor.text.formatting import percent
from conductor.workers.discovery.offers import with_model_file
from conductor.workers.embedded.model_hub import HUB_MODELS, HubModel, hub_address
from conductor.workers.pool.pool import path_to_write
from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.tab.services import services
from pages.components.tab.state import plain
from pages.components.widgets.controls import action, row, watched
from storage import data_folder, default_url

_POLL_SECONDS = 0.5


def embedding() -> None:
    """Draw the models and a button for each, for a person who may change the pool."""
    downloads = services().downloads

    def draw(_busy: bool) -> None:
        with st.expander("Small models on this machine", icon=":material/memory:", key="pool-embed"):
            st.caption(f"Each is downloaded from {plain(hub_address())}, once; no server, no key.")
            for model in HUB_MODELS:
                with row():
                    _model(model)

    busy = downloads.busy
    seconds = _POLL_SECONDS if busy else None
    watched(lambda: downloads.busy, draw, key="embed-part", seconds=seconds, was=busy)


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
    begin = partial(downloads.begin, model, folder, then=partial(_add, model))
    action("Download", "download", begin, key=f"embed-{model.name}")


def _add(model: HubModel, file: Path) -> None:
    """Put the model into the pool file. Raises `PoolError`."""
    path = path_to_write()
    document, _ = with_model_file(PoolDocument.opened(path), model.name, file)
    document.save()
