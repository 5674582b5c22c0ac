"""What models do on the way, as it is seen: reasoning, retries, fallbacks, and workflows inside of steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.contrast import assert_readable
from tests.browser.scripted_endpoint import ScriptedEndpoint, held, serving
from tests.browser.test_app_looks import OVERFLOW
from tests.browser.workbench_page import Graph, WorkbenchPage
from tests.support.runs.nested_run import HOSTILE, INNER, INNERMOST, WORKFLOW, events, plan_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def nesting_app(chromium, endpoint, tmp_path_factory) -> Iterator[AppServer]:
    """An app whose Conductor is one of the workers."""
    folder = tmp_path_factory.mktemp("nesting")
    served = f'base_url = "{endpoint.base_url}"\nmodel = "conductor"'
    fakes = "".join(
        f'[[worker]]\nname = "{name}"\nkind = "simulated"\ntokens = 12\n'
        for name in ("writer-8b", "critic-7b")
    )
    (folder / "pool.toml").write_text(
        f'[conductor]\n{served}\nconstrain = "none"\nas_worker = true\n{fakes}'
        f'[[worker]]\nname = "gpt-5"\n{served}\nprice_prompt = 1.0\nprice_completion = 10.0\n',
        encoding="utf-8",
    )
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "pool.toml")}) as server:
        yield server


@pytest.fixture
def desk(visit, nesting_app) -> WorkbenchPage:
    """A session in which the run of `nested_run` has ended."""
    return opened(visit, nesting_app)


def opened(visit, server, *, inside=None) -> WorkbenchPage:
    with server.store() as store:
        session = store.sessions.create("Which one?")
        revision = store.revisions.add(session.id, WORKFLOW, origin="import", note="Planted")
        run = f"run-{session.id}"
        store.runs.start(run=run, session=session.id, revision=revision.id)
        for event in events(run):
            store.runs.append(event)
    return WorkbenchPage(visit(server, f"/?session={session.id}", inside=inside)).finished()


def panel(desk: WorkbenchPage) -> Locator:
    return desk.keyed("inside")


def open_inside(desk: WorkbenchPage) -> Graph:
    """Click what opens the second card; the graph of what is inside."""
    desk.page.mouse.click(*desk.graph.opener(1))
    expect(panel(desk).get_by_text("Inside 2. Work out the hard part")).to_be_visible()
    desk.settled()
    return Graph(desk.page, 1)


def test_cards_state_who_stood_in_what_is_cut_off_and_what_is_inside(desk):
    cards = desk.graph.cards
    expect(cards.nth(1)).to_contain_text("3 steps inside")
    expect(cards.nth(2)).to_contain_text("worker writer-8b, simulated")
    expect(cards.nth(2)).to_contain_text("in place of gpt-5 · cut off at the token limit")
    expect(cards.nth(0)).not_to_contain_text("inside")
    written = desk.graph.written()
    assert "3 steps inside" in written[1]
    assert "in place of gpt-5" in written[2]


def test_the_inspector_keeps_reasoning_and_retries_apart_from_the_answer(desk):
    inspector = desk.select(0)
    expect(desk.region("Reasoning")).to_be_hidden()
    desk.part("Reasoning")
    expect(desk.region("Reasoning")).to_have_text("First I ask myself what is asked.")
    desk.part("Instruction")
    expect(inspector.get_by_text("conductor at http")).to_be_visible()
    desk.part("Output")
    inspector.get_by_text("Retries", exact=True).click()
    expect(
        inspector.get_by_text(f"Attempt 1 gave nothing: {HOSTILE}; asked again after 1.2 s")
    ).to_be_visible()
    expect(inspector.get_by_text("503 Overloaded; asked again after 2.5 s")).to_be_visible()
    expect(desk.region("Output")).to_have_text("The facts.")
    expect(inspector.get_by_text("1,200 tokens · $0.0042")).to_be_visible()


def test_a_stand_in_and_a_cut_are_stated_above_the_output(desk):
    inspector = desk.select(2)
    expect(
        inspector.get_by_text("Answered by writer-8b in place of gpt-5: gpt-5 is overloaded.")
    ).to_be_visible()
    expect(inspector.get_by_text("The answer is cut off at the token limit")).to_be_visible()
    expect(inspector.get_by_text("964 tokens · simulated, no model is called")).to_be_visible()


def test_what_is_inside_opens_under_the_graph_and_inside_that_again(desk):
    inner = open_inside(desk)
    expect(inner.cards).to_have_count(3)
    box = panel(desk)
    expect(box.get_by_text("Round 1, attempt 2")).to_be_visible()
    expect(box.get_by_role("region", name="Output")).to_have_text("Inner said 3.")
    inner.click(0)
    expect(box.get_by_role("region", name="Output")).to_have_text("Inner said 1.")
    expect(box.get_by_role("region", name="Instruction")).to_have_text("Split it up.")
    box.get_by_text("What this step saw").click()
    expect(box.get_by_role("region", name="Request")).to_contain_text("Which one?Split it up.")
    expect(inner.root.get_by_role("button", name="Add step")).to_be_hidden()
    inner.root.scroll_into_view_if_needed()
    desk.page.mouse.click(*inner.opener(1))
    expect(box.get_by_text("Inside 2. Solve the core")).to_be_visible()
    deepest = Graph(desk.page, 1)
    expect(deepest.cards).to_have_count(2)
    expect(box.get_by_role("region", name="Output")).to_have_text("Deep said 2.")
    box.get_by_role("button", name="Step 2").first.click()
    expect(box.get_by_text("Inside 2. Work out the hard part")).to_be_visible()
    box.get_by_role("button", name="Workflow", exact=True).click()
    expect(box).to_be_hidden()


def test_an_invalid_plan_inside_states_why(desk):
    open_inside(desk)
    panel(desk).get_by_text("Round 1, attempt 1").click()
    expect(panel(desk).get_by_role("alert")).to_contain_text("The plan is not valid")
    expect(desk.page.locator(".graph")).to_have_count(1)


def test_the_keyboard_opens_and_closes_what_is_inside(desk):
    graph = desk.graph
    desk.select(1)
    graph.stage.focus()
    desk.page.keyboard.press("o")
    expect(panel(desk)).to_be_visible()
    expect(graph.root.get_by_role("button", name="Close inside")).to_be_visible()
    desk.page.keyboard.press("o")
    expect(panel(desk)).to_be_hidden()
    graph.root.get_by_role("button", name="Open inside").press("Enter")
    expect(panel(desk)).to_be_visible()
    desk.inspector.get_by_role("button", name="Close inside").click()
    expect(panel(desk)).to_be_hidden()
    desk.inspector.get_by_role("button", name="Open inside").click()
    expect(panel(desk)).to_be_visible()


def test_a_thinking_step_shows_its_reasoning_as_it_comes_and_no_answer_yet(visit, nesting_app, endpoint):
    answer = held("Yes.", thinking="First the one, then the other. ")
    endpoint.say(answer)
    session = nesting_app.plant(Step(instruction="Think hard.", worker="gpt-5"))
    desk = WorkbenchPage(visit(nesting_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.nth(0)).to_contain_text("thinking")
    inspector = desk.select(0)
    expect(inspector.get_by_text("Output: thinking; no answer yet.")).to_be_visible()
    desk.part("Reasoning")
    expect(desk.region("Reasoning")).to_have_text("First the one, then the other. ")
    answer.released.set()
    expect(desk.graph.cards.nth(0)).to_contain_text("finished")
    expect(desk.region("Reasoning")).to_be_visible()
    desk.part("Output")
    expect(inspector.get_by_text("120 tokens · $0.0003")).to_be_visible()
    desk.read("Answer")
    desk.finished()


def test_words_of_a_connection_that_breaks_are_withdrawn_and_the_next_ones_stand(
    visit, nesting_app, endpoint
):
    broken = held("It is green, surely.", thinking="Hm. ", breaks=True)
    whole = held("It is blue, surely.", request_id="req_<b>7</b>")
    endpoint.say(broken, whole)
    session = nesting_app.plant(Step(instruction="Which colour?", worker="gpt-5"))
    desk = WorkbenchPage(visit(nesting_app, f"/?session={session}"))
    desk.run()
    # A card that is clicked before the page has drawn the run may be overtaken by the run's own tab.
    expect(desk.keyed("stop")).to_be_visible()
    inspector = desk.select(0)
    expect(desk.region("Output")).to_have_text("It is ")
    broken.released.set()
    expect(inspector.get_by_text("10 characters withdrawn")).to_be_visible()
    expect(desk.region("Output")).to_have_text("It is ")
    whole.released.set()
    desk.read("Answer")
    desk.finished()
    desk.read("Step")
    expect(desk.region("Output")).to_have_text("It is blue, surely.")
    desk.part("Reasoning")
    expect(inspector.get_by_text("The worker returned no reasoning.")).to_be_visible()
    desk.part("Output")
    inspector.get_by_text("Retries", exact=True).click()
    expect(inspector.get_by_text("broke the connection after 10 characters; 10 characters")).to_be_visible()
    expect(inspector.get_by_text("request id req_<b>7</b>")).to_be_visible()


def test_a_conductor_as_a_worker_is_followed_while_it_plans_and_reused_with_its_inside(
    visit, nesting_app, endpoint
):
    plan = held(plan_of(INNERMOST))
    endpoint.say(plan)
    session = nesting_app.plant(
        Step(instruction="Work it out.", worker="conductor"),
        Step(instruction="Say it again.", worker="writer-8b", access=(0,)),
    )
    desk = WorkbenchPage(visit(nesting_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.nth(0)).to_contain_text("a plan inside")
    desk.select(0).get_by_role("button", name="Open inside").click()
    expect(panel(desk).get_by_text("Plan as it is written")).to_be_visible()
    plan.released.set()
    desk.read("Answer")
    desk.finished()
    expect(desk.graph.cards.nth(0)).to_contain_text("2 steps inside")
    expect(Graph(desk.page, 1).cards.nth(1)).to_contain_text("Go that way, worker critic-7b, simulated")
    desk.page.mouse.click(*desk.graph.center(1))
    desk.choose("Worker", "critic-7b")
    desk.run()
    expect(desk.page.get_by_text("1 step ran · 1 reused")).to_be_visible()
    expect(desk.graph.cards.nth(0)).to_contain_text("reused, 2 steps inside")
    expect(panel(desk).get_by_role("region", name="Output")).not_to_be_empty()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_inside_can_be_read_and_fits(visit, nesting_app, browser, theme):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    desk = opened(visit, nesting_app, inside=context)
    desk.select(1)
    inner = open_inside(desk)
    inner.click(1)
    panel(desk).get_by_text("What this step saw").click()
    desk.settled()
    assert_readable(desk.page)
    assert desk.page.evaluate(OVERFLOW) == []


def test_the_three_steps_inside_are_those_that_were_planned(desk):
    inner = open_inside(desk)
    for at, step in enumerate(INNER.steps):
        expect(inner.cards.nth(at)).to_contain_text(step.instruction.rstrip("."))
