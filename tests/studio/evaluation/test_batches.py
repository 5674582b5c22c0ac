"""An evaluation in batches: one of each layer, half the price, and nothing paid twice where it is killed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE
from threading import Event as Flag
from threading import Thread

import pytest

from conductor.errors import PoolError
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.orchestration.runtime import Runtime
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.endpoint.batches import batch_forms, batch_queue
from conductor.workers.pool.pool import Pool, parse_pool
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench
from tests.support.endpoints.chat_cases import set_key
from tests.support.endpoints.fake_batches import FakeBatches, serving_batches
from tests.support.processes.child_process import child
from tests.support.runs.waiting import SECONDS, until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

KEY = "sk-alpha-0123456789"
PRICE = 10.0
FORMS = pytest.mark.parametrize("form", ["openai", "anthropic"], indirect=True)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBatches]:
    monkeypatch.setattr(batch_queue, "QUIET_SECONDS", 0.5)
    monkeypatch.setattr(batch_queue, "FIRST_POLL", 0.05)
    with serving_batches(FakeBatches()) as served:
        set_key(monkeypatch, served.base_url, KEY)
        yield served


@pytest.fixture
def form(request: pytest.FixtureRequest, fake: FakeBatches, monkeypatch: pytest.MonkeyPatch) -> str:
    host = fake.base_url.removeprefix("http://").removesuffix("/v1")
    if request.param == "anthropic":
        monkeypatch.setattr(batch_forms, "ANTHROPIC_HOSTS", {host})
    return str(request.param)


def pool_text(base_url: str) -> str:
    return (
        f'[[worker]]\nname = "alpha"\nmodel = "a"\nbase_url = "{base_url}"\napi_key_env = "ALPHA_API_KEY"\n'
        f"max_tokens = 100\nprice_prompt = {PRICE}\nprice_completion = {PRICE}\nprice_cached = 1\n"
        "retries = 1\n"
        '[[worker]]\nkind = "simulated"\nname = "beta"\nanswer = "Answer: none"\n'
    )


def items_of(*words: str) -> tuple[Item, ...]:
    return tuple(Item(id=word, input=f"Repeat {word}", target=(word,)) for word in words)


class Evaluating:
    """An evaluation on a store of its own, in this process or after it."""

    def __init__(self, folder: Path, pool: Pool) -> None:
        self.url = f"sqlite:///{folder / 'store.db'}"
        self.pool = pool

    def begin(self, *words: str, planners: tuple[str, ...] = ("worker:alpha",), repeats: int = 1) -> str:
        spec = EvaluationSpec(data="", digest="", planners=planners, repeats=repeats, batch=True)
        with SessionStore.open(self.url) as store:
            bench = self._bench(store)
            id = Evaluations(bench).add(DataSet("words", items_of(*words)), planners, spec).id
            bench.background.close()
            return id

    def run(self, id: str, stop: Flag | None = None) -> tuple[Progress, EvaluationTable]:
        with SessionStore.open(self.url) as store:
            bench = self._bench(store)
            try:
                progress = Evaluations(bench).run(id, stop=stop)
                return progress, table_of_evaluation(store, store.evaluations.find(id))
            finally:
                bench.background.close()

    def _bench(self, store: SessionStore) -> Workbench:
        return Workbench.over(store, pool=self.pool, conductor=OfflineConductor())


@pytest.fixture
def evaluating(fake: FakeBatches, tmp_path: Path) -> Evaluating:
    return Evaluating(tmp_path, parse_pool(pool_text(fake.base_url)))


@FORMS
def test_each_layer_is_one_batch_at_half_the_price(
    fake: FakeBatches, evaluating: Evaluating, form: str
) -> None:
    fake.release.set()
    id = evaluating.begin("one", "two", planners=("baseline:reflect:alpha,turns=2", "worker:beta"), repeats=2)
    progress, table = evaluating.run(id)
    assert progress.failure is None
    assert [len(batch) for batch in fake.batches] == [4, 4], (
        "two questions twice, and what reads their answers"
    )
    assert fake.questions[0] == ["one", "one", "two", "two"]
    assert fake.keys == {KEY if form == "anthropic" else f"Bearer {KEY}"}
    reflect, beta = table.rows[:2]
    assert reflect.work_tokens.value == 2 * 110
    # Of 100 tokens of a prompt 40 were cached; two calls a question.
    assert reflect.cost.value == pytest.approx(2 * (60 * PRICE + 40 * 1 + 10 * PRICE) / 1_000_000 / 2)
    assert (beta.right, beta.answers) == (0, 4)
    (body, *_) = fake.batches[0].values()
    assert {"stream", "stream_options"} & body.keys() == set()


@FORMS
def test_what_expires_or_overloads_is_asked_again_and_what_is_refused_fails(
    fake: FakeBatches, evaluating: Evaluating, form: str
) -> None:
    fake.release.set()
    progress, table = evaluating.run(evaluating.begin("fine", "expires", "overloads", "offends"))
    assert progress.failure is None
    assert fake.questions == [["expires", "fine", "offends", "overloads"], ["expires", "overloads"]]
    (alpha, *_) = table.rows
    assert (alpha.right, alpha.verdicts.get("failed")) == (3, 1)


@FORMS
def test_a_batch_that_is_under_way_is_gone_on_with(
    fake: FakeBatches, evaluating: Evaluating, form: str
) -> None:
    id = evaluating.begin("one", "two", repeats=2)
    stop = Flag()

    def stopped() -> None:
        until(lambda: len(fake.batches) == 1)
        stop.set()

    thread = Thread(target=stopped)
    thread.start()
    progress, table = evaluating.run(id, stop)
    thread.join(60)
    assert progress.failure == "It was stopped."
    assert table.rows[0].answers == 0
    fake.release.set()
    progress, table = evaluating.run(id)
    assert (progress.failure, table.rows[0].right, len(fake.batches)) == (None, 4, 1)


def test_an_endpoint_without_batches_ends_the_evaluation_and_is_no_result(
    fake: FakeBatches, evaluating: Evaluating
) -> None:
    fake.refused = ("/files",)
    id = evaluating.begin("one", "two")
    progress, table = evaluating.run(id)
    assert progress.failure is not None
    assert "has no batches (it answered 404 to files)" in progress.failure
    assert "evaluate without --batch" in progress.failure
    assert table.rows[0].answers == 0
    fake.refused = ()
    fake.release.set()
    assert evaluating.run(id)[1].rows[0].right == 2


def test_a_batch_that_is_refused_as_a_whole_ends_the_evaluation_without_a_key_in_its_reason(
    fake: FakeBatches, evaluating: Evaluating
) -> None:
    fake.rejects = f"too many tokens for {KEY}"
    progress, table = evaluating.run(evaluating.begin("one"))
    assert progress.failure is not None
    assert "alpha: the batch batch_0 was refused: " in progress.failure
    assert "too many tokens" in progress.failure
    assert KEY not in progress.failure
    assert table.rows[0].answers == 0


def test_a_batch_that_is_lost_is_made_again(fake: FakeBatches, evaluating: Evaluating) -> None:
    fake.release.set()
    id = evaluating.begin("one")
    with SessionStore.open(evaluating.url) as store:
        spec = store.evaluations.find(id).spec
        store.evaluations.set_spec(id, spec.model_copy(update={"batches": (("alpha", "batch_7"),)}))
    fake.refused = ("batch_7",)
    progress, table = evaluating.run(id)
    assert (progress.failure, table.rows[0].right, len(fake.batches)) == (None, 1, 1)


def test_a_killed_command_is_resumed_without_paying_again(fake: FakeBatches, tmp_path: Path) -> None:
    pool, data = tmp_path / "pool.toml", tmp_path / "words.jsonl"
    pool.write_text(pool_text(fake.base_url), encoding="utf-8")
    lines = [item.model_dump_json(exclude_none=True) for item in items_of("one", "two", "three")]
    data.write_text("\n".join(lines), encoding="utf-8")
    common = ("--pool", str(pool), "--database", f"sqlite:///{tmp_path / 'store.db'}", "--json")

    def command(*words: str) -> tuple[str, ...]:
        return (sys.executable, "-m", "conductor", "evaluate", *words, *common)

    url = f"sqlite:///{tmp_path / 'store.db'}"
    with child(command("run", str(data), "--batch", "-p", "worker:alpha"), stdout=DEVNULL, stderr=DEVNULL):
        until(lambda: len(fake.batches) == 1)
        with SessionStore.open(url) as store:
            (record,) = store.evaluations.listed()
            until(lambda: store.evaluations.find(record.id).spec.batches != ())
    fake.release.set()
    with child(command("resume", record.id), stdout=PIPE, stderr=PIPE) as resumed:
        out, err = resumed.communicate(timeout=SECONDS)
    assert json.loads(out)["planners"][0]["right"] == 3, err
    assert len(fake.batches) == 1


def test_a_pool_without_a_served_model_has_no_batches() -> None:
    pool = parse_pool('[[worker]]\nkind = "simulated"\nname = "b"\n')
    runtime = Runtime(workers=pool, conductor=OfflineConductor())
    with pytest.raises(PoolError, match="No worker of the pool is a model"):
        runtime.batched(batch_queue.NO_BATCHES)
