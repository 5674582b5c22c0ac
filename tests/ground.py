"""What every test starts from: no settings from outside, an empty store to copy, a pool that calls no model.

A plugin of pytest's own, so that the process that only hands out the tests to others need not import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from conductor.workers.keys.services import HOSTED
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.database import database


class SharedDialect(SQLiteDialect_pysqlite):
    """SQLite's dialect, equal for all engines of a process, as their stores are set up alike."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """Each statement is compiled once for the stores of all tests, not once for each of their engines."""
    registry.register("sqlite.shared", "ground", "SharedDialect")
    create, compiled = database.create_engine, dict[Any, Any]()

    def create_shared(url: URL, **options: Any) -> Engine:
        if url.get_backend_name() == "sqlite":
            url = url.set(drivername="sqlite+shared")
            options["execution_options"] = {"compiled_cache": compiled}
        return create(url, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "create_engine", create_shared)
        yield


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with nothing in it, which tests copy instead of creating one."""
    file = tmp_path_factory.mktemp("empty") / "conductor.db"
    SessionStore.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="session", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is called over TLS, and each client would read all certificates of the machine, in 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_settings() -> Iterator[None]:
    """The caller's pool and database are not ours to read or write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CONDUCTOR_POOL", raising=False)
        patch.delenv("CONDUCTOR_DATABASE_URL", raising=False)
        patch.delenv("CONDUCTOR_KEY_HOSTS", raising=False)
        patch.delenv("CONDUCTOR_KEY_NAMES", raising=False)
        # No test looks for servers at the usual ports, where the caller's own may listen.
        patch.setenv("CONDUCTOR_LOCAL_PORTS", "")
        for service in HOSTED:
            patch.delenv(str(service.api_key_env), raising=False)
        yield


@pytest.fixture
def pool() -> Pool:
    """Three simulated workers that answer at once, each in its own words."""
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=6) for name in ("alpha", "beta", "gamma")))
