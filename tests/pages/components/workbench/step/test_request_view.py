"""The inspector in a later round: a step may see the round before, and what it saw shows that."""

from __future__ import annotations

import pytest

from conductor.planner.parsing.parse import parse
from conductor.values.messages import Usage
from conductor.workflow.model import Step, Workflow
from pages.components.workbench.step.request_view import hidden_from


@pytest.fixture
def later(bench, session, three):
    """A session whose workflow is its second round's."""
    live = bench.running.start(session)
    assert live.done.wait(timeout=60)
    bench.activities.wait(session)
    report = parse("model_id = [0]\nsubtasks = ['a']\naccess_list = [[]]", workers=["alpha"], dialect="any")
    plan = bench.store.plans.add(
        session,
        planner="p",
        planner_kind="offline",
        report=report,
        usage=Usage(),
        round=2,
        looks_back=live.run,
    )
    bench.store.revisions.add(session, three, origin="conductor", plan=plan.id)
    return session


def select(app, session, step):
    page = app(session=session)
    page.session_state["selected"] = step
    page.session_state["step-part"] = "Saw"
    return page.run()


def unseen(page):
    """What the step shown is offered to see, by name."""
    labels = [button.label for button in page.button if str(button.key).startswith("let-see-")]
    return [label.replace("\\", "").removeprefix("Let it see ") for label in labels]


def newest(bench, session):
    return bench.store.runs.latest(session)


def seen(page, session, step):
    return page.multiselect(key=f"access-{session}-{step}")


def test_in_a_first_round_no_one_is_offered_the_round_before(app, session):
    page = select(app, session, 1)
    assert seen(page, session, 1).options == ["1. Find it"]
    assert seen(select(app, session, 0), session, 0).disabled


@pytest.mark.thorough
def test_in_a_later_round_the_round_before_is_one_entry_and_one_edit(app, bench, later):
    page = select(app, later, 2)
    field = seen(page, later, 2)
    assert field.options == ["The previous round", "1. Find it", "2. Look again"]
    assert field.value == [0]
    field.set_value([-1, 1]).run()
    assert not page.exception
    own = bench.store.revisions.head(later).workflow.steps[2]
    assert (own.sees_previous, own.access) == (True, (1,))
    assert seen(page, later, 2).value == [-1, 1]
    seen(page, later, 2).set_value([1]).run()
    assert not bench.store.revisions.head(later).workflow.steps[2].sees_previous


@pytest.mark.thorough
def test_in_a_later_round_the_first_step_may_see_the_round_before_too(app, bench, later):
    page = select(app, later, 0)
    assert seen(page, later, 0).options == ["The previous round"]
    seen(page, later, 0).set_value([-1]).run()
    assert bench.store.revisions.head(later).workflow.steps[0].sees_previous


@pytest.mark.thorough
def test_a_step_that_saw_the_round_before_names_its_steps_by_round_and_others_name_it_as_unseen(
    app, bench, later, three
):
    bench.editing.edit(later, three.with_sight_of_previous(2, True), note="Step 3: access")
    live = bench.running.start(later)
    assert live.done.wait(timeout=60)
    assert unseen(select(app, later, 2)) == ["2. Look again"]
    assert unseen(select(app, later, 1)) == ["the previous round", "1. Find it"]
    [parts] = [step.request.messages[0].parts for step in bench.state(newest(bench, later)).steps[2:]]
    rounds = [(part.round, part.step) for part in parts if part.kind == "response"]
    assert rounds == [(1, 0), (1, 1), (1, 2), (None, 0)]


@pytest.mark.thorough
def test_the_round_before_is_one_click_from_being_seen(app, bench, later):
    bench.editing.edit(
        later,
        bench.store.revisions.head(later).workflow,
        note="By hand",
        head=bench.store.revisions.head(later),
    )
    live = bench.running.start(later)
    assert live.done.wait(timeout=60)
    page = select(app, later, 1)
    page.button(key=f"let-see-{later}-1-before").click().run()
    assert bench.store.revisions.head(later).workflow.steps[1].sees_previous
    assert unseen(page) == ["1. Find it"]


def test_what_a_step_may_not_see_are_the_earlier_steps_it_has_no_access_to(three):
    assert [hidden.name for hidden in hidden_from(three, 2)] == ["2. Look again"]
    assert hidden_from(three, 0) == []


def test_many_hidden_steps_are_chosen_in_one_field_and_seen_by_one_edit(app, bench):
    steps = [Step(instruction=f"Find part {at + 1}.", worker="alpha") for at in range(15)]
    session = bench.ask("Which one?").id
    bench.editing.edit(session, Workflow.of([*steps, Step(instruction="Answer.", worker="beta")]), note="x")
    assert bench.running.start(session).done.wait(timeout=60)
    page = select(app, session, 15)
    assert unseen(page) == []
    (field,) = [each for each in page.multiselect if str(each.key).startswith("let-see-")]
    assert (len(field.options), field.options[6]) == (15, "7. Find part 7")
    field.set_value([2, 6])
    (button,) = [each for each in page.button if each.label == "Let it see them"]
    button.click().run()
    assert not page.exception
    assert bench.store.revisions.head(session).workflow.steps[15].access == (2, 6)
    assert len(bench.store.revisions.history(session)) == 2
