"""After runs with marked keys, no key stands in the database, its log, an export or the program's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_openai_server import Served, serving

from conductor.corrections import row_of
from conductor.events import EVENT
from conductor.fake_openai.app import FakeOpenAI
from storage.opening import open_workbench
from storage.reporting import report_of
from storage.session_file import write_session
from storage.workbench import Workbench

KEY = "sk-marked-0123456789abcdef"
POOL = """
[conductor]
base_url = "{url}"
model = "planner"
api_key_env = "MARKED_KEY"

[[worker]]
name = "good"
base_url = "{url}"
model = "small"
api_key_env = "MARKED_KEY"

[[worker]]
name = "leaky"
base_url = "{url}"
model = "fault:leaky-401"
api_key_env = "MARKED_KEY"
retries = 0
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
    """A workbench whose every model needs the key; one of them repeats it in its error."""
    monkeypatch.setenv("MARKED_KEY", KEY)
    pool = tmp_path / "pool.toml"
    pool.write_text(POOL.format(url=served.base_url))
    bench = open_workbench(pool=pool, database=url)
    yield bench
    bench.close()


def test_a_key_is_sent_and_stands_nowhere(
    bench: Workbench, served: Served, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    session = bench.ask("Which is it?").id
    assert bench.plan(session).report is not None
    head = bench.head(session)
    assert head is not None
    for worker in ("good", "leaky"):
        workflow = head.workflow.with_worker(head.workflow.final, worker)
        head = bench.edit(session, workflow, note=f"Give the end to {worker}", head=head)
        bench.start(session)
        bench.conducting.wait(session)
    states = [bench.state(run) for run in bench.store.runs(session)]
    assert "leaky" in str(states[0].steps[-1].message)
    assert served.log.entries, "the key opened the endpoint"
    events = [event for run in bench.store.runs(session) for event in bench.store.events(run.id)]
    rows = [row_of(made, kind="preferences") for made in bench.store.corrections(every=True)]
    assert isinstance(rows[-1], dict)
    told = [
        bench.export(session),
        write_session(bench.store, session),
        report_of(bench.store, states[0].run, now=0.0),
        caplog.text,
        repr(states),
        repr(bench.pool),
        repr(bench.conductor),
        *(EVENT.dump_json(event).decode() for event in events),
        *(repr(plan) for plan in bench.store.plans(session)),
        *(repr(row) for row in rows),
    ]
    bench.store.close()
    kept = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"leaky" in kept
    assert KEY.encode() not in kept
    assert not [text for text in told if KEY in text]
