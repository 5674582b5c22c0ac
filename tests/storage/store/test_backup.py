"""A copy of the whole store, made while others write, and put back in its place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from conductor.errors import StorageError
from storage import SessionStore
from storage.store.backup import back_up, restore
from tests.support.stores.session_files import exported
from tests.support.stores.session_history import lived

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'conductor.db'}"


def test_a_copy_made_during_writes_is_restored_as_the_store_was(url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with SessionStore.open(url) as store:
        session = lived(store, [("plan", 0, "a"), ("run", 1, "one"), ("note", 1, "n")])
        before = exported(store, session)
        over, count = Event(), 0

        def write() -> None:
            nonlocal count
            while not over.is_set():
                store.sessions.create(f"written meanwhile {count}")
                count += 1

        writer = Thread(target=write)
        writer.start()
        try:
            assert back_up(url, copy) == copy.stat().st_size > 0
        finally:
            over.set()
            writer.join(timeout=30)
        store.sessions.delete(session)
        with pytest.raises(StorageError, match="is open in another program"):
            restore(url, copy, now=0.0)
        assert store.sessions.count() == count
    assert copy.stat().st_mode & 0o777 == 0o600
    aside = restore(url, copy, now=0.0)
    assert aside == tmp_path / "conductor.db.before-19700101T000000"
    with SessionStore.open(url) as again:
        assert exported(again, session) == before
        assert again.sessions.count() <= count + 1
    with SessionStore.open(f"sqlite:///{aside}") as earlier:
        assert earlier.sessions.count() == count
    assert sorted(each.name for each in tmp_path.iterdir()) == ["conductor.db", aside.name, "copy.db"]


def test_a_copy_becomes_a_store_in_an_empty_place(url: str, tmp_path: Path) -> None:
    with SessionStore.open(url) as store:
        store.sessions.create("Why?")
    back_up(url, tmp_path / "copy.db")
    other = f"sqlite:///{tmp_path / 'new' / 'conductor.db'}"
    assert restore(other, tmp_path / "copy.db", now=0.0) is None
    with SessionStore.open(other) as store:
        assert [session.query for session in store.sessions.listed()] == ["Why?"]


def test_what_cannot_be_copied_or_restored_is_refused_and_changes_nothing(url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no store"):
        back_up(url, tmp_path / "copy.db")
    with SessionStore.open(url) as store:
        store.sessions.create("Why?")
    before = (tmp_path / "conductor.db").read_bytes()
    back_up(url, tmp_path / "copy.db")
    with pytest.raises(StorageError, match=r"copy\.db exists and was not overwritten"):
        back_up(url, tmp_path / "copy.db")
    (tmp_path / "text.db").write_text("no store at all " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE meta (id)")
    (tmp_path / "newer.db").write_bytes((tmp_path / "copy.db").read_bytes())
    with closing(sqlite3.connect(tmp_path / "newer.db", isolation_level=None)) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '999'")
        newer.execute("UPDATE meta SET value = '999' WHERE key = 'readable_from'")
    for name, reason in {
        "none.db": "There is no file",
        "text.db": "cannot be read as a store",
        "other.db": "is no store of this program",
        "newer.db": "of version 999",
    }.items():
        with pytest.raises(StorageError, match=reason):
            restore(url, tmp_path / name, now=0.0)
    assert (tmp_path / "conductor.db").read_bytes() == before
    names = {"conductor.db", "copy.db", "newer.db", "other.db", "text.db"}
    assert {each.name for each in tmp_path.iterdir()} == names


def test_for_a_server_its_own_programs_are_named_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    server = "postgresql://conductor:s3cret@db.example.org:5433/studio?sslmode=require"
    address = "postgresql://conductor@db.example.org:5433/studio"
    with pytest.raises(StorageError) as backup:
        back_up(server, tmp_path / "my copy")
    assert f"pg_dump --format=custom --file='{tmp_path}/my copy' --dbname={address}" in str(backup.value)
    with pytest.raises(StorageError) as back:
        restore(server, tmp_path / "copy", now=0.0)
    assert f"--single-transaction --dbname={address} {tmp_path}/copy" in str(back.value)
    assert "s3cret" not in f"{backup.value}{back.value}"
