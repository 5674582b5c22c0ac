"""The gate over a real store: who gets in, with what limits, and what the others are told."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conductor.api.caller import Caller
from conductor.api.errors import ApiError
from conductor.api.gate import OWN_KEY, TokenGate
from conductor.api.token import TokenLimits, new_secret
from conductor.budget import Budget
from conductor.messages import Usage
from storage import SessionStore

HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"


class Clock:
    """The store's clock and the gate's, set by hand."""

    now = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(empty_store: Path, tmp_path: Path, clock: Clock) -> Iterator[SessionStore]:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with SessionStore.open(f"sqlite:///{tmp_path}/conductor.db", clock=clock) as store:
        yield store


@pytest.fixture
def gate(store: SessionStore, clock: Clock) -> TokenGate:
    return TokenGate(lambda: store, hosts=(), clock=clock)


def sent(bearer: str | None = None, **headers: str) -> dict[str, str]:
    """The headers of a program that asks this machine."""
    given = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
    return {"host": "localhost:8501", **given, **headers}


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def refusal(gate: TokenGate, headers: dict[str, str], client: str = HERE) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await gate.admit(headers, client)
    return refused.value


async def test_without_any_token_this_machine_alone_gets_in(gate: TokenGate) -> None:
    assert await gate.admit(sent(), HERE) == Caller()
    assert await gate.admit(sent("whatever a client must send"), HERE) == Caller()
    error = await refusal(gate, sent(), ELSEWHERE)
    assert (error.status, error.code) == (403, "loopback_only")
    assert "answers its own machine only" in str(error)
    assert (await refusal(gate, sent(**{"x-forwarded-for": ELSEWHERE}))).code == "loopback_only"


async def test_with_a_token_everybody_needs_one(gate: TokenGate, store: SessionStore) -> None:
    token, text = store.create_token("lab")
    for client in (HERE, ELSEWHERE):
        caller = await gate.admit(sent(text), client)
        assert (caller.token, caller.workers, caller.budget) == (token.id, None, None)
        missing = await refusal(gate, sent(), client)
        assert (missing.status, missing.code) == (401, None)
        assert missing.headers == {"www-authenticate": "Bearer"}
    for wrong in ("sk-other", new_secret().text, text[:-1] + ("A" if text[-1] != "A" else "B")):
        error = await refusal(gate, sent(wrong))
        assert (error.status, error.code) == (401, "invalid_api_key")
        assert wrong not in str(error)
    assert (await refusal(gate, {"host": "localhost", "authorization": f"Basic {text}"})).status == 401


async def test_a_token_that_was_revoked_lets_nobody_in_even_where_none_is_needed(
    gate: TokenGate, store: SessionStore
) -> None:
    token, text = store.create_token("lab")
    await gate.admit(sent(text), HERE)
    store.revoke_token(token.id)
    error = await refusal(gate, sent(text))
    assert error.status == 401
    assert "revoked" in str(error)
    assert await gate.admit(sent(), HERE) == Caller()


async def test_pages_of_other_sites_do_not_get_in_even_with_a_token(
    gate: TokenGate, store: SessionStore
) -> None:
    _, text = store.create_token("lab")
    for headers in ({"origin": "https://evil.example.org"}, {"host": "evil.example.org"}):
        assert (await refusal(gate, sent(text, **headers))).status == 403


async def test_the_process_calls_its_own_api_with_its_own_key(gate: TokenGate, store: SessionStore) -> None:
    store.create_token("lab")
    assert await gate.admit(sent(OWN_KEY), HERE) == Caller()


async def test_requests_a_minute_are_limited(gate: TokenGate, store: SessionStore) -> None:
    _, text = store.create_token("lab", TokenLimits(requests_per_minute=2))
    assert (await gate.admit(sent(text), HERE)).headers["x-ratelimit-remaining-requests"] == "1"
    await gate.admit(sent(text), HERE)
    error = await refusal(gate, sent(text))
    assert (error.status, error.type, error.code) == (429, "requests", "rate_limit_exceeded")
    assert error.headers["retry-after"] == "30"
    assert error.headers["x-ratelimit-remaining-requests"] == "0"


async def test_tokens_a_minute_are_limited_by_what_was_used(gate: TokenGate, store: SessionStore) -> None:
    _, text = store.create_token("lab", TokenLimits(tokens_per_minute=100))
    caller = await gate.admit(sent(text), HERE)
    await gate.spent(caller, Usage(prompt_tokens=100, completion_tokens=50))
    error = await refusal(gate, sent(text))
    assert (error.status, error.type) == (429, "tokens")


async def test_a_request_may_use_what_is_left_of_the_budget(
    gate: TokenGate, store: SessionStore, clock: Clock
) -> None:
    _, text = store.create_token("lab", TokenLimits(tokens=1000, cost=2.0, period="day", workers=("alpha",)))
    caller = await gate.admit(sent(text), HERE)
    assert (caller.workers, caller.budget) == (("alpha",), Budget(tokens=1000, cost=2.0))
    await gate.spent(caller, Usage(prompt_tokens=600, completion_tokens=100, cost=0.5))
    await gate.spent(caller, Usage())  # of which nothing is known
    assert (await gate.admit(sent(text), HERE)).budget == Budget(tokens=300, cost=1.5)
    await gate.spent(caller, Usage(prompt_tokens=300, completion_tokens=0, cost=0.0))
    error = await refusal(gate, sent(text))
    assert (error.status, error.code) == (429, "insufficient_quota")
    assert error.headers == {"x-should-retry": "false", "retry-after": str(12 * 3600)}
    clock.now += 12 * 3600
    assert (await gate.admit(sent(text), HERE)).budget == Budget(tokens=1000, cost=2.0)


async def test_a_budget_in_total_never_comes_back(gate: TokenGate, store: SessionStore, clock: Clock) -> None:
    token, text = store.create_token("lab", TokenLimits(cost=1.0))
    await gate.spent(await gate.admit(sent(text), HERE), Usage(cost=1.25))
    clock.now += 400 * 86400
    error = await refusal(gate, sent(text))
    assert "retry-after" not in error.headers
    assert store.token_spent(token.id).unknown_tokens == 1


async def test_nothing_of_a_token_is_kept_logged_or_repeated(
    gate: TokenGate, store: SessionStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token, text = store.create_token("lab", TokenLimits(requests_per_minute=1, tokens=1))
    caller = await gate.admit(sent(text), HERE)
    await gate.spent(caller, Usage(prompt_tokens=1, completion_tokens=1))
    errors = [await refusal(gate, sent(text))]
    store.revoke_token(token.id)
    errors += [await refusal(gate, sent(text)), await refusal(gate, sent(text), ELSEWHERE)]
    said = [repr(caller), repr(store.tokens()), caplog.text, *(repr((e.shape, e.headers)) for e in errors)]
    store.close()
    kept = everything_in(tmp_path)
    assert token.id.encode() in kept
    secret = text.rpartition(f"{token.id}_")[2]
    assert secret.encode() not in kept
    assert not [each for each in said if secret in each or OWN_KEY in each]
