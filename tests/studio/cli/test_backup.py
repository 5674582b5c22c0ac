"""`backup` and `restore`: the whole store as one file, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage import SessionStore
from tests.studio.cli.command_line import Line

pytestmark = pytest.mark.slow

STORE = "sqlite:///data/conductor.db"


@pytest.mark.usefixtures("folder")
def test_a_store_goes_into_a_file_and_comes_back(line: Line) -> None:
    with SessionStore.open(STORE) as store:
        session = store.sessions.create("Why?").id
        done = line("backup", "copy.db")
        assert (done.code, done.out.endswith("copied to copy.db and checked.\n")) == (0, True)
        again = line("backup", "copy.db")
        assert (again.code, again.err) == (
            1,
            "conductor: copy.db exists and was not overwritten; name another file.\n",
        )
        store.sessions.delete(session)
        assert line("restore", "copy.db").code == 1
    shape = json.loads(line("restore", "copy.db", "--json").out)
    assert Path(shape["aside"]).exists()
    with SessionStore.open(STORE) as store:
        assert [each.id for each in store.sessions.listed()] == [session]
