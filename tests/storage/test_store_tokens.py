"""Tokens of the API in the store: made once, listed, used, revoked, and what they spent by the day."""

from __future__ import annotations

import pytest

from conductor.api.token import Spent, TokenLimits, is_secret_of, read_token
from conductor.errors import StorageError
from conductor.messages import Usage
from storage import SessionStore

LIMITS = TokenLimits(workers=("alpha",), tokens=5, cost=0.5, period="month", requests_per_minute=3)


def test_a_token_is_kept_with_its_limits_and_known_by_its_secret(store: SessionStore) -> None:
    assert not store.has_tokens()
    token, text = store.create_token("  the   lab ", LIMITS)
    assert store.has_tokens()
    assert store.tokens() == (token,)
    assert (token.name, token.limits, token.used_at, token.revoked_at) == ("the lab", LIMITS, None, None)
    id, secret = read_token(text) or ("", "")
    found = store.token_with_digest(id)
    assert found is not None
    assert found[0] == token
    assert is_secret_of(found[1], secret)
    assert store.token_with_digest("0123456789") is None


def test_those_in_force_are_listed_first_and_a_revoked_name_is_free_again(store: SessionStore) -> None:
    first, second = store.create_token("a")[0], store.create_token("b")[0]
    with pytest.raises(StorageError, match="There is a token 'a' already"):
        store.create_token("a")
    revoked = store.revoke_token(second.id)
    assert revoked.revoked_at is not None
    assert store.revoke_token(second.id) == revoked, "it says when it was revoked first"
    again = store.create_token("b")[0]
    assert [token.id for token in store.tokens()] == [again.id, first.id, second.id]
    for token in (first, again):
        store.revoke_token(token.id)
    assert not store.has_tokens()


@pytest.mark.parametrize("name", ["", " \n ", "x" * 61])
def test_a_token_needs_a_name_that_can_be_shown(store: SessionStore, name: str) -> None:
    with pytest.raises(StorageError, match="needs a name of 1 to 60 characters"):
        store.create_token(name)
    assert store.tokens() == ()


def test_an_unknown_token_is_said_to_be_unknown(store: SessionStore) -> None:
    for ask in (store.revoke_token, store.token_spent):
        with pytest.raises(StorageError, match="There is no token 'nobody'"):
            ask("nobody")


def test_what_requests_used_is_summed_and_what_is_unknown_is_counted(store: SessionStore) -> None:
    token, other = store.create_token("a")[0], store.create_token("b")[0]
    assert store.token_spent(token.id) == Spent()
    store.note_token_spent(token.id, Usage(prompt_tokens=10, completion_tokens=5, cost=0.25))
    store.note_token_spent(token.id, Usage(prompt_tokens=10, completion_tokens=None, cost=0.5))
    store.note_token_spent(token.id, Usage(prompt_tokens=1, completion_tokens=1))
    store.note_token_spent(other.id, Usage(prompt_tokens=1, completion_tokens=1))
    assert store.token_spent(token.id) == Spent(
        requests=3, tokens=17, cost=0.75, unknown_tokens=1, unknown_costs=1
    )


def test_when_a_token_was_used_is_kept_to_the_minute(store: SessionStore) -> None:
    token = store.create_token("a")[0]
    store.note_token_use(token)
    store.revoke_token(token.id)  # waits for what is queued before it
    used = store.tokens()[0]
    assert used.used_at is not None
    store.note_token_use(used)
    store.revoke_token(token.id)
    assert store.tokens()[0].used_at == used.used_at
