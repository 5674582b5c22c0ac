"""What judges of evaluations took under earlier versions is in the ledger, and their results are read."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from storage import SessionStore

GOLDEN = Path(__file__).parent / "golden"

REPORTED = {"prompt_tokens": 900, "completion_tokens": 11, "cost": 0.5}
UNKNOWN = dict.fromkeys(REPORTED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judging", "calls", "tokens", "at_least"),
    [
        ([], 0, None, False),
        ([REPORTED], 1, 911, False),
        ([REPORTED, UNKNOWN], 2, 911, True),
        ([REPORTED, REPORTED], 2, 1_822, False),
    ],
)
def test_requests_to_a_judge_before_the_ledger_count_for_their_evaluation(
    tmp_path: Path, judging: list[object], calls: int, tokens: int | None, *, at_least: bool
) -> None:
    file = tmp_path / "store.db"
    shutil.copyfile(GOLDEN / "version-18.db", file)
    with closing(sqlite3.connect(file)) as connection, connection:
        query = "SELECT evaluation, answered_in, result FROM evaluation_cells WHERE planner LIKE 'worker:%'"
        evaluation, session, text = connection.execute(query).fetchone()
        connection.execute(
            "UPDATE evaluation_cells SET result = ? WHERE answered_in = ?",
            (json.dumps({**json.loads(text), "judging": judging}), session),
        )
        connection.execute(
            "UPDATE evaluations SET spec = json_set(spec, '$.judge', json('{\"worker\":\"j\"}'))"
        )
    with SessionStore.open(f"sqlite:///{file}") as store:
        used = store.sessions.total(session)
        assert (used.calls, used.tokens, used.tokens_at_least) == (calls, tokens, at_least)
        charged, estimated = store.ledger.charged_for_evaluation(evaluation)
        assert (charged.calls >= calls, estimated >= at_least) == (True, True)
        cells = store.evaluations.cells(evaluation)
        assert all(cell.result is not None for cell in cells), "their results have a sum that is left out"
