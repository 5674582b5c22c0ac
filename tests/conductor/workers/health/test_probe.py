"""What an examination finds of each worker, over real HTTP, and what it advises to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from conductor.values.charge import Charge, total_of
from conductor.values.messages import Completion
from conductor.workers.endpoint.catalogue import ServedModel
from conductor.workers.health import probe as module
from conductor.workers.health.findings import Check, Health, answered, listed
from conductor.workers.health.probe import (
    AT_ONCE,
    PROBE_TOKENS,
    HealthProbe,
    ProbeTarget,
    examine,
    targets,
    token_rate,
)
from conductor.workers.pool.pool import Pool, parse_pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.chat_cases import set_key
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.endpoints.raw_endpoint import DONE, Conversation, chunk, event, raw_endpoint, replies
from tests.support.runs.waiting import until

KEY = "sk-marked-0123456789"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No secrets file but a test's own."""
    monkeypatch.chdir(tmp_path)


def target(base_url: str, model: str = "simulated", **keys: Any) -> ProbeTarget:
    """A worker named alpha, from a pool file with these keys."""
    lines = "".join(f"{key} = {value!r}\n" for key, value in keys.items())
    text = f"[[worker]]\nname = 'alpha'\nbase_url = '{base_url}'\nmodel = '{model}'\n{lines}"
    return targets(parse_pool(text))[0]


async def examined(whom: ProbeTarget) -> Health:
    """The last word on it."""
    states = [health async for health in examine(whom, lambda _: None)]
    assert [health.done for health in states] == [False] * (len(states) - 1) + [True]
    assert all(
        earlier.findings == later.findings[: len(earlier.findings)] for earlier, later in pairwise(states)
    )
    return states[-1]


def words(health: Health) -> dict[Check, str]:
    return {finding.check: finding.word for finding in health.findings}


async def test_a_worker_that_is_well_has_nothing_to_complain_of(
    fake_openai: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_key(monkeypatch, fake_openai.base_url, KEY)
    health = await examined(target(fake_openai.base_url, api_key_env="ALPHA_API_KEY", temperature=0.5))
    assert words(health) == {"key": "set", "reachable": "yes", "model": "listed", "answer": "answers"}
    assert not health.failing
    assert health.complaints == ()
    assert health.first_token is not None
    assert health.first_token > 0
    listing, probe = fake_openai.log.entries
    assert (listing.path, listing.authorization_sent) == ("/v1/models", True)
    assert probe.body is not None
    assert (probe.body["max_tokens"], probe.body["temperature"]) == (PROBE_TOKENS, 0.5)


@pytest.mark.slow
async def test_the_pace_is_measured_where_tokens_come_one_by_one() -> None:
    with serving(FakeOpenAI(tokens_per_second=500)) as served:
        health = await examined(target(served.base_url))
    assert health.first_token is not None
    assert health.tokens_per_second is not None
    assert health.tokens_per_second > 0


USAGE = event({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 11}})


@pytest.mark.parametrize(
    ("answer", "tokens", "cost"),
    [
        (replies(chunk(content="two") + chunk("stop") + USAGE + DONE), 911, 0.00191),
        (replies(chunk(content="two") + chunk("stop") + DONE), None, None),
        (replies(chunk("content_filter") + USAGE + DONE), 911, 0.00191),
        (replies(USAGE), 911, 0.00191),
        (replies(chunk(content="two")), None, None),
        (replies("busy", status="503 Busy"), 0, 0.0),
    ],
)
async def test_what_an_answer_took_is_noted_as_it_is_reported(
    answer: Conversation, tokens: int | None, cost: float | None
) -> None:
    charges: list[Charge] = []
    async with raw_endpoint(answer) as url:
        subject = target(url, price_prompt=2.0, price_completion=10.0)
        async for _ in examine(subject, charges.append):
            pass
    total = total_of(charges)
    assert {(each.worker, each.purpose) for each in charges} == {("alpha", "doctor")}
    assert (total.tokens, total.tokens_at_least) == (tokens, False)
    assert total.cost == (cost if cost is None else pytest.approx(cost))


async def test_what_computes_takes_nothing() -> None:
    charges: list[Charge] = []
    subject = targets(parse_pool("[[worker]]\nkind = 'calculator'\nname = 'sums'\n"))[0]
    async for _ in examine(subject, charges.append):
        pass
    assert charges == []


@pytest.mark.parametrize(
    ("tokens", "first", "last", "expected"),
    [
        (16, 10.0, 13.0, 5.0),
        (2, 1.0, 1.5, 2.0),
        (1, 1.0, 2.0, None),
        (None, 1.0, 2.0, None),
        (16, 1.0, 1.0, None),
    ],
)
def test_the_rate_counts_the_tokens_after_the_first(
    tokens: int | None, first: float, last: float, expected: float | None
) -> None:
    assert token_rate(tokens, first=first, last=last) == expected


async def test_a_missing_key_is_stated_and_the_endpoint_is_looked_at_all_the_same(
    fake_openai: Served,
) -> None:
    health = await examined(target(fake_openai.base_url, api_key_env="NO_SUCH_API_KEY"))
    assert words(health) == {"key": "missing", "reachable": "yes", "model": "listed", "answer": "-"}
    assert health.failing
    assert [finding.sentence for finding in health.complaints] == [
        "NO_SUCH_API_KEY is not set; export it before the program starts, or write "
        'NO_SUCH_API_KEY = "..." into .streamlit/secrets.toml.'
    ]
    assert [entry.path for entry in fake_openai.log.entries] == ["/v1/models"]


async def test_a_key_that_cannot_be_read_is_no_missing_one(fake_openai: Served, tmp_path: Path) -> None:
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    secrets.write_text(f"ALPHA_API_KEY = {KEY}", encoding="utf-8")
    secrets.chmod(0o600)
    health = await examined(target(fake_openai.base_url, api_key_env="ALPHA_API_KEY"))
    assert words(health)["key"] == "unusable"
    assert "secrets.toml cannot be read" in health.complaints[0].sentence
    assert KEY not in health.model_dump_json()


async def test_a_key_is_not_sent_where_it_was_not_confirmed(
    fake_openai: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    health = await examined(target(fake_openai.base_url, api_key_env="ALPHA_API_KEY"))
    assert words(health) == {"key": "not confirmed", "reachable": "yes", "model": "listed", "answer": "-"}
    origin = fake_openai.base_url.removesuffix("/v1")
    assert health.complaints[0].sentence.startswith(
        f"ALPHA_API_KEY is not confirmed for {origin}, so it is not sent there; confirm it on the Pool page"
    )
    assert [entry.authorization_sent for entry in fake_openai.log.entries] == [False]


@pytest.mark.slow
async def test_a_wrong_key_shows_that_a_person_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(FakeOpenAI(key="sk-another")) as served:
        set_key(monkeypatch, served.base_url, KEY)
        wrong = await examined(target(served.base_url, api_key_env="ALPHA_API_KEY"))
        none = await examined(target(served.base_url))
    assert words(wrong) == {"key": "set", "reachable": "yes", "model": "-", "answer": "fails"}
    assert words(none) == {"key": "none", "reachable": "yes", "model": "-", "answer": "fails"}
    assert wrong.complaints[0].sentence.endswith("check the key in ALPHA_API_KEY.")
    assert "name the variable that holds its key in api_key_env" in none.complaints[0].sentence
    assert KEY not in wrong.model_dump_json()


async def test_an_endpoint_that_is_not_there_is_asked_nothing_more(unused_tcp_port: int) -> None:
    health = await examined(target(f"http://127.0.0.1:{unused_tcp_port}/v1"))
    assert words(health) == {"key": "none", "reachable": "no", "model": "-", "answer": "-"}
    [complaint] = health.complaints
    assert complaint.sentence.startswith(f"127.0.0.1:{unused_tcp_port} cannot be reached (")
    assert complaint.sentence.endswith("; start the server there, or correct base_url in the pool file.")


async def test_a_server_that_lists_the_key_does_not_get_it_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(FakeOpenAI(models=(f"model-of-{KEY}",))) as served:
        set_key(monkeypatch, served.base_url, KEY)
        health = await examined(target(served.base_url, model="model-of-me", api_key_env="ALPHA_API_KEY"))
    assert "such as 'model-of-***'" in health.complaints[0].sentence


async def test_a_model_that_is_not_listed_is_answered_by_names_like_it() -> None:
    with serving(FakeOpenAI(models=("qwen3-32b", "qwen3-8b", "other"))) as served:
        health = await examined(target(served.base_url, model="qwen-32b"))
    assert words(health) == {"key": "none", "reachable": "yes", "model": "not listed", "answer": "fails"}
    assert "such as 'qwen3-32b', 'qwen3-8b'" in health.complaints[0].sentence
    assert "404 Not Found" in health.complaints[1].sentence


@pytest.mark.parametrize(
    ("model", "served", "word"),
    [
        ("gpt-5", "gpt-5", "listed"),
        ("gemini-2.5-pro", "models/gemini-2.5-pro", "listed"),
        ("llama3.2", "llama3.2:latest", "listed"),
        ("llama3.2", "llama3.2:1b", "not listed"),
    ],
)
def test_a_model_is_found_under_the_names_that_servers_give_it(model: str, served: str, word: str) -> None:
    assert listed(model, (ServedModel(name=served),), context=None).word == word


def test_no_model_at_all_is_something_to_load() -> None:
    assert listed("x", (), context=None).sentence == (
        "x is not among the 0 models listed there; load a model there."
    )


def test_a_context_that_is_smaller_than_stated_is_a_complaint() -> None:
    small = (ServedModel(name="m", context=8192),)
    assert listed("m", small, context=8192).advice == ""
    assert listed("m", small, context=None).message == "m is listed, with a context of 8,192 tokens."
    assert listed("m", small, context=32768).sentence == (
        "m is served with a context of 8,192 tokens, and the pool file states 32,768; "
        "write context = 8192 there."
    )


@pytest.mark.parametrize(
    ("model", "word", "message"),
    [
        ("fault:error-500", "fails", "500 Internal Server Error"),
        ("fault:rate-limited", "fails", "wait a while"),
        ("fault:stall", "fails", "raise between_tokens_seconds in the pool file"),
        ("fault:slow-first-token", "fails", "raise first_token_seconds in the pool file"),
        ("fault:reset-before-first-byte", "fails", "broke the connection before the first token"),
        ("fault:no-usage", "answers", ""),
        ("fault:length", "answers", ""),
        ("fault:unknown-parameter=stream_options", "answers", ""),
    ],
)
async def test_whatever_goes_wrong_is_a_finding_with_what_to_do(
    fake_openai: Served, model: str, word: str, message: str
) -> None:
    # Short where that is what goes wrong; nowhere else is a busy machine to be late.
    first, between = 0.2 if "slow-first" in model else 60, 0.1 if "stall" in model else 60
    health = await examined(
        target(fake_openai.base_url, model, first_token_seconds=first, between_tokens_seconds=between)
    )
    assert words(health)["reachable"] == "yes"
    assert words(health)["answer"] == word
    assert health.failing == (word == "fails")
    complaints = [finding.sentence for finding in health.complaints if finding.check == "answer"]
    assert [message in sentence for sentence in complaints] == ([True] if message else [])
    chats = [entry for entry in fake_openai.log.entries if entry.path.endswith("completions")]
    # A connection that listed the models before may have been idle too long: a reset is tried again.
    assert len(chats) == (2 if "unknown-parameter" in model or "reset" in model else 1)


@pytest.mark.parametrize(
    ("completion", "word", "state"),
    [
        (Completion(text="two"), "answers", "well"),
        (Completion(text="", reasoning="hm"), "answers", "well"),
        (Completion(text="", finish_reason="length"), "answers", "well"),
        (Completion(text=" \n"), "empty", "unsure"),
        (Completion(text="What is 1 + 1?<|im_end|>\n<|im_start|>user"), "no chat", "unsure"),
        (Completion(text="Two.<end_of_turn>"), "no chat", "unsure"),
    ],
)
def test_an_answer_shows_whether_a_model_can_be_used(completion: Completion, word: str, state: str) -> None:
    finding = answered(completion, limit=16)
    assert (finding.word, finding.state) == (word, state)


async def test_an_endpoint_without_a_list_of_models_can_be_well() -> None:
    stream = chunk(content="two") + chunk("stop") + event({"choices": [], "usage": {}}) + b"data: [DONE]\n\n"
    async with raw_endpoint(replies(stream)) as url:
        health = await examined(target(url))
    assert words(health) == {"key": "none", "reachable": "yes", "model": "no list", "answer": "answers"}
    assert not health.failing
    assert health.complaints == ()


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("kind = 'calculator'", "answers"),
        ("kind = 'simulated'", "answers"),
        ("kind = 'simulated'\nfail_on = 'one word'", "fails"),
    ],
)
async def test_who_has_no_endpoint_is_asked_for_an_answer(table: str, word: str) -> None:
    [own] = targets(parse_pool(f"[[worker]]\nname = 'own'\n{table}\n"))
    assert words(await examined(own)) == {"answer": word}


def test_the_conductor_comes_first_and_no_one_hides_behind_a_stand_in() -> None:
    pool = parse_pool(
        "[conductor]\nbase_url = 'http://c/v1'\nmodel = 'c'\n"
        "[[worker]]\nname = 'a'\nbase_url = 'http://a/v1'\nmodel = 'm'\nfallback = 'b'\n"
        "[[worker]]\nname = 'b'\nkind = 'simulated'\n"
    )
    subjects = targets(pool)
    assert [(one.role, one.name) for one in subjects] == [
        ("conductor", "conductor"),
        ("worker", "a"),
        ("worker", "b"),
    ]
    assert [one.endpoint.base_url if one.endpoint else None for one in subjects] == [
        "http://c/v1",
        "http://a/v1",
        None,
    ]
    assert len({one.mark for one in subjects}) == 3
    assert target("http://a/v1").mark != target("http://b/v1").mark


# -- in the background -------------------------------------------------------------------------------


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    yield loop
    asyncio.run_coroutine_threadsafe(ended(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


async def ended() -> None:
    """What was stopped has ended."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    if rest:
        await asyncio.wait(rest)
    await asyncio.get_running_loop().shutdown_asyncgens()


@pytest.fixture
def charges() -> list[Charge]:
    """What examinations wrote down."""
    return []


@pytest.fixture
def probe(loop: asyncio.AbstractEventLoop, charges: list[Charge]) -> HealthProbe:
    return HealthProbe(lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop), charges.extend)


def simulated(*latencies: float) -> tuple[tuple[SimulatedWorker, ...], tuple[ProbeTarget, ...]]:
    workers = tuple(SimulatedWorker(name=f"w{at}", latency=latency) for at, latency in enumerate(latencies))
    return workers, targets(Pool(workers=workers))


def test_several_are_examined_at_once_and_each_is_known_when_it_is_done(probe: HealthProbe) -> None:
    _, (quick, slow) = simulated(0, 60)
    assert probe.health(quick) is None
    probe.begin([quick, slow])
    until(lambda: not probe.examines(quick))
    assert probe.busy
    health = probe.health(quick)
    assert health is not None
    assert health.done
    first_health = probe.health(slow)
    assert first_health is not None
    assert not first_health.done
    probe.stop()
    until(lambda: not probe.busy)
    assert probe.health(quick) == health
    assert probe.health(slow) is None


def test_what_each_took_is_written_down_also_where_it_is_stopped(
    probe: HealthProbe, charges: list[Charge]
) -> None:
    (quick_worker, slow_worker), (quick, slow) = simulated(0, 60)
    probe.begin([quick, slow])
    until(lambda: not probe.examines(quick) and slow_worker.requests)
    probe.stop()
    until(lambda: len(charges) == 2)
    ended, stopped = charges
    assert (ended.worker, ended.purpose, ended.stopped) == (quick_worker.name, "doctor", False)
    assert ended.usage.total is not None
    assert (stopped.worker, stopped.stopped, stopped.total.cost) == (slow_worker.name, True, None)


def test_who_is_being_examined_is_not_asked_twice(probe: HealthProbe) -> None:
    (worker,), [slow] = simulated(60)
    probe.begin([slow])
    until(lambda: len(worker.requests) == 1)
    probe.begin([slow])
    probe.begin([slow])
    assert len(worker.requests) == 1
    probe.stop()
    until(lambda: not probe.busy)
    probe.begin([slow])
    until(lambda: len(worker.requests) == 2)
    probe.stop()
    until(lambda: not probe.busy)


def test_no_more_than_so_many_are_asked_at_a_time(probe: HealthProbe) -> None:
    workers, subjects = simulated(*[60] * (AT_ONCE + 3))
    probe.begin(subjects)
    until(lambda: sum(len(worker.requests) for worker in workers) >= AT_ONCE)
    assert sum(len(worker.requests) for worker in workers) == AT_ONCE
    probe.stop()
    until(lambda: not probe.busy)


def test_what_is_known_ends_where_another_endpoint_begins(probe: HealthProbe) -> None:
    text = "[[worker]]\nname = 'a'\nkind = 'simulated'\nseed = {}\n"
    [one], [other] = (targets(parse_pool(text.format(seed))) for seed in (1, 2))
    probe.begin([one])
    until(lambda: not probe.busy)
    assert probe.health(one) is not None
    assert probe.health(other) is None


def test_an_examination_that_breaks_is_logged_and_not_shown_as_going_on(
    probe: HealthProbe, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of this program")

    monkeypatch.setattr(module, "examine", broken)
    _, [subject] = simulated(0)
    probe.begin([subject])
    until(lambda: not probe.busy)
    assert probe.health(subject) is None
    assert "examining w0 broke" in caplog.text


def test_a_stop_before_the_beginning_leaves_nothing_behind() -> None:
    """As when the loop has no time for it yet."""
    futures: list[Future[None]] = []

    def never(coroutine: object) -> Future[None]:
        coroutine.close()  # type: ignore[attr-defined]
        futures.append(Future())
        return futures[-1]

    probe = HealthProbe(never, lambda _: None)
    _, [subject] = simulated(0)
    probe.begin([subject])
    assert probe.examines(subject)
    probe.stop()
    assert not probe.busy
    assert probe.health(subject) is None
