"""After runs with marked keys, no key stands in the database, its log, an export or the program's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.planner.corrections import row_of
from conductor.runs.events import EVENT
from conductor.workers.keys.hosts import HOSTS
from studio.composition import open_workbench
from studio.session_file import run_page
from studio.workbench import Workbench
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.stores.session_files import exported

KEY = "sk-marked-0123456789abcdef"
POOL = """
[conductor]
base_url = "{url}"
model = "planner"
api_key_env = "MARKED_API_KEY"

[[worker]]
name = "good"
base_url = "{url}"
model = "small"
api_key_env = "MARKED_API_KEY"

[[worker]]
name = "leaky"
base_url = "{url}"
model = "fault:leaky-401"
api_key_env = "MARKED_API_KEY"
retries = 0

[[worker]]
name = "echoing"
base_url = "{url}"
model = "fault:leaky-answer"
api_key_env = "MARKED_API_KEY"
"""


@pytest.fixture
def served() -> Iterator[Served]:
    """An endpoint that takes the marked key only."""
    with serving(FakeOpenAI(key=KEY)) as served:
        yield served


@pytest.fixture
def bench(
    served: Served, file: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workbench]:
    """A workbench whose every model needs the key; two of them repeat it, in an error and in an answer."""
    monkeypatch.setenv("MARKED_API_KEY", KEY)
    monkeypatch.setenv(HOSTS, f"MARKED_API_KEY={served.base_url}")
    pool = tmp_path / "pool.toml"
    pool.write_text(POOL.format(url=served.base_url), encoding="utf-8")
    bench = open_workbench(pool=pool, database=url)
    yield bench
    bench.close()


@pytest.mark.slow
def test_a_key_is_sent_and_stands_nowhere(
    bench: Workbench, served: Served, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    session = bench.ask("Which is it?").id
    assert bench.planning.plan(session).report is not None
    head = bench.store.revisions.head(session)
    assert head is not None
    workflow = head.workflow
    for step in range(len(workflow.steps)):
        workflow = workflow.with_worker(step, "good")
    for worker in ("good", "echoing", "leaky"):
        workflow = workflow.with_worker(workflow.final, worker)
        head = bench.editing.edit(session, workflow, note=f"Give the end to {worker}", head=head)
        bench.running.start(session)
        bench.activities.wait(session)
    states = [bench.state(run) for run in bench.store.runs.of_session(session)]
    assert "leaky" in str(states[0].steps[-1].message)
    assert states[1].answer == "You sent Bearer ***, as I see."
    assert served.log.entries, "the key opened the endpoint"
    events = [
        event for run in bench.store.runs.of_session(session) for event in bench.store.runs.events(run.id)
    ]
    rows = [row_of(correction, kind="preferences") for correction in bench.store.corrections.read(every=True)]
    assert isinstance(rows[-1], dict)
    texts = [
        bench.editing.export(session),
        exported(bench.store, session).decode(),
        run_page(bench.store, states[0].run, now=0.0),
        caplog.text,
        repr(states),
        repr(bench.pool),
        repr(bench.conductor),
        *(EVENT.dump_json(event).decode() for event in events),
        *(repr(plan) for plan in bench.store.plans.of_session(session)),
        *(repr(row) for row in rows),
    ]
    bench.store.close()
    content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"leaky" in content
    assert KEY.encode() not in content
    assert not [text for text in texts if KEY in text]
