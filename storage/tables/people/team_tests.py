"""A team's tests as rows. A set is what has rows with its name, and has each question once.

Knows nothing of how answers are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from sqlalchemy import Connection, func, select

from conductor.errors import StorageError
from conductor.evaluation.team_tests import TeamTest
from conductor.text.json_text import portable
from storage.database.schema import TEAM_TESTS
from storage.tables.rows import Rows

_TESTS = Rows(TeamTest, TEAM_TESTS, "test", choose="one that `evaluate tests` lists")

find = _TESTS.find
named = _TESTS.named


def add(connection: Connection, now: float, test: TeamTest) -> TeamTest:
    """Store a test, kept `now`. Raises `StorageError` where its set has the question."""
    digest = _digest(test.question)
    same = (TEAM_TESTS.c.data_set == test.data_set, TEAM_TESTS.c.digest == digest)
    there = _TESTS.first(connection, *same)
    if there is not None:
        raise StorageError(
            f"The set {test.data_set!r} has this question already, as the test {there.id[:8]} with the "
            f"answer {there.accepted[:80]!r}. Delete that test, or choose another set."
        )
    connection.execute(TEAM_TESTS.insert(), {**dict(test), "digest": digest, "created_at": now})
    return find(connection, test.id)


def of_set(connection: Connection, data_set: str) -> tuple[TeamTest, ...]:
    """The set's tests, oldest first, or none if there is no such set."""
    return _TESTS.select(connection, TEAM_TESTS.c.data_set == data_set, by=TEAM_TESTS.c.created_at)


def of_question(connection: Connection, question: str) -> tuple[TeamTest, ...]:
    """The tests that ask this question, at most one of each set, oldest first."""
    return _TESTS.select(connection, TEAM_TESTS.c.digest == _digest(question), by=TEAM_TESTS.c.created_at)


def sets(connection: Connection) -> Mapping[str, int]:
    """How many tests each set has, by its name in alphabetical order."""
    name = TEAM_TESTS.c.data_set
    rows = connection.execute(select(name, func.count()).group_by(name).order_by(name))
    return {str(name): int(count) for name, count in rows}


def delete(connection: Connection, test: str) -> None:
    """Remove a test for good. Raises `UnknownId` when there is none."""
    find(connection, test)
    connection.execute(TEAM_TESTS.delete().where(TEAM_TESTS.c.id == test))


def _digest(question: str) -> str:
    return sha256(portable(question).strip().encode()).hexdigest()
