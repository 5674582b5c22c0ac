"""Reflection accepts texts that help on questions which the reflector did not see, and refuses the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from conductor.baselines.named import planner_named
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import PlannerFile, differences
from conductor.errors import DataError, PlanError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.planner_learning.learning_folder import (
    LearningFolder,
    LearningSettings,
    LearningState,
    read_state,
)
from studio.evaluation.planner_learning.planner_learning import Halves, PlannerLearning
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.prompted_conductor import PromptedConductor

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

HELPS = json.dumps({"instruction": "Give a sum to sums.", "strengths": {"sums": "sums, always right"}})
HURTS = json.dumps({"instruction": "Answer by yourself.", "strengths": {}})
NO_JSON = "I would rather write a poem."


def planned(prompt: str, query: str) -> str:
    """Knows who can add once the prompt has it; without it every second sum goes to a worker that cannot."""
    if "Answer by yourself" in prompt:
        return "It is yes."
    if "sums, always right" in prompt:
        worker = int("Add" in query)
    else:
        worker = int("Add" in query and int(query.split()[1]) % 4 == 0)
    return plan_text((worker, "Answer it.", "[]"))


def right_on(*words: str) -> Callable[[Request], str]:
    def answer(request: Request) -> str:
        return "Answer: yes" if any(word in request.query for word in words) else "Answer: no"

    return answer


def question(at: int) -> str:
    """Of eight questions one is such that no worker is right on it."""
    if at % 8 == 7:
        return f"Which word is number {at} of a book?"
    return f"Is {at} the capital number of a land?" if at % 2 else f"Add {at} and one, is that a sum?"


DATA = DataSet("own", tuple(Item(id=f"q{at}", input=question(at), target=("yes",)) for at in range(48)))


@pytest.fixture
def reflector() -> SimulatedWorker:
    return SimulatedWorker("reflector", "reflects", answer=NO_JSON, tokens=5)


@pytest.fixture
def conductor() -> PromptedConductor:
    return PromptedConductor(planned)


@pytest.fixture
def bench(url: str, reflector: SimulatedWorker, conductor: PromptedConductor) -> Iterator[Workbench]:
    workers = (
        SimulatedWorker("facts", "facts", answer=right_on("capital"), tokens=5),
        SimulatedWorker("sums", "made-up", answer=right_on("Add"), tokens=5),
        reflector,
    )
    with SessionStore.open(url) as store:
        bench = Workbench.over(store, pool=Pool(workers=workers), conductor=conductor)
        yield bench
        bench.close()


def learning(bench: Workbench, folder: Path, budget: Budget | None = None, **more: Any) -> PlannerLearning:
    values: dict[str, Any] = {
        "method": "reflect", "use": "prompt", "planners": ("conductor",), "draws": 0, "reflections": 3,
        "reflector": "reflector",
    } | more  # fmt: skip
    settings = LearningSettings(data=DATA.name, digest=DATA.digest, **values)
    spec = EvaluationSpec(
        data="", digest="", planners=("conductor",), parallel=2, settings=Settings(budget=budget or Budget())
    )
    return PlannerLearning(bench, LearningFolder(folder, settings), DATA, spec, name="mine")


def state(folder: Path) -> LearningState:
    held = read_state(folder)
    assert held is not None
    return held


def test_what_helps_is_accepted_and_what_does_not_is_refused(
    bench: Workbench, reflector: SimulatedWorker, conductor: PromptedConductor, tmp_path: Path
) -> None:
    reflector.enqueue(HELPS, HURTS, NO_JSON, NO_JSON)
    notes: list[str] = []
    learnt = learning(bench, tmp_path).learn(note=notes.append)
    helps, hurts, unread = state(tmp_path).candidates
    assert (helps.accepted, hurts.accepted, unread.accepted) == (True, False, False)
    assert unread.outcome == "its answer cannot be used: it is no JSON object"
    assert [note.split(":")[0] for note in notes if note.startswith("reflection")] == [
        "reflection 1 of 3 is accepted", "reflection 2 of 3 is refused", "reflection 3 of 3 is refused",
    ]  # fmt: skip
    assert learnt.texts is not None
    assert learnt.texts.strengths == {"sums": "sums, always right"}
    assert learnt.card.reflection is not None
    assert learnt.card.reflection.startswith("3 reflections, 1 of them accepted. On 12 questions that no ")
    # On questions that no part of learning saw it plans right, as the Conductor alone does not.
    own, alone = learnt.card.exam[:2]
    words = sum("word" in item.question for item in examined(learnt))
    assert (own.right, own.answers) == (24 - words, 24)
    assert alone.right < own.right - 3
    assert any("sums, always right" in prompt for prompt in conductor.prompts[-10:])


def examined(learnt: PlannerFile) -> Sequence[Item]:
    return Halves.of(DATA, held_out=0.5, seed=learnt.card.seed).held_out.items


def test_the_reflector_sees_plans_verdicts_and_blame_of_its_half_alone(
    bench: Workbench, reflector: SimulatedWorker, tmp_path: Path
) -> None:
    reflector.enqueue(HELPS)
    learning(bench, tmp_path, reflections=1).learn()
    (request,) = (each for each in reflector.requests if "Conductor" in each.messages[0].content)
    text = request.messages[0].content
    assert "Right answer: yes" in text
    assert (
        "Step 1: facts, saw no earlier step.\n  Its instruction: Answer it.\n  It wrote: Answer: no" in text
    )
    assert "The answer 'no' is wrong." in text
    assert "A different output of step 1 makes the answer right." in text
    record = bench.store.evaluations.find(state(tmp_path).fit or "")
    items = bench.store.evaluations.items(record.id)
    unseen = record.spec.parts[f"planner:{tmp_path}/candidates/1.json"]
    (candidate,) = state(tmp_path).candidates
    unseen = tuple(at for at in unseen if at not in candidate.batch)
    assert len(unseen) == 12
    assert not any(items[at].question in text for at in unseen)
    assert bench.store.ledger.charged_for_evaluation(record.id)[0].calls > sum(
        cell.result.paid for cell in bench.store.evaluations.cells(record.id) if cell.result is not None
    )


def test_a_reflection_that_was_answered_is_not_made_again(
    bench: Workbench, reflector: SimulatedWorker, tmp_path: Path
) -> None:
    reflector.enqueue(HELPS, HURTS, NO_JSON, NO_JSON)
    stop = Flag()

    def stop_after(note: str) -> None:
        if note.startswith("reflection 1"):
            stop.set()

    with pytest.raises(DataError, match="Learning was stopped; the same command goes on in"):
        learning(bench, tmp_path).learn(note=stop_after, stop=stop)
    assert [each.accepted for each in state(tmp_path).candidates] == [True]
    learnt = learning(bench, tmp_path).learn()
    assert [each.accepted for each in state(tmp_path).candidates] == [True, False, False]
    assert learnt.texts is not None
    calls = len(reflector.requests)
    assert learning(bench, tmp_path).learn() == learnt
    assert len(reflector.requests) == calls


def test_the_budgets_end_leaves_what_was_best_so_far(
    bench: Workbench, reflector: SimulatedWorker, tmp_path: Path
) -> None:
    reflector.enqueue(HELPS)
    learning(bench, tmp_path / "whole", reflections=1).learn()
    record = bench.store.evaluations.find(state(tmp_path / "whole").fit or "")
    one_round = bench.store.ledger.charged_for_evaluation(record.id)[0].calls
    reflector.enqueue(HELPS, HURTS)
    budget = Budget(calls=round((one_round + 4) / 0.75))
    learnt = learning(bench, tmp_path / "part", budget, reflections=8).learn()
    assert learnt.card.stopped is not None
    assert learnt.card.calls <= (budget.calls or 0)
    assert learnt.texts is not None
    planner = planner_named(f"planner:{tmp_path / 'part' / 'planner.json'}", bench.pool, base=bench.conductor)
    assert isinstance(planner, FilePlanner)
    planner.check()


def test_texts_that_are_no_better_leave_the_conductors_own(
    bench: Workbench, reflector: SimulatedWorker, tmp_path: Path
) -> None:
    reflector.enqueue(json.dumps({"instruction": "Plan as ever.", "why": "It is good."}))
    learnt = learning(bench, tmp_path, reflections=1).learn()
    assert learnt.texts is None
    assert learnt.card.reflection is not None
    assert "+0.000" in learnt.card.reflection
    assert learnt.card.reflection.endswith("the Conductor's own stay.")


def test_a_conductor_without_a_prompt_and_a_reflector_without_a_model_are_refused_before_any_call(
    bench: Workbench, tmp_path: Path
) -> None:
    rules = Workbench.over(bench.store, pool=bench.pool, conductor=OfflineConductor())
    with pytest.raises(
        PlanError, match=r"reads no prompt: name a model under \[conductor\] in the pool file"
    ):
        learning(rules, tmp_path)
    with pytest.raises(DataError, match="leave --use nearest out"):
        learning(bench, tmp_path, use="nearest")
    rules.close()


def test_two_planners_differ_in_their_texts(
    bench: Workbench, reflector: SimulatedWorker, tmp_path: Path
) -> None:
    reflector.enqueue(HELPS)
    learnt: PlannerFile = learning(bench, tmp_path, reflections=1).learn()
    lines = differences(learnt.model_copy(update={"texts": None}), learnt)
    assert lines == (
        "instruction: the pool's and the prompt's own, then Give a sum to sums.",
        "strengths of sums: the pool's and the prompt's own, then sums, always right",
    )
