"""Who may change the pool and its tokens: this machine's own server, or one with a password."""

from __future__ import annotations

import re

import pytest

from pages.components.tab import services

POOL = """
[[worker]]
name = "alpha"
base_url = "http://127.0.0.1:9/v1"
model = "m-1"
api_key_env = "ALPHA_API_KEY"
"""


@pytest.fixture
def opened(app, tmp_path, monkeypatch):
    """Opens the pool page of a server with these settings, with one worker, a key to confirm and a token."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    monkeypatch.setenv("ALPHA_API_KEY", "sk-alpha-0123456789")

    def open_page(text=POOL, **settings):
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        services.access.cache_clear()
        file.write_text(text, encoding="utf-8")
        page = app("pool")
        services.workbench().store.tokens.create("lab")
        return page.run()

    return open_page


def keys(page):
    return {button.key for button in page.button}


def page_text(page):
    return "\n".join(re.sub(r"\\(.)", r"\1", str(element.value)) for element in (*page.info, *page.markdown))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"CONDUCTOR_PASSWORD": "correct horse battery"},
        {"CONDUCTOR_PASSWORD": "correct horse battery", "CONDUCTOR_API_HOSTS": "studio.example.org"},
    ],
)
def test_the_pool_is_edited_on_this_machine_or_behind_a_password(opened, settings):
    page = opened(**settings)
    assert {"pool-add", "pool-test-all", "pool-text-save", "token-create", "pool-icon-test-0"} <= keys(page)
    assert any(key.startswith("pool-confirm-") for key in keys(page))
    assert "cannot be changed here" not in page_text(page)


@pytest.mark.parametrize("text", [POOL, "nothing =", ""], ids=["a pool", "a wrong file", "an empty file"])
def test_a_server_of_other_names_without_a_password_shows_the_pool_and_changes_nothing(opened, text):
    page = opened(text, CONDUCTOR_API_HOSTS="studio.example.org")
    assert keys(page) == set()
    assert not page.text_area
    assert not page.text_input
    assert "this server also goes by studio.example.org and has no password" in page_text(page)
    assert "Set CONDUCTOR_PASSWORD and start it again" in page_text(page)
    if text == POOL:
        assert "**alpha**" in page_text(page)
        assert "**lab**" in page_text(page)
