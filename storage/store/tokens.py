"""The store's methods for bearer tokens of the API."""

from __future__ import annotations

from conductor.values.messages import Usage
from storage.api_token import Spent, Token, TokenLimits, new_secret
from storage.store.transactions import Part
from storage.tables import tokens

USE_SECONDS = 60.0
"""How exactly it is kept when a token was last used: a busy one is not written with every request."""


class Tokens(Part):
    """Tokens, their limits and what they have spent; of their secrets only digests are kept."""

    def create(self, name: str, limits: TokenLimits | None = None) -> tuple[Token, str]:
        """A new token, and its text, which is kept nowhere: who loses it makes another token.

        Raises `StorageError` for a name that another token has which is not revoked.
        """
        secret = new_secret()
        token = self._write(
            tokens.add,
            name,
            id=secret.id,
            digest=secret.digest,
            limits=limits or TokenLimits(),
            now=self._clock(),
        )
        return token, secret.text

    def listed(self) -> tuple[Token, ...]:
        """All tokens, the newest first, those that were revoked last."""
        return self._remember(tokens.listed)

    def any_in_force(self) -> bool:
        """Whether there is a token that was not revoked."""
        return self._remember(tokens.any_in_force)

    def with_digest(self, id: str) -> tuple[Token, str] | None:
        """The token of that id, also one that was revoked, and the digest of its secret; None without one."""
        return self._read(tokens.with_digest, id)

    def revoke(self, id: str) -> Token:
        """Have no request come in with it any more; nothing happens where it was revoked before."""
        return self._write(tokens.revoke, id, now=self._clock())

    def spent(self, id: str) -> Spent:
        """What its requests have used in the period of its budget that is now."""
        return self._read(tokens.spent, id, now=self._clock())

    def note_use(self, token: Token) -> None:
        """Keep that a request came with it, to the minute; it is not waited for."""
        now = self._clock()
        if token.used_at is None or not 0 <= now - token.used_at < USE_SECONDS:
            self._transactions.writer.submit(
                lambda connection: tokens.note_use(connection, token.id, now=now)
            )

    def note_spent(self, id: str, usage: Usage) -> None:
        """Keep what a request of it has used."""
        self._write(tokens.note_spent, id, usage, now=self._clock())
