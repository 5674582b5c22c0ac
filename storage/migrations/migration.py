"""What a step in the tables' history is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Statement = str | Mapping[str, str]
"""SQL that SQLite and PostgreSQL share, or SQL by the dialect's name ("sqlite", "postgresql"); a dialect
that is not named needs none.
"""

Migration = Sequence[Statement]


def spelled(migration: Migration, dialect: str) -> tuple[str, ...]:
    """The statements for a dialect, in order."""
    chosen = (own if isinstance(own, str) else own.get(dialect) for own in migration)
    return tuple(statement for statement in chosen if statement is not None)
