"""The log beside a SQLite store stays small, and a reader that takes long delays that, and no write."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import SessionStore
from storage.database import write_ahead_log

TEXT = "x" * 100_000
LARGEST = 10 * len(TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("linked", [False, True])
def test_a_large_log_is_emptied_as_soon_as_no_reader_uses_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    place = file.with_name("link.db") if linked else file
    if linked:
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(file)
    monkeypatch.setattr(write_ahead_log, "LARGEST", LARGEST)
    monkeypatch.setattr(write_ahead_log, "_STEP", LARGEST)
    monkeypatch.setattr(write_ahead_log, "_WAIT_MILLISECONDS", 50)
    log = Path(f"{file}-wal")

    def write(store: SessionStore, texts: int) -> list[int]:
        """The sizes of the log after each."""
        sizes = []
        for _ in range(texts):
            store.sessions.create(TEXT)
            sizes.append(log.stat().st_size)
        return sizes

    with SessionStore.open(f"sqlite:///{place}") as store:
        assert max(write(store, 40)) < 2 * LARGEST
        with store._transactions.reading() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM sessions").all()
            assert max(write(store, 40)) > 3 * LARGEST
        assert write(store, 40)[-1] < 2 * LARGEST
        assert store.sessions.count() == 120
