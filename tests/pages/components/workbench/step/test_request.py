"""What the selected step saw, on the page: by source, what it could not see, and against the run before."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import FORCE, RunScope
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.tools import Tool, ToolOffer
from conductor.values.messages import Sampling
from conductor.values.output import HandEdit
from conductor.workers.pool.pool import read_pool
from conductor.workflow.model import Step, Workflow
from pages.components.workbench.step.request import differences, earlier_request, unchanged
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.cases.tokenizer_cases import whole_count, write_tokenizer
from tests.support.endpoints.fake_openai import FakeOpenAI, serving
from tests.support.runs.waiting import until


def run(bench, session, *args):
    """Run the session's workflow to its end; the run."""
    live = bench.running.start(session, *args)
    assert live.done.wait(timeout=60)
    bench.activities.wait(session)
    return bench.store.runs.latest(session)


def opened(app, session, step):
    """The workbench with what that step saw."""
    page = app(session=session)
    page.session_state["selected"] = step
    page.session_state["step-part"] = "Saw"
    return page.run()


def written(page):
    return [caption.value.replace("\\", "") for caption in page.caption]


def passages(page):
    """What the passages on the page were given, by label."""
    parts = [json.loads(element.proto.json) for element in page.get("bidi_component") if element.proto.json]
    return {data["label"]: data for data in parts if isinstance(data, dict) and "legend" in data}


def grants(page):
    """The buttons that let the step see more, by their labels."""
    buttons = {button.label: button for button in page.button if str(button.key).startswith("let-see-")}
    return {label.replace("\\", "").removeprefix("Let it see "): button for label, button in buttons.items()}


def edit(bench, session, workflow):
    return bench.editing.edit(session, workflow, note="By hand", head=bench.store.revisions.head(session))


@pytest.fixture
def same_pool(tmp_path, monkeypatch):
    """The app's pool is the fixtures' own, so that it knows their outputs again."""
    table = '[[worker]]\nkind = "simulated"\nname = "{}"\ntokens = 4\nseed = {}\n'
    text = table.format("alpha", 0) + table.format("beta", 1)
    (tmp_path / "pool.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "pool.toml"))


@pytest.fixture
def ran(bench, session):
    """The session, run once."""
    run(bench, session)
    return session


def test_a_request_is_reported_by_its_sources(app, bench, ran):
    page = opened(app, ran, 2)
    passage = passages(page)["Request"]
    request = bench.state(bench.store.runs.latest(ran)).steps[2].request
    assert "".join(text for text, *_ in passage["parts"]) == request.messages[0].content
    names = [(entry["name"], entry["detail"], entry["notes"]) for entry in passage["legend"]]
    assert names == [
        ("Query", "", []),
        ("Step 1", "alpha", ["simulated"]),
        ("Own task", "", []),
        ("App's wording", "", []),
    ]
    total = bench.state(bench.store.runs.latest(ran)).steps[2].usage.prompt_tokens
    assert f"{total} tokens, counted as words by the simulated worker." in written(page)
    assert "This step has not run before." in written(page)


def test_what_was_reused_pinned_or_written_by_hand_states_it(app, bench, ran, three):
    outputs = bench.state(bench.store.runs.latest(ran)).outputs
    seeing = three.with_access(2, (0, 1)).with_pin(0, outputs[0].by_hand("Mine.", edit=HandEdit(at=1.0)))
    edit(bench, ran, seeing)
    run(bench, ran)
    notes = {entry["name"]: entry["notes"] for entry in passages(opened(app, ran, 2))["Request"]["legend"]}
    assert notes["Step 1"][:2] == ["edited by hand", "pinned"]
    assert notes["Step 2"] == ["reused", "simulated"]


@pytest.mark.thorough
def test_a_hidden_step_is_one_click_from_being_seen_and_the_click_can_be_undone(app, bench, ran):
    page = opened(app, ran, 2)
    assert list(grants(page)) == ["2. Look again"]
    grants(page)["2. Look again"].click().run()
    assert bench.store.revisions.head(ran).workflow.steps[2].access == (0, 1)
    assert not grants(page)
    bench.store.revisions.undo(ran)
    assert list(grants(page.run())) == ["2. Look again"]


@pytest.mark.thorough
def test_after_a_grant_the_request_stays_in_sight_and_states_that_it_is_of_before(app, bench, ran):
    page = opened(app, ran, 2)
    grants(page)["2. Look again"].click().run()
    assert "As it was sent before your edits. In the next run it also sees step 2." in written(page)
    assert "Request" in passages(page)
    run(bench, ran)
    page.run()
    assert not any(text.startswith("As it was sent") for text in written(page))
    assert "Step 2" in [entry["name"] for entry in passages(page)["Request"]["legend"]]


def test_no_one_is_offered_more_sight_while_the_session_runs(app, bench, session, three):
    edit(bench, session, three.with_worker(2, "slow"))
    live = bench.running.start(session)
    try:
        page = opened(app, session, 1)
        until(lambda: "Request" in passages(page.run()))
        [button] = grants(page).values()
        assert button.disabled
    finally:
        bench.running.stop(session)
        assert live.done.wait(timeout=60)


def test_a_step_that_was_sent_nothing_saw_nothing(app, bench, ran, three):
    edit(bench, ran, three.add_step(Step(instruction="More.", worker="alpha", access=(2,))))
    page = opened(app, ran, 3)
    assert "Request" not in passages(page)
    assert not grants(page)


def test_a_models_tokens_are_counted_by_its_tokenizer_and_estimated_openly_without(
    app, url, tmp_path, monkeypatch
):
    file = write_tokenizer(tmp_path / "tokenizer.json")
    with serving(FakeOpenAI(models=("m-1",))) as fake, SessionStore.open(url) as store:
        text = f'[[worker]]\nname = "m"\nbase_url = "{fake.base_url}"\nmodel = "m-1"\ntokenizer = "{file}"\n'
        (tmp_path / "pool.toml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "pool.toml"))
        pool = read_pool(tmp_path / "pool.toml")
        bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
        session = bench.ask("Which one?").id
        edit(bench, session, Workflow.of([Step(instruction="Answer.", worker="m")]))
        run(bench, session)
        [step] = bench.state(bench.store.runs.latest(session)).steps
    count = whole_count(file, step.request.messages[0].content)
    page = opened(app, session, 0)
    [note] = [text for text in written(page) if "tokenizer" in text]
    assert note.startswith(f"{count:,} tokens of text, by the model's tokenizer. The endpoint counted ")
    file.unlink()
    page.run()
    assert any("Its tokenizer is not used: " in text and "cannot be read" in text for text in written(page))
    reported = f"{step.usage.prompt_tokens:,} tokens, as the endpoint counted; the split is estimated"
    assert any(text.startswith(reported) for text in written(page))
    assert all(entry["amount"].startswith("~") for entry in passages(page)["Request"]["legend"])


def test_a_step_that_the_last_run_left_out_is_reported_by_the_run_that_called_it(app, bench, ran, three):
    edit(bench, ran, three.with_instruction(1, "Look once more."))
    run(bench, ran, RunScope(kind="only", step=1))
    page = opened(app, ran, 2)
    assert "As it was sent in run 1; the last run left this step out." in written(page)
    assert "This step has not run before." in written(page)
    sent = bench.state(bench.store.runs.of_session(ran)[-1]).steps[2].request
    assert "".join(text for text, *_ in passages(page)["Request"]["parts"]) == sent.messages[0].content


def test_an_output_of_an_earlier_run_is_reported_by_the_run_that_made_it(app, bench, ran, three, same_pool):
    """What the second run changed is changed back, and something else is new."""
    edit(bench, ran, three.with_instruction(2, "Answer well."))
    run(bench, ran)
    edit(bench, ran, three.with_instruction(1, "Look once more."))
    page = opened(app, ran, 2)
    assert "As it was sent when this output was made, in an earlier run." in written(page)
    sent = bench.state(bench.store.runs.of_session(ran)[-1]).steps[2].request
    assert "".join(text for text, *_ in passages(page)["Request"]["parts"]) == sent.messages[0].content


# -- against the run before --------------------------------------------------------------------------


def test_a_second_run_sent_the_same(app, bench, ran):
    run(bench, ran, FORCE)
    page = opened(app, ran, 2)
    assert "Same request as in run 1." in written(page)
    assert not page.toggle


@pytest.mark.slow
def test_a_reused_step_was_sent_what_the_run_sent_that_called_it(bench, ran, three):
    edit(bench, ran, three.with_instruction(1, "Look once more."))
    run(bench, ran)
    edit(bench, ran, three.with_instruction(1, "And again."))
    newest = run(bench, ran)
    before = earlier_request(bench, newest, 2)
    assert before.number == 1
    assert differences(before, bench.state(newest).steps[2].request, worker="alpha") == ()


def test_a_difference_is_reported_by_source_and_shown_word_by_word(app, bench, ran, three):
    edit(bench, ran, three.with_instruction(0, "Find them.").with_instruction(2, "Answer well."))
    run(bench, ran)
    page = opened(app, ran, 2)
    assert "Step 1: its task and response changed. Its own task changed. Unchanged: the query." in written(
        page
    )
    page.toggle(key=f"saw-diff-{ran}-2").set_value(True).run()
    parts = passages(page)["From run 1 to this one"]["parts"]
    note = {(tone, text.strip()) for text, tone, *_ in parts if tone in ("added", "removed")}
    assert {("added", "well"), ("added", "them"), ("removed", "it")} <= note


@pytest.mark.slow
def test_steps_are_found_again_where_they_were_renumbered(bench, ran, three):
    moved = three.add_step(Step(instruction="First of all.", worker="beta"), 0)
    edit(bench, ran, moved.with_instruction(3, "Answer well."))
    newest = run(bench, ran)
    before = earlier_request(bench, newest, 3)
    assert (before.number, before.step, before.worker) == (1, 2, "alpha")
    request = bench.state(newest).steps[3].request
    assert differences(before, request, worker="alpha") == ("its own task changed",)
    assert unchanged(before, request) == ("the query", "step 2")
    assert earlier_request(bench, newest, 0) is None


@pytest.mark.slow
def test_another_worker_and_other_sampling_are_differences_too(bench, ran, three):
    edit(bench, ran, three.with_worker(2, "beta"))
    newest = run(bench, ran)
    before = earlier_request(bench, newest, 2)
    request = bench.state(newest).steps[2].request
    assert differences(before, request, worker="beta") == ("sent to beta, not alpha",)
    warm = replace(request, sampling=request.sampling.model_copy(update={"temperature": 0.5}))
    assert differences(before, warm, worker="alpha") == ("temperature 0.5, not no sampling of its own",)


@pytest.mark.slow
def test_a_worker_without_a_call_in_between_is_looked_for_further_back(bench, ran, three):
    """A run that stopped before the step, or reused it, did not call it."""
    edit(bench, ran, three.with_instruction(1, "Look once more."))
    run(bench, ran)
    edit(bench, ran, three.with_instruction(2, "Answer well."))
    newest = run(bench, ran)
    assert earlier_request(bench, newest, 2).number == 1
    assert earlier_request(bench, newest, 1).number == 2


@pytest.mark.thorough
def test_many_sources_and_many_hidden_steps_are_all_there(app, bench):
    session = bench.ask("Many?").id
    steps = [Step(instruction=f"Part {at}.", worker="alpha") for at in range(29)]
    last = Step(instruction="All.", worker="beta", access=tuple(range(12)))
    bench.editing.edit(session, Workflow.of([*steps, last]), note="By hand")
    run(bench, session)
    page = opened(app, session, 29)
    assert len(passages(page)["Request"]["legend"]) == 12 + 3
    assert not grants(page)
    assert "Steps 13 to 29." in written(page)
    (field,) = (each for each in page.multiselect if each.label == "Steps to let it see")
    assert len(field.options) == 17
    field.set_value([0, 16])
    next(button for button in page.button if button.label == "Let it see them").click().run()
    assert bench.store.revisions.head(session).workflow.steps[29].access == (*range(13), 28)


@pytest.mark.thorough
def test_the_form_and_the_tools_that_were_sent_stand_above_what_it_saw(app, bench, session):
    workflow = bench.store.revisions.head(session).workflow
    final = workflow.final
    form = ResponseFormat.of_schema({"type": "object"}, name="facts")
    offered = ToolOffer(tools=(Tool(name="look_up"), Tool(name="weather")))
    own = Sampling(response_format=form, tools=offered)
    edit(bench, session, workflow.with_sampling(final, own))
    run(bench, session)
    line = "Sent with it: JSON by the schema facts, tools look_up, weather."
    assert line in written(opened(app, session, final))
    assert not any(text.startswith("Sent with it") for text in written(opened(app, session, 0)))
