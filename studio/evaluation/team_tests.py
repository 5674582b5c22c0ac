"""Keeping a session's question as a test of the team: what may be kept, and as what.

Knows the store and the scorers; knows no page and no command.
"""

from __future__ import annotations

import asyncio
import re

from conductor.errors import DataError
from conductor.evaluation.scorers.accepted_answer import check_accepted
from conductor.evaluation.sets.named_set import named_set
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.team_tests import TeamCheck, TeamTest
from conductor.text.final_answer import final_answer
from conductor.values.accepted import Accepted
from storage.records import RunRecord
from storage.store import SessionStore
from storage.tables.rows import new_id

TEAM_SET = "team"
"""The set that a test goes into if no set is named."""

MAX_ACCEPTED = 20_000
"""Characters of an accepted answer."""

_NAME = re.compile(r"\w(?:[\w -]{0,58}\w)?")


class TeamTests:
    """The tests of one store's team."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def keep(
        self,
        session: str,
        *,
        accepted: str | None = None,
        scorer: TeamCheck = "contains",
        data_set: str = TEAM_SET,
        run: str | None = None,
        author: str | None = None,
    ) -> TeamTest:
        """Keep the session's question with the answer that counts; None is that of `run`, and without a run
        that of the newest run with one.

        Raises `DataError` where nothing has answered the question, and for a set or an answer that cannot be
        used; `StorageError` where the set has the question; `WorkerError` where mathematics is to be read and
        this system has no limited processes.
        """
        name = set_name(data_set)
        question = self._store.sessions.find(session).query
        answered = self._answered(session, run)
        text = proposed(answered.answer or "") if accepted is None else accepted
        test = TeamTest(
            id=new_id(),
            data_set=name,
            question=question,
            accepted=asyncio.run(checked(text, scorer)),
            scorer=scorer,
            created_at=0,
            origin=session,
            origin_run=answered.id,
            author=(author or "").strip() or None,
        )
        return self._store.tests.add(test)

    def _answered(self, session: str, run: str | None) -> RunRecord:
        runs = self._store.runs.of_session(session)
        answers = [each for each in runs if run in (None, each.id) and each.answer is not None]
        if not answers:
            raise DataError(
                "No run has answered this question yet; run the workflow first, then keep it as a test."
            )
        return answers[0]


def proposed(answer: str) -> str:
    """What to accept of an answer: what it ends with, without the words around it."""
    return final_answer(answer) or answer.strip()


def set_name(text: str) -> str:
    """The text as the name of a team's set. Raises `DataError` where it cannot be one."""
    name = text.strip()
    if name in SHIPPED or named_set(name) is not None:
        raise DataError(f"{name!r} is a set that everybody has; choose another name.")
    # Without a dot: no file that holds questions can be named so.
    if not _NAME.fullmatch(name):
        raise DataError(
            f"{name[:80]!r} cannot be a set's name: use up to 60 letters, digits, spaces, - and _, with a "
            "letter or a digit at both ends."
        )
    return name


async def checked(accepted: str, scorer: TeamCheck) -> str:
    """The accepted answer without space around it. Raises `DataError` where no answer could match it, and
    `WorkerError` where mathematics cannot be read on this system.
    """
    text = accepted.strip()
    if not text:
        raise DataError("The accepted answer is empty; write what counts as right.")
    if len(text) > MAX_ACCEPTED:
        raise DataError(
            f"The accepted answer has {len(text):,} characters; the limit is {MAX_ACCEPTED:,}. Shorten it to "
            "what counts."
        )
    # Whatever a judge is shown, it can compare.
    if scorer != "judge":
        await check_accepted(Accepted(target=(text,), check=scorer))
    return text
