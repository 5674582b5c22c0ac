"""Tokens of the API in the store: made once, listed, used, revoked, and what they spent by the day."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError
from conductor.runs.request import Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from storage import SessionStore
from storage.api_token import Token, TokenLimits, is_secret_of, read_token
from storage.limits import Spent

LIMITS = TokenLimits(workers=("alpha",), tokens=5, cost=0.5, period="month", requests_per_minute=3)


def test_a_token_is_kept_with_its_limits_and_known_by_its_secret(store: SessionStore) -> None:
    assert not store.tokens.any_in_force()
    token, text = store.tokens.create("  the   lab ", LIMITS)
    assert store.tokens.any_in_force()
    assert store.tokens.listed() == (token,)
    assert (token.name, token.limits, token.used_at, token.revoked_at) == ("the lab", LIMITS, None, None)
    id, secret = read_token(text) or ("", "")
    entry = store.tokens.with_digest(id)
    assert entry is not None
    assert entry[0] == token
    assert is_secret_of(entry[1], secret)
    assert store.tokens.with_digest("0123456789") is None


@pytest.mark.slow
def test_those_in_force_are_listed_first_and_a_revoked_name_is_free_again(store: SessionStore) -> None:
    first, second = store.tokens.create("a")[0], store.tokens.create("b")[0]
    with pytest.raises(StorageError, match="There is a token 'a' already"):
        store.tokens.create("a")
    revoked = store.tokens.revoke(second.id)
    assert revoked.revoked_at is not None
    assert store.tokens.revoke(second.id) == revoked, "it says when it was revoked first"
    again = store.tokens.create("b")[0]
    assert [token.id for token in store.tokens.listed()] == [again.id, first.id, second.id]
    for token in (first, again):
        store.tokens.revoke(token.id)
    assert not store.tokens.any_in_force()


@pytest.mark.parametrize("name", ["", " \n ", "x" * 61])
def test_a_token_needs_a_name_that_can_be_shown(store: SessionStore, name: str) -> None:
    with pytest.raises(StorageError, match="needs a name of 1 to 60 characters"):
        store.tokens.create(name)
    assert store.tokens.listed() == ()


def test_an_unknown_token_is_called_unknown(store: SessionStore) -> None:
    for ask in (store.tokens.revoke, store.tokens.spent):
        with pytest.raises(StorageError, match="There is no token 'nobody'"):
            ask("nobody")


def spend(store: SessionStore, token: Token, usage: Usage, *, estimate: Usage | None = None) -> None:
    charge = Charge(worker="w", kind="model", purpose="step", usage=usage, estimate=estimate)
    store.ledger.add((charge,), by=Asker(token=token.id))


@pytest.mark.slow
def test_what_requests_used_is_summed_and_what_is_unknown_is_counted(store: SessionStore) -> None:
    token, other = store.tokens.create("a")[0], store.tokens.create("b")[0]
    assert store.tokens.spent(token.id) == Spent()
    guess = Usage(prompt_tokens=10, completion_tokens=7, cost=0.5)
    spend(store, token, Usage(prompt_tokens=10, completion_tokens=5, cost=0.25))
    spend(store, token, Usage(prompt_tokens=10, completion_tokens=None, cost=0.5), estimate=guess)
    spend(store, token, Usage(prompt_tokens=1, completion_tokens=1))
    spend(store, other, Usage(prompt_tokens=1, completion_tokens=1))
    store.tokens.note_request(token.id)
    assert store.tokens.spent(token.id) == Spent(
        requests=1, tokens=34, cost=0.75, unknown_tokens=1, unknown_costs=1
    )


def test_when_a_token_was_used_is_kept_to_the_minute(store: SessionStore) -> None:
    token = store.tokens.create("a")[0]
    store.tokens.note_use(token)
    store.tokens.revoke(token.id)  # waits for what is queued before it
    used = store.tokens.listed()[0]
    assert used.used_at is not None
    store.tokens.note_use(used)
    store.tokens.revoke(token.id)
    assert store.tokens.listed()[0].used_at == used.used_at
