"""What the tests leave out to be quick, each with why none of them can notice.

Knows what the program stands on: SQLite, SQLAlchemy, OpenSSL, argparse and uvicorn. Other processes than
pytest's know nothing of it.
"""

from __future__ import annotations

import asyncio
import gettext
import ssl
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn.server
from sqlalchemy import URL, Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from storage import database


def unplugged(patch: pytest.MonkeyPatch) -> None:
    """No store waits for the disk: that guards against a loss of power, which no test can bring about."""
    kept = database._WRITER_PRAGMAS
    hasty = tuple("synchronous=OFF" if pragma == "synchronous=NORMAL" else pragma for pragma in kept)
    assert hasty != kept
    patch.setattr(database, "_WRITER_PRAGMAS", hasty)


def spelled_once(patch: pytest.MonkeyPatch) -> None:
    """SQLAlchemy spells each statement once for all stores on SQLite, whose engines are set up alike.

    By itself it does so for every engine, and each test's store has two.
    """
    made, spelled = database.create_engine, dict[Any, Any]()

    def engine(url: URL, **how: Any) -> Engine:
        if url.get_backend_name() == "sqlite":
            how["execution_options"] = {"compiled_cache": spelled}
        return made(url, **how)

    patch.setattr(database, "create_engine", engine)
    patch.setattr(SQLiteDialect_pysqlite, "__eq__", lambda one, other: type(one) is type(other))
    patch.setattr(SQLiteDialect_pysqlite, "__hash__", lambda one: hash(type(one)))


def certified_once(patch: pytest.MonkeyPatch) -> None:
    """All HTTP clients share one set of certificate authorities; they speak to loopback, and without any.

    By itself each reads them from a file, which takes longer than most tests.
    """
    patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))


def untranslated(patch: pytest.MonkeyPatch) -> None:
    """The command line's own words are looked for in the reader's language once; no folder has them.

    By itself argparse looks through the file system for each of its words, with every command.
    """
    patch.setattr(gettext, "find", cache(gettext.find))


def stopped_at_once(patch: pytest.MonkeyPatch) -> None:
    """A server looks a hundred times a second, instead of ten, whether it is to stop."""

    async def shortly(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)

    patch.setattr(uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": shortly}))


SHORTCUTS = (unplugged, spelled_once, certified_once, untranslated, stopped_at_once)
