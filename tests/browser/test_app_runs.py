"""Runs outlive what looks at them: stop, reload, a second tab, a closed browser, a killed server."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from conductor.workflow.model import Step
from tests.browser.scripted_endpoint import held
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.waiting import until

pytestmark = pytest.mark.browser

QUICK = Step(instruction="Find what is asked.", worker="writer-8b")
SCRIPTED = Step(instruction="Write at length.", worker="scripted-13b", access=(0,))
ENDLESS = Step(instruction="Write without an end.", worker="endless-70b", access=(0,))


def test_a_reload_and_a_second_tab_show_the_run_under_way(visit, paced_app):
    session = paced_app.plant(QUICK, ENDLESS)
    first = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    first.run()
    expect(first.streams).to_be_visible()
    first.page.reload()
    second = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    for desk in (first, second):
        expect(desk.graph.cards.nth(1)).to_contain_text("running")
        expect(desk.streams).to_be_visible()
    second.button("Stop").click()
    for desk in (first, second):
        expect(desk.page.get_by_text("Stopped. 1 finished output kept")).to_be_visible()
    assert paced_app.calls(session) == [[0, 1]]


def test_what_moves_is_asked_for_in_one_message_and_by_no_tab_that_is_hidden(visit, paced_app):
    session = paced_app.plant(QUICK, ENDLESS)
    page = visit(paced_app, f"/?session={session}")
    desk, messages = WorkbenchPage(page), []
    desk.run()
    expect(desk.streams).to_be_visible()
    page.on("websocket", lambda socket: socket.on("framesent", lambda sent: messages.append(read(sent))))
    page.reload()
    expect(desk.streams).to_be_visible()
    page.wait_for_timeout(1500)
    ticks = {message.fragment_id for message in messages if message.fragment_id}
    assert len(ticks) == 1
    assert not any(message.is_auto_rerun for message in messages)
    page.evaluate(
        "Object.defineProperty(document, 'hidden', { get: () => globalThis.away, configurable: true })"
    )
    page.evaluate("globalThis.away = true")
    desk.settled()
    messages.clear()
    page.wait_for_timeout(1200)
    assert messages == []
    # By the page's own clock, which a busy machine slows down as it does the page's ticks.
    page.evaluate("""async () => {
      globalThis.away = false;
      document.dispatchEvent(new Event("visibilitychange"));
      await new Promise((past) => setTimeout(past, 100));
    }""")
    assert len(messages) == 1
    desk.button("Stop").click()
    expect(page.get_by_text("Stopped. 1 finished output kept")).to_be_visible()


def read(sent):
    message = BackMsg()
    message.ParseFromString(sent)
    return message.rerun_script


def test_a_run_goes_on_while_no_one_looks(visit, paced_app, endpoint):
    endpoint.say(answer := held("It is written at length."))
    session = paced_app.plant(QUICK, SCRIPTED)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    expect(desk.streams).to_be_visible()
    desk.page.close()
    answer.released.set()
    with paced_app.store() as store:
        run = store.runs.of_session(session)[0]
        until(lambda: store.runs.find(run.id).status != "running")
        assert store.runs.find(run.id).status == "finished"
    again = WorkbenchPage(visit(paced_app, f"/?session={session}")).finished()
    expect(again.answer).to_have_text("It is written at length.")
    assert paced_app.calls(session) == [[0, 1]]


def test_a_killed_server_leaves_an_interrupted_run_whose_outputs_a_rerun_uses(own_app, visit):
    session = own_app.plant(QUICK, ENDLESS)
    desk = WorkbenchPage(visit(own_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.nth(1)).to_contain_text("running")
    expect(desk.streams).to_be_visible()
    desk.page.close()
    own_app.kill()
    own_app.start()
    desk = WorkbenchPage(visit(own_app, f"/?session={session}"))
    expect(desk.page.get_by_text("Interrupted: the process that ran this ended")).to_be_visible()
    expect(desk.page.get_by_text("1 finished output kept; a rerun calls 1 step.")).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_contain_text("interrupted")
    desk.select(1)
    desk.choose("Worker", "critic-7b")
    desk.run()
    desk.finished()
    expect(desk.page.get_by_text("1 step ran · 1 reused")).to_be_visible()
    assert own_app.calls(session) == [[0, 1], [1]]


def test_a_server_that_starts_again_goes_on_with_its_run_by_itself(own_app, visit, monkeypatch):
    session = own_app.plant(QUICK, ENDLESS)
    desk = WorkbenchPage(visit(own_app, f"/?session={session}"))
    desk.run()
    expect(desk.streams).to_be_visible()
    desk.page.close()
    own_app.kill()
    monkeypatch.setenv("CONDUCTOR_RESUME", "on")
    own_app.start()
    desk = WorkbenchPage(visit(own_app, f"/?session={session}"))
    expect(desk.page.get_by_text("resumed by itself")).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_contain_text("running")
    assert own_app.calls(session) == [[0, 1], [1]]
    desk.button("Stop").click()
    expect(desk.page.get_by_text("Resumed by itself after its process ended.")).to_be_visible()


JOINED = """panel => {
  document.dispatchEvent(new Event("visibilitychange"));
  panel.click();
}"""
"""A tick of the page and a press in another fragment, which the browser sends in one message."""

FOLLOWED = """panel => {
  const tick = () => document.dispatchEvent(new Event("visibilitychange"));
  tick();
  panel.click();
  for (const later of [0, 1, 2, 3, 4, 6, 8, 12]) setTimeout(tick, later);
}"""
"""The same, with more ticks right behind; one of them waits for the answer to the whole page."""


@pytest.mark.parametrize("sent", [JOINED, FOLLOWED], ids=["with a tick", "before other ticks"])
def test_a_press_that_is_sent_with_a_tick_is_drawn_at_once(visit, paced_app, sent):
    session = paced_app.plant(QUICK, ENDLESS)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.nth(1)).to_contain_text("running")
    for panel, text in (
        ("History", "Fork from here"),
        ("Plans", "Ask for alternatives"),
        ("History", "Fork from here"),
    ):
        tab = desk.page.get_by_role("radio", name=panel, exact=True)
        desk.settled()
        tab.evaluate(sent)
        expect(desk.page.get_by_text(text).first).to_be_visible()
    desk.keyed("stop").get_by_role("button").click()
    expect(desk.keyed("stop")).to_have_count(0)
