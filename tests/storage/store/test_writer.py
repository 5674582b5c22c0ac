"""What is committed together: no more than the limit, and in the order in which it came."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from threading import Event as Flag

from sqlalchemy import Connection, text

from storage import SessionStore
from storage.store.writer import MOST


def test_what_queued_up_is_committed_in_bounded_transactions_in_its_order(tmp_path: Path) -> None:
    with SessionStore.open(f"sqlite:///{tmp_path / 's.db'}") as store:
        transactions = store._transactions
        transactions.write(lambda connection: connection.execute(text("CREATE TABLE made (at INTEGER)")))
        entered, released = Flag(), Flag()

        def hold(_: Connection) -> None:
            entered.set()
            assert released.wait(60)

        def add(connection: Connection) -> int:
            """How many of these writes are in the same transaction or an earlier one."""
            connection.execute(text("INSERT INTO made VALUES (1)"))
            return int(connection.scalar(text("SELECT count(*) FROM made")) or 0)

        durable: list[int] = []

        def note(_: Future[int]) -> None:
            with transactions.reading() as connection:
                durable.append(int(connection.scalar(text("SELECT count(*) FROM made")) or 0))

        held = transactions.writer.submit(hold)
        assert entered.wait(60)
        writes = [transactions.writer.submit(add) for _ in range(2 * MOST + 1)]
        for write in writes:
            write.add_done_callback(note)
        released.set()
        held.result()
        assert [write.result() for write in writes] == list(range(1, 2 * MOST + 2))
    assert sorted(set(durable)) == [MOST, 2 * MOST, 2 * MOST + 1]
