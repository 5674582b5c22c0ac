"""The plan check: nothing on plans that are fine, one finding a fault, and fixes that remove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.planner.prompt.examples import example_instructions, examples
from conductor.planner.rule_planner import rule_for
from conductor.values.output import HandEdit, Output
from conductor.workflow.lint import RULES, Finding, check
from conductor.workflow.lint.finding import step_numbers
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.conductor.workflow.lint.fine_plans import FINE, Lines, workflow_of
from tests.support.cases.property_cases import cases
from tests.support.cases.reading_work import work

LIMIT = 5

CLAIM = "The bridge was opened in 1874 after seven years of work on both of its piers."


def output(text: str, step: int = 0) -> Output:
    return Output(
        fingerprint=f"f{step}",
        text=text,
        worker="alpha",
        worker_kind="simulated",
        seconds=1.0,
        run="r",
        step=step,
    )


def rules(findings: Sequence[Finding]) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.step) for finding in findings]


def problems_of(lines: Lines, **options: object) -> list[tuple[str, int | None]]:
    return rules(check(workflow_of(lines), **{"max_steps": LIMIT, **options}))


# -- precision ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("workflow", FINE.values(), ids=FINE)
def test_nothing_is_found_in_a_fine_plan_before_and_after_its_run(workflow):
    assert check(workflow, max_steps=LIMIT) == ()
    assert check(workflow, max_steps=LIMIT, later_round=True, workers=["alpha", "beta"]) == ()
    outputs = {at: output(f"Answer {at}: {CLAIM}", at) for at in range(len(workflow))}
    assert check(workflow, max_steps=LIMIT, outputs=outputs, query=CLAIM) == ()


@pytest.mark.parametrize("pool", [2, 3, 7])
@pytest.mark.parametrize("max_steps", [1, 2, 3, 5])
def test_nothing_is_found_in_the_examples_that_a_conductor_is_shown(pool, max_steps):
    for example in examples(pool, max_steps=max_steps):
        lines = [(f"worker {step.worker}", step.instruction, step.sees) for step in example.steps]
        assert problems_of(lines) == [], example.question


@pytest.mark.parametrize(
    "query",
    [
        "Compare the capitals of France and Germany.",
        "What is 17 * 23?",
        "Prove that the square root of 2 is irrational.",
        "Solve x + y = 3 and x - y = 1.",
        "Summarise: The sun rose. It set.",
        "Who was it?",
    ],
)
def test_nothing_is_found_in_what_the_offline_conductor_plans(query):
    drafts = rule_for(query, max_steps=LIMIT).drafts
    assert problems_of([(f"w{at}", draft.instruction, draft.access) for at, draft in enumerate(drafts)]) == []


# -- every fault ---------------------------------------------------------------------------------------

SOLVE, OTHER, END = "Solve the problem.", "Solve it another way.", "Decide which is right and answer."

BROKEN: Mapping[str, tuple[Lines, list[tuple[str, int | None]]]] = {
    "an attempt that no step reads": (
        [("a", SOLVE, ()), ("b", OTHER, ()), ("c", END, (0,))],
        [("unread-output", 1)],
    ),
    "a dead branch is told once, at its end": (
        [("a", SOLVE, ()), ("b", "List the cases.", ()), ("c", "Count the cases.", (1,)), ("d", END, (0,))],
        [("unread-output", 2)],
    ),
    "two unread attempts": (
        [("a", SOLVE, ()), ("b", OTHER, ()), ("c", "Guess.", ()), ("d", END, (0,))],
        [("unread-output", 1), ("unread-output", 2)],
    ),
    "a final step that sees nothing, told once": (
        [("a", SOLVE, ()), ("b", OTHER, ()), ("c", "Give the final number.", ())],
        [("blind-final-step", 2)],
    ),
    "a final step that sees nothing and says what it misses": (
        [("a", SOLVE, ()), ("b", OTHER, ()), ("c", "Combine the previous answers and decide.", ())],
        [("speaks-of-unseen", 2)],
    ),
    "the previous answer without access in the middle": (
        [("a", SOLVE, ()), ("b", "Improve the previous answer.", ()), ("c", END, (0, 1))],
        [("speaks-of-unseen", 1)],
    ),
    "a numbered step that may not be read": (
        [("a", SOLVE, ()), ("b", "Guess.", ()), ("c", "Use the result of step 1.", (1,)), ("d", END, (0, 2))],
        [("speaks-of-unseen", 2)],
    ),
    "one's own work checked": (
        [("a", SOLVE, ()), ("a", "Check the solution for mistakes and answer.", (0,))],
        [("checks-own-work", 1)],
    ),
    "one's own work checked behind another's plan": (
        [("b", "Plan it.", ()), ("a", "Carry it out.", (0,)), ("a", "Verify the result and answer.", (0, 1))],
        [("checks-own-work", 2)],
    ),
    "more steps than the limit": (
        [("a", f"Solve part {part}.", ()) for part in range(6)] + [("b", END, (0, 1, 2, 3, 4, 5))],
        [("too-many-steps", None)],
    ),
    "the same asked twice of the same worker": (
        [("a", SOLVE, ()), ("a", "  solve the  PROBLEM. ", ()), ("b", END, (0, 1))],
        [("same-instruction", 1)],
    ),
    "the same asked thrice": (
        [("a", SOLVE, ()), ("a", SOLVE, ()), ("a", SOLVE, ()), ("b", END, (0, 1, 2))],
        [("same-instruction", 1), ("same-instruction", 2)],
    ),
    "several faults, step by step": (
        [
            ("a", "Plan it.", ()),
            ("a", "Check the plan.", (0,)),
            ("b", "Use the previous answer.", ()),
            ("c", "Count.", ()),
            ("d", END, (1, 2)),
        ],
        [("checks-own-work", 1), ("speaks-of-unseen", 2), ("unread-output", 3)],
    ),
}


@pytest.mark.parametrize(("lines", "expected"), BROKEN.values(), ids=BROKEN)
def test_every_fault_is_found_and_each_of_its_fixes_takes_it_away(lines, expected):
    assert problems_of(lines) == expected
    workflow = workflow_of(lines)
    before = check(workflow, max_steps=LIMIT, workers=["a", "b", "c", "d"])
    assert before
    for finding in before:
        assert finding.fixes
        assert_fixed(finding, before, max_steps=LIMIT, workers=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("rules", "who"),
    [({1: "a"}, "a"), ({0: "b"}, "b"), ({0: "c", 1: "c"}, "c"), ({0: "c"}, None), ({1: "d"}, None)],
)
def test_a_fallback_may_check_its_own_work(rules: dict[int, str], who: str | None) -> None:
    workflow = workflow_of([("a", SOLVE, ()), ("b", "Verify the result and answer.", (0,))])
    for step, fallback in rules.items():
        workflow = workflow.with_on_failure(step, OnFailure(fallback=fallback))
    findings = [each for each in check(workflow, max_steps=LIMIT) if each.rule == "checks-own-work"]
    sentence = f"Step 2 checks step 1, and {who} does both if a worker fails."
    assert [(each.severity, each.sentence) for each in findings] == ([("note", sentence)] if who else [])


def assert_fixed(finding: Finding, before: Sequence[Finding], **options: object) -> None:
    """Each fix is legal and takes the finding away; where steps were renumbered, one of its rule fewer."""
    count = len([other for other in before if other.rule == finding.rule])
    for fix in finding.fixes:
        assert Workflow.of(fix.workflow.steps) == fix.workflow
        left = [other for other in check(fix.workflow, **options) if other.rule == finding.rule]
        assert len(left) < count, fix.label


def test_findings_name_their_step_and_quote_what_was_written():
    workflows = [workflow_of(lines) for lines, _ in BROKEN.values()]
    findings = [finding for workflow in workflows for finding in check(workflow, max_steps=LIMIT)]
    sentences = {finding.rule: finding.sentence for finding in findings}
    assert sentences["unread-output"] == "No step reads step 4, so its work cannot reach the answer."
    assert sentences["too-many-steps"] == "The workflow has 7 steps; the limit is 5."
    assert sentences["checks-own-work"] == "Step 2 checks step 1, and a does both."
    assert "Step 3 refers to “the previous answer” but reads no step." in sentences["speaks-of-unseen"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([1], "step 2"),
        ([0, 1], "steps 1 and 2"),
        ([0, 1, 3], "steps 1, 2 and 4"),
        ([4, 5, 6, 7], "steps 5 to 8"),
        ([0, 3, 4, 5, 6, 8], "steps 1, 4 to 7 and 9"),
    ],
)
def test_steps_one_after_another_are_named_by_their_ends(steps, words):
    assert step_numbers(steps) == words


def test_the_labels_state_what_a_fix_does():
    workflow = workflow_of(BROKEN["a dead branch is told once, at its end"][0])
    (finding,) = check(workflow, max_steps=LIMIT)
    assert [fix.label for fix in finding.fixes] == ["Let step 4 read step 3", "Remove steps 2 and 3"]
    assert [step.access for step in finding.fixes[0].workflow.steps] == [(), (), (1,), (0, 2)]
    assert len(finding.fixes[1].workflow) == 2


def test_what_the_query_calls_by_the_same_words_is_the_querys():
    lines: Lines = [("a", SOLVE, ()), ("b", "Check the previous answer.", ()), ("c", END, (0, 1))]
    assert problems_of(lines, query="Is the  previous answer right? 17 * 23 = 391") == []
    assert problems_of(lines, query="What is 17 * 23?") == [("speaks-of-unseen", 1)]


# -- what else is known ----------------------------------------------------------------------------------


def test_in_a_pool_of_one_no_one_else_can_check_or_vary():
    lines: Lines = [("a", SOLVE, ()), ("a", "Check the solution and answer.", (0,))]
    assert problems_of(lines, workers=["a"]) == []
    (finding,) = check(workflow_of(lines), max_steps=LIMIT, workers=["a", "b", "c", "d"])
    assert [fix.label for fix in finding.fixes] == ["Give step 2 to b", "Give step 2 to c"]
    (finding,) = check(workflow_of(lines), max_steps=LIMIT)
    assert finding.fixes == ()


def test_in_a_later_round_the_previous_answer_may_be_that_of_the_round_before():
    lines: Lines = [("a", "Improve the previous answer.", ()), ("b", "Check the text for errors.", (0,))]
    assert problems_of(lines) == [], "in a first round it is the question's"
    assert problems_of(lines, later_round=True) == [("speaks-of-unseen", 0)]
    (finding,) = check(workflow_of(lines), max_steps=LIMIT, later_round=True)
    assert [fix.label for fix in finding.fixes] == ["Let step 1 see the previous round"]
    mended = finding.fixes[0].workflow
    assert mended.steps[0].sees_previous
    assert check(mended, max_steps=LIMIT, later_round=True) == ()
    assert rules(
        check(workflow_of([("a", "Go.", ()), ("b", "End.", ())]), max_steps=LIMIT, later_round=True)
    ) == [("blind-final-step", 1)]


def test_a_pinned_step_is_never_called_so_its_words_do_not_matter():
    lines: Lines = [("a", SOLVE, ()), ("a", "Check the previous answer.", ()), ("b", END, (0, 1))]
    workflow = workflow_of(lines).with_pin(1, output("fine", 1))
    assert problems_of(lines) == [("speaks-of-unseen", 1)]
    assert check(workflow, max_steps=LIMIT) == ()


HIDDEN: Lines = [
    ("a", "When was the bridge opened?", ()),
    ("b", f"Work on your own. {CLAIM} Is that so?", ()),
    ("c", END, (0, 1)),
]


def test_a_hidden_output_that_an_instruction_repeats_is_a_leak():
    outputs = {0: output(f"I looked it up. {CLAIM}")}
    (finding,) = check(workflow_of(HIDDEN), max_steps=LIMIT, outputs=outputs)
    assert (finding.rule, finding.step) == ("leaked-output", 1)
    assert "Step 2 may not read step 1" in finding.sentence
    assert "“The bridge was opened in 1874" in finding.sentence
    assert [fix.label for fix in finding.fixes] == ["Take the words out of step 2", "Let step 2 read step 1"]
    assert finding.fixes[0].workflow.steps[1].instruction == "Work on your own. . Is that so?"
    assert_fixed(finding, [finding], max_steps=LIMIT, outputs=outputs)


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("no output is known", {}),
        (
            "the words are the question's",
            {"outputs": {0: output(CLAIM)}, "query": f"Is it true? {CLAIM}"},
        ),
        ("they are few", {"outputs": {0: output("opened in 1874")}}),
        ("it is another text", {"outputs": {0: output("No one knows when, as all of the papers burnt.")}}),
        ("it is what the step itself said", {"outputs": {1: output(CLAIM, 1)}}),
        ("it is the output of no step", {"outputs": {9: output(CLAIM, 9)}}),
    ],
)
def test_what_is_no_leak(case, options):
    assert problems_of(HIDDEN, **options) == []


def test_what_is_read_or_asked_elsewhere_is_no_leak():
    read = [HIDDEN[0], ("b", HIDDEN[1][1], (0,)), HIDDEN[2]]
    assert problems_of(read, outputs={0: output(CLAIM)}) == []
    lines = [("a", f"Is this so? {CLAIM}", ()), HIDDEN[1], HIDDEN[2]]
    assert problems_of(lines, outputs={0: output(CLAIM)}) == []


def test_a_whole_short_output_and_a_later_steps_output_are_leaks_too():
    short: Lines = [
        ("a", "Who?", ()),
        ("b", "Show that it was Ada King of Lovelace.", ()),
        ("c", END, (0, 1)),
    ]
    assert problems_of(short, outputs={0: output("Ada King of Lovelace")}) == [("leaked-output", 1)]
    later = [("a", f"Find out. {CLAIM}", ()), ("b", "Answer.", (0,))]
    (finding,) = check(workflow_of(later), max_steps=LIMIT, outputs={1: output(CLAIM, 1)})
    assert [fix.label for fix in finding.fixes] == ["Take the words out of step 1"]


def test_an_instruction_that_is_nothing_but_the_leak_can_only_be_given_access():
    lines: Lines = [("a", "When?", ()), ("b", CLAIM, ()), ("c", END, (0, 1))]
    (finding,) = check(workflow_of(lines), max_steps=LIMIT, outputs={0: output(CLAIM)})
    assert [fix.label for fix in finding.fixes] == ["Let step 2 read step 1"]


def test_an_output_that_holds_another_one_makes_reading_both_redundant():
    lines: Lines = [("a", "When?", ()), ("b", "Say more.", (0,)), ("c", END, (0, 1))]
    outputs = {0: output(CLAIM), 1: output(f"As was said: {CLAIM} It stands.", 1)}
    assert problems_of(lines, outputs=outputs) == [("redundant-access", 2)]
    assert problems_of(lines, outputs={**outputs, 1: output("It stands.", 1)}) == []
    apart: Lines = [("a", "When?", ()), ("b", "When was it?", ()), ("c", END, (0, 1))]
    assert problems_of(apart, outputs=outputs) == [], "two who agree are no repetition"


def test_every_rule_can_find_something():
    seen = {rule for _, expected in BROKEN.values() for rule, _ in expected}
    elsewhere = {"leaked-output", "redundant-access", "pinned-before", "copied-example"}
    assert seen | elsewhere | {"tool-of-another", "lacks-a-tool"} == set(RULES)


@pytest.mark.parametrize(
    ("query", "instruction", "copied"),
    [
        ("What is 2 + 2?", "Verify plan and count on small boards, correct what is wrong.", True),
        ("What is 2 + 2?", "Plan how to count the coverings, such as by a recurrence; do not.", True),
        ("What is 2 + 2?", "name the capital of mongolia in one sentence", True),
        ("How can dominoes cover a board?", "Verify plan and count on small boards, correct it.", False),
        ("Lead or lithium for the hut?", "Work independently: argue which of the two suits a mountain hut, "
         "from the cold and the upkeep.", False),
        ("Which flat suits us?", "Work independently: argue which of the two suits a family "
         "with a dog, from the rent.", False),
        ("What is 2 + 2?", "Check the working by another way and state the final number.", False),
        ("What is 2 + 2?", "Name the capital.", False),
    ],
)  # fmt: skip
def test_an_instruction_of_the_prompts_examples_is_named_for_another_question(query, instruction, copied):
    lines: Lines = [("a", instruction, ())]
    rule = [("copied-example", 0)] if copied else []
    assert problems_of(lines, query=query, examples=example_instructions()) == rule


def test_an_example_is_no_copy_for_its_own_question():
    for example in (*examples(3, max_steps=5), *examples(3, max_steps=2)):
        for step in example.steps:
            lines: Lines = [("a", step.instruction, ())]
            problems = problems_of(lines, query=example.question, examples=example_instructions())
            assert ("copied-example", 0) not in problems


# -- any workflow --------------------------------------------------------------------------------------------

_SAYINGS = (
    "Solve the problem.",
    "Improve the previous answer.",
    "Compare all previous responses.",
    "Check the result and answer.",
    "Use the result of step 2.",
    "Use the output of step 1 and the plan of step 3.",
    "Plan the solution.",
    "Follow the plan and count.",
    "Merge what is there.",
    "Translate it into German.",
    f"Work alone. {CLAIM}",
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Workflow, Mapping[int, Output]]:
    """Workflows of up to eight steps out of a few sayings; some steps have run."""
    count = draw(st.integers(1, 8))
    workflow = Workflow.of(
        Step(
            instruction=draw(st.sampled_from(_SAYINGS)),
            worker=draw(st.sampled_from("abc")),
            access=tuple(draw(st.sets(st.integers(0, at - 1)))) if at else (),
            sees_previous=draw(st.booleans()),
        )
        for at in range(count)
    )
    ran = draw(st.sets(st.integers(0, count - 1)))
    return workflow, {at: output(draw(st.sampled_from((CLAIM, "No.", f"Yes: {CLAIM}"))), at) for at in ran}


@pytest.mark.slow
@cases(150)
@given(plans(), st.integers(1, 8), st.booleans())
def test_every_fix_of_any_workflow_is_legal_and_fixes_what_was_found(plan, limit, later):
    workflow, outputs = plan
    options = {"max_steps": limit, "later_round": later, "workers": ["a", "b", "c"]}
    before = check(workflow, outputs=outputs, **options)
    steps = [-1 if finding.step is None else finding.step for finding in before]
    assert steps == sorted(steps)
    for finding in before:
        for fix in finding.fixes:
            assert fix.workflow != workflow
            Workflow.of(fix.workflow.steps)
            if len(fix.workflow) == len(workflow):
                after = check(fix.workflow, outputs=outputs, **options)
                assert (finding.rule, finding.step) not in rules(after), fix.label
            else:
                after = check(fix.workflow, **options)
                of_rule = [other for other in before if other.rule == finding.rule]
                assert len([other for other in after if other.rule == finding.rule]) < len(of_rule), fix.label


# -- pins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hand", "severity", "origin"),
    [(None, "warning", "made"), (HandEdit(at=1.0), "note", "written by hand")],
    ids=["a worker's", "a person's"],
)
def test_a_pinned_output_whose_inputs_changed_is_found_and_can_be_unpinned(hand, severity, origin):
    lines: Lines = [("alpha", "Find the year.", ()), ("beta", "Say it in a sentence.", (0,))]
    workflow = workflow_of(lines).with_pin(1, output(CLAIM, 1).model_copy(update={"hand": hand}))
    assert check(workflow, max_steps=LIMIT) == ()
    (finding,) = check(workflow, max_steps=LIMIT, changed_pins={1})
    assert (finding.rule, finding.step, finding.severity) == ("pinned-before", 1, severity)
    assert finding.sentence == f"Step 2 is pinned, and its inputs changed since its output was {origin}."
    (fix,) = finding.fixes
    assert (fix.label, fix.workflow) == ("Unpin step 2", workflow_of(lines))


# -- how long it takes ----------------------------------------------------------------------------

MANY: Mapping[str, tuple[str, Callable[[int], Sequence[int]]]] = {
    "no step reads": ("Work on part {}.", lambda _: ()),
    "every second step is read": ("Work on part {}.", lambda at: range(0, at, 2)),
    "each judges all before it": ("Check the answer number {}.", range),
    "all are the same": ("Answer.", lambda _: ()),
    "each refers to an output that it may not read": ("Improve the previous answer.", lambda _: ()),
    "each repeats an output": (f"Part {{}}. {CLAIM}", lambda _: ()),
}


@pytest.mark.parametrize(("instruction", "access"), MANY.values(), ids=MANY)
@pytest.mark.parametrize("ran", [False, True], ids=["not run", "run"])
def test_the_check_of_many_steps_takes_at_most_the_square_of_their_number(instruction, access, ran):
    def effort(count: int) -> int:
        workflow = Workflow.of(
            Step(instruction=instruction.format(at), worker="a", access=tuple(access(at)))
            for at in range(count)
        )
        outputs = {at: output(f"{CLAIM} {at}", at) for at in range(count)} if ran else {}
        options = {"max_steps": 10, "workers": ["a", "b"], "outputs": outputs}
        return work(lambda: check(workflow, **options), package="conductor.workflow")

    few, some, many = effort(25), effort(50), effort(100)
    assert many - some <= 5 * (some - few)
