"""The steps are ranked by whether the answer turns right with another output of theirs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from conductor.engine.experiments import (
    Experiment,
    Replacement,
    StepSearch,
    Trial,
    trials_of,
)
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.step_verdicts import StepVerdict, found_words, step_verdicts
from conductor.errors import WorkflowError
from conductor.runs.state import RunState, RunStatus
from conductor.values.accepted import Accepted
from conductor.values.messages import Request
from conductor.values.output import HandEdit
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from tests.support.runs.worker_cases import played
from tests.support.runs.workflow_cases import workflow_of

HAND = HandEdit(at=5.0, by="Ada")
CHAIN = workflow_of((), (0,), (), (1, 2))
"""Steps 1 and 2 are a chain, 3 stands beside it, 4 reads 2 and 3."""


def repeater(wrong: str) -> SimulatedWorker:
    """A worker that repeats the responses it reads, or answers `wrong` if it reads no step."""

    def answer(request: Request) -> str:
        return " ".join(seen.response for seen in request.seen) or wrong

    return SimulatedWorker(name="alpha", tokens=3, answer=answer)


POOL = Pool(
    workers=(
        repeater("Lyon"),
        SimulatedWorker(name="beta", answer="Paris"),
        SimulatedWorker(name="echo", answer="Lyon"),
    )
)


def search(*replacements: Replacement, repeats: int = 1) -> StepSearch:
    return StepSearch(
        accepted=Accepted(target=("Paris",)), replacements=replacements, repeats=repeats, hand=HAND
    )


def tried(experiment: Experiment, workflow: Workflow = CHAIN) -> tuple[RunState, dict[int, RunState]]:
    """The run that is compared with, and the trials' ends."""

    async def all_of() -> tuple[RunState, dict[int, RunState]]:
        base = await played(workflow, POOL)
        outputs, ends = KnownOutputs.of(base), {}
        for at, trial in enumerate(trials_of(experiment, workflow)):
            ends[at] = await played(
                trial.workflow, POOL, outputs=outputs, scope=trial.scope, preloaded=base.outputs
            )
        return base, ends

    return asyncio.run(all_of())


def judge(experiment: StepSearch) -> tuple[StepVerdict, ...]:
    base, ends = tried(experiment)
    right = {at: "Paris" in (state.answer or "") for at, state in ends.items()}
    return step_verdicts(base, trials_of(experiment, CHAIN), ends, right)


def called(state: RunState) -> set[int]:
    return {at for at, step in enumerate(state.steps) if step.started_at is not None}


def test_only_what_follows_a_written_output_runs_again_and_it_is_marked_as_written_by_hand() -> None:
    base, ends = tried(search(Replacement(step=0, text="Paris"), Replacement(step=2, text="Paris")))
    assert base.answer == "Lyon Lyon"
    assert [called(end) for end in ends.values()] == [{1, 3}, {3}]
    assert [end.answer for end in ends.values()] == ["Paris Lyon", "Lyon Paris"]
    output = ends[0].steps[0].output
    assert output is not None
    assert (output.hand, ends[0].steps[0].kept_because, output.usage.total) == (HAND, "pinned", None)


def test_only_a_step_and_what_follows_it_are_asked_where_another_worker_does_it() -> None:
    _, ends = tried(search(Replacement(step=1, worker="beta"), Replacement(step=3, worker="beta")))
    assert [called(end) for end in ends.values()] == [{1, 3}, {3}]


def test_what_follows_is_shown_who_gave_an_output_that_stayed_the_same_and_the_verdict_states_it() -> None:
    experiment = search(Replacement(step=1, worker="echo"))
    assert called(tried(experiment)[1][0]) == {1, 3}
    (verdict,) = judge(experiment)
    assert verdict.words == "the answer is still wrong, with the output that it had"


def test_steps_with_which_the_answer_turns_right_come_first_the_earlier_before_the_later() -> None:
    verdicts = judge(
        search(
            Replacement(step=3, worker="beta"),
            Replacement(step=2, text="Nice"),
            Replacement(step=0, text="Paris"),
        )
    )
    assert [each.replacement and each.replacement.step for each in verdicts] == [0, 3, 2]
    assert [each.right for each in verdicts] == [1, 1, 0]
    assert found_words(verdicts) == (
        "A different output of any of the steps 1, 4 makes the answer right. Look first at step 1, the "
        "earliest. Each ran only once; repeats with a control separate cause from chance."
    )


def test_repeats_bring_a_control_that_calls_the_same_steps_and_separates_a_cause_from_chance() -> None:
    experiment = search(Replacement(step=1, text="Paris"), Replacement(step=1, worker="echo"), repeats=2)
    base, ends = tried(experiment)
    assert [called(end) for end in ends.values()] == [{3}, {3}, {1, 3}, {1, 3}, {1, 3}, {1, 3}]
    verdicts = judge(experiment)
    assert [each.words for each in verdicts] == [
        "the answer is right in all 2 runs, never in the control",
        "the answer is still wrong in all 2 runs, with the output that it had",
        "the answer is wrong in all 2 runs",
    ]
    assert found_words(verdicts) == "A different output of step 2 makes the answer right."
    by_itself = dict.fromkeys(range(6), True)
    varied = step_verdicts(base, trials_of(experiment, CHAIN), ends, by_itself)
    assert varied[0].words == "the answer is right in all 2 runs, no more often than by chance"
    assert found_words(varied).endswith("it is right in 2 of 2 runs as well: the answer varies on its own.")


def test_a_control_of_steps_that_do_not_follow_one_another_calls_every_step() -> None:
    experiment = search(Replacement(step=1, text="Paris"), Replacement(step=2, text="Paris"), repeats=2)
    assert called(tried(experiment)[1][5]) == {0, 1, 2, 3}


def test_where_nothing_turns_it_right_that_is_stated_with_what_may_be_the_reason() -> None:
    words = found_words(judge(search(Replacement(step=0, text="Nice"), Replacement(step=3, worker="echo"))))
    assert words.startswith("None of these outputs makes the answer right.")


def test_where_not_every_run_ended_nothing_is_concluded_from_the_others() -> None:
    experiment = search(Replacement(step=0, text="Nice"), Replacement(step=2, text="Paris"))
    base, ends = tried(experiment)
    verdicts = step_verdicts(base, trials_of(experiment, CHAIN), {0: ends[0]}, {0: False})
    assert found_words(verdicts).startswith("None of the outputs tried so far")


@pytest.mark.parametrize("status", ["cancelled", "interrupted", "over_budget"])
def test_a_trial_that_was_broken_off_states_nothing_of_its_step(status: RunStatus) -> None:
    experiment = search(Replacement(step=1, text="Paris"))
    base, ends = tried(experiment)
    broken = {0: replace(ends[0], status=status)}
    (verdict,) = verdicts = step_verdicts(base, trials_of(experiment, CHAIN), broken, {0: True})
    assert (verdict.right, verdict.broken) == (0, 1)
    assert verdict.words == "stopped early, no result"
    assert found_words(verdicts).startswith("No run finished, so there is no result.")


def test_an_answer_that_is_not_compared_yet_is_to_come_and_a_lost_one_is_not_right() -> None:
    experiment = search(Replacement(step=1, text="Paris"))
    base, ends = tried(experiment)
    trials: tuple[Trial, ...] = trials_of(experiment, CHAIN)
    (verdict,) = step_verdicts(base, trials, ends, {})
    assert (verdict.pending, verdict.words) == (1, "waiting for its answer")
    (lost,) = step_verdicts(base, trials, {0: replace(ends[0], status="failed", answer=None)}, {})
    assert lost.words == "1 run without an answer"


@pytest.mark.parametrize(
    ("replacement", "match"),
    [
        (Replacement(step=9, text="Paris"), "There is no step 10"),
        (Replacement(step=4, text="Paris"), "gives the answer itself"),
        (Replacement(step=3, text="Paris"), "The answer does not depend on step 4"),
        (Replacement(step=0, text=" \n"), "The text for step 1 is empty"),
        (Replacement(step=0, worker="alpha"), "Step 1 is alpha's already"),
    ],
)
def test_a_replacement_that_can_show_nothing_is_refused(replacement: Replacement, match: str) -> None:
    idle = workflow_of((), (0,), (), (), (1, 2))
    with pytest.raises(WorkflowError, match=match):
        trials_of(search(replacement), idle)


@pytest.mark.parametrize("both", [{}, {"worker": "beta", "text": "Paris"}])
def test_a_replacement_is_a_workers_or_a_text(both: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="by one of them"):
        Replacement(step=0, **both)  # type: ignore[arg-type]
