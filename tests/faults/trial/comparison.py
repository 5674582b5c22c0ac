"""What the store, the worker, nginx and the clients have to agree on when all is over."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg.rows import dict_row

from storage import RunRecord, SessionStore
from tests.faults.trial.counting_worker import LAST_WORD, Call
from tests.faults.trial.outcomes import Outcomes
from tests.faults.trial.servers import Kill

_NOTICED = 6.0
"""Seconds within which nginx notices that a server was killed, and asks it no more."""

_CHARGES = """
SELECT split_part(trim(TRAILING '?' FROM query), ' ', 2) || '-' || step AS task, count(*) AS calls,
    count(prompt) AS known
FROM charges JOIN sessions ON sessions.id = session GROUP BY task"""
_SUMS = """
SELECT count(*) AS calls, sum(prompt) AS prompt, sum(completion) AS completion,
    count(*) - count(prompt + completion) AS unknown FROM charges UNION ALL
SELECT sum(calls), sum(prompt), sum(completion), sum(tokens_unknown) FROM usage_sums UNION ALL
SELECT sum(calls), sum(prompt), sum(completion), sum(tokens_unknown) FROM session_sums"""
_UNEQUAL = """
SELECT session, charged, calls FROM (SELECT session, count(*) AS charged FROM charges GROUP BY session) AS own
FULL JOIN session_sums USING (session) WHERE charged IS DISTINCT FROM calls"""


@dataclass
class Comparison:
    """`requests` is nginx's log; when it is compared, `runs` are those of each session, oldest first."""

    calls: Sequence[Call]
    outcomes: Outcomes
    kills: Sequence[Kill]
    requests: Path
    runs: dict[str, Sequence[RunRecord]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def compare(self, database: str, store: SessionStore) -> dict[str, Any]:
        """The figures."""
        with psycopg.connect(database, row_factory=dict_row) as connection:
            sums = connection.execute(_SUMS).fetchall()
            unequal = connection.execute(_UNEQUAL).fetchall()
            charges = connection.execute(_CHARGES).fetchall()
            sessions = connection.execute("SELECT id, query FROM sessions").fetchall()
        self.runs = {row["id"]: store.runs.of_session(row["id"])[::-1] for row in sessions}
        questions = {row["id"]: row["query"] for row in sessions if self.runs[row["id"]]}
        self.faults += self.outcomes.faults
        self._require(sums[0] == sums[1] == sums[2], f"sums differ: {sums}")
        self._require(not unequal, f"sums of sessions differ: {unequal}")
        for began, ended, what in self.outcomes.breaks:
            self._require(self._kills_within(began, ended), f"broken off without a kill: {what}")
        for tag in self.outcomes.chats:
            self._require(f"Question {tag}?" in questions.values(), f"the session of chat {tag} is lost")
        self._look_for_what_clients_saw(store)
        self._look_for_whole_texts(store)
        return {
            "kills": len(self.kills),
            "runs": Counter(run.status for run in chain.from_iterable(self.runs.values())),
            "seconds from a kill until a run went on": self._went_on(questions),
            "clients": self.outcomes.counts,
            "seconds until a page was loaded": _spread(self.outcomes.loads),
            "waits of Chromium in vain": self.outcomes.waits,
            "calls": self._called(),
            "charges": {name: int(value or 0) for name, value in sums[0].items()} | self._charged(charges),
            "statuses of nginx": self._statuses(),
        }

    def _require(self, holds: object, otherwise: str) -> None:
        if not holds:
            self.faults.append(otherwise)

    def _kills_within(self, began: float, ended: float) -> list[Kill]:
        return [kill for kill in self.kills if began <= kill.ended and kill.began <= ended]

    def _look_for_what_clients_saw(self, store: SessionStore) -> None:
        texts = defaultdict(set)
        for call in self.calls:
            texts[call.task].add(call.text)
        for task, text in self.outcomes.answers.items():
            self._require(text in texts[task], f"{task}: the client read {text!r}")
        for session, task in self.outcomes.runs.items():
            run = next(reversed(self.runs.get(session, ())), None)
            whole = run is not None and run.status == "finished" and run.answer in texts[task]
            self._require(whole, f"{session}: the newest run is to be one of {task}, and is {run}")
        for session, task in self.outcomes.edits.items():
            head = store.revisions.head(session)
            edited = head is not None and head.workflow.steps[1].instruction == f"Do {task}."
            self._require(edited, f"{session}: the edit to {task} is lost")

    def _look_for_whole_texts(self, store: SessionStore) -> None:
        for run in chain.from_iterable(self.runs.values()):
            for step in store.runs.state(run.id).steps:
                whole = step.status != "finished" or not step.text or step.text.endswith(LAST_WORD)
                self._require(whole, f"{run}: a text is not whole: {step.text!r}")

    def _went_on(self, questions: Mapping[str, str]) -> dict[str, float]:
        """After each run that was interrupted; its process was killed, and all other runs have ended."""
        deaths = {kill.pid: kill.ended for kill in self.kills}
        seconds = []
        for run, after in chain.from_iterable(pairwise([*own, None]) for own in self.runs.values()):
            assert run is not None
            self._require(run.status in ("finished", "interrupted"), f"{run} is {run.status}")
            if run.status == "interrupted":
                death = deaths.get(int(run.owner.split("-")[0]))
                self._require(death, f"{run} was interrupted without a kill")
                is_chat = questions[run.session].startswith("Question s")
                self._require(after or is_chat, f"{run} did not go on")
                if after and death:
                    seconds.append(after.started_at - death)
        return _spread(seconds)

    def _called(self) -> dict[str, Any]:
        """How often tasks were called, and again, which only a kill may cause."""
        tasks = defaultdict(list)
        for call in self.calls:
            tasks[call.task].append(call)
        pairs = [pair for own in tasks.values() for pair in pairwise(own)]
        ages = []
        for call, again in pairs:
            kills = self._kills_within(call.began, again.began)
            self._require(kills, f"called again without a kill: {call}, {again}")
            if kills and call.ended is not None:
                ages.append(kills[-1].ended - call.ended)
        return {
            "all": len(self.calls),
            "cut off": sum(call.ended is None for call in self.calls),
            "again": len(pairs),
            "age in seconds at the kill of what had ended and was called again": _spread(ages),
        }

    def _charged(self, rows: Sequence[dict[str, Any]]) -> dict[str, int]:
        """How far the ledger is from the calls, by sessions and steps."""
        charges = Counter({row["task"]: row["calls"] for row in rows})
        calls = Counter(call.task.removesuffix("b") for call in self.calls)
        with_tokens = sum(row["known"] for row in rows)
        return {
            "calls without a charge": (calls - charges).total(),
            "charges without a call": (charges - calls).total(),
            "whole calls without tokens": sum(call.ended is not None for call in self.calls) - with_tokens,
        }

    def _statuses(self) -> Counter[str]:
        """How many requests had each; 5xx is a fault unless a server that was to answer was just killed."""
        counts: Counter[str] = Counter()
        for line in self.requests.read_text(encoding="utf-8").splitlines():
            _, ended, seconds, status, *addresses = line.split("|")[0].split()
            counts[status] += 1
            kills = self._kills_within(float(ended) - float(seconds) - _NOTICED, float(ended))
            ports = {address.strip(",").rpartition(":")[2] for address in addresses}
            killed = ports & {str(kill.port) for kill in kills}
            self._require(killed or not status.startswith("5"), f"{status} without a kill: {line}")
        return counts


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """Their number, the least, the middle and the most."""
    if not seconds:
        return {"number": 0}
    least, middle, most = (round(each, 2) for each in (min(seconds), median(seconds), max(seconds)))
    return {"number": len(seconds), "least": least, "median": middle, "most": most}
