"""A step's address changes with everything that decides its answer, and with nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.values.conversation import Conversation, Turn
from conductor.values.messages import Sampling
from conductor.workers.protocol import WorkerCard
from conductor.workflow.fingerprint import fingerprint, written
from conductor.workflow.model import Step

STEP = Step(instruction="do", worker="alpha", access=(0,))
BASE: dict[str, Any] = {
    "step": STEP,
    "identity": "alpha",
    "query": "why?",
    "seen": ["said"],
    "final": False,
    "style": "steps-1",
}


def address(**changes: Any) -> str:
    arguments = {**BASE, **changes}
    return fingerprint(arguments.pop("step"), **arguments)


@pytest.mark.parametrize(
    "change",
    [
        {"step": STEP.model_copy(update={"instruction": "do it"})},
        {"step": STEP.model_copy(update={"sampling": Sampling(temperature=0.0)})},
        {"step": STEP.model_copy(update={"sampling": Sampling(max_tokens=9)})},
        {"identity": "beta"},
        {"query": "how?"},
        {"seen": ["Said"]},
        {"seen": ["said", ""]},
        {"seen": ["sa", "id"]},
        {"seen": []},
        {"final": True},
        {"style": "research"},
        {"previous": ["said"]},
        {"seen": [], "previous": ["said"]},
    ],
)
def test_what_decides_the_answer_changes_the_address(change: dict[str, Any]) -> None:
    assert address(**change) != address()


@pytest.mark.parametrize(
    "change",
    [
        {"step": STEP.model_copy(update={"access": (4,)})},
        {"step": STEP.model_copy(update={"worker": "renamed"})},
        {"step": STEP.model_copy(update={"sampling": Sampling()})},
    ],
)
def test_where_a_step_stands_does_not_change_its_address(change: dict[str, Any]) -> None:
    assert address(**change) == address()


def test_an_address_is_the_same_in_every_process() -> None:
    assert address() == "cba50ca7af86922a74b9f4f9cd93b161c6f54a2fdb16cdac211df2f0894aea3f"


def test_an_address_over_all_there_is_stays_as_it_was_in_stores_that_are_kept() -> None:
    everything = address(
        step=STEP.model_copy(update={"sampling": Sampling(temperature=0.5, max_tokens=9)}),
        query='wh"y\n\u00fc\ud800?',
        conversation=written(Conversation(instructions="be brief", turns=(Turn(role="user", text="hi"),))),
        seen=["a", "b"],
        by_hand=[1],
        previous=["c", "d"],
        final=True,
    )
    assert everything == "19b733690310636fb17498d25923dae40087d1c6e2249c1ef70243ecc4237ca9"


def test_text_that_is_no_valid_unicode_has_an_address_too() -> None:
    assert len(address(query="\ud800")) == 64


def test_a_changed_copy_of_a_card_has_an_identity_of_its_own() -> None:
    card = WorkerCard(name="alpha", kind="model", strengths="code", model="m")
    identity = card.identity
    assert card.model_copy(update={"strengths": "proofs"}).identity == identity
    for changed in ({"name": "beta"}, {"model": "n"}, {"kind": "offline"}, {"parameters": "p"}):
        assert card.model_copy(update=changed).identity != identity
