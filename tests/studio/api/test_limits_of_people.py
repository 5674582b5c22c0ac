"""Programs without a token, which ask for a person: the limits of that person are theirs."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from conductor.runs.request import Asker
from conductor.values.messages import Usage
from conductor.workers.simulated import SimulatedWorker
from storage.limits import Limits
from studio.access.auth import Principal
from studio.sessions.notes import AUTHOR
from tests.studio.api.stage import Stage
from tests.support.runs.charges import took

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("limits", "answer"),
    [
        (Limits(tokens=100, period="day"), ("insufficient_quota", "insufficient_quota", "false")),
        (Limits(requests_per_minute=1), ("rate_limit_exceeded", "requests", None)),
    ],
)
def test_a_request_beyond_the_limits_of_a_person_is_answered_with_429(
    stage: Stage,
    client: OpenAI,
    monkeypatch: pytest.MonkeyPatch,
    limits: Limits,
    answer: tuple[str, str, str | None],
) -> None:
    person, store = f"Ada {answer[0]}", stage.workbench.store
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    store.people.set_limits(person, limits)
    store.people.take(Asker(person=person), limits)
    store.ledger.add(took(Usage(prompt_tokens=90, completion_tokens=30)), by=Asker(person=person))
    monkeypatch.setenv(AUTHOR, person)
    before, asking = store.sessions.count(), {"model": "worker:alpha", "input": "Why?"}
    with pytest.raises(openai.RateLimitError) as refused:
        client.responses.create(**asking)  # type: ignore[call-overload]
    error, headers = refused.value, refused.value.response.headers
    assert (error.code, error.type, headers.get("x-should-retry")) == answer
    assert int(headers["retry-after"]) > 0
    assert person in error.message
    assert store.sessions.count() == before
    stage.auth.principal = Principal(token=store.tokens.create(person)[0].id)
    answered: Any = client.responses.create(**asking)  # type: ignore[call-overload]
    assert answered.output_text == "So.", "a token has limits of its own"
