"""*Your pool* on the learning page: planners begun, followed and used, without one that really learns."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from pages.components.tab import services
from studio.learning import trainings
from tests.support.runs.waiting import until
from tests.support.stores.planner_folders import begun_planner, done_planner, learnt_planner

QUESTIONS = b"".join(b'{"input": "What is %d + 1?", "target": "%d"}\n' % (n, n + 1) for n in range(20))


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the app's learnings."""
    monkeypatch.setattr(services, "data_folder", lambda _: tmp_path)
    return tmp_path / "learn"


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's pool file: the orchard's workers."""
    file = tmp_path / "pool.toml"
    file.write_text('# ours\nworkers = "orchard"\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    return file


def opened(app, name):
    page = app("learning")
    page.query_params["planner"] = name
    return page.run()


def uploaded(app, content):
    page = app("learning")
    page.file_uploader(key="data-file").upload("sums.jsonl", content).run()
    assert not page.exception
    return page


def texts(page):
    values = [element.value for kind in (page.markdown, page.caption) for element in kind]
    return " | ".join(text.replace("\\", "").replace("*", "") for text in values)


def errors(page):
    return " | ".join(element.value.replace("\\", "") for element in page.error)


def keys(page):
    return {button.key for button in page.button}


def test_the_page_begins_with_the_pool_and_the_demonstration_has_a_heading_of_its_own(app, learn, pool):
    page = app("learning")
    assert not page.exception
    assert [heading.value for heading in page.header] == ["Your pool", "Demonstration: a small Conductor"]
    assert page.subheader[0].value == "New planner"
    assert "planner-learn" not in keys(page), "no questions are chosen yet"


def test_learn_begins_the_command_on_the_pool_file_and_opens_the_learning(app, learn, pool, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    page = app("learning")
    page.segmented_control(key="data-source").select("demo").run()
    page.number_input(key="planner-limit").set_value(40).run()
    page.number_input(key="planner-draws").set_value(2).run()
    page.number_input(key="planner-tokens").set_value(5000).run()
    figures = {metric.label: metric.value for metric in page.metric}
    assert figures["Answers"] == "500"
    assert "Plans are tried on 20 questions; the planner is examined on 20 others." in texts(page)
    assert "It stops at 5,000 tokens." in texts(page)
    page.button(key="planner-learn").click().run()
    assert not page.exception
    assert page.query_params["planner"] == "mine"
    log = learn / "mine" / trainings.LOG
    until(lambda: not services.services().trainings.runs_here((learn / "mine").absolute()))
    command = log.read_text(encoding="utf-8").split()
    assert command[:4] == ["-m", "conductor", "learn", "mine"]
    assert {"--name=mine", f"--pool={pool}", "--limit=40", "--draws=2", "--budget-tokens=5000"} <= {*command}
    assert command[-1] == "demo"


def test_an_uploaded_file_is_written_into_the_folder(app, learn, pool, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    page = uploaded(app, QUESTIONS)
    page.text_input(key="planner-name").set_value("sums").run()
    page.button(key="planner-learn").click().run()
    assert not page.exception
    lines = (learn / "sums" / "sums.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["input"] == "What is 0 + 1?"
    assert len(lines) == 20


def test_without_a_pool_file_the_demo_is_learnt_on_its_own_pool(app, learn, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "pool.toml"))
    (tmp_path / "pool.toml").write_text('workers = "built-in"\n', encoding="utf-8")
    page = app("learning")
    page.segmented_control(key="data-source").select("demo").run()
    assert "On the built-in pool “orchard”, which needs no key." in texts(page)
    page.button(key="planner-learn").click().run()
    assert json.loads((learn / "mine" / "planner-settings.json").read_text())["pool"] == "orchard"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"".join(QUESTIONS.splitlines(keepends=True)[:5]), "sums has 5 questions; 20 are needed"),
        (b"{]", "No line of the file has columns."),
    ],
)
def test_questions_that_do_not_do_are_named_at_their_place(app, learn, pool, content, message):
    page = uploaded(app, content)
    assert message in errors(page)
    assert "planner-learn" not in keys(page)
    assert not learn.exists()


@pytest.mark.parametrize(
    ("name", "message"), [("mine", "a folder mine already"), ("../x", "is no name of a planner")]
)
def test_a_name_that_cannot_be_had_is_named(app, learn, pool, name, message):
    done_planner(learn / "mine")
    page = uploaded(app, QUESTIONS)
    assert page.text_input(key="planner-name").value == "mine-2"
    page.text_input(key="planner-name").set_value(name).run()
    assert message in errors(page)
    assert "planner-learn" not in keys(page)


def test_without_a_pool_that_can_be_read_nothing_is_offered(app, learn, pool):
    pool.write_text("workers = 3\n", encoding="utf-8")
    page = app("learning")
    assert not page.exception
    assert "pool.toml" in errors(page)
    assert "New planner" not in [heading.value for heading in page.subheader]


def test_one_at_a_time_stopped_and_resumed(app, learn, pool, monkeypatch, tmp_path):
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    child.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(child))
    page = uploaded(app, QUESTIONS)
    page.button(key="planner-learn").click().run()
    assert "Learning · Starting" in texts(page)
    second = uploaded(app, QUESTIONS)
    second.button(key="planner-learn").click().run()
    assert "mine is being trained; wait for its end, or stop it first." in errors(second)
    assert not (learn / "mine-2").exists()
    page.button(key="planner-stop").click().run()
    assert "Stopped · Starting" in texts(page)
    assert not page.error
    page.button(key="planner-resume").click().run()
    assert "Learning · Starting" in texts(page)


def test_a_learning_that_failed_names_why(app, learn, pool, monkeypatch, tmp_path):
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\necho 'conductor: No plan was right.' >&2\nexit 3\n", encoding="utf-8")
    child.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(child))
    page = uploaded(app, QUESTIONS)
    page.button(key="planner-learn").click().run()
    until(lambda: "No plan was right." in errors(page) or page.run() is None)
    assert "planner-resume" in keys(page)


def test_learnings_are_listed_with_their_state(app, learn, pool):
    done_planner(learn / "good")
    begun_planner(learn / "half")
    (learn / "bad").mkdir()
    (learn / "bad" / "learning.json").write_text("{", encoding="utf-8")
    page = app("learning")
    assert not page.exception
    assert "done · demo · learnt from 2 questions · 90% right on 10 others" in texts(page)
    assert "stopped · demo" in texts(page)
    assert "bad has no planner that can be read." in texts(page)
    page.button(key="open-planner-good").click().run()
    assert page.title[0].value == "good"


def test_a_planner_is_shown_with_its_table_and_when_it_pays(app, learn, pool):
    done_planner(learn / "mine")
    page = opened(app, "mine")
    assert not page.exception
    table = page.dataframe[0].value
    assert table["Planner"].tolist() == ["mine", "Conductor", "Vote", "Perfect router"]
    assert table["Lead of mine"].tolist() == ["", "+50.0 points", "+30.0 points", "-10.0 points"]
    assert "Cost per question" not in table
    assert "learning is paid for after 20 questions." in texts(page)


def test_a_budget_that_ended_it_is_named_and_can_be_raised(app, learn, pool, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    stopped = learnt_planner(exam=(), stopped="The budget was spent before the examination.")
    done_planner(learn / "mine", card=stopped.card)
    page = opened(app, "mine")
    assert "The budget was spent before the examination." in texts(page)
    page.number_input(key="planner-more-tokens").set_value(90_000).run()
    page.button(key="planner-continue").click().run()
    assert not page.exception
    log = learn / "mine" / trainings.LOG
    until(lambda: "--budget-tokens=90000" in log.read_text(encoding="utf-8"))


def test_use_writes_the_pool_file_undo_and_stop_using_take_it_back(app, learn, pool):
    before = pool.read_text(encoding="utf-8")
    done_planner(learn / "mine")
    page = opened(app, "mine")
    page.button(key="planner-use").click().run()
    assert not page.exception
    written = tomllib.loads(pool.read_text(encoding="utf-8"))
    assert (written["planner"], written["planners"]) == ("mine", {"mine": "learn/mine/planner.json"})
    assert "mine plans now." in texts(page)
    assert services.services().configured().conductor.card.name == "planner:mine"
    assert "planner-use" not in keys(page)
    page.button(key="pool-undo").click().run()
    assert pool.read_text(encoding="utf-8") == before
    page.button(key="planner-use").click().run()
    listed = app("learning")
    assert "mine plans for this pool." in texts(listed)
    listed.button(key="planner-unuse").click().run()
    assert "planner" not in tomllib.loads(pool.read_text(encoding="utf-8"))
    assert "plans for this pool" not in texts(listed)


def test_a_new_pool_file_gets_the_built_in_set_that_the_planner_learnt_on(app, learn, tmp_path, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "new.toml"))
    folder = done_planner(learn / "mine")
    settings = folder.path / "planner-settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"pool": "orchard"}), encoding="utf-8")
    page = opened(app, "mine")
    page.button(key="planner-use").click().run()
    written = tomllib.loads((tmp_path / "new.toml").read_text(encoding="utf-8"))
    assert (written["workers"], written["planner"]) == ("orchard", "mine")
    assert "new.toml is new; remove it to go back." in texts(page)


def test_a_pool_of_other_workers_is_not_written(app, learn, pool):
    pool.write_text('workers = "built-in"\n', encoding="utf-8")
    done_planner(learn / "mine")
    page = opened(app, "mine")
    page.button(key="planner-use").click().run()
    assert not page.exception
    assert "mine" in errors(page)
    assert pool.read_text(encoding="utf-8") == 'workers = "built-in"\n'


def test_where_the_pool_may_not_be_edited_that_is_named(app, learn, pool, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_API_HOSTS", "studio.example")
    services.access.cache_clear()
    done_planner(learn / "mine")
    page = opened(app, "mine")
    assert "The pool and its tokens cannot be changed here" in texts(page)
    assert "planner-use" not in keys(page)


def test_an_address_of_no_planner_is_named(app, learn, pool):
    page = opened(app, "../nothing")
    assert not page.exception
    assert "There is no learning of a planner" in errors(page)
    page.button(key="all-planners").click().run()
    assert page.title[0].value == "Learning"


def test_the_workbench_offers_the_planner_for_the_next_question_and_for_this_one(app, learn, pool):
    done_planner(learn / "mine")
    pool.write_text('workers = "orchard"\n[planners]\nmine = "learn/mine/planner.json"\n', encoding="utf-8")
    page = app("workbench")
    page.session_state["settings"] = True
    page.run()
    page.selectbox(key="planner-next").select("planner:mine").run()
    page.chat_input[0].set_value("What is 12 plus 30?").run()
    assert not page.exception
    bench = services.services().workbench
    (session,) = bench.store.sessions.listed()
    bench.activities.wait(session.id)
    plan = bench.store.plans.latest(session.id)
    assert plan.planner == "planner:mine"
    assert plan.report.workflow.steps[0].worker == "solver"
    page.run()
    page.session_state["settings"] = True
    page.run()
    page.selectbox(key=f"planner-{session.id}").select("").run()
    assert page.selectbox(key=f"plan-as-method-{session.id}").value == "planner:mine"
    page.button(key="plan-as-begin").click().run()
    bench.activities.wait(session.id)
    assert bench.store.plans.latest(session.id).id != plan.id
    assert bench.store.plans.latest(session.id).planner == "planner:mine"
