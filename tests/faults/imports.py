"""Kills amid imports: every session of a file is in the store, or none of them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import ClassVar

from storage import SessionStore
from studio.session_file import import_sessions, write_sessions
from tests.faults.ledger import Ledger
from tests.faults.migrations import GOLDEN
from tests.faults.soundness import check_soundness
from tests.faults.victim import Say, Work, killed

SPAN = 0.8
"""Seconds within which the process is killed; an import takes a twentieth of them."""

_ID = re.compile(r'"[0-9a-f]{16}"')
_TITLE = re.compile(r'("title":"[^"]*?) \(\d+\)"')
_TIME = re.compile(r'("(?:created|updated|deleted|started|finished|rated)_at":)[\d.]+')


def work(say: Say, url: str, file: str) -> None:
    """Import a file of several sessions again and again until killed."""
    store = SessionStore.open(url)
    with Path(file).open("rb") as content:
        while True:
            say(imported=[*import_sessions(store, content)])


@dataclass
class Imports:
    """One store into which the sessions of a golden file are imported again and again."""

    folder: Path
    work: Work = work
    _file: ClassVar[str] = "imports.db"
    ledger: Ledger = field(default_factory=lambda: Ledger("imports"))
    members: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        source = self.folder / "source.db"
        shutil.copyfile(GOLDEN, source)
        with SessionStore.open(f"sqlite:///{source}") as store:
            sessions = [summary.id for summary in store.sessions.listed()]
            self.file.write_bytes(b"".join(write_sessions(store, sessions)))
            self.texts = sorted(_without_ids(store, session) for session in sessions)

    @property
    def file(self) -> Path:
        """What is imported."""
        return self.folder / "sessions.jsonl"

    @property
    def url(self) -> str:
        """The store that all kills share."""
        return f"sqlite:///{self.folder / self._file}"

    def kill(self, rng: Random) -> None:
        """Kill once, open again, and read every imported session as a whole."""
        after = rng.uniform(0, SPAN) * self.ledger.slack()
        printed = killed(self.work, self.url, str(self.file), after=after)
        self.ledger.kills += 1
        check_soundness(self.folder / self._file, self.ledger)
        with SessionStore.open(self.url) as store:
            self.ledger.restarts += 1
            for line in printed:
                self.ledger.checked += len(line["imported"]) - 1
                self.ledger.check(self._whole(store, line["imported"]), "an imported session is not whole")
                self.members |= set(line["imported"])
            others = {summary.id for summary in store.sessions.listed(limit=100_000)} - self.members
            self.ledger.require(not others or self._whole(store, sorted(others)), "half an import was kept")
            self.members |= others

    def finish(self) -> None:
        """What was imported long ago is still there."""
        with SessionStore.open(self.url) as store:
            listed = {summary.id for summary in store.sessions.listed(limit=100_000)}
            self.ledger.require(listed == self.members, "imported sessions are lost")

    def _whole(self, store: SessionStore, sessions: list[str]) -> bool:
        return sorted(_without_ids(store, session) for session in sessions) == self.texts


def _without_ids(store: SessionStore, session: str) -> str:
    """The session's file with its ids numbered in their order, without times, and without the number that
    distinguishes its title from that of an earlier import.
    """
    text = b"".join(write_sessions(store, [session])).decode()
    numbers: dict[str, str] = {}
    numbered = _ID.sub(lambda match: numbers.setdefault(match[0], f'"{len(numbers)}"'), text)
    return _TITLE.sub(r'\1"', _TIME.sub(r"\1-", numbered))
