"""A page's frame has our name from the first moment, and knows where the server is."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components.streamlit_patches.index_page import _original, index_pages

ICON = Path(__file__).parents[4] / "pages" / "static" / "icon.svg"
STYLES = ".stApp > p { margin: 0; }"


@pytest.fixture(params=["", "studio", "/studio/"], ids=["alone", "below", "below with slashes"])
def fetch(request, monkeypatch):
    """Asks for the frame at an address, wherever the server has its own."""
    monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": request.param}.__getitem__)
    app = Starlette(routes=index_pages(["sessions"], title="Plans & runs", icon=ICON, styles=STYLES))
    base = "/studio" if request.param else ""
    return lambda address: TestClient(app).get(f"{base}{address}")


def test_streamlits_own_document_has_its_own_name_and_icon_and_no_address_of_the_server():
    document = _original()
    assert "<title>Streamlit</title>" in document
    assert 'href="./favicon.png"' in document
    assert "BACKEND_BASE_URL" not in document


@pytest.mark.parametrize("address", ["/", "/sessions"])
def test_a_frame_has_our_name_and_icon_and_is_asked_for_each_time(fetch, address):
    frame = fetch(address)
    assert "<title>Plans &amp; runs</title>" in frame.text
    assert "favicon.png" not in frame.text
    assert 'rel="shortcut icon" href="data:image/svg+xml;base64,' in frame.text
    assert 'src="./static/js/index.' in frame.text
    assert frame.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("address", ["/", "/sessions"])
def test_a_frame_has_our_styles_after_streamlits_and_before_what_is_drawn(fetch, address):
    head, styled, body = fetch(address).text.partition(f"<style>{STYLES}</style>")
    assert "</head>" in head
    assert styled
    assert '<div id="root">' in body


def test_only_another_page_than_the_first_must_be_shown_where_the_server_is(fetch):
    assert "BACKEND_BASE_URL" not in fetch("/").text
    before, program = fetch("/sessions").text.split("BACKEND_BASE_URL")
    assert '<script type="module"' not in before
    assert '<script type="module"' in program


def test_what_is_no_page_is_left_to_streamlit(fetch):
    assert fetch("/nowhere").status_code == 404
