"""The authenticator over a real store: who is admitted, with what limits, and how others are refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conductor.runs.request import Asker
from conductor.values.budget import Budget
from conductor.values.messages import Usage
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.api_token import TokenLimits, new_secret
from studio.access.auth import OWN_KEY, Principal, TokenAuthenticator, own_key
from studio.access.errors import ApiError
from studio.sessions.notes import AUTHOR
from tests.support.runs.charges import took

HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"
MACHINE = new_secret().text


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
def auth(store: SessionStore, clock: Clock) -> TokenAuthenticator:
    return TokenAuthenticator(lambda: store.tokens, machine=lambda: MACHINE, clock=clock)


async def refusal(auth: TokenAuthenticator, bearer: str | None, client: str = HERE) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await auth.authenticate(bearer, client)
    return refused.value


@pytest.mark.slow
async def test_without_any_token_no_one_gets_in_but_with_this_machines(auth: TokenAuthenticator) -> None:
    assert (
        await auth.authenticate(MACHINE, HERE) == await auth.authenticate(MACHINE, ELSEWHERE) == Principal()
    )
    for client in (HERE, ELSEWHERE):
        error = await refusal(auth, None, client)
        assert (error.status, error.code) == (401, None)
        assert "This server needs a token" in str(error)
        assert (await refusal(auth, "whatever a client must send", client)).status == 401


@pytest.mark.slow
async def test_a_token_that_this_machine_does_not_have_is_none(store: SessionStore) -> None:
    auth = TokenAuthenticator(lambda: store.tokens, machine=lambda: None)
    assert (await refusal(auth, MACHINE)).status == 401
    assert (await refusal(auth, "None")).status == 401


@pytest.mark.slow
async def test_an_open_api_admits_this_machine_without_a_token_and_no_one_else(store: SessionStore) -> None:
    auth = TokenAuthenticator(lambda: store.tokens, machine=lambda: MACHINE, is_open=True)
    token, text = store.tokens.create("lab")
    assert await auth.authenticate(None, HERE) == await auth.authenticate("-", "::1") == Principal()
    assert (await auth.authenticate(text, HERE)).token == token.id
    for client in (ELSEWHERE, "::ffff:203.0.113.9", "localhost", None):
        assert (await refusal(auth, None, client)).status == 401  # type: ignore[arg-type]


@pytest.mark.slow
async def test_with_a_token_everybody_needs_one(auth: TokenAuthenticator, store: SessionStore) -> None:
    token, text = store.tokens.create("lab")
    for client in (HERE, ELSEWHERE):
        principal = await auth.authenticate(text, client)
        assert (principal.token, principal.workers, principal.budget) == (token.id, None, None)
        missing = await refusal(auth, None, client)
        assert (missing.status, missing.code) == (401, None)
        assert missing.headers == {"www-authenticate": "Bearer"}
    for wrong in ("sk-other", new_secret().text, text[:-1] + ("A" if text[-1] != "A" else "B")):
        error = await refusal(auth, wrong)
        assert (error.status, error.code) == (401, "invalid_api_key")
        assert wrong not in str(error)


async def test_revoking_the_last_token_opens_nothing(auth: TokenAuthenticator, store: SessionStore) -> None:
    token, text = store.tokens.create("lab")
    await auth.authenticate(text, HERE)
    store.tokens.revoke(token.id)
    error = await refusal(auth, text)
    assert error.status == 401
    assert "revoked" in str(error)
    assert (await refusal(auth, None)).status == 401


async def test_the_process_calls_its_own_api_with_its_own_key(
    auth: TokenAuthenticator, store: SessionStore
) -> None:
    store.tokens.create("lab")
    assert await auth.authenticate(OWN_KEY, HERE) == Principal()


async def test_tokens_a_minute_are_limited_by_what_was_used(
    auth: TokenAuthenticator, store: SessionStore
) -> None:
    _, text = store.tokens.create("lab", TokenLimits(tokens_per_minute=100))
    principal = await auth.authenticate(text, HERE)
    await auth.record_usage(principal, 150)
    error = await refusal(auth, text)
    assert (error.status, error.type) == (429, "tokens")


@pytest.mark.slow
async def test_a_request_may_use_what_is_left_of_the_budget(
    auth: TokenAuthenticator, store: SessionStore, clock: Clock
) -> None:
    _, text = store.tokens.create("lab", TokenLimits(tokens=1000, cost=2.0, period="day", workers=("alpha",)))
    principal = await auth.authenticate(text, HERE)
    assert (principal.workers, principal.budget) == (("alpha",), Budget(tokens=1000, cost=2.0))
    by = Asker(token=principal.token)
    store.ledger.add(took(Usage(prompt_tokens=600, completion_tokens=100, cost=0.5)), by=by)
    store.ledger.add(took(Usage()), by=by)  # nothing of it is known
    assert (await auth.authenticate(text, HERE)).budget == Budget(tokens=300, cost=1.5)
    store.ledger.add(took(Usage(prompt_tokens=300, completion_tokens=0, cost=0.0)), by=by)
    error = await refusal(auth, text)
    assert (error.status, error.code) == (429, "insufficient_quota")
    assert error.headers == {"x-should-retry": "false", "retry-after": str(12 * 3600)}
    clock.now += 12 * 3600
    assert (await auth.authenticate(text, HERE)).budget == Budget(tokens=1000, cost=2.0)


async def test_a_budget_in_total_never_comes_back(
    auth: TokenAuthenticator, store: SessionStore, clock: Clock
) -> None:
    token, text = store.tokens.create("lab", TokenLimits(cost=1.0))
    store.ledger.add(took(Usage(cost=1.25)), by=Asker(token=token.id))
    clock.now += 400 * 86400
    error = await refusal(auth, text)
    assert "retry-after" not in error.headers
    assert store.tokens.spent(token.id).unknown_tokens == 1


# -- what a principal may use ----------------------------------------------------------------------

ALPHA = SimulatedWorker(name="alpha").card


@pytest.mark.slow
async def test_an_earlier_request_goes_on_within_what_its_token_may_now_and_counts_no_request(
    auth: TokenAuthenticator, store: SessionStore
) -> None:
    limits = TokenLimits(workers=("alpha",), tokens=100, requests_per_minute=1)
    token, _ = store.tokens.create("one", limits)
    for _ in range(3):
        sender = await auth.sender(token.id)
        assert sender is not None
        assert (sender.token, sender.workers, sender.budget) == (token.id, ("alpha",), Budget(tokens=100))
    assert await auth.sender(None) == Principal()
    assert await auth.sender("gone") is None
    store.ledger.add(took(Usage(prompt_tokens=100, completion_tokens=0)), by=Asker(token=token.id))
    assert await auth.sender(token.id) is None
    other, _ = store.tokens.create("two")
    store.tokens.revoke(other.id)
    assert await auth.sender(other.id) is None


@pytest.mark.parametrize(
    ("workers", "nested", "allowed"),
    [
        (None, False, True),
        (None, True, True),
        (("alpha",), False, True),
        (("beta",), False, False),
        (("alpha", "beta"), True, False),
    ],
)
def test_a_nested_conductor_is_for_callers_who_may_use_every_worker(
    workers: tuple[str, ...] | None, nested: bool, allowed: bool
) -> None:
    card = ALPHA.model_copy(update={"nested": nested})
    assert Principal(workers=workers).may_use(card) is allowed


async def test_the_app_asks_for_the_person_who_uses_it_and_no_program_does(auth: TokenAuthenticator) -> None:
    mine = await auth.authenticate(own_key("ada@example.org"), HERE)
    assert (mine.token, mine.asker) == (None, Asker(person="ada@example.org"))
    with pytest.raises(ApiError):
        await auth.authenticate(f"{MACHINE}~eve@example.org", HERE)


def test_a_program_on_this_machine_asks_for_its_user_and_a_token_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Principal().asker == Asker()
    monkeypatch.setenv(AUTHOR, "Ada")
    assert Principal().asker == Asker(person="Ada")
    assert Principal(token="t").asker == Asker(token="t")
