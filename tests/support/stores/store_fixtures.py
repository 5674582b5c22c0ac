"""A real store in a database of its own, with a clock that ticks once a look.

Tests of the store itself run on SQLite and on PostgreSQL. A test that looks into the store's file asks for
`file`, and runs on SQLite alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import SessionStore
from tests.support.stores.postgres_server import PostgresServer, serving
from tests.support.stores.store_scenario import ticking

STANDING_ON_THE_STORE = (
    "test_alternatives",
    "test_composition",
    "test_experiments",
    "test_folded_runs",
    "test_runner",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both kinds of databases for tests of the store; what stands on it is tried on one."""
    if "kind" in metafunc.fixturenames:
        stands_on_it = metafunc.module.__name__ in STANDING_ON_THE_STORE
        both = not stands_on_it and "file" not in metafunc.fixturenames
        metafunc.parametrize("kind", ["sqlite", "postgresql"] if both else ["sqlite"])


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL server."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def empty_database(postgres: PostgresServer) -> str:
    """The name of a store with nothing in it, for one test after another."""
    name = postgres.database()
    SessionStore.open(postgres.url(name)).close()
    return name


@pytest.fixture
def emptied(postgres: PostgresServer, empty_database: str) -> Iterator[str]:
    """The URL of a store with nothing in it."""
    yield postgres.url(empty_database)
    postgres.empty(empty_database)


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a database with nothing in it, not even tables."""
    name = postgres.database()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the SQLite store is; nothing is there yet, not even the folder."""
    return tmp_path / "data" / "conductor.db"


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, empty_store: Path) -> str:
    """The URL of a store that is still to be made, unless the test has one open or stands on one."""
    if kind == "postgresql":
        return str(request.getfixturevalue("emptied" if "store" in request.fixturenames else "database"))
    if request.module.__name__ in STANDING_ON_THE_STORE:
        file: Path = request.getfixturevalue("file")
        file.parent.mkdir()
        shutil.copyfile(empty_store, file)
    return f"sqlite:///{request.getfixturevalue('file')}"


@pytest.fixture
def store(url: str, kind: str, request: pytest.FixtureRequest, empty_store: Path) -> Iterator[SessionStore]:
    """An open store with nothing in it."""
    if kind == "sqlite":
        file: Path = request.getfixturevalue("file")
        file.parent.mkdir()
        shutil.copyfile(empty_store, file)
    with SessionStore.open(url, clock=ticking().__next__) as store:
        yield store


@pytest.fixture
def session(store: SessionStore) -> str:
    """The id of a session with nothing in it but its question."""
    return store.sessions.create("q").id
