"""A collapsed Conductor learns from twenty corrections what training by itself would not find."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.learning.corrections.lessons import CorrectionSettings, Lesson
from conductor.learning.corrections.preference_training import learn_corrections
from conductor.learning.demonstration.exam import Exam
from conductor.learning.reward import Judge
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.card import CARD, read_card
from conductor.planner.local.local_conductor import LocalConductor
from conductor.planner.parsing.parse import parse
from conductor.workers.local_model import SHIPPED
from conductor.workers.pool.schema import LocalConductorTable
from conductor.workflow.model import Step, Workflow

NEEDED = 20
SECONDS = 30.0
"""Of the processor, which a busy machine does not lengthen."""

NAMES = orchard_pool().names
ONE_STEP = Workflow.of([Step(instruction="Answer the question.", worker="generalist")])


@pytest.fixture(scope="module")
def collapsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Conductor that hands every question whole to one worker, as trainings do that collapse."""
    folder = tmp_path_factory.mktemp("collapsed") / "conductor"
    whole = [Lesson(query=each.text, workers=NAMES, chosen=ONE_STEP) for each in draw(90, seed=97)]
    settings = CorrectionSettings(epochs=2, batch=20)
    learn_corrections(SHIPPED["orchard"], whole, out=folder, settings=settings, listen=lambda _: None)
    card = read_card(folder)
    (folder / CARD).write_text(card.model_copy(update={"results": {}}).model_dump_json(), encoding="utf-8")
    return folder


def _conductor(folder: Path) -> LocalConductor:
    return LocalConductor(LocalConductorTable(kind="local", model=str(folder)))


def _accuracy(folder: Path) -> float:
    exam = Exam.of(90, NAMES, seed=95)
    plans = [_conductor(folder).write(question.text, NAMES)[1].text for question in exam.questions]
    outcomes = asyncio.run(Judge(orchard_pool()).judge(plans, exam.items, exam.pools))
    return sum(outcome.right for outcome in outcomes) / len(outcomes)


def _edits(folder: Path) -> Iterator[Lesson]:
    """What a person makes of plans that do not take a question apart: the right plan."""
    conductor = _conductor(folder)
    for question in draw(90, seed=96):
        written = conductor.write(question.text, NAMES)[1].text
        planned = parse(written, workers=NAMES, form="names").workflow
        if planned is None or len(planned) < question.steps:
            yield Lesson(query=question.text, workers=NAMES, chosen=question.oracle, rejected=planned)


@pytest.mark.parametrize("preference", [0, 2])
def test_twenty_corrections_bring_twenty_points_in_seconds(collapsed: Path, tmp_path: Path, preference: int):
    edits = [edit for edit, _ in zip(_edits(collapsed), range(NEEDED), strict=False)]
    assert len(edits) == NEEDED
    before, lines, start = _accuracy(collapsed), list[str](), time.process_time()
    settings = CorrectionSettings(dpo_epochs=preference)
    out = tmp_path / "corrected"
    learnt = learn_corrections(collapsed, edits, out=out, settings=settings, listen=lines.append)
    spent, after = time.process_time() - start, _accuracy(out)
    print(f"{before:.3f} before, {after:.3f} after, {spent:.1f} s, {learnt}")
    assert after >= before + 0.2
    assert learnt.same[1] > learnt.same[0]
    assert learnt.valid[1] >= learnt.valid[0] - settings.drop
    assert spent < SECONDS
    assert len(lines) >= learnt.epochs + learnt.dpo_epochs
    assert read_card(out).results["corrections"] == json.loads(learnt.model_dump_json())
    assert read_card(collapsed).results.get("corrections") is None


def test_a_rate_that_destroys_the_form_is_stopped_and_the_epoch_before_is_kept(
    collapsed: Path, tmp_path: Path
):
    edits = list(_edits(collapsed))[:NEEDED]
    settings = CorrectionSettings(lr=5.0, epochs=4)
    out = tmp_path / "kept"
    learnt = learn_corrections(collapsed, edits, out=out, settings=settings, listen=lambda _: None)
    assert learnt.stopped
    assert learnt.epochs < settings.epochs
    assert learnt.valid[1] >= learnt.valid[0] - settings.drop
