"""Requests begin in order, within their limits in all loops; attempts follow within their call's time."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.transport import timing
from conductor.workers.endpoint.transport.timing import CALLERS, Call, Traffic, traffic_of
from conductor.workers.keys.mask import NO_KEYS
from conductor.workers.pool.pool import Pool, read_pool
from conductor.workers.stream import Opened
from tests.support.endpoints.chat_cases import ask, client, completed, endpoint, request
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import DONE, chunk, head, raw_endpoint
from tests.support.runs.simulated_time import in_simulated_time, now


@pytest.fixture(autouse=True)
def no_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traffic of another test."""
    monkeypatch.setattr(timing, "_traffic", {})


# -- the queue ---------------------------------------------------------------------------------------


async def _starts(
    traffic: Traffic,
    *,
    requests: int,
    lasting: float = 0.0,
    concurrency: int | None = None,
    per_minute: float | None = None,
) -> list[tuple[int, float]]:
    """Which request began when, each started in its order."""
    starts: list[tuple[int, float]] = []

    async def one(number: int) -> None:
        await traffic.enter(concurrency=concurrency, per_minute=per_minute)
        starts.append((number, round(now(), 6)))
        await asyncio.sleep(lasting)
        traffic.leave()

    await asyncio.gather(*(one(number) for number in range(requests)))
    return starts


async def _entered(
    traffic: Traffic, *, concurrency: int | None = None, per_minute: float | None = None
) -> float:
    await traffic.enter(concurrency=concurrency, per_minute=per_minute)
    return now()


@pytest.mark.parametrize(
    ("concurrency", "per_minute", "times"),
    [
        (None, None, [0, 0, 0, 0, 0]),
        (1, None, [0, 10, 20, 30, 40]),
        (2, None, [0, 0, 10, 10, 20]),
        (None, 2, [0, 0, 60, 60, 120]),
        (None, 1, [0, 60, 120, 180, 240]),
        (None, 0.5, [0, 120, 240, 360, 480]),
        (None, 1.5, [0, 40, 80, 120, 160]),
        (1, 2, [0, 10, 60, 70, 120]),
        (3, 4, [0, 0, 0, 10, 60]),
    ],
)
def test_requests_begin_in_order_as_soon_as_they_may(
    concurrency: int | None, per_minute: float | None, times: list[float]
) -> None:
    beginnings = _starts(Traffic(), requests=5, lasting=10, concurrency=concurrency, per_minute=per_minute)
    assert in_simulated_time(beginnings) == list(enumerate(times))


def test_a_request_that_is_cancelled_leaves_its_place_to_the_next() -> None:
    async def scenario() -> list[tuple[int, float]]:
        traffic = Traffic()
        await _starts(traffic, requests=1)
        waiting = asyncio.create_task(traffic.enter(concurrency=1, per_minute=1))
        await asyncio.sleep(1)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        return await _starts(traffic, requests=2, concurrency=1, per_minute=1)

    assert in_simulated_time(scenario()) == [(0, 60), (1, 120)]


def test_what_began_before_the_limits_changed_counts_for_the_new_ones() -> None:
    async def scenario() -> list[float]:
        traffic = Traffic()
        return [await _entered(traffic, per_minute=limit) for limit in (3, 3, 2, 4)]

    assert in_simulated_time(scenario()) == [0, 0, 60, 60]


def test_a_wider_limit_holds_at_once_and_counts_what_is_under_way() -> None:
    async def scenario() -> list[float]:
        traffic = Traffic()
        await traffic.enter(concurrency=1)
        asyncio.get_running_loop().call_later(10, traffic.leave)
        return [await _entered(traffic, concurrency=2), await _entered(traffic, concurrency=2)]

    assert in_simulated_time(scenario()) == [0, 10]


def test_requests_with_different_limits_begin_in_the_order_in_which_they_came() -> None:
    async def scenario() -> list[float]:
        traffic = Traffic()
        await traffic.enter(concurrency=3)
        asyncio.get_running_loop().call_later(5, traffic.leave)
        return list(await asyncio.gather(_entered(traffic, concurrency=1), _entered(traffic, concurrency=3)))

    assert in_simulated_time(scenario()) == [5, 5]


async def _turns(askers: list[tuple[str, ...]], *, concurrency: int = 1) -> list[tuple[str, ...]]:
    """For whom requests began, that were all asked at once in this order while another one was under way."""
    traffic, began = Traffic(), list[tuple[str, ...]]()
    await traffic.enter(concurrency=concurrency)

    async def one(asker: tuple[str, ...]) -> None:
        CALLERS.set(asker)
        await traffic.enter(concurrency=concurrency)
        began.append(asker)
        await asyncio.sleep(1)
        traffic.leave()

    requests = [asyncio.create_task(one(asker)) for asker in askers]
    await asyncio.sleep(1)
    traffic.leave()
    await asyncio.gather(*requests)
    return began


def test_of_a_person_with_a_hundred_requests_and_one_with_a_single_one_the_second_goes_next() -> None:
    turns = in_simulated_time(_turns([("ann",)] * 100 + [("bob",)]))
    assert turns.index(("bob",)) <= 1
    assert turns.count(("ann",)) == 100


@pytest.mark.parametrize(
    ("line", "turns"),
    [
        ("a1 a1 b1 b1 c1", "a1 b1 c1 a1 b1"),
        ("a1 a1 a2 a2", "a1 a2 a1 a2"),
        # Many sessions are no more turns than those of a person with one.
        ("a1 a2 a3 b1 b1 b1", "a1 b1 a2 b1 a3 b1"),
        ("a1 a1 a1", "a1 a1 a1"),
    ],
)
def test_all_who_wait_take_turns_and_so_do_the_sessions_of_each(line: str, turns: str) -> None:
    began = in_simulated_time(_turns([tuple(each) for each in line.split()]))
    assert ["".join(each) for each in began] == turns.split()


def test_who_comes_while_others_wait_is_behind_all_who_had_no_turn() -> None:
    async def scenario() -> list[str]:
        traffic, began = Traffic(), list[str]()
        await traffic.enter(concurrency=1)

        async def ask(asker: str, *, times: int = 1) -> None:
            CALLERS.set((asker,))
            for _ in range(times):
                await traffic.enter(concurrency=1)
                began.append(asker)
                await asyncio.sleep(1)
                traffic.leave()

        # One who asks again as soon as the answer is there has one turn of three.
        asking = [ask("eve", times=3), *(ask("ann") for _ in range(3)), *(ask("bob") for _ in range(3))]
        requests = [asyncio.create_task(each) for each in asking]
        await asyncio.sleep(1)
        traffic.leave()
        await asyncio.gather(*requests)
        return began

    assert in_simulated_time(scenario()) == ["eve", "ann", "bob"] * 3


@pytest.mark.slow
def test_requests_of_two_event_loops_count_together() -> None:
    traffic = Traffic()
    inside, entered = threading.Event(), threading.Event()

    async def other() -> None:
        inside.set()
        await traffic.enter(concurrency=1)
        entered.set()
        traffic.leave()

    async def scenario() -> bool:
        await traffic.enter(concurrency=1)
        thread = threading.Thread(target=asyncio.run, args=(other(),))
        thread.start()
        await asyncio.to_thread(inside.wait, 10)
        early = await asyncio.to_thread(entered.wait, 0.05)
        traffic.leave()
        await asyncio.to_thread(thread.join, 10)
        return early

    assert asyncio.run(scenario()) is False
    assert entered.is_set()


def test_a_loop_that_was_closed_holds_no_place() -> None:
    traffic = Traffic()
    gone = asyncio.new_event_loop()
    gone.run_until_complete(traffic.enter(concurrency=1))
    waiting = traffic.enter(concurrency=1)
    left = gone.create_task(waiting)
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()
    assert in_simulated_time(_entered(traffic, concurrency=1)) == 0
    waiting.close()
    assert not left.done()


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"base_url": "http://a/v1/"}, True),
        ({"concurrency": 3, "requests_per_minute": 5, "retries": 1}, True),
        ({"base_url": "http://b/v1"}, False),
        ({"api_key_env": "OTHER_API_KEY"}, False),
        ({"api_key_env": None}, False),
        ({"model": "other"}, False),
    ],
)
def test_traffic_belongs_to_an_address_a_key_and_a_model(other: dict[str, object], *, same: bool) -> None:
    one = endpoint("http://a/v1", api_key_env="A_API_KEY")
    assert (traffic_of(one) is traffic_of(one.model_copy(update=other))) == same


def test_traffic_that_is_not_used_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 1_000_000.0
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: seconds))
    idle, used, busy = (endpoint("http://a/v1", model) for model in ("idle", "used", "busy"))
    before = {one.model: traffic_of(one) for one in (idle, used, busy)}
    loop = asyncio.new_event_loop()
    loop.run_until_complete(before["busy"].enter())
    for _ in range(4):
        seconds += timing.IDLE_SECONDS / 3
        traffic_of(used)
    assert {model for _, _, model in timing._traffic} == {"used", "busy"}
    assert traffic_of(used) is before["used"]
    assert traffic_of(busy) is before["busy"]
    loop.close()


POOL = """
[[worker]]
name = "alpha"
base_url = "{base_url}"
model = "m"
concurrency = {concurrency}
"""


@pytest.mark.thorough
@pytest.mark.slow
async def test_a_pool_that_was_saved_again_takes_no_more_than_it_may(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    under_way = most = 0
    arrived, go = asyncio.Queue[None](), asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        arrived.put_nowait(None)
        await go.wait()
        under_way -= 1
        writer.write(head() + chunk(content="a") + chunk("stop") + DONE)

    async def all_of(pool: Pool) -> None:
        async with Opened(pool["alpha"].stream(request())) as items:
            async for _ in items:
                pass

    def saved(base_url: str, *, concurrency: int, comment: str = "") -> Pool:
        file.write_text(comment + POOL.format(base_url=base_url, concurrency=concurrency), encoding="utf-8")
        return read_pool(file)

    async with raw_endpoint(slow) as base_url, asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(all_of(saved(base_url, concurrency=1)))
        await arrived.get()
        gc.collect()
        group.create_task(all_of(saved(base_url, concurrency=1, comment="# a byte more\n")))
        await asyncio.sleep(0.1)
        assert most == 1
        # Another number in the file holds from the next request on, and earlier ones keep their turn.
        group.create_task(all_of(saved(base_url, concurrency=2)))
        go.set()
    assert most <= 2


@pytest.mark.thorough
@pytest.mark.slow
async def test_a_limit_of_a_minute_outlives_the_client(fake_openai: Served) -> None:
    keys = {"requests_per_minute": 1, "total": 5}
    await completed(ask(client(fake_openai.base_url, **keys)))
    gc.collect()
    waiting = asyncio.create_task(completed(ask(client(fake_openai.base_url, **keys))))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    waiting.cancel()
    await asyncio.wait([waiting])
    assert len(fake_openai.log.entries) == 1


# -- the attempts of a call --------------------------------------------------------------------------


def _call(*, retries: int = 1, total: float = 10) -> Call:
    one = endpoint("http://a/v1", retries=retries, total=total, concurrency=1)
    return Call(one, Failures("alpha", one))


def _failure(*, transient: bool = True, retry_after: float | None = None) -> EndpointFailure:
    return EndpointFailure("it is busy", advice="wait", transient=transient, retry_after=retry_after)


def _pauses(call: Call, *failures: EndpointFailure) -> list[float]:
    return [call.retry(failure, withdrawn=0).seconds for failure in failures]


def test_the_wait_for_a_place_is_not_the_calls_own_time() -> None:
    async def scenario() -> tuple[float, float]:
        first, second = _call(), _call()
        await first.enter()
        asyncio.get_running_loop().call_later(100, first.leave)
        deadlines = await second.enter()
        start = now()
        with pytest.raises(TimeoutError):
            await deadlines.within(asyncio.Event().wait())
        return start, now()

    assert in_simulated_time(scenario()) == (100, 110)


def test_all_attempts_share_one_time() -> None:
    async def scenario() -> float:
        call = _call(retries=2)
        await call.enter()
        call.leave()
        await asyncio.sleep(4)
        assert call.retry(_failure(retry_after=5), withdrawn=0).attempt == 1
        with pytest.raises(EndpointFailure, match="asking again after the 6 seconds that it asks for"):
            call.retry(_failure(retry_after=6), withdrawn=0)
        deadlines = await call.enter()
        with pytest.raises(TimeoutError):
            await deadlines.within(asyncio.Event().wait())
        assert "did not finish within 10 seconds, all attempts" in str(deadlines.late(0))
        return now()

    assert in_simulated_time(scenario()) == 10


def test_the_wait_for_another_attempt_ends_with_the_call() -> None:
    async def scenario() -> float:
        call = _call()
        await call.enter()
        with pytest.raises(EndpointFailure, match="did not finish within 10 seconds"):
            await call.enter()
        call.leave()
        await _call().enter()
        return now()

    assert in_simulated_time(scenario()) == 10


def test_pauses_grow_at_random_and_end_with_the_last_attempt() -> None:
    most = [0.5, 1, 2, 4, 8, 8]
    for _ in range(50):
        call = _call(retries=len(most))
        pauses = _pauses(call, *(_failure() for _ in most))
        assert all(0.1 <= pause <= limit for pause, limit in zip(pauses, most, strict=True))
        with pytest.raises(EndpointFailure, match="it is busy"):
            call.retry(_failure(), withdrawn=0)
    assert _pauses(_call(), _failure()) != _pauses(_call(), _failure())


def test_a_failure_that_will_not_pass_is_not_waited_for() -> None:
    last = _failure(transient=False, retry_after=1)
    with pytest.raises(EndpointFailure, match="it is busy"):
        _call(retries=3).retry(last, withdrawn=0)


def test_what_a_server_asks_for_is_waited_with_a_little_more() -> None:
    assert _pauses(_call(), _failure(retry_after=0)) == [0]
    patient = _call(retries=20, total=600)
    assert all(20 <= pause <= 22 for pause in _pauses(patient, *[_failure(retry_after=20)] * 20))
    assert patient._pauses == 20


@pytest.mark.parametrize(
    ("delay", "named"), [(9.5, "9.5 seconds"), (3_600, "3,600 seconds"), (99_999_999, "99,999,999 seconds")]
)
def test_a_call_fails_at_once_where_a_server_asks_for_more_than_is_left_of_its_time(
    delay: float, named: str
) -> None:
    async def scenario() -> float:
        call = _call()
        await call.enter()
        call.leave()
        await asyncio.sleep(1)
        expected = (
            f"it is busy, and asking again after the {named} that it asks for would pass the 10 seconds"
        )
        with pytest.raises(EndpointFailure, match=expected):
            call.retry(_failure(retry_after=delay), withdrawn=0)
        return now()

    assert in_simulated_time(scenario()) == 1


# -- which failures pass, and when -------------------------------------------------------------------


def _status(code: int, **headers: str) -> EndpointFailure:
    """The failure of an answer with this status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    failures = Failures("alpha", endpoint("http://localhost/v1"))
    return failures.status(httpx.Response(code, headers=named), b"", NO_KEYS)


@pytest.mark.parametrize(
    ("transient", "codes"),
    [(False, [301, 400, 401, 404, 422]), (True, [408, 409, 429, 500, 501, 503, 529])],
)
def test_statuses_that_may_pass_are_asked_again(transient: bool, codes: list[int]) -> None:
    assert [_status(code).transient for code in codes] == [transient] * len(codes)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("-1", None),
        ("soon", None),
        ("9" * 400, None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 +99999999999999999999", None),
        ("Sat, 01 Jan 0001 00:00:00 +1400", 0.0),
    ],
)
def test_the_pause_a_server_asks_for_is_read(header: str, seconds: float | None) -> None:
    assert _status(429, retry_after=header).retry_after == seconds


def test_a_date_to_come_back_at_is_read() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    delay = _status(503, retry_after=date).retry_after
    assert delay is not None
    assert 3_500 < delay <= 3_600
