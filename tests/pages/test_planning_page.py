"""The workbench while a Conductor plans, without a valid plan, and between rounds; without a browser."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from conductor.errors import WorkflowError
from conductor.planner.conductor import PlanRequest
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Retried, Thought
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from pages.components.tab import services
from pages.components.tab.state import plain
from pages.components.view_models.session import SessionView
from pages.components.workbench.editor import Editor
from pages.components.workbench.question.settings import move_key
from storage import SessionStore
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd
from tests.support.runs.conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text
from tests.support.runs.waiting import until_async

pytestmark = pytest.mark.thorough

GOOD = plan_text((0, "Find it.", "[]"), (1, "Answer.", "[0]"))


@dataclass
class HeldConductor(ScriptedConductor):
    """Is asked again, thinks, writes half of a word and waits to be released; `bench` is its workbench."""

    released: threading.Event = field(default_factory=threading.Event)
    bench: Workbench | None = None

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Thought | Retried | Completion]:
        yield Retried(attempt=1, message="429 *Too Many*", seconds=1.2)
        yield Thought(text="Which worker?")
        yield Delta(text="Half a")
        await until_async(self.released.is_set)
        async for item in super().stream(request):
            yield item


def bench_of(url, conductor):
    workers = (
        SimulatedWorker(name="alpha", tokens=4),
        SimulatedWorker(name="beta", tokens=4, seed=1),
        SimulatedWorker(name="slow", latency=30),
    )
    return Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=conductor)


@pytest.fixture
def held(url, monkeypatch) -> Iterator[HeldConductor]:
    """A Conductor that writes what the test puts into its `texts`; the app is over its workbench."""
    conductor = HeldConductor(texts=[GOOD])
    conductor.released.set()
    conductor.bench = bench = bench_of(url, conductor)
    monkeypatch.setattr(services, "workbench", lambda: bench)
    yield conductor
    conductor.released.set()
    bench.close()


def texts(elements):
    return [element.value for element in elements]


def button(page, label):
    [match] = [button for button in page.button if button.label == label]
    return match


def settled(held, page):
    """The page after whatever goes on in its session."""
    held.bench.activities.wait(page.query_params["session"])
    return page.run()


def planned(held, app, *texts_, **settings):
    """A session of the app whose Conductor has written the first of these texts."""
    held.texts = list(texts_)
    session = held.bench.ask("Which one?", settings=Settings(**settings)).id
    held.bench.planning.begin(session)
    held.bench.activities.wait(session)
    return app(session=session)


def test_planning_is_seen_as_it_goes_on_and_by_who_comes_later(app, held):
    held.released.clear()
    page = app()
    page.chat_input(key="query").set_value("Which one?").run()
    assert not page.exception
    session = page.query_params["session"]
    for tab in (page, app(session=session)):
        assert any("Planning" in text for text in texts(tab.markdown))
        assert any(text.startswith("attempt 1") for text in texts(tab.caption))
        assert r":material/refresh: Asked again in 1.2 s: 429 \*Too Many\*" in texts(tab.caption)
        assert [box.label for box in tab.expander] == ["Thinking"]
        assert button(tab, "Stop")
    held.released.set()
    settled(held, page)
    assert not page.exception
    assert page.button(key="run").label == "Run"
    assert held.bench.store.runs.of_session(session) == ()


def test_a_valid_plan_is_drawn_once_before_its_revision_is_stored(app, held, monkeypatch):
    page = planned(held, app, GOOD)
    monkeypatch.setattr(held.bench.activities, "busy", lambda _session: True)
    monkeypatch.setattr(held.bench.store.revisions, "head", lambda _session: None)
    assert not page.run().exception
    assert [box.label for box in page.expander] == ["Attempt 1\\: a valid plan"]


def test_a_workflow_that_no_plan_led_to_has_no_reasons_of_a_plan(held):
    session = held.bench.ask("Which one?").id
    by_hand = Workflow.of([Step(instruction="Answer.", worker="alpha")])
    held.bench.editing.edit(session, by_hand, note="Started by hand")
    held.texts = [GOOD]
    held.bench.planning.begin(session)
    held.bench.activities.wait(session)
    head = held.bench.store.revisions.undo(session)
    view = SessionView.load(held.bench, session)
    assert (head.workflow, view.head.workflow, view.plan) == (by_hand, by_hand, None)
    assert view.latest_plan.report.ok


def test_stopping_keeps_the_query_and_offers_a_way_on(app, held):
    held.released.clear()
    page = opened(app())
    page.segmented_control(key="runs-plans-choice").set_value("Plan and run").run()
    page.chat_input(key="query").set_value("Which one?").run()
    live = held.bench.activities.live_plan(page.query_params["session"])
    button(page, "Stop").click().run()
    assert live.done.wait(60)
    page.run()
    assert list(page.warning) == []
    assert page.info[0].value == r"Planning was stopped\. Nothing has run."
    held.released.set()
    button(page, "Plan again").click().run()
    settled(held, page)
    assert page.button(key="run").label == "Run"


def test_planning_that_was_interrupted_states_it_and_can_be_asked_for_again(app, held, monkeypatch):
    session = held.bench.ask("Which one?").id
    with monkeypatch.context() as patched:
        patched.setattr(held.bench.store.processes.lock, "owner", "a store whose process died")
        held.bench.store.plans.begin("p", session, planner="c", planner_kind="model")
    held.bench.store.processes.mark_interrupted()
    page = opened(app(session=session))
    message = plain(
        "Planning was interrupted: the process that asked the Conductor ended before it answered."
    )
    assert texts(page.info) == [f"{message} Nothing has run."]
    button(page, "Plan again").click().run()
    page = settled(held, page)
    assert held.bench.store.revisions.head(session) is not None
    assert not page.exception


def test_an_invalid_plan_can_be_asked_for_again_until_the_limit_and_every_attempt_is_kept(app, held):
    page = planned(held, app, BROKEN, BROKEN, BROKEN, GOOD)
    assert page.error[0].value == "The Conductor gave no valid plan. Nothing has run."
    assert any("worker 9" in text for text in texts(page.markdown))
    for earlier in (1, 2):
        button(page, "Ask again").click().run()
        settled(held, page)
        labels = [box.label for box in page.expander if box.label.startswith("Attempt")]
        assert labels == [f"Attempt {at + 1}\\: not valid, 1 reason" for at in range(earlier)]
    assert [len(request.rejected) for request in held.requests] == [0, 1, 2]
    assert button(page, "Ask again").disabled
    assert any("asked 3 of 3 times" in text for text in texts(page.caption))
    button(page, "Plan again").click().run()
    settled(held, page)
    assert page.button(key="run").label == "Run"
    page.segmented_control(key="panel").set_value("Plans").run()
    assert len([box for box in page.expander if box.label.startswith("Attempt")]) == 3


def test_a_plan_over_the_limit_is_taken_as_it_is_for_no_call(app, held):
    page = planned(held, app, GOOD, max_steps=1)
    assert page.error[0].value == "The Conductor gave no valid plan. Nothing has run."
    button(page, "2 steps, the limit is 1: take it anyway").click().run()
    assert not page.exception
    assert not page.error
    assert page.button(key="run").label == "Run"
    assert len(held.requests) == 1
    head = held.bench.store.revisions.head(page.query_params["session"])
    assert (head.origin, head.note) == ("human", "Taken with 2 steps, over the limit of 1")
    assert any(text.endswith("chain · edited") for text in texts(page.caption))


def offers_another_round(page):
    """Whether the menu of the ways to run has it."""
    (ways,) = (menu for menu in page.get("menu_button") if "run-ways-" in menu.proto.id)
    return any(option.startswith("Another round") for option in ways.proto.options)


def test_a_rejected_second_round_leaves_the_answer_and_is_stated_above_it(app, held):
    page = planned(held, app, GOOD, BROKEN, GOOD)
    page.button(key="run").click().run()
    settled(held, page)
    held.bench.planning.begin_round(page.query_params["session"])
    settled(held, page)
    assert not page.exception
    assert page.error[0].value == "Round 2: the Conductor gave no valid plan. The answer of round 1 stands."
    assert [button.label for button in page.button if button.label == "Start from one step"] == []
    button(page, "Ask again").click().run()
    settled(held, page)
    assert not page.error
    assert held.bench.store.revisions.head(page.query_params["session"]).looks_back is not None


def test_rounds_follow_by_themselves_and_are_stacked_until_the_third(app, held):
    page = planned(held, app, GOOD, GOOD, GOOD, rounds=3)
    page.button(key="run").click().run()
    settled(held, page)
    assert not page.exception
    lines = [box.label for box in page.expander if box.label.startswith("Round")]
    assert [line.split(" · ")[:3] for line in lines] == [
        ["Round 1", "chain", "2 steps"],
        ["Round 2", "chain", "2 steps"],
    ]
    assert not offers_another_round(page)
    assert any("round 3 · chain" in text for text in texts(page.caption))
    session = page.query_params["session"]
    page.session_state[f"round-{held.bench.planning.rounds(session)[0][1].run}"] = True
    page.run()
    assert not page.exception


def test_a_kept_answer_ends_the_rounds(app, held):
    page = planned(held, app, GOOD, KEEP, rounds=3)
    page.button(key="run").click().run()
    settled(held, page)
    assert not page.exception
    view = SessionView.load(held.bench, page.query_params["session"])
    assert view.kept_answer.round == 2
    assert not view.no_plan
    assert offers_another_round(page)


def test_the_figures_of_a_session_count_planning_and_every_round(app, held):
    page = planned(held, app, GOOD)
    page.button(key="run").click().run()
    settled(held, page)
    session = page.query_params["session"]
    used = held.bench.store.sessions.total(session)
    (run,) = held.bench.store.runs.of_session(session)
    own_tokens = held.bench.store.runs.totals(session)[run.id].tokens
    # The Conductor's 110 tokens, and the run's.
    assert used.tokens == 110 + own_tokens
    lines = texts(page.caption)
    total = plain(f"The session, with planning and all runs: {used.token_words} · at least $0.5000")
    assert total in lines
    own = next(line for line in lines if line.startswith("This run: 2 steps ran"))
    assert plain(f"{own_tokens} tokens") in own


def test_another_round_waits_for_edits_to_be_run(app, held):
    page = planned(held, app, GOOD)
    page.button(key="run").click().run()
    settled(held, page)
    session = page.query_params["session"]
    head = held.bench.store.revisions.head(session)
    held.bench.editing.edit(session, head.workflow.with_worker(0, "beta"), note="edit", head=head)
    page.run()
    assert not offers_another_round(page)


def test_an_edit_while_the_conductor_plans_is_refused(app, held, tab):
    page = planned(held, app, GOOD)
    page.button(key="run").click().run()
    settled(held, page)
    session = page.query_params["session"]
    held.released.clear()
    held.bench.planning.begin_round(session)
    head = held.bench.store.revisions.head(session)
    editor = Editor(bench=held.bench, tab=tab, session=session, head=head)
    end = editor.commit(lambda: head.workflow.with_worker(0, "beta"), "edit")
    assert end is EditEnd.REFUSED
    assert held.bench.store.revisions.head(session) == head
    page.run()
    assert page.button(key="undo").disabled
    assert button(page, "Stop")


def test_a_run_over_its_budget_states_which_limit_and_opens_the_settings(app, held):
    # The Conductor was called twice: once more after a refusal.
    page = planned(held, app, GOOD, budget=Budget(calls=3))
    page.button(key="run").click().run()
    settled(held, page)
    assert not page.exception
    assert page.warning[0].value.startswith(
        "Stopped at the budget: 3 of 3 calls used. 1 finished output kept"
    )
    assert any("stopped at its budget" in text for text in texts(page.caption))
    button(page, "Raise the limit").click().run()
    session = page.query_params["session"]
    page.number_input(key=f"budget-calls-{session}").set_value(9).run()
    assert held.bench.settings(session).budget == Budget(calls=9)
    assert settings_line(page).endswith(" · 9 calls")
    page.button(key="run").click().run()
    settled(held, page)
    assert not page.warning


# -- settings ----------------------------------------------------------------------------------------


def opened(page):
    page.session_state["settings"] = True
    return page.run()


def settings_line(page):
    """What the menu below the question shows once it is closed."""
    page.session_state["settings"] = False
    page.run()
    return next(box.proto.popover.label for box in page.get("popover") if " · " in box.proto.popover.label)


def test_settings_are_kept_for_the_next_query_and_go_with_it(app, held):
    page = opened(app())
    page.segmented_control(key="mode-next").set_value("mini").run()
    page.checkbox(key="use-next-alpha").uncheck().run()
    page.number_input(key="budget-cost-next").set_value(0.1).run()
    assert plain("No price is known, so all workers stay available.") in texts(page.caption)
    assert settings_line(page) == plain("Mini · 1 step · 2 of 3 workers · $0.10")
    page.chat_input(key="query").set_value("Which one?").run()
    settled(held, page)
    settings = held.bench.settings(page.query_params["session"])
    assert (settings.max_steps, settings.economical) == (1, True)
    assert (settings.workers, settings.budget) == (("beta", "slow"), Budget(cost=0.1))
    assert [card.name for card in held.requests[-1].workers] == ["beta", "slow"]


def test_settings_of_an_open_session_are_its_own(app, held):
    session = held.bench.ask("Which one?").id
    page = opened(app(session=session))
    page.button(key=move_key("alpha", "down")).click().run()
    page.number_input(key=f"rounds-{session}").set_value(2).run()
    assert held.bench.settings(session) == Settings(workers=("beta", "alpha", "slow"), rounds=2)
    page.button(key="new").click().run()
    page.chat_input(key="query").set_value("And now?").run()
    assert held.bench.settings(page.query_params["session"]) == Settings()


def test_two_settings_changed_in_one_run_of_the_page_are_both_kept(app, held):
    session = held.bench.ask("Which one?").id
    page = opened(app(session=session))
    page.number_input(key=f"budget-tokens-{session}").set_value(500)
    page.segmented_control(key=f"mode-{session}").set_value("ultra").run()
    settings = held.bench.settings(session)
    assert (settings.rounds, settings.budget) == (3, Budget(tokens=500))


def test_the_last_worker_cannot_be_left_out(app, held):
    session = held.bench.ask("Which one?", settings=Settings(workers=("beta",))).id
    page = opened(app(session=session))
    assert page.checkbox(key=f"use-{session}-beta").disabled
    assert not page.checkbox(key=f"use-{session}-alpha").disabled


def test_a_worker_that_the_pool_has_lost_is_stated_and_can_be_left_out(app, held):
    session = held.bench.ask("Which one?", settings=Settings(workers=("gone", "beta"))).id
    page = opened(app(session=session))
    button(page, "Plan again").click().run()
    assert "gone" in page.error[0].value
    page.checkbox(key=f"use-{session}-gone").uncheck().run()
    assert held.bench.settings(session).workers == ("beta",)


# -- what a page is drawn for -------------------------------------------------------------------------


@pytest.mark.slow
def test_what_was_asked_before_an_edit_is_no_longer_in_the_way(url):
    bench = bench_of(url, ScriptedConductor([BROKEN]))
    session = bench.ask("Which one?").id
    bench.planning.begin(session)
    bench.activities.wait(session)
    assert SessionView.load(bench, session).no_plan is not None
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="alpha")]), note="By hand")
    assert SessionView.load(bench, session).no_plan is None
    with pytest.raises(WorkflowError):
        bench.planning.begin_round(session)
    bench.close()
