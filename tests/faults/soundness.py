"""Whether a store's file is sound by itself: its pages, its references, and what sessions are found by."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.faults.ledger import Ledger

_AMISS = {
    "pages": "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "references": "SELECT * FROM pragma_foreign_key_check",
    "texts that are not found": "SELECT * FROM said EXCEPT SELECT session, kind, text FROM texts",
    "texts that were never written": "SELECT session, kind, text FROM texts EXCEPT SELECT * FROM said",
}


def check_soundness(file: Path, ledger: Ledger) -> None:
    """Look into a closed file, as a kill left it; its view of texts is what `texts` is to hold."""
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        for what, query in _AMISS.items() if tables else ():
            amiss = connection.execute(query).fetchall()
            ledger.require(not amiss, f"{file.name} is not sound: {what}: {amiss[:3]}")
