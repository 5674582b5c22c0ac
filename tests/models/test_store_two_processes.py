"""Two processes write to one store at once, also in one session: nothing that was confirmed is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import StorageError
from storage import SessionStore
from tests.support.processes.child_process import child
from tests.support.stores.store_scenario import begin, chain, delta, finished, keep, step_finished

ROOT = Path(__file__).parents[2]
STEPS = 80


def work(url: str, shared: str, name: str, seed: str) -> None:
    """Print each thing that the store has confirmed, a JSON object a line."""
    chance, running = random.Random(seed), dict[str, tuple[str, int]]()
    with SessionStore.open(url) as store:
        sessions = [shared]
        for at in range(STEPS):
            session = chance.choice(sessions)
            match chance.choice(["create", "edit", "edit", "start", "append", "append", "append", "finish"]):
                case "create":
                    sessions.append(store.sessions.create(f"{name} {at}").id)
                    _confirm(session=sessions[-1], query=f"{name} {at}")
                case "edit":
                    revision = store.revisions.add(session, chain(f"{name} {at}"), origin="human")
                    _confirm(revision=revision.id, of=session, text=f"{name} {at}")
                case "start" if session not in running:
                    run = f"{name}-{at}"
                    try:
                        begin(store, session, run)
                    except StorageError as error:
                        if "running already" not in str(error):
                            raise
                        continue
                    running[session] = (run, 0)
                    _confirm(run=run, of=session)
                case "append" if session in running:
                    run, seq = running[session]
                    text = f"{name} {at} " * chance.choice([1, 100])
                    keep(store, delta(run, seq=seq, text=text), step_finished(run, text, seq=seq + 1))
                    running[session] = (run, seq + 2)
                    _confirm(events=run, text=text)
                case "finish" if session in running:
                    run, seq = running.pop(session)
                    keep(store, finished(run, seq=seq, answer=run))
                    _confirm(answer=run)


def _confirm(**fields: str) -> None:
    print(json.dumps(fields), flush=True)


def _confirmed(processes: list[subprocess.Popen[str]]) -> Iterator[dict[str, Any]]:
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        yield from map(json.loads, output.splitlines())


def _process(*arguments: str) -> Any:
    command = "import sys, test_store_two_processes as t; t.work(*sys.argv[1:])"
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(__file__).parent)))
    return child(
        [sys.executable, "-c", command, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_either_process_was_confirmed_is_there_for_both(url: str, seed: int) -> None:
    with SessionStore.open(url) as store:
        shared = store.sessions.create("shared").id
    with (
        _process(url, shared, "one", f"{seed} one") as one,
        _process(url, shared, "two", f"{seed} two") as two,
    ):
        confirmed = list(_confirmed([one, two]))
    names = {each["of"] for each in confirmed if "revision" in each and each["of"] == shared}
    assert names == {shared}, "both have edited one session"
    for _ in range(2):
        with SessionStore.open(url) as store:
            _compare(store, confirmed)


def _compare(store: SessionStore, confirmed: list[dict[str, Any]]) -> None:
    created = {each["session"]: each["query"] for each in confirmed if "session" in each}
    listed = {summary.id for summary in store.sessions.listed(limit=1000)}
    assert created.keys() <= listed
    assert len(listed) == len(created) + 1
    for id in listed:
        revisions = store.revisions.of_session(id)
        assert [each.number for each in revisions] == list(range(1, len(revisions) + 1))
        ids = [each.id for each in revisions]
        assert all(each.parent is None or each.parent in ids[:at] for at, each in enumerate(revisions))
        own = {
            each["revision"]: each["text"]
            for each in confirmed
            if each.get("of") == id and "revision" in each
        }
        assert own == {each.id: each.workflow.steps[0].instruction for each in revisions if each.id in own}
        runs = [each["run"] for each in confirmed if each.get("of") == id and "run" in each]
        assert {run.id for run in store.runs.of_session(id)} == set(runs)
        for run in runs:
            texts = [each["text"] for each in confirmed if each.get("events") == run]
            events = store.runs.events(run)
            assert [event.seq for event in events] == list(range(len(events)))
            assert [event.text for event in events if event.type == "step_delta"] == texts
            answers = [each["answer"] for each in confirmed if each.get("answer") == run]
            record = store.runs.find(run)
            assert (record.status, record.answer) == (("finished", run) if answers else ("interrupted", None))
