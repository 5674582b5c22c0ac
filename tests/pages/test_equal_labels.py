"""Two options with one name are two options in every field: the browser sends a choice by its label."""

from __future__ import annotations

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.learning.demonstration.exam import PLANS, PlanPairs, read_pairs
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import configured_pool
from pages.components.tab import services
from pages.components.tab.state import plain
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench
from tests.support.stores.training_folders import done_training

pytestmark = pytest.mark.thorough

LONG = "a worker with a name that goes on and on until it is cut somewhere"
SPEC = EvaluationSpec(data="", digest="", planners=("conductor",))


@pytest.fixture
def bench(url, tmp_path, monkeypatch):
    """The workbench of the app's own pool, whose workers are named as other options are."""
    names = ("alpha", "beta", "Conductor", "No other worker", f"{LONG}, one", f"{LONG}, two")
    file = tmp_path / "pool.toml"
    file.write_text("\n".join(f'[[worker]]\nkind = "simulated"\nname = "{name}"\n' for name in names))
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    monkeypatch.setattr(services, "data_folder", lambda _: tmp_path)
    workbench = Workbench.over(SessionStore.open(url), pool=configured_pool(), conductor=OfflineConductor())
    yield workbench
    workbench.close()


@pytest.fixture
def sessions(bench, three):
    """Two sessions of one question in one minute, the newer first, each with two revisions."""
    ids = []
    for _ in range(2):
        session = bench.store.revisions.import_workflow("What is 17 * 23?", three).id
        bench.editing.edit(session, three.with_worker(0, "beta"), note="Edited")
        ids.insert(0, session)
    return ids


def evaluation(bench, *planners, right="7"):
    items = (Item(id="1", input="What is 7?", target=(right,)),)
    return Evaluations(bench).add(DataSet("sevens", items), planners or ["worker:alpha"], SPEC).id


def opened(app, page, **address):
    test = app("workbench").switch_page(f"pages/{page}.py")
    for name, value in address.items():
        test.query_params[name] = value
    return test.run()


# -- fields: the page, the field's key, the option whose label is not the last one with its name ----


def a_side_of_a_comparison(app, bench, sessions):
    return opened(app, "compare"), "compare-left-session", sessions[0]


def the_session_of_three_ways(app, bench, sessions):
    return opened(app, "compare", session=sessions[1]), "compare-session", sessions[0]


def another_evaluation(app, bench, _):
    _, newer, own = (evaluation(bench) for _ in range(3))
    return opened(app, "evaluation", evaluation=own), "evaluation-beside", newer


def a_planner_to_compare_with(app, bench, _):
    page = opened(app, "evaluation", new="yes")
    page.file_uploader(key="data-file").upload("a.jsonl", b'{"input": "7?", "target": "7"}').run()
    return page, "plan-first", "conductor"


def a_planner_whose_questions_are_shown(app, bench, _):
    own = evaluation(bench, "conductor", "worker:Conductor")
    Evaluations(bench).run(own)
    return opened(app, "evaluation", evaluation=own), "questions-1", "conductor"


FIELDS = [
    a_side_of_a_comparison,
    the_session_of_three_ways,
    another_evaluation,
    a_planner_to_compare_with,
    a_planner_whose_questions_are_shown,
]


@pytest.mark.parametrize("member", FIELDS)
def test_the_option_that_is_chosen_is_the_one_that_counts(member, app, bench, sessions):
    page, key, option = member(app, bench, sessions)
    page.selectbox(key=key).select(option).run()
    assert not page.exception
    assert page.run().selectbox(key=key).value == option


# -- what comes of a choice ------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_workflow_is_evaluated_on_the_data_that_is_chosen(app, bench, sessions):
    _, newer = evaluation(bench), evaluation(bench, right="8")
    page = app(session=sessions[0])
    page.session_state["evaluate"] = True
    page.run().selectbox(key="evaluate-data").select_index(0).run()
    page.button(key="evaluate-start").click().run()
    assert bench.store.evaluations.listed()[0].spec.digest == bench.store.evaluations.find(newer).spec.digest


def test_the_plans_of_the_question_that_is_chosen_are_shown(app, bench):
    folder = done_training(services.data_folder("") / "learn" / "demo")
    (pair,) = read_pairs(folder.path).pairs
    folder.write(PLANS, PlanPairs(pairs=(pair, pair.model_copy(update={"answer": "Cusco"}))))
    page = opened(app, "learning", run="demo")
    page.selectbox(key="plans-question-demo").select_index(0).run()
    assert plain("Right is: Lima") in [caption.value for caption in page.caption]


@pytest.mark.thorough
def test_a_worker_that_is_named_like_no_worker_is_asked_where_a_step_fails(app, bench, sessions):
    page = app(session=sessions[0])
    page.session_state["selected"] = 0
    page.session_state[f"failure-{sessions[0]}-0"] = True
    (field,) = (field for field in page.run().selectbox if field.label == "Then ask")
    field.select("No other worker")
    next(button for button in page.button if button.label == "Save").click().run()
    assert bench.store.revisions.head(sessions[0]).workflow.steps[0].on_failure.fallback == "No other worker"


def test_a_worker_with_a_long_name_is_the_one_that_a_token_may_use(app, bench):
    page = opened(app, "pool")
    page.button(key="token-create").click().run()
    page.text_input(key="token-1-name").input("My laptop")
    field = page.multiselect(key="token-1-workers")
    assert field.options[-1] == f"{LONG}, two"
    field.select(f"{LONG}, two")
    page.button(key="token-create-now").click().run()
    (token,) = services.workbench().store.tokens.listed()
    assert token.limits.workers == (f"{LONG}, two",)


def test_a_comparison_stays_at_its_address_while_other_fields_change(app, bench, sessions):
    newer, _ = ([revision.id for revision in bench.store.revisions.of_session(each)] for each in sessions)
    address = {"left": f"revision:{newer[0]}", "right": f"revision:{newer[1]}"}
    page = opened(app, "compare", **address)
    page.toggle(key="compare-all").set_value(True).run()
    assert not page.exception
    assert {which: page.query_params[which] for which in address} == address
