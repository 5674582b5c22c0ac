"""From the workbench to an evaluation: an edited workflow against its plan in two clicks, trials on data, and
the cheapest workflow that is taken.
"""

from __future__ import annotations

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.on_data import trials_of_session, variants
from studio.evaluation.trials import VariantKinds
from studio.workbench import Workbench

POOL = """
[[worker]]
name = "alpha"
kind = "simulated"
answer = "Answer: 7"

[[worker]]
name = "beta"
kind = "simulated"
answer = "Answer: 8"
"""
SPEC = EvaluationSpec(
    data="", digest="", planners=("conductor",), settings=Settings(budget=Budget(cost=5.0, calls=1000))
)
DATA = DataSet(
    "sevens", tuple(Item(id=str(n), input=f"What is 7 + {n} - {n}?", target=("7",)) for n in range(3))
)
PLANNED = Workflow.of(
    [Step(instruction="Draft it.", worker="beta"), Step(instruction="Decide.", worker="alpha", access=(0,))]
)


@pytest.fixture
def bench(url, tmp_path, monkeypatch):
    """The workbench of the app's own pool, with questions that were evaluated before."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL)
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    workbench = Workbench.over(SessionStore.open(url), pool=configured_pool(), conductor=OfflineConductor())
    Evaluations(workbench).add(DATA, ["worker:alpha"], SPEC)
    yield workbench
    workbench.close()


@pytest.fixture
def session(bench):
    return bench.store.revisions.import_workflow("What is 7 + 0?", PLANNED).id


def texts(page):
    return [element.value.replace("\\", "") for kind in (page.markdown, page.caption) for element in kind]


def keys(page):
    return {button.key for button in page.button}


def opened(app, session, **state):
    page = app(session=session)
    for key, value in state.items():
        page.session_state[key] = value
    return page.run()


def shown_to_its_end(app, evaluation):
    page = app("evaluation")
    page.query_params["evaluation"] = evaluation
    page.run()
    for _ in range(300):
        if "evaluation-stop" not in keys(page):
            return page.run()
        page.run()
    raise AssertionError("it does not end")


@pytest.mark.thorough
def test_an_edited_workflow_is_evaluated_against_the_plan_it_came_from_in_two_clicks(app, bench, session):
    assert "evaluate-start" not in keys(opened(app, session, evaluate=True))
    bench.editing.edit(session, PLANNED.with_access(1, ()), note="Step 2: access")
    page = opened(app, session, evaluate=True)
    assert "Revision 2 against revision 1, as it came in." in texts(page)
    # The last used first; the questions of the orchard are for its own pool.
    assert page.selectbox(key="evaluate-data").options == [
        "sevens, 3 questions", "arithmetic, 40 questions", "countries, 40 questions",
    ]  # fmt: skip
    # The draft is the same in both workflows.
    assert any(text.startswith("At most 9 calls, 3 more are shared") for text in texts(page))
    page.button(key="evaluate-start").click().run()
    (record, *_) = bench.store.evaluations.listed()
    assert record.spec.planners == tuple(f"plan:{session[:8]}@{number}" for number in (2, 1))
    assert (record.spec.data, record.spec.margin) == ("sevens", None)
    shown_to_its_end(app, record.id)
    assert bench.store.evaluations.find(record.id).reason is None
    assert sum(cell.result is not None for cell in bench.store.evaluations.cells(record.id)) == 6


@pytest.mark.thorough
def test_a_workflow_is_tried_on_data_from_the_trials_that_are_there(app, bench, session):
    bench.running.start(session)
    bench.activities.wait(session)
    page = opened(app, session, **{"panel": "Trials", "experiment-kind": "data"})
    assert any(text.startswith("5 variants of this workflow on every question") for text in texts(page))
    page.button(key="data-trial-start").click().run()
    (record,) = trials_of_session(bench, session)
    assert (record.spec.margin, len(record.spec.planners)) == (0.05, 6)
    page = shown_to_its_end(app, record.id)
    assert any("too few questions for a margin of 0.05" in text for text in texts(page))
    page = opened(app, session, **{"panel": "Trials", "experiment-kind": "data"})
    assert any("On sevens, 3 questions" in text for text in texts(page))


@pytest.mark.thorough
def test_a_trial_on_data_ends_where_its_budget_is_spent_and_states_it(app, bench, session):
    bench.running.start(session)
    bench.activities.wait(session)
    page = opened(app, session, **{"panel": "Trials", "experiment-kind": "data"})
    (earlier,) = bench.store.evaluations.listed()
    fields = [page.number_input(key=f"data-trial-{earlier.id}-{limit}") for limit in ("cost", "tokens")]
    # Of questions that were evaluated before, what that might spend.
    assert [field.value for field in fields] == [5.0, None]
    fields[0].set_value(None)
    fields[1].set_value(30).run()
    page.button(key="data-trial-start").click().run()
    (record,) = trials_of_session(bench, session)
    assert record.spec.settings.budget == Budget(tokens=30, calls=1000)
    shown_to_its_end(app, record.id)
    assert "The budget is spent" in bench.store.evaluations.find(record.id).reason


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["evaluation", "workbench"])
def test_the_cheapest_workflow_is_taken_with_one_click_and_undone(app, bench, session, where):
    plans = variants(bench, bench.required_head(session), VariantKinds(workers=False))
    spec = SPEC.model_copy(update={"margin": 0.9})
    record = Evaluations(bench).add(DATA, [plan.name for plan in plans], spec, given_plans=plans)
    assert Evaluations(bench).run(record.id).failure is None
    if where == "evaluation":
        page, key = shown_to_its_end(app, record.id), "trial-take"
    else:
        bench.running.start(session)
        bench.activities.wait(session)
        page, key = opened(app, session, panel="Trials"), f"trial-{record.id}-take"
    assert any(text.startswith("**Cheapest that is not worse:** without step 1.") for text in texts(page))
    page.button(key=key).click().run()
    head = bench.store.revisions.head(session)
    assert head.workflow == PLANNED.remove_step(0)
    assert (head.number, head.note) == (2, "Cheapest that is not worse on sevens")
    assert bench.store.revisions.undo(session).workflow == PLANNED
