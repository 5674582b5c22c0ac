"""The workbench's wiring: what its buttons do and what it shows, without a browser."""

from __future__ import annotations

import sqlite3
from itertools import count
from types import SimpleNamespace

import pytest

from conductor.planner.parsing.parse import parse
from conductor.runs.request import Asker
from conductor.values.conversation import MAX_QUERY
from conductor.values.messages import Usage
from conductor.values.total import Total
from conductor.workflow.file import read_plan
from conductor.workflow.model import Step, Workflow
from pages.components.tab import services
from pages.components.tab.state import plain
from storage import SessionStore
from storage.limits import Limits
from studio.sessions.notes import AUTHOR
from tests.support.runs.charges import took
from tests.support.runs.waiting import until


def texts(elements):
    return [element.value for element in elements]


def ask(page, query, *, way=None):
    """The page after a question was asked in its box."""
    if way is not None:
        page.session_state["settings"] = True
        page.run()
        page.segmented_control(key="runs-plans-choice").set_value(way).run()
    return page.chat_input(key="query").set_value(query).run()


def wait_for_run(session):
    """Wait until the newest run, which the app started in this process, is over and kept."""
    bench = services.workbench()
    live = bench.background.live(bench.store.runs.latest(session).id)
    assert live is None or live.done.wait(60)


def test_the_empty_workbench_offers_three_examples(app):
    page = app()
    assert not page.exception
    assert page.title[0].value == "Conductor Studio"
    examples = [button for button in page.button if button.key.startswith("example-")]
    assert len(examples) == 3
    assert any("simulated, no model is called" in box.label for box in page.expander)


def test_an_example_is_planned_not_run(app, url):
    page = app()
    page.button(key="example-0").click().run()
    assert not page.exception
    # A busy machine builds the grammar of formulas for longer than the page waits.
    until(lambda: offers_run(page) or offers_run(page.run()))
    session = page.query_params["session"]
    assert page.title[0].value == plain("What is 17 * 23?")
    assert page.button(key="run").label == "Run"
    with SessionStore.open(url) as store:
        assert store.revisions.head(session).origin == "conductor"
        assert store.runs.of_session(session) == ()


def offers_run(page):
    return any(button.key == "run" for button in page.button)


def _planned(page):
    until(lambda: offers_run(page) or offers_run(page.run()))
    assert not page.exception
    store, session = services.workbench().store, page.query_params["session"]
    [session] = session if isinstance(session, list) else [session]
    return store.revisions.head(session), store.plans.of_session(session)[-1]


@pytest.mark.thorough
def test_the_orchard_has_its_own_examples_which_its_conductor_plans(app, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    page = app()
    examples = [button for button in page.button if button.key.startswith("example-")]
    assert len(examples) == 3
    for example in examples:
        head, plan = _planned(app().button(key=example.key).click().run())
        assert len(head.workflow) > 1
        assert (head.note, plan.planner, plan.planner_kind) == ("Planned", "orchard", "embedded")
        assert plan.report.handed_over is None
    today = services.workbench().used_today
    assert (today.total(), today.unpaid().tokens > 0) == (Total(), True)


def test_a_question_far_from_the_orchard_is_visibly_handed_over_to_the_rules(app, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    page = ask(app(), "Write a haiku about autumn leaves")
    head, plan = _planned(page)
    assert plan.report.handed_over.planner == "offline planner"
    assert head.note == "Planned by the offline planner, to which it was handed over"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "The query is empty"),
        (" \n ", "The query is empty"),
        ("x" * (MAX_QUERY + 1), "50,001 characters"),
    ],
    ids=["empty", "blank", "too long"],
)
@pytest.mark.parametrize("way", ["Plan", "Plan and run"])
def test_a_query_that_cannot_be_planned_is_refused(app, url, query, expected, way):
    page = ask(app(), query, way=way)
    assert not page.exception
    assert expected in page.error[0].value
    with SessionStore.open(url) as store:
        assert store.sessions.count() == 0


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (5_000, "Your budget: 1,200 of 5,000 tokens in total"),
        (1_500, "Your budget is nearly used up: 1,200 of 1,500 tokens in total"),
        (1_000, "Your budget is used up: 1,200 of 1,000 tokens in total"),
    ],
)
def test_a_person_sees_their_budget_before_they_ask_and_is_refused_beyond_it(
    app, url, monkeypatch, tokens, words
):
    monkeypatch.setenv(AUTHOR, "ada")
    with SessionStore.open(url) as store:
        store.people.set_limits("ada", Limits(tokens=tokens))
        store.ledger.add(took(Usage(prompt_tokens=1_000, completion_tokens=200)), by=Asker(person="ada"))
    page = app()
    boxes = page.caption if tokens == 5_000 else page.warning
    assert words in [text.replace("\\", "") for text in texts(boxes)]
    if tokens == 1_000:
        ask(page, "Why?")
        assert "The budget of ada is used up" in page.error[0].value
        with SessionStore.open(url) as store:
            assert store.sessions.count() == 0


def test_plan_and_run_ends_with_an_answer_and_offers_a_rerun(app, url):
    page = app()
    ask(page, "Compare the capitals of France and Germany", way="Plan and run")
    session = page.query_params["session"]
    wait_for_run(session)
    page.run()
    assert not page.exception
    assert page.button(key="run").label == "Rerun"
    [ways] = [menu for menu in page.get("menu_button") if menu.proto.id.endswith(f"run-ways-{session}-None")]
    assert [option.split(" · ")[0] for option in ways.proto.options] == ["Rerun all steps", "Another round"]
    assert any("3 steps ran" in text for text in texts(page.caption))
    with SessionStore.open(url) as store:
        assert store.runs.latest(session).answer


@pytest.mark.thorough
def test_the_drawer_is_closed_until_a_person_opens_it_and_stays_open_through_a_run(app):
    page = app()
    ask(page, "What is 17 * 23?")
    assert page.segmented_control(key="panel").value is None
    page.segmented_control(key="panel").set_value("Check").run()
    page.button(key="run").click().run()
    wait_for_run(page.query_params["session"])
    page.run()
    assert not page.exception
    assert page.segmented_control(key="panel").value == "Check"
    page.segmented_control(key="panel").set_value(None).run()
    assert page.segmented_control(key="panel").value is None


def test_new_leaves_the_session(app, bench, session):
    page = app(session=session)
    assert page.title[0].value == plain("Which one?")
    page.button(key="new").click().run()
    assert "session" not in page.query_params
    assert page.title


@pytest.mark.thorough
def test_a_question_continues_the_conversation_of_an_answer_and_of_nothing_else(app, url):
    page = ask(app(), "What is 17 * 23?")
    first = page.query_params["session"]
    ask(page, "What is 2 + 2?", way="Plan and run")
    second = page.query_params["session"]
    wait_for_run(second)
    page.run()
    ask(page, "What is 3 + 3?")
    third = page.query_params["session"]
    page.session_state["settings"] = True
    page.run()
    page.button(key="rewrite").click().run()
    ask(page, "What is 3 + 4?")
    changed = page.query_params["session"]
    page.button(key="new").click().run()
    ask(page, "What is 5 + 5?")
    with SessionStore.open(url) as store:
        talks = {
            name: [turn.text for turn in store.sessions.find(session).earlier_conversation.turns]
            for name, session in {"second": second, "third": third, "changed": changed}.items()
        }
        answer = store.runs.latest(second).answer
        assert store.sessions.find(first).conversation is None
        assert store.sessions.find(page.query_params["session"]).conversation is None
    assert talks == {
        "second": [],
        "third": ["What is 2 + 2?", answer],
        "changed": ["What is 2 + 2?", answer],
    }


def test_undo_is_offered_after_an_edit_and_names_it(app, bench, session, three):
    assert app(session=session).button(key="undo").disabled
    bench.editing.edit(session, three.with_worker(1, "alpha"), note="Step 2: *beta* to alpha")
    page = app(session=session)
    assert page.button(key="undo").help == r"Undo (Ctrl+Z): Step 2\: \*beta\* to alpha"
    page.button(key="undo").click().run()
    assert bench.store.revisions.head(session).workflow == three
    assert not page.button(key="redo").disabled


def test_a_workflow_whose_workers_left_the_pool_states_it_and_cannot_be_run(app, bench, session):
    page = app(session=session)
    assert "Made with workers that your pool does not have: alpha, beta." in page.info[0].value
    assert page.button(key="run").disabled


def test_an_unknown_session_is_named_in_one_error_and_the_examples_are_offered(app):
    page = app(session="nowhere")
    assert not page.exception
    assert ["nowhere" in text for text in texts(page.error)] == [True]
    assert page.button(key="example-0")


def test_a_rejected_plan_shows_every_reason_and_the_ways_on(app, bench):
    session = bench.ask("Which one?").id
    report = parse(
        "model_id = [0]\nsubtasks = []\naccess_list = [[]]", workers=["alpha"], dialect="any", max_steps=5
    )
    assert not report.ok
    bench.store.plans.add(session, planner="p", planner_kind="offline", report=report, usage=Usage())
    page = app(session=session)
    assert not page.exception
    assert page.error[0].value == "The Conductor gave no valid plan. Nothing has run."
    assert len([text for text in texts(page.markdown) if text.startswith("- ")]) == len(report.problems)
    [button] = [button for button in page.button if button.label == "Start from one step"]
    button.click().run()
    assert len(bench.store.revisions.head(session).workflow) == 1


@pytest.mark.parametrize(
    ("entry", "expected"),
    [('kind = "simulated"\nspeed = 3', "unknown key"), ("", "kind")],
    ids=["wrong key", "no kind"],
)
def test_a_wrong_pool_file_is_stated_on_both_pages(app, tmp_path, monkeypatch, entry, expected):
    pool = tmp_path / "pool.toml"
    pool.write_text(f'[[worker]]\nname = "w"\n{entry}\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    for name in ("workbench", "sessions"):
        page = app(name)
        assert not page.exception
        assert [expected in text for text in texts(page.error)] == [True]


def words_for_a_database(folder):
    file = folder / "words.db"
    file.write_text("These are words, not the pages of a database. " * 100, encoding="utf-8")
    return file


def a_folder_that_cannot_be_made(folder):
    (folder / "file").write_text("", encoding="utf-8")
    return folder / "file" / "conductor.db"


@pytest.mark.parametrize("where", [words_for_a_database, a_folder_that_cannot_be_made])
def test_a_database_that_cannot_be_used_is_stated_on_both_pages_until_it_can(
    app, tmp_path, monkeypatch, where
):
    file = where(tmp_path)
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{file}")
    for name in ("workbench", "sessions"):
        page = app(name)
        assert not page.exception
        assert [plain(str(file)) in text for text in texts(page.error)] == [True]
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path / 'good.db'}")
    [again] = page.button
    again.click().run()
    assert not page.error
    assert page.title[0].value == "Sessions"


def test_a_session_whose_planning_never_ended_offers_a_way_on(app, bench):
    page = app(session=bench.ask("Which one?").id)
    assert [button for button in page.main.button if button.label == "Plan again"]


def test_a_run_that_finished_beside_a_failed_step_names_that_step(app, url, tmp_path, monkeypatch):
    pool = tmp_path / "pool.toml"
    pool.write_text(
        '[[worker]]\nname = "well"\nkind = "simulated"\n'
        '[[worker]]\nname = "ill"\nkind = "simulated"\nfail_on = "i"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    with SessionStore.open(url) as store:
        session = store.sessions.create("Which one?").id
        steps = Step(instruction="Find it.", worker="ill"), Step(instruction="Answer.", worker="well")
        store.revisions.add(session, Workflow.of(steps), origin="human")
    app(session=session).button(key="run").click().run()
    wait_for_run(session)
    page = app(session=session)
    assert not page.exception
    assert any("1 step ran" in text for text in texts(page.caption))
    assert any("finished · 1 step failed · " in text for text in texts(page.caption))
    assert any("Find it" in text for text in [*texts(page.error), *texts(page.warning)])


def test_typing_and_pressing_a_button_in_one_run_of_the_page_loses_neither(app, bench, session):
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    page.text_area(key=f"instruction-{session}-0").set_value("Typed.")
    page.button(key="step-add").click().run()
    head = bench.store.revisions.head(session).workflow
    assert (len(head), head.steps[0].instruction) == (4, "Typed.")


def test_a_refused_instruction_stays_in_its_box(app, bench, session):
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    long = "x" * 100_001
    page.text_area(key=f"instruction-{session}-0").set_value(long).run()
    assert page.text_area(key=f"instruction-{session}-0").value == long
    assert any("limit is 100,000" in text for text in texts(page.error))
    assert bench.store.revisions.head(session).workflow.steps[0].instruction == "Find it."


def test_a_store_that_breaks_under_an_open_page_is_one_sentence(app, bench, session, url):
    page = app(session=session)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("ALTER TABLE runs RENAME TO lost")
    connection.close()
    page.run()
    assert not page.exception
    assert page.error
    assert any(button.label == "Try again" for button in page.button)


@pytest.mark.thorough
def test_an_edit_after_undo_stands_on_what_undo_brought_back(app, bench, session):
    bench.editing.edit(session, bench.store.revisions.head(session).workflow, note="By hand again")
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    field = f"instruction-{session}-0"
    page.text_area(key=field).set_value("Typed.").run()
    page.button(key="undo").click().run()
    page.text_area(key=field).set_value("Typed again.").run()
    assert bench.store.revisions.head(session).workflow.steps[0].instruction == "Typed again."


def test_an_export_holds_what_was_typed_when_its_button_was_pressed(app, session):
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    page.text_area(key=f"instruction-{session}-0").set_value("Typed.")
    page.button(key="export-workflow").click().run()
    file = page.session_state["download"]
    assert (file.name, file.mime) == ("which-one.json", "application/json")
    assert read_plan(file.text).workflow.steps[0].instruction == "Typed."


@pytest.fixture
def unhurried(monkeypatch):
    """A person who presses nothing twice within a second."""
    seconds = count()
    monkeypatch.setattr("pages.components.tab.state.time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.mark.usefixtures("unhurried")
def test_each_press_of_export_gives_a_file_out_once(app, session):
    page = app(session=session)
    assert "download" not in page.session_state
    page.button(key="export-workflow").click().run()
    first = page.session_state["download"]
    page.run()
    assert page.session_state["download"] is first
    page.button(key="export-workflow").click().run()
    assert page.session_state["download"].id != first.id
    page.button(key="new").click().run()
    assert "download" not in page.session_state


@pytest.mark.thorough
def test_a_refused_text_holds_an_export_back_and_states_it(app, session):
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    field = f"instruction-{session}-0"
    page.text_area(key=field).set_value(" ").run()
    page.button(key="export-workflow").click().run()
    assert "download" not in page.session_state
    assert any(text.startswith("Not exported") for text in texts(page.error))
    page.session_state["selected"] = 1
    page.run()
    page.button(key="export-workflow").click().run()
    assert read_plan(page.session_state["download"].text).workflow.steps[0].instruction == "Find it."
