"""The difference between two workflows, with the hard cases: moved and edited, duplicates, rewrites."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.values.messages import Sampling
from conductor.workflow.diff import PlanDiff, plan_diff, three_way
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from tests.support.runs.workflow_cases import PINNED, workflows

TASKS = (
    "Extract every quantity and its unit from the question.",
    "Write down the equation that connects speed, distance and time.",
    "Solve the equation for the unknown and show each line.",
    "Check the result by putting it back into the equation.",
    "State the final answer in one sentence with its unit.",
)


def chain(*instructions: str, worker: str = "alpha") -> Workflow:
    """Steps that each read the one before."""
    return Workflow.of(
        Step(instruction=text, worker=worker, access=(at - 1,) if at else ())
        for at, text in enumerate(instructions)
    )


def unchained(*instructions: str) -> Workflow:
    """Steps that read no other step."""
    return Workflow.of(Step(instruction=text, worker="alpha") for text in instructions)


PLAN = chain(*TASKS)
UNCHAINED = unchained(*TASKS)
PLAN_OF_ONE = chain(TASKS[0])


def lines_of(diff: PlanDiff) -> list[str]:
    """Every difference as a line; steps counted from 1."""
    lines = [f"- {at + 1}" for at in diff.removed] + [f"+ {at + 1}" for at in diff.added]
    lines += [
        f"{pair.old + 1}>{pair.new + 1} {' '.join(pair.changes)}" for pair in diff.pairs if pair.changes
    ]
    return sorted(lines)


NEW_STEP = Step(instruction="Draw a picture of the two trains.", worker="beta")

HARD: dict[str, tuple[Workflow, Workflow, list[str]]] = {
    "nothing": (PLAN, PLAN, []),
    "another worker": (PLAN, PLAN.with_worker(2, "beta"), ["3>3 worker"]),
    "a word of an instruction": (
        PLAN,
        PLAN.with_instruction(2, "Solve the equation for the unknown and show every line."),
        ["3>3 instruction"],
    ),
    "a rewritten instruction": (PLAN, PLAN.with_instruction(2, "Ask a physicist."), ["3>3 instruction"]),
    "the first and the last rewritten": (
        PLAN,
        PLAN.with_instruction(0, "Read carefully.").with_instruction(4, "Sum up."),
        ["1>1 instruction", "5>5 instruction"],
    ),
    "instruction and worker of one step": (
        PLAN,
        PLAN.with_instruction(2, "Ask a physicist.").with_worker(2, "gamma"),
        ["3>3 worker instruction"],
    ),
    "less access": (PLAN, PLAN.with_access(3, []), ["4>4 access"]),
    "other settings of a step": (
        PLAN,
        PLAN.with_sampling(1, Sampling(temperature=0.0)).with_sight_of_previous(2, True).with_pin(3, PINNED),
        ["2>2 sampling", "3>3 sees_previous", "4>4 pin"],
    ),
    "a step added in front renumbers the rest": (PLAN, PLAN.add_step(NEW_STEP, at=0), ["+ 1"]),
    "a step added in between": (PLAN, PLAN.add_step(NEW_STEP, at=2), ["+ 3"]),
    "a step removed in front": (UNCHAINED, UNCHAINED.remove_step(0), ["- 1"]),
    "a step removed that another read": (PLAN, PLAN.remove_step(1), ["- 2", "3>2 access"]),
    "a step moved back to the front": (UNCHAINED, UNCHAINED.move_step(4, 0), ["5>1 moved"]),
    "a step moved to the end": (UNCHAINED, UNCHAINED.move_step(0, 4), ["1>5 moved"]),
    "a step moved and edited": (
        UNCHAINED,
        UNCHAINED.move_step(0, 3).with_instruction(3, "Extract every quantity with its unit from the text."),
        ["1>4 moved instruction"],
    ),
    "a step moved, edited and given to another": (
        UNCHAINED,
        UNCHAINED.move_step(4, 1)
        .with_instruction(1, "State the final answer in two sentences with its unit.")
        .with_worker(1, "beta"),
        ["5>2 moved worker instruction"],
    ),
    "one removed, one added elsewhere": (
        UNCHAINED,
        UNCHAINED.remove_step(0).add_step(NEW_STEP),
        ["+ 5", "- 1"],
    ),
    "one step put in the place of another": (
        UNCHAINED,
        UNCHAINED.remove_step(2).add_step(NEW_STEP, at=2),
        ["+ 3", "- 3"],
    ),
    "another plan altogether": (
        chain(*TASKS[:2]),
        chain("Translate it.", "Proofread!", worker="beta"),
        ["+ 1", "+ 2", "- 1", "- 2"],
    ),
    "the only step rewritten": (
        PLAN_OF_ONE,
        PLAN_OF_ONE.with_instruction(0, "Translate it."),
        ["1>1 instruction"],
    ),
    "the only step of another plan": (PLAN_OF_ONE, chain("Translate it."), ["+ 1", "- 1"]),
    "a plan with another instruction in one place": (
        PLAN,
        chain(*TASKS[:2], "Write a poem about the moon.", *TASKS[3:]),
        ["+ 3", "- 3", "4>4 access"],
    ),
    "one of three alike removed": (
        Workflow.of([*[Step(instruction="Solve it.", worker=name) for name in "abc"], NEW_STEP]),
        Workflow.of([*[Step(instruction="Solve it.", worker=name) for name in "bc"], NEW_STEP]),
        ["- 1"],
    ),
    "the latter of two alike edited, the former removed": (
        unchained("Solve it.", "Solve it.", *TASKS[:1]),
        unchained("Solve it.", "Solve it.", *TASKS[:1]).with_instruction(1, "Solve it twice.").remove_step(0),
        ["- 1", "2>1 instruction"],
    ),
    "workers exchanged": (
        Workflow.of([Step(instruction=TASKS[0], worker="a"), Step(instruction=TASKS[1], worker="b")]),
        Workflow.of([Step(instruction=TASKS[0], worker="b"), Step(instruction=TASKS[1], worker="a")]),
        ["1>1 worker", "2>2 worker"],
    ),
}


@pytest.mark.parametrize(("old", "new", "lines"), HARD.values(), ids=HARD)
def test_a_difference_is_reported_as_a_person_would(old: Workflow, new: Workflow, lines: list[str]) -> None:
    assert lines_of(plan_diff(old, new)) == lines


def test_access_is_reported_by_the_steps_that_are_meant() -> None:
    diff = plan_diff(PLAN, PLAN.remove_step(1).with_access(3, [0]))
    reader, answer = diff.of_old[2], diff.of_old[4]
    assert (reader.lost, reader.gained) == ((1,), ())
    assert (answer.lost, answer.gained) == ((3,), (0,))


def test_rows_are_in_the_new_order_with_a_removed_step_where_it_stood() -> None:
    diff = plan_diff(PLAN, PLAN.remove_step(1).add_step(NEW_STEP))
    assert diff.rows == ((0, 0), (1, None), (2, 1), (3, 2), (4, 3), (None, 4))


def test_rows_begin_with_what_was_removed_in_front() -> None:
    assert plan_diff(UNCHAINED, UNCHAINED.remove_step(0)).rows[0] == (0, None)
    other = chain("Translate it.", worker="beta")
    assert plan_diff(chain(TASKS[0]), other).rows == ((0, None), (None, 0))


@given(st.integers(1, 12), st.integers(0, 4095), st.integers(1, 3))
def test_nor_does_one_whose_steps_are_alike(count: int, mask: int, kinds: int) -> None:
    steps = [
        Step(
            instruction=f"task {at % kinds}",
            worker="alpha",
            access=tuple(i for i in range(at) if mask >> i & 1),
        )
        for at in range(count)
    ]
    assert plan_diff(Workflow.of(steps), Workflow.of(steps)).empty


@pytest.mark.slow
@given(workflows(), workflows())
def test_a_difference_is_the_same_from_either_side(old: Workflow, new: Workflow) -> None:
    assert plan_diff(old, new) == plan_diff(new, old).swapped
    assert plan_diff(old, new).swapped.swapped == plan_diff(old, new)


@pytest.mark.slow
@given(workflows(), workflows())
def test_every_step_is_in_one_pair_or_removed_or_added(old: Workflow, new: Workflow) -> None:
    diff = plan_diff(old, new)
    assert sorted([*(pair.old for pair in diff.pairs), *diff.removed]) == list(range(len(old)))
    assert sorted([*(pair.new for pair in diff.pairs), *diff.added]) == list(range(len(new)))
    assert sorted(row[0] for row in diff.rows if row[0] is not None) == list(range(len(old)))
    assert [row[1] for row in diff.rows if row[1] is not None] == list(range(len(new)))


NOUNS = "river stone bread candle window engine garden letter mirror needle orange pencil".split()
VERBS = "weigh paint count fold measure sketch polish sort label carve".split()


def _plan_of(random: Random, steps: int) -> Workflow:
    """A plan whose instructions share words, as real ones do, without two that are alike."""
    return Workflow.of(
        Step(
            instruction=f"{random.choice(VERBS)} the {NOUNS[at % 12]} and the {random.choice(NOUNS)} "
            f"of {random.randrange(10_000)} {random.choice(VERBS)}s, then report on {random.choice(NOUNS)}s",
            worker=random.choice("abc"),
            access=tuple(i for i in range(at) if random.random() < 0.3),
        )
        for at in range(steps)
    )


def _edit(random: Random, workflow: Workflow, origin: list[int | None]) -> tuple[Workflow, list[int | None]]:
    """One random edit, and from where each step of the result came."""
    at, to = random.randrange(len(workflow)), random.randrange(len(workflow))
    match random.randrange(5):
        case 0 | 1 if origin[at] is None:  # by an edit it could become an old step that was rewritten
            return workflow, origin
        case 0:
            return workflow.with_worker(at, random.choice("abc")), origin
        case 1:
            words = workflow.steps[at].instruction.split()
            words[random.randrange(len(words))] = random.choice(NOUNS)
            return workflow.with_instruction(at, " ".join(words)), origin
        case 2 if len(workflow) > 1:
            return workflow.remove_step(at), origin[:at] + origin[at + 1 :]
        case 3:
            new = Step(instruction=f"Nothing like it: {random.getrandbits(64):x}", worker="d")
            return workflow.add_step(new, at=at), [*origin[:at], None, *origin[at:]]
        case _:
            try:
                moved = workflow.move_step(at, to)
            except WorkflowError:
                return workflow, origin
            rest = origin[:at] + origin[at + 1 :]
            return moved, [*rest[:to], origin[at], *rest[to:]]


@given(st.integers(0, 10_000), st.integers(2, 20), st.integers(1, 6))
def test_a_chain_of_edits_is_recovered(seed: int, steps: int, edits: int) -> None:
    random = Random(seed)
    old = new = _plan_of(random, steps)
    origin: list[int | None] = list(range(steps))
    for _ in range(edits):
        new, origin = _edit(random, new, origin)
    diff = plan_diff(old, new)
    places = {to: at for to, at in enumerate(origin) if at is not None}
    assert {pair.new: pair.old for pair in diff.pairs} == places
    assert diff.added == tuple(to for to, at in enumerate(origin) if at is None)


def _all_other_words(random: Random, step: Step) -> Step:
    words = [random.choice([word, random.choice(NOUNS)]) for word in step.instruction.split()]
    return step.model_copy(update={"instruction": " ".join(words)})


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        lambda random, steps: [_all_other_words(random, step) for step in steps],
        lambda _, steps: [steps[0]] * len(steps),
    ],
    ids=["every step edited", "all steps alike"],
)
def test_two_times_the_most_steps_are_compared(changed: Callable[[Random, list[Step]], list[Step]]) -> None:
    random = Random(3)
    old = _plan_of(random, MAX_STEPS)
    unread = [step.model_copy(update={"access": ()}) for step in old.steps]
    new = Workflow.of(changed(random, unread))
    diff = plan_diff(old, new)
    assert len(diff.pairs) + len(diff.removed) == len(diff.pairs) + len(diff.added) == MAX_STEPS


# -- as planned, as edited, as run -------------------------------------------------------------------


FIND, SOLVE, CHECK, TELL = TASKS[0], TASKS[2], TASKS[3], TASKS[4]


def test_what_was_never_edited_and_run_as_it_is_stands_in_one_line_each() -> None:
    plan = unchained(FIND, SOLVE)
    comparison = three_way(plan, plan, plan)
    assert comparison.rows == ((0, 0, 0), (1, 1, 1))
    assert comparison.planned.empty
    assert comparison.run is not None
    assert comparison.run.empty


def test_without_a_run_its_column_is_empty() -> None:
    comparison = three_way(unchained(FIND), unchained(FIND, SOLVE), None)
    assert comparison.rows == ((0, 0, None), (None, 1, None))
    assert comparison.run is None


def test_a_removed_step_stands_where_it_was_and_an_edit_after_the_run_is_reported() -> None:
    comparison = three_way(unchained(FIND, SOLVE, TELL), unchained(FIND, TELL, CHECK), unchained(FIND, TELL))
    assert comparison.rows == ((0, 0, 0), (1, None, None), (2, 1, 1), (None, 2, None))


def test_a_step_that_was_run_as_planned_and_removed_since_is_one_line() -> None:
    comparison = three_way(unchained(FIND, SOLVE, TELL), unchained(FIND, TELL), unchained(FIND, SOLVE, TELL))
    assert comparison.rows == ((0, 0, 0), (1, None, 1), (2, 1, 2))


def test_a_step_of_the_run_alone_stands_behind_the_one_before_it() -> None:
    comparison = three_way(unchained(FIND, TELL), unchained(FIND, TELL), unchained(CHECK, FIND, SOLVE, TELL))
    assert comparison.rows == ((None, None, 0), (0, 0, 1), (None, None, 2), (1, 1, 3))


@pytest.mark.slow
@given(workflows(), workflows(), st.one_of(st.none(), workflows()))
def test_every_step_of_every_state_is_in_one_line(
    planned: Workflow, edited: Workflow, run: Workflow | None
) -> None:
    rows = three_way(planned, edited, run).rows
    for column, workflow in enumerate((planned, edited, run)):
        steps = [row[column] for row in rows if row[column] is not None]
        assert sorted(at for at in steps if at is not None) == list(range(len(workflow) if workflow else 0))
    assert [row[1] for row in rows if row[1] is not None] == list(range(len(edited)))
