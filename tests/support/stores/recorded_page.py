"""README's run in one file: the recorded session's run, the same text each time.

`make screenshots DOCS=1` writes it into docs/; this file alone does, too:
PYTHONPATH=.:tests .venv/bin/python tests/recorded_page.py
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from storage import SessionStore
from studio.gallery import RECORDED, open_recorded
from studio.session_file import newest_run, run_page

FILE = Path(__file__).parents[1] / "docs" / "recorded-run.html"

_WRITTEN = 1_795_500_000.0
"""When the page states that it was written, in Unix seconds."""


def recorded_page() -> str:
    """The page; its ids are counted, and nothing in it depends on the present time."""
    ids = count(1)
    with (
        TemporaryDirectory() as folder,
        patch("studio.session_file.importing.new_id", lambda: f"{next(ids):032x}"),
        SessionStore.open(f"sqlite:///{Path(folder) / 'conductor.db'}") as store,
    ):
        session = open_recorded(store, RECORDED[0])
        page = run_page(store, newest_run(store, session.id), now=_WRITTEN).replace(session.id, "0" * 16)
    return re.sub(r'"updated_at":[\d.]+', f'"updated_at":{_WRITTEN}', page)


if __name__ == "__main__":
    FILE.write_text(recorded_page(), encoding="utf-8")
