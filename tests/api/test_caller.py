"""Whose workers are whose."""

from __future__ import annotations

import pytest

from conductor.api.caller import Caller
from conductor.workers.simulated import SimulatedWorker

ALPHA = SimulatedWorker(name="alpha").card


@pytest.mark.parametrize(
    ("workers", "nested", "theirs"),
    [
        (None, False, True),
        (None, True, True),
        (("alpha",), False, True),
        (("beta",), False, False),
        (("alpha", "beta"), True, False),
    ],
)
def test_a_conductor_as_a_worker_is_for_those_who_may_have_every_worker(
    workers: tuple[str, ...] | None, nested: bool, theirs: bool
) -> None:
    card = ALPHA.model_copy(update={"nested": nested})
    assert Caller(workers=workers).may_have(card) is theirs
