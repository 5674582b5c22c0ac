"""Tokens on the pool page: made and shown once, listed with what they used, and revoked."""

from __future__ import annotations

import re

import pytest

from conductor.runs.request import Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from pages.components.tab import services
from storage.api_token import TokenLimits, read_token
from storage.limits import Limits
from studio.sessions.notes import AUTHOR


@pytest.fixture
def page(app, tmp_path, monkeypatch):
    """The pool page with one worker."""
    pool = tmp_path / "pool.toml"
    pool.write_text('[[worker]]\nkind = "simulated"\nname = "alpha"\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    return app("pool")


@pytest.fixture
def store(page):
    return services.workbench().store


def page_text(page) -> str:
    """All texts of the page, as they are read."""
    elements = (*page.markdown, *page.caption, *page.error, *page.info)
    texts = [re.sub(r"\\(.)", r"\1", str(element.value)).replace("\u2060", "") for element in elements]
    return "\n".join(texts)


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception
    return page


def test_the_page_states_where_programs_on_the_servers_machine_find_a_token(page):
    assert "Programs on the server's machine find one in the file api-token" in page_text(page)


def test_a_token_is_made_with_its_limits_and_shown_once(page, store):
    press(page, "token-create")
    page.text_input(key="token-1-name").input("My laptop")
    page.multiselect(key="token-1-workers").select("alpha")
    page.number_input(key="token-1-tokens").set_value(5000)
    page.segmented_control(key="token-1-period").set_value("day")
    page.number_input(key="token-1-requests").set_value(60)
    page.checkbox(key="token-1-unstored").check()
    press(page, "token-create-now")
    [token] = store.tokens.listed()
    rates = {"requests_per_minute": 60, "keeps_unstored": True}
    assert token.limits == TokenLimits(workers=("alpha",), tokens=5000, period="day", **rates)
    text = page.code[0].value
    assert (read_token(text) or ("",))[0] == token.id
    press(page, "token-done")
    assert text not in page_text(page) + "".join(code.value for code in page.code)
    assert page.session_state["token-dialog"] is None
    assert "**My laptop**" in page_text(page)
    assert "5,000 tokens a day · 60 requests per minute · only alpha" in page_text(page)


def test_a_person_with_limits_makes_and_revokes_no_token(page, store, monkeypatch):
    token, _ = store.tokens.create("own")
    monkeypatch.setenv(AUTHOR, "Ada")
    for person, may in (("Ben", True), ("Ada", False)):
        store.people.set_limits(person, Limits(tokens=100))
        page.run()
        keys = {button.key for button in page.button}
        assert (keys >= {"token-create", f"pool-icon-token-{token.id}"}) is may
        assert ("You have limits" in page_text(page)) is not may


def test_what_cannot_be_made_states_why_and_keeps_what_was_typed(page, store):
    store.tokens.create("taken")
    press(page, "token-create")
    press(page, "token-create-now")
    assert "A token needs a name" in page_text(page)
    page.text_input(key="token-1-name").input("taken")
    page.session_state["pressed-token-create-now"] = 0.0  # a while ago
    press(page, "token-create-now")
    assert "There is a token 'taken' already" in page_text(page)
    assert page.text_input(key="token-1-name").value == "taken"
    press(page, "token-dialog-cancel")
    assert len(store.tokens.listed()) == 1


def test_a_token_is_listed_with_what_it_used_and_revoked_after_a_question(page, store):
    token, _ = store.tokens.create('<b id="x">*lab*</b>')
    for usage in (Usage(prompt_tokens=700, completion_tokens=300, cost=0.5), Usage()):
        charge = Charge(worker="alpha", kind="model", purpose="step", usage=usage)
        store.ledger.add((charge,), by=Asker(token=token.id))
        store.tokens.note_request(token.id)
    page.run()
    assert '**<b id="x">*lab*</b>**' in page_text(page)
    assert "1,000 tokens · $0.5000" in page_text(page)
    notes = "tokens of 1 call by estimate · dollars of 1 call by estimate or without a price"
    assert f"2 requests · {notes}" in page_text(page)
    press(page, f"pool-icon-token-{token.id}")
    assert store.tokens.any_in_force()
    press(page, "token-revoke-now")
    assert not store.tokens.any_in_force()
    assert "was revoked." in page_text(page)
    assert "1 token revoked" in page_text(page)
