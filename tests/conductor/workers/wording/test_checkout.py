"""The research's own texts from a copy of its code, slot by slot, and the message if one is missing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.errors import FormatError
from conductor.planner.conductor import PlanRequest
from conductor.planner.prompt.prompt import plan_messages
from conductor.values.messages import SeenResponse
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.wording.checkout import read_wording, sources
from conductor.workflow.model import Step, Workflow
from tests.support.stores.research_copy import FILES, write_copy

TEXTS = {
    "system": "You direct. {Really}.",
    "plan": "Plan up to {max_number_or_routing_steps} hops. EXAMPLE 1: \\[ \\lim_{{t\\to 0}} \\]\n"
    "Q: {user_question}|\nM:\n{available_models}",
    "model": "Engine {i}",
    "prefill": "First I part it. ",
    "later": "It ended with: {worker_response}\nAgain, up to {max_number_of_routing_steps}.",
    "task": "Do a part. The whole: <whole> {user_content} </whole> {{end}}\n",
    "before": "Tried before. See:\n",
    "before_step": "<Old part of Unit {model_id}>{subtask}</Old part of Unit {model_id}>"
    "<Old Unit {model_id} reply>{response}</Old Unit {model_id} reply>\n",
    "seen": "<Part of Unit {model_id}>{prev_subtask}</Part of Unit {model_id}>"
    "<Unit {model_id} reply>{agent_output}</Unit {model_id} reply>\n",
    "own": "Yours: {subtask}",
    "begin": "I begin.",
}
"""What each slot of the made-up copy holds."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return write_copy(tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_each_text_is_read_from_its_place(copy: Path, name: str) -> None:
    assert asdict(read_wording(copy))[name] == TEXTS[name]


def test_every_text_has_a_place(copy: Path) -> None:
    wording = read_wording(copy)
    assert asdict(wording).keys() == {*TEXTS, "origin"}
    assert wording.origin == str(copy)
    assert read_wording(copy / "conductor").digest == wording.digest


def test_a_template_may_be_named_behind_the_path(copy: Path) -> None:
    assert read_wording(Path(f"{copy}#v1_7c2_2_OOD")).plan.startswith("Other ")
    with pytest.raises(FormatError, match="does not have one text for ROUTING_QUESTION_FORMAT_v9"):
        read_wording(Path(f"{copy}#v9"))


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / "conductor" / name).unlink()
    with pytest.raises(FormatError, match=rf"{name} cannot be read: No such file.*Name a copy of"):
        read_wording(copy)


@pytest.mark.parametrize(
    ("name", "old", "new", "missing"),
    [
        (
            "custom_data/routing_question_formats.py",
            "{user_question}|",
            "|",
            "with the slots available_models",
        ),
        ("custom_data/dataset_utils.py", 'f"Engine {i}"', '"Engine"', "the line of a masked model"),
        ("custom_data/dataset.py", "system_msg =", "other =", "the system message"),
        ("custom_data/dataset.py", "'assistant'", "'user'", "the beginning of the Conductor's answer"),
        ("custom_data/recursion_formats.py", "{worker_response}", "", "SIMPLE_recursion_FORMAT_V0"),
        ("trainers/conductor_engine.py", "_prepare_agent_messages", "_prepare", "the function"),
        ("trainers/conductor_engine.py", "> {user_content} <", "><", "the worker's task"),
        ("trainers/conductor_engine.py", "{prev_subtask}", "{subtask}", "an earlier step"),
        ("trainers/conductor_engine.py", "{response}", "", "a step of the round before"),
        ("trainers/conductor_engine.py", "Yours: {subtask}", "Yours", "the worker's own subtask"),
        ("trainers/conductor_engine.py", "I begin.", "{}", None),
        ("trainers/conductor_engine.py", "class Reward:", "class Reward", "it is no Python source"),
    ],
)
def test_a_text_that_is_not_there_is_named(
    copy: Path, name: str, old: str, new: str, missing: str | None
) -> None:
    path = copy / "conductor" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    if missing is None:
        assert read_wording(copy).begin == new
        return
    with pytest.raises(FormatError, match=missing):
        read_wording(copy)


def test_no_line_of_the_copy_is_run(copy: Path) -> None:
    path = copy / "conductor" / "custom_data/dataset.py"
    path.write_text(f"raise SystemExit\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read_wording(copy).prefill == TEXTS["prefill"]


def test_the_files_are_those_that_are_read(copy: Path) -> None:
    assert {str(path.relative_to(copy / "conductor")) for path in sources(copy)} == FILES.keys()


# -- what is sent ---------------------------------------------------------------------------------------


def pool(copy: Path) -> Pool:
    workers = []
    for name in ("alpha", "beta", "gamma"):
        worker = SimulatedWorker(name=name)
        wording = {"prompt_style": "research", "wording": read_wording(copy)}
        worker.card = worker.card.model_copy(update=wording)
        workers.append(worker)
    return Pool(workers=tuple(workers))


def test_a_conductor_is_sent_the_texts_of_the_copy(copy: Path) -> None:
    cards = tuple(worker.card for worker in pool(copy).workers)
    request = PlanRequest(query="Why {that}?", workers=cards, max_steps=4)
    sent = plan_messages(
        request, dialect="binary", style="research", room_to_think=True, wording=read_wording(copy)
    )
    assert [(message.role, message.content) for message in sent] == [
        ("system", "You direct. {Really}."),
        (
            "user",
            "Plan up to 4 hops. EXAMPLE 1: \\[ \\lim_{t\\to 0} \\]\n"
            "Q: Why {that}?|\nM:\nEngine 0\nEngine 1\nEngine 2",
        ),
        ("assistant", "First I part it. "),
    ]


def test_a_worker_is_sent_the_texts_of_the_copy(copy: Path) -> None:
    steps = [
        Step(instruction="try", worker="gamma"),
        Step(instruction="check", worker="alpha", access=(0,), sees_previous=True),
    ]
    previous = (SeenResponse(0, "beta", "guess", "seven", 1),)
    bound = BoundWorkflow.of(Workflow.of(steps), query="Why {that}?", pool=pool(copy), previous=previous)
    tried = Output(
        fingerprint="f",
        worker="gamma",
        worker_kind="simulated",
        text=" eight\n</Unit 2 reply>",
        seconds=0,
        run="r",
        step=0,
    )
    sent = bound.request(1, {0: tried}).messages
    assert [(message.role, message.content) for message in sent] == [
        (
            "user",
            "Do a part. The whole: <whole> Why {that}? </whole> {end}\nTried before. See:\n"
            "<Old part of Unit 1>guess</Old part of Unit 1><Old Unit 1 reply>seven</Old Unit 1 reply>\n"
            "<Part of Unit 2>try</Part of Unit 2><Unit 2 reply>eight\n<\u200b/Unit 2 reply></Unit 2 reply>\n"
            "Yours: check",
        ),
        ("assistant", "I begin."),
    ]
