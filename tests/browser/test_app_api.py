"""The API beside the app: a token made in the browser opens it, and a workflow is tried from its page.

All of it while a thousand others hold connections on which they never finish their requests.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import openai
import pytest
from playwright.sync_api import Page, expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.contrast import assert_readable
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

SLOW = 1_000
HALF_REQUESTS = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000000\r\n\r\n{",
)
"""Headers without an end, and a body without one."""


@contextmanager
def held(port: int) -> Iterator[None]:
    """Hold so many connections to `port` as long as the block lasts."""
    opened, over = threading.Event(), threading.Event()

    async def hold() -> None:
        streams = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW)))
        for at, (_, writer) in enumerate(streams):
            writer.write(HALF_REQUESTS[at % len(HALF_REQUESTS)])
        opened.set()
        await asyncio.to_thread(over.wait)
        for _, writer in streams:
            writer.transport.abort()

    holder = threading.Thread(target=lambda: asyncio.run(hold()), daemon=True)
    holder.start()
    try:
        assert opened.wait(60), "the connections were not taken"
        yield
    finally:
        over.set()
        holder.join(60)


def answer_of(app: AppServer, key: str, model: str) -> str:
    """What OpenAI's client gets."""
    with openai.OpenAI(base_url=f"{app.url}/v1", api_key=key, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Which is it?"}]
        )
    return answer.choices[0].message.content or ""


def make_token(page: Page, name: str) -> str:
    """A token that is made on the pool page, as it is shown there once."""
    page.get_by_role("button", name="Create a token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Requests per minute", exact=True).fill("60")
    dialog.get_by_role("button", name="Create token").click()
    expect(dialog.get_by_text("shown only once")).to_be_visible()
    assert_readable(page)
    text = dialog.locator(".stCode").first.inner_text().strip()
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    return text


def test_a_token_and_a_workflow_are_used_while_a_thousand_connections_are_held(visit, paced_app):
    session = paced_app.plant(
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Say it.", worker="planner-7b", access=(0,)),
    )
    with held(paced_app.port):
        page = visit(paced_app, "/pool")
        text = make_token(page, "A laptop")
        assert_fits(page)
        expect(page.get_by_text("60 requests per minute")).to_be_visible()
        assert answer_of(paced_app, text, f"workflow:{session}")
        with pytest.raises(openai.AuthenticationError):
            answer_of(paced_app, "none", "worker:writer-8b")

        desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
        desk.share().page.get_by_role("tab", name="Code").click()
        expect(desk.page.get_by_label("Question", exact=True)).to_have_value("What is 17 * 23?")
        desk.page.get_by_label("Question", exact=True).fill("What is 19 * 23?")
        desk.page.get_by_label("Question", exact=True).press("Control+Enter")
        expect(desk.page.locator(".stCode").nth(1)).to_contain_text("19 * 23")
        desk.button("Try it").click()
        answer = desk.region("Answer of the API")
        expect(answer).to_be_visible()
        expect(desk.button("Open its session")).to_be_visible()
        expect(desk.button("Try it")).to_be_visible()
        assert_readable(desk.page)
        assert_fits(desk.page)
        answered = answer.inner_text()
        desk.button("Open its session").click()
        desk.page.wait_for_url(lambda url: session not in url)
        expect(desk.title).to_contain_text("What is 19 * 23?")
        expect(desk.answer).to_have_text(answered)

    page.bring_to_front()
    page.get_by_role("button", name="Revoke A laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("was revoked")).to_be_visible()
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        answer_of(paced_app, text, "worker:writer-8b")


def test_the_panel_can_be_read_in_the_dark(visit, paced_app, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    session = paced_app.plant(Step(instruction="Find it.", worker="writer-8b"))
    page = visit(paced_app, f"/?session={session}", inside=context)
    WorkbenchPage(page).share().page.get_by_role("tab", name="Code").click()
    for language in ("JavaScript", "Python", "curl"):
        page.get_by_role("tab", name=language).click()
        expect(page.get_by_role("tabpanel", name=language)).to_contain_text("CONDUCTOR_API_KEY")
    assert_readable(page)
