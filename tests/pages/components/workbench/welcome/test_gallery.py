"""A workflow of the gallery becomes a session with one's own question."""

from __future__ import annotations

import re

from conductor.values.presets import Settings
from pages.components.tab import services
from studio.gallery import GALLERY


def texts(page):
    elements = (*page.markdown, *page.caption, *page.error, *page.warning)
    return "\n".join(re.sub(r"\\(.)", r"\1", str(element.value)) for element in elements)


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception
    return page


def sessions():
    return services.workbench().store.sessions.listed()


def test_every_workflow_is_offered(app):
    page = app()
    helps = {button.key: button.help for button in page.button}
    assert {f"gallery-{entry.name}": entry.sentence for entry in GALLERY}.items() <= helps.items()


def test_a_workflow_is_opened_with_a_question_of_ones_own(app):
    page = press(app(), "gallery-maths-check")
    assert page.text_area(key="gallery-query-1").value == "Solve x^2 - 5x + 6 = 0"
    assert "2 steps, by smol." in texts(page)
    assert not page.warning
    page.text_area(key="gallery-query-1").set_value("Solve x + 1 = 3")
    press(page, "gallery-begin-false")
    [session] = sessions()
    assert (session.query, session.steps, session.runs) == ("Solve x + 1 = 3", 2, 0)
    assert page.query_params["session"] == session.id


def test_what_is_chosen_for_the_next_session_holds_for_one_of_the_gallery(app):
    page = app()
    page.session_state["next-settings"] = Settings(max_steps=7)
    press(press(page, "gallery-debate"), "gallery-begin-false")
    [session] = sessions()
    assert services.workbench().settings(session.id).max_steps == 7


def test_that_a_pool_without_a_model_will_decline_is_announced_and_run_all_the_same(
    app, tmp_path, monkeypatch
):
    pool = tmp_path / "pool.toml"
    pool.write_text('[[worker]]\nname = "sums"\nkind = "calculator"\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    page = press(app(), "gallery-debate")
    assert "This pool has no language model, so the steps cannot answer." in texts(page)
    press(page, "gallery-begin-true")
    [session] = sessions()
    services.workbench().activities.wait(session.id)
    assert sessions()[0].state == "unanswered"


def test_without_a_question_nothing_is_made(app):
    page = press(app(), "gallery-debate")
    page.text_area(key="gallery-query-1").set_value(" ")
    press(page, "gallery-begin-true")
    assert "The query is empty" in texts(page)
    assert sessions() == ()
