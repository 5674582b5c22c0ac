"""Plans to choose from: which counts, which are the same, how each differs from what is shown."""

from __future__ import annotations

from conductor.planner.parsing.parse import parse
from conductor.values.messages import Usage
from conductor.workflow.model import Workflow
from pages.components.view_models.workflow.plan_choices import choices_of_batch, choices_of_text
from pages.components.workbench.planning.plan import as_used
from storage import Plan
from tests.support.runs.conductor_cases import BROKEN, KEEP, plan_text

WORKERS = ("alpha", "beta")
ONE = plan_text((0, "find", "[]"), (1, "merge", "[0]"))
TWO = plan_text((1, "find", "[]"), (1, "merge", "[0]"))


def plan(text: str | None, *, attempt: int = 1, round: int = 1) -> Plan:
    """A kept plan; without a text its Conductor failed."""
    return Plan(
        id=f"p{attempt}",
        session="s",
        created_at=1.0,
        planner="c",
        planner_kind="simulated",
        report=None if text is None else parse(text, workers=WORKERS, round=round),
        failure="It was overloaded." if text is None else None,
        usage=Usage(),
        seconds=None,
        attempt=attempt,
        alternative="b",
        round=round,
    )


def workflow(text: str) -> Workflow:
    reading = parse(text, workers=WORKERS).workflow
    assert reading is not None
    return reading


def test_every_plan_of_a_text_is_a_choice_and_one_counts() -> None:
    choices = choices_of_text(plan(f"{ONE}\nRather:\n{TWO}\nOr:\n{BROKEN}"), current=workflow(ONE))
    assert [(choice.name, choice.verdict, choice.remarks) for choice in choices] == [
        ("Plan 1", "valid", ()),
        ("Plan 2", "valid", ("used as the last valid one",)),
        ("Plan 3", "not valid", ()),
    ]
    assert [choice.difference for choice in choices] == [
        "The workflow shown.",
        "1 step changed; 1 step the same.",
        "",
    ]
    assert choices[1].shape == "chain · 2 steps · beta"
    assert choices[1].address == "plan:p1:1"
    assert len(choices[2].problems) == 1


def test_if_none_is_valid_the_last_one_counts() -> None:
    choices = choices_of_text(plan(f"{BROKEN}\nOr:\n{BROKEN}"), current=None)
    assert [choice.remarks for choice in choices] == [(), ("used as the last one; none is valid",)]


def test_equal_alternatives_are_one_choice_under_all_their_numbers() -> None:
    batch = [
        plan(text, attempt=at) for at, text in enumerate((ONE, None, TWO, f"Hm.\n{ONE}", BROKEN), start=1)
    ]
    choices = choices_of_batch(batch, current=None)
    assert [(choice.name, choice.verdict) for choice in choices] == [
        ("Alternatives 1 and 4", "valid"),
        ("Alternative 2", "no plan"),
        ("Alternative 3", "valid"),
        ("Alternative 5", "not valid"),
    ]
    assert choices[1].problems == ("It was overloaded.",)
    assert choices[2].difference == "Beside alternatives 1 and 4: 1 step changed; 1 step the same."


def test_alternatives_without_a_plan_in_their_text_state_why() -> None:
    (choice,) = choices_of_batch([plan("Let me see.")], current=workflow(ONE))
    assert (choice.verdict, choice.candidate) == ("no plan", None)
    assert "There is no plan in the text" in choice.problems[0]


def test_a_later_rounds_alternative_may_keep_the_answer() -> None:
    (choice,) = choices_of_batch([plan(KEEP, round=2)], current=workflow(ONE))
    assert (choice.verdict, choice.workflow, choice.problems) == ("keeps the answer", None, ())


def test_many_workers_are_named_in_short() -> None:
    names = [f"w{at}" for at in range(9)]
    text = plan_text(*((at, "do", "[]") for at in range(9)))
    report = parse(text, workers=names, max_steps=9)
    (choice,) = choices_of_text(plan(ONE).model_copy(update={"report": report}), current=None)
    assert choice.shape == "general · 9 steps · w0, w1, w2, w3 and 5 more"


def test_the_panel_shows_the_plan_of_the_text_that_is_used() -> None:
    current = plan(f"{ONE}\nRather:\n{TWO}")
    assert as_used(current, workflow(TWO)) is current
    used = as_used(current, workflow(ONE))
    assert used.report.chosen == 0
    assert as_used(current, workflow(ONE).with_worker(0, "gamma")) is current
