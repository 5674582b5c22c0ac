"""Another process on the same store, which asks as a token and as a person, as often as stdin asks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conductor.errors import LimitReached
from conductor.runs.request import Asker
from conductor.values.messages import Usage
from storage import SessionStore
from studio.access.auth import TokenAuthenticator
from studio.access.errors import ApiError
from studio.sessions.person_limits import admitted
from tests.support.processes.child_process import child
from tests.support.runs.charges import took

ROOT = Path(__file__).parents[3]
USED = Usage(prompt_tokens=40, completion_tokens=20)


def ask(url: str, token: str, person: str) -> None:
    """Ask so often, as the token and the person, as each line of stdin asks, and print how often each passed;
    what passes uses 60 tokens where the line asks for it.
    """
    by = Asker(person=person)
    with SessionStore.open(url) as store:
        auth = TokenAuthenticator(lambda: store.tokens, machine=lambda: None)

        async def as_token(spends: bool) -> bool:
            try:
                principal = await auth.authenticate(token, "203.0.113.9")
            except ApiError:
                return False
            if spends:
                store.ledger.add(took(USED), by=principal.asker)
                await auth.record_usage(principal, 60)
            return True

        def as_person(spends: bool) -> bool:
            try:
                limits = admitted(store, by)
            except LimitReached:
                return False
            if spends and limits is not None:
                store.ledger.add(took(USED), by=by)
                limits.settle(store, 60)
            return True

        print("ready", flush=True)
        for line in sys.stdin:
            times, spends = int(line.split()[0]), "spends" in line
            tokens = sum(asyncio.run(as_token(spends)) for _ in range(times))
            people = sum(as_person(spends) for _ in range(times))
            print(tokens, people, flush=True)


@contextmanager
def asking(url: str, token: str, person: str) -> Iterator[subprocess.Popen[str]]:
    """Such a process, ready to ask; it is ended with the test."""
    command = f"import sys; from {__name__} import ask; ask(*sys.argv[1:])"
    with child(
        [sys.executable, "-c", command, url, token, person],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def have_ask(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def passed(process: subprocess.Popen[str]) -> tuple[int, int]:
    """How often the token and the person passed since the last line."""
    assert process.stdout is not None
    token, person = process.stdout.readline().split()
    return int(token), int(person)
