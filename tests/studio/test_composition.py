"""The pool file is followed while a program runs: what begins uses it as it is, what has begun its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conductor.errors import PoolError, WorkflowError
from conductor.runs.scope import FORCE
from conductor.workers.health.probe import targets, unconfirmed
from conductor.workers.keys.hosts import confirm
from conductor.workers.pool import pool
from conductor.workers.pool.pool import built_in_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio import composition
from studio.composition import ConfiguredRuntime
from studio.workbench import Workbench
from tests.support.cases.tokenizer_cases import write_tokenizer

ONE = '[[worker]]\nkind = "simulated"\nname = "{name}"\nanswer = "{answer}"\nlatency = {latency}\n'
KEYED = """[[worker]]
name = "alpha"
base_url = "http://127.0.0.1:9/v1"
model = "m"
api_key_env = "ALPHA_API_KEY"
"""


@pytest.fixture
def pool_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the pool file is, once it is written."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pool.toml"


@pytest.fixture
def bench(url: str, pool_file: Path) -> Iterator[Workbench]:
    bench = Workbench(SessionStore.open(url), ConfiguredRuntime())
    yield bench
    bench.close()


def one(name: str, *, answer: str = "made up", latency: float = 0) -> str:
    return ONE.format(name=name, answer=answer, latency=latency)


def test_what_begins_uses_the_file_as_it_is(bench: Workbench, pool_file: Path) -> None:
    assert bench.pool.names == built_in_pool().names
    pool_file.write_text(one("alpha"), encoding="utf-8")
    assert bench.pool.names == ("alpha",)
    same = bench.pool
    assert bench.pool is same
    pool_file.write_text(one("alpha") + one("beta"), encoding="utf-8")
    assert bench.pool.names == ("alpha", "beta")
    pool_file.unlink()
    assert bench.pool.names == built_in_pool().names


def test_a_file_that_stays_as_it_is_is_read_once(
    bench: Workbench, pool_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_file.write_text(one("alpha"), encoding="utf-8")
    first = bench.pool
    reads: list[Path] = []
    for module in (composition, pool):
        monkeypatch.setattr(module, "read_whole", reads.append)
    assert [bench.pool for _ in range(20)] == [first] * 20
    assert reads == []


def test_a_block_looks_at_the_files_once_for_its_own_thread_alone(
    pool_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_file.write_text(one("alpha"), encoding="utf-8")
    configured = ConfiguredRuntime()
    with configured.looked_at_once():
        pool_file.write_text(one("beta"), encoding="utf-8")
        with ThreadPoolExecutor(1) as other:
            assert other.submit(configured).result().pool.names == ("beta",)
        monkeypatch.setattr(composition, "configured_path", lambda: pytest.fail("looked again"))
        assert (configured().pool.names, configured.fault) == (("alpha",), None)
    monkeypatch.undo()
    monkeypatch.chdir(pool_file.parent)
    assert configured().pool.names == ("beta",)


def test_a_block_that_begins_with_a_fault_has_it_until_its_end(pool_file: Path) -> None:
    pool_file.write_text("[[worker]]\n", encoding="utf-8")
    configured = ConfiguredRuntime()
    with configured.looked_at_once():
        pool_file.write_text(one("alpha"), encoding="utf-8")
        assert not configured.usable
        with pytest.raises(PoolError):
            configured()
    assert configured().pool.names == ("alpha",)


def test_the_conductor_is_followed_too(bench: Workbench, pool_file: Path) -> None:
    assert bench.conductor.card.kind == "offline"
    conductor = '[conductor]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nas_worker = true\n'
    pool_file.write_text(conductor + one("alpha"), encoding="utf-8")
    assert bench.conductor.card.kind == "model"
    assert bench.pool.names == ("alpha", "conductor")


@pytest.mark.slow
def test_a_run_under_way_keeps_the_pool_it_began_with(bench: Workbench, pool_file: Path) -> None:
    pool_file.write_text(one("alpha", answer="old", latency=0.15), encoding="utf-8")
    session = bench.ask("why?").id
    steps = [Step(instruction="do", worker="alpha"), Step(instruction="go on", worker="alpha", access=(0,))]
    bench.editing.edit(session, Workflow.of(steps), note="By hand")
    bench.running.start(session)
    pool_file.write_text(one("beta", answer="new"), encoding="utf-8")
    assert bench.pool.names == ("beta",)
    bench.activities.wait(session)
    assert bench.store.runs.of_session(session)[0].answer == "old"
    with pytest.raises(WorkflowError, match="alpha"):
        bench.running.start(session, FORCE)
    other = bench.ask("why?").id
    bench.editing.edit(other, Workflow.of([Step(instruction="do", worker="beta")]), note="By hand")
    bench.running.start(other)
    bench.activities.wait(other)
    assert bench.store.runs.of_session(other)[0].answer == "new"


def test_while_the_file_is_wrong_the_pool_before_it_stays_and_the_fault_is_reported(
    url: str, pool_file: Path
) -> None:
    pool_file.write_text(one("alpha"), encoding="utf-8")
    configured = ConfiguredRuntime()
    assert configured.fault is None
    pool_file.write_text(one("alpha") + "speed = 3\n", encoding="utf-8")
    assert configured().pool.names == ("alpha",)
    fault = configured.fault
    assert (fault.line, fault.key, fault.reason) == (6, "speed", "unknown key. Did you mean seed?")
    assert configured.usable
    pool_file.write_text(one("beta"), encoding="utf-8")
    assert (configured.fault, configured().pool.names) == (None, ("beta",))


def test_what_was_never_right_is_an_error_only_where_a_pool_is_needed(
    bench: Workbench, pool_file: Path
) -> None:
    pool_file.write_text("[[worker]]\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(PoolError, match=r"pool.toml, line 1: worker 1, kind"):
            _ = bench.pool
    assert bench.store.sessions.count() == 0
    pool_file.write_text(one("alpha"), encoding="utf-8")
    assert bench.pool.names == ("alpha",)


def test_a_key_that_is_written_into_the_secrets_makes_its_worker_usable_once_it_is_confirmed(
    bench: Workbench, pool_file: Path
) -> None:
    pool_file.write_text(KEYED, encoding="utf-8")
    assert list(bench.pool.unusable) == ["alpha"]
    secrets = pool_file.parent / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    secrets.write_text('ALPHA_API_KEY = "sk-marked"\n', encoding="utf-8")
    secrets.chmod(0o600)
    assert "is not confirmed for" in bench.pool.unusable["alpha"]
    for pair in unconfirmed(targets(bench.pool)):
        confirm(pair)
    assert not bench.pool.unusable


def test_a_file_that_cannot_be_read_is_a_fault(pool_file: Path) -> None:
    pool_file.mkdir()
    configured = ConfiguredRuntime()
    assert not configured.usable
    assert "cannot be read" in str(configured.fault)


def test_a_tokenizer_that_is_put_where_the_file_states_fixes_the_fault(
    bench: Workbench, pool_file: Path
) -> None:
    tokenized = KEYED.replace("api_key_env", "tokenizer").replace("ALPHA_API_KEY", "t.json")
    pool_file.write_text(tokenized, "utf-8")
    with pytest.raises(PoolError, match=r"line 5: worker 1, tokenizer: .*t\.json cannot be read"):
        _ = bench.pool
    file = write_tokenizer(pool_file.parent / "t.json")
    assert bench.pool.cards["alpha"].tokenizer == str(file)
