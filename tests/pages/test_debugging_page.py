"""Pins, outputs by hand, runs of a part, and experiments, as the workbench's page offers them."""

from __future__ import annotations

import pytest

from conductor.engine.experiments import EdgeTest, Replacement, StepSearch, Swap
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import RunScope
from conductor.values.messages import Sampling
from conductor.values.output import HandEdit
from conductor.values.presets import Settings
from conductor.workers.pool.pool import configured_pool
from storage import SessionStore
from studio.sessions.notes import AUTHOR
from studio.workbench import Workbench
from studio.workbench.resuming import MOST
from tests.support.runs.waiting import until
from tests.support.stores.store_scenario import started

pytestmark = pytest.mark.thorough

POOL = """
[[worker]]
name = "alpha"
kind = "simulated"
tokens = 4

[[worker]]
name = "beta"
kind = "simulated"
tokens = 4
seed = 1

[[worker]]
name = "fixed"
kind = "simulated"
answer = "always the same"

[[worker]]
name = "endless"
kind = "simulated"
tokens = 5000
tokens_per_second = 500
"""


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """The pool of the app and of the workbench beside it."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    return configured_pool()


@pytest.fixture
def bench(url, pool):
    workbench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield workbench
    workbench.close()


@pytest.fixture
def ran(bench, session):
    """A session whose workflow has run."""
    assert bench.running.start(session).done.wait(timeout=60)
    return session


def select(app, session, step):
    page = app(session=session)
    page.session_state["selected"] = step
    return page.run()


def head(bench, session):
    return bench.store.revisions.head(session)


def captions(page):
    return [caption.value.replace("\\", "") for caption in page.caption]


def test_an_output_is_pinned_with_a_click_and_undone_like_every_edit(app, bench, ran):
    page = select(app, ran, 0)
    page.button(key="output-pin").click().run()
    assert not page.exception
    pin = head(bench, ran).workflow.steps[0].pin
    assert pin == bench.state(bench.store.runs.latest(ran)).steps[0].output
    assert head(bench, ran).note == "Step 1: output pinned"
    page.button(key="undo").click().run()
    assert head(bench, ran).workflow.steps[0].pin is None


def test_a_pin_that_changes_nothing_leaves_the_run_as_it_is_shown(app, bench, ran):
    page = select(app, ran, 0)
    page.button(key="output-pin").click().run()
    assert any("fan-out" in text or "finished" in text for text in captions(page))
    assert not any("Before your edits" in text for text in captions(page))
    page.button(key="output-unpin").click().run()
    assert head(bench, ran).workflow.steps[0].pin is None


def test_an_output_by_hand_is_pinned_with_who_and_when(app, bench, ran, monkeypatch):
    monkeypatch.setenv(AUTHOR, "Ada")
    page = select(app, ran, 0)
    page.button(key="output-edit").click().run()
    field = page.text_area(key=f"hand-{ran}-0")
    assert field.value == bench.state(bench.store.runs.latest(ran)).steps[0].text
    field.set_value("What I know.").run()
    page.button(key="output-save").click().run()
    assert not page.exception
    pin = head(bench, ran).workflow.steps[0].pin
    assert (pin.text, pin.hand.by, pin.usage.total) == ("What I know.", "Ada", None)
    assert any("1 of 3 steps will run" in text and "1 pinned" in text for text in captions(page))
    assert any("edited by hand by Ada" in text for text in captions(page))
    assert bench.running.outlook(ran).radius.runs == {2}


def test_an_empty_output_by_hand_is_refused_and_the_field_stays(app, bench, ran):
    page = select(app, ran, 0)
    page.button(key="output-edit").click().run()
    page.text_area(key=f"hand-{ran}-0").set_value("  ").run()
    page.button(key="output-save").click().run()
    assert "at least one character" in page.error[0].value
    assert page.text_area(key=f"hand-{ran}-0").value == "  "
    page.button(key="output-cancel").click().run()
    assert head(bench, ran).workflow.steps[0].pin is None
    assert not [area for area in page.text_area if area.key == f"hand-{ran}-0"]


def test_an_output_that_is_saved_unchanged_changes_nothing(app, bench, ran):
    page = select(app, ran, 0)
    page.button(key="output-edit").click().run()
    page.button(key="output-save").click().run()
    assert not page.exception
    assert head(bench, ran).number == 1
    assert bench.running.outlook(ran).radius.runs == set()
    assert [info.value for info in page.info] == ["The output is the same; nothing was changed\\."]
    assert not [area for area in page.text_area if area.key == f"hand-{ran}-0"]


def test_an_output_that_was_typed_and_not_saved_waits_at_its_step(app, bench, ran):
    page = select(app, ran, 0)
    page.button(key="output-edit").click().run()
    page.text_area(key=f"hand-{ran}-0").set_value("Half of it").run()
    page.session_state["selected"] = 1
    page.run()
    assert not [area for area in page.text_area if area.key == f"hand-{ran}-1"]
    page.button(key="step-delete").click().run()
    page.button(key="unsaved-0").click().run()
    assert page.text_area(key=f"hand-{ran}-0").value == "Half of it"
    page.button(key="output-save").click().run()
    assert head(bench, ran).workflow.steps[0].pin.text == "Half of it"
    assert not [button for button in page.button if str(button.key).startswith("unsaved-")]


def test_writing_the_output_of_a_step_that_was_stopped_starts_from_its_partial_text(app, bench, session):
    bench.editing.edit(session, head(bench, session).workflow.with_worker(0, "endless"), note="endless")
    running = bench.running.start(session)
    until(lambda: any(step.text for step in bench.state(bench.store.runs.latest(session)).steps[:1]))
    assert not running.done.is_set()
    bench.running.stop(session)
    assert running.done.wait(60)
    stopped = bench.state(bench.store.runs.latest(session)).steps[0]
    assert (stopped.status, bool(stopped.text)) == ("cancelled", True)
    page = select(app, session, 0)
    page.button(key="output-write").click().run()
    assert page.text_area(key=f"hand-{session}-0").value == stopped.text
    page.button(key="output-save").click().run()
    assert not page.exception
    assert head(bench, session).workflow.steps[0].pin.text == stopped.text


def test_a_step_that_never_ran_can_be_written_by_hand(app, bench, session):
    page = select(app, session, 0)
    page.button(key="output-write").click().run()
    page.text_area(key=f"hand-{session}-0").set_value("So it is.").run()
    page.button(key="output-save").click().run()
    assert not page.exception
    assert head(bench, session).workflow.steps[0].pin.text == "So it is."
    assert bench.running.start(session).done.wait(60)
    state = bench.state(bench.store.runs.latest(session))
    assert [step.kept_because for step in state.steps] == ["pinned", None, None]
    assert state.steps[2].request.seen[0].by_hand


def test_a_pin_whose_inputs_have_changed_states_it(app, bench, ran):
    outputs = bench.state(bench.store.runs.latest(ran)).outputs
    written = outputs[0].by_hand("other", edit=HandEdit(at=1.0))
    workflow = head(bench, ran).workflow.with_pin(2, outputs[2]).with_pin(0, written)
    bench.editing.edit(ran, workflow, note="x", head=head(bench, ran))
    assert any("Pinned, inputs changed" in warning.value for warning in select(app, ran, 2).warning)
    assert not select(app, ran, 0).warning


@pytest.mark.parametrize(
    ("scope", "warning"),
    [
        (RunScope(kind="only", step=2), "This run covered step 3 only"),
        (RunScope(kind="to", step=0), "This run covered step 1 only"),
    ],
)
def test_a_run_of_a_part_is_a_run_of_its_own_and_leaves_the_answer_standing(app, bench, ran, scope, warning):
    before = bench.state(bench.store.runs.latest(ran))
    assert bench.running.start(ran, scope).done.wait(60)
    latest = bench.store.runs.latest(ran)
    assert (latest.parent, bench.store.runs.state(before.run)) == (before.run, before)
    page = app(session=ran)
    assert not page.exception
    assert any(warning in text for text in captions(page))


@pytest.mark.slow
def test_a_step_run_alone_sees_what_was_there_although_it_is_out_of_date(bench, ran):
    first = bench.state(bench.store.runs.latest(ran))
    bench.editing.edit(
        ran, head(bench, ran).workflow.with_instruction(0, "Find more."), note="x", head=head(bench, ran)
    )
    assert bench.running.start(ran, RunScope(kind="only", step=2)).done.wait(60)
    state = bench.state(bench.store.runs.latest(ran))
    assert state.steps[0].kept_because == "preloaded"
    assert state.steps[2].request.seen[0].response == first.steps[0].text
    assert bench.running.outlook(ran).radius.runs == {0, 2}


def test_an_edit_that_changes_no_answer_states_where_the_cascade_stopped(app, bench, session):
    bench.editing.edit(
        session,
        bench.store.revisions.head(session).workflow.with_worker(0, "fixed").with_worker(2, "alpha"),
        note="x",
        head=bench.store.revisions.head(session),
    )
    assert bench.running.start(session).done.wait(60)
    bench.editing.edit(
        session,
        # Not its instruction, which the step that reads it is sent as well.
        bench.store.revisions.head(session).workflow.with_sampling(0, Sampling(temperature=0.5)),
        note="x",
        head=bench.store.revisions.head(session),
    )
    assert bench.running.start(session).done.wait(60)
    page = app(session=session)
    assert any("Step 1 answered as before, so step 3 was reused" in text for text in captions(page))


def test_an_experiment_is_shown_with_what_came_of_it(app, bench, ran):
    live = bench.experiments.begin(ran, Swap(step=2, workers=("beta",)))
    live.work.result(60)
    live = bench.experiments.begin(ran, EdgeTest(edges=((0, 2),)))
    live.work.result(60)
    page = app(session=ran)
    page.session_state["panel"] = "Trials"
    page.run()
    assert not page.exception
    assert any("1 of 1 run" in text for text in captions(page))
    assert any("1 edge left out" in text.value for text in page.markdown)


def test_the_winner_of_a_swap_is_kept_with_one_click(app, bench, ran):
    live = bench.experiments.begin(ran, Swap(step=2, workers=("beta",)))
    live.work.result(60)
    page = app(session=ran)
    page.session_state["panel"] = "Trials"
    page.run()
    page.button(key=f"keep-swap-{live.record.id}-beta").click().run()
    assert not page.exception
    assert (head(bench, ran).workflow.steps[2].worker, head(bench, ran).note) == (
        "beta",
        "Step 3: beta kept after a swap",
    )
    assert bench.running.outlook(ran).radius.runs == frozenset()


def test_an_edge_test_begins_from_the_page(app, bench, ran):
    page = app(session=ran)
    page.session_state["panel"] = "Trials"
    page.session_state["experiment-kind"] = "edges"
    page.run()
    (takes,) = (warning.value for warning in page.caption if "several at once" in warning.value)
    assert " tokens" in takes
    page.button(key="experiment-begin").click().run()
    assert not page.exception
    (record,) = bench.store.experiments.of_session(ran)
    assert record.experiment == EdgeTest(edges=((0, 2),))


def test_after_a_thumbs_down_the_step_is_sought_and_the_ranking_shown(app, bench, ran):
    run = bench.store.runs.latest(ran)
    page = app(session=ran)
    assert not [button for button in page.button if button.key == "find-step"]
    bench.store.corrections.rate(run.id, "down")
    page.run()
    page.button(key="find-step").click().run()
    assert page.button(key="experiment-begin").disabled
    assert any(text.startswith("Enter the accepted answer") for text in captions(page))
    page.text_input(key=f"accepted-{ran}").set_value("always the same").run()
    page.multiselect(key="search-written-3").set_value([0]).run()
    assert page.button(key="experiment-begin").disabled
    before = page.text_area(key=f"search-text-{ran}-0").value
    assert before == bench.state(run).steps[0].text
    page.text_area(key=f"search-text-{ran}-0").set_value("the fact").run()
    page.selectbox(key="search-worker").set_value("fixed").run()
    assert any(text.startswith("3 runs") for text in captions(page))
    page.multiselect(key="search-steps-3-fixed").set_value([2]).run()
    assert any(text.startswith("2 runs") for text in captions(page))
    page.button(key="experiment-begin").click().run()
    assert not page.exception
    (record,) = bench.store.experiments.of_session(ran)
    assert isinstance(record.experiment, StepSearch)
    assert record.experiment.replacements == (
        Replacement(step=2, worker="fixed"),
        Replacement(step=0, text="the fact"),
    )
    until(lambda: not bench.experiments.under_way(ran))
    page.run()
    assert not page.exception
    labels = [box.label.replace("\\", "") for box in page.expander]
    ranking = [label for label in labels if ", by " in label]
    assert [label.rpartition(": ")[2] for label in ranking] == [
        "the answer is right",
        "the answer is still wrong",
    ]
    assert any("A different output of step 3" in text.value for text in page.markdown)


def test_in_a_wrong_answer_of_an_evaluation_the_search_knows_the_right_one(app, bench, three):
    item = Item(id="1", input="Which one?", target=("always the same",), scorer="exact")
    spec = EvaluationSpec(data="d", digest="d", planners=("alpha",))
    evaluation = bench.store.evaluations.add(spec, [item])
    session = bench.store.evaluations.begin_cell(
        evaluation.id,
        item=0,
        planner="alpha",
        repeat=0,
        query="Which one?",
        settings=Settings(),
        pool_label=None,
        workflow=three,
    )
    assert bench.running.start(session).done.wait(timeout=60)
    page = app(session=session)
    assert not [button for button in page.button if button.key == "find-step"]
    wrong = CellResult(score=Score.of(False, "another"))
    bench.store.evaluations.end_cell(session, wrong, ())
    page.run()
    page.button(key="find-step").click().run()
    assert page.text_input(key=f"accepted-{session}").value == "always the same"
    assert page.selectbox(key=f"accepted-check-{session}").value == "exact"


def test_a_search_that_finds_the_answer_right_is_refused_with_that_reason(app, bench, ran):
    answer = bench.store.runs.latest(ran).answer
    page = app(session=ran)
    page.session_state["panel"], page.session_state["experiment-kind"] = "Trials", "steps"
    page.run()
    page.text_input(key=f"accepted-{ran}").set_value(answer.split()[0]).run()
    page.selectbox(key="search-worker").set_value("fixed").run()
    page.button(key="experiment-begin").click().run()
    assert any("is already right" in error.value for error in page.error)
    assert bench.store.experiments.of_session(ran) == ()


def test_an_experiment_that_another_process_makes_can_be_stopped(app, bench, ran):
    base = bench.store.runs.latest(ran)
    experiment = bench.store.experiments.add(ran, Swap(step=2, workers=("beta",)), base=base.id).id
    bench.store.runs.start(run="there", session=ran, revision=base.revision, experiment=experiment, trial=0)
    page = app(session=ran)
    page.session_state["panel"] = "Trials"
    page.run()
    assert not page.exception
    assert "Waiting for its turn." in captions(page)
    page.button(key=f"experiment-stop-{experiment}").click().run()
    assert not page.exception
    assert bench.store.experiments.is_asked_to_stop(experiment)


@pytest.mark.parametrize("of_experiment", [True, False])
def test_a_run_that_was_interrupted_before_it_reported_anything_is_shown(
    app, bench, ran, monkeypatch, of_experiment
):
    base = bench.store.runs.latest(ran)
    experiment = bench.store.experiments.add(ran, Swap(step=2, workers=("beta",)), base=base.id).id
    trial = {"experiment": experiment, "trial": 0} if of_experiment else {}
    with monkeypatch.context() as patched:
        patched.setattr(bench.store.processes.lock, "owner", "a store whose process died")
        bench.store.runs.start(run="r", session=ran, revision=base.revision, **trial)
    bench.store.processes.mark_interrupted()
    assert bench.store.runs.find("r").status == "interrupted"
    page = app(session=ran)
    page.session_state["panel"] = "Trials" if of_experiment else "Check"
    page.session_state["selected"] = 2
    page.run()
    assert not page.exception
    assert ("Not run." in captions(page)) == of_experiment


@pytest.mark.parametrize("resumption", [0, 1, MOST])
def test_a_run_that_goes_on_by_itself_is_marked_so(app, bench, ran, monkeypatch, resumption):
    base = bench.store.runs.latest(ran)
    workflow = bench.store.revisions.head(ran).workflow
    with monkeypatch.context() as patched:
        patched.setattr(bench.store.processes.lock, "owner", "a store whose process died")
        bench.store.runs.start(run="r", session=ran, revision=base.revision)
    begins = started("r", workflow).model_copy(update={"scope": RunScope(resumption=resumption)})
    bench.store.runs.append(begins).result(60)
    bench.store.processes.mark_interrupted()
    page = app(session=ran)
    page.run()
    assert not page.exception
    texts = [caption.split("/: ")[-1].split(": ")[-1] for caption in captions(page)]
    assert ("Resumed by itself after its process ended." in texts) == (resumption > 0)
    assert ("It went on by itself 3 times in a row, and does not once more." in texts) == (resumption == MOST)


def test_before_a_run_its_views_are_there_and_state_what_they_wait_for(app, bench, session):
    page = app(session=session)
    for panel, words in (("Timeline", "Nothing has run yet"), ("Trials", "Nothing has run yet")):
        page.session_state["panel"] = panel
        page.run()
        assert any(words in caption.value for caption in page.caption), panel
    assert page.button(key="experiment-begin").disabled
