"""The library's one loop: after a fork, from many threads, from its own callbacks, and when Python ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import conductor
from conductor import (
    Completion,
    ConductorError,
    Delta,
    FormatError,
    FunctionWorker,
    Pool,
    RunState,
    Step,
    WorkerCard,
    Workflow,
    events,
)

ROOT = Path(__file__).parents[2]
POOL = Pool(workers=(FunctionWorker(lambda request: request.instruction, name="echo"),))
ONE = Workflow.of([Step(instruction="Hello.", worker="echo")])


def script(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, timeout=60, cwd=ROOT, check=False,
    )  # fmt: skip


FORKS = {
    "fork": """
pid = os.fork()
if not pid:
    print(once(), flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0""",
    "process": """
process = fork.Process(target=lambda: print(once(), flush=True))
process.start()
process.join(20)
assert process.exitcode == 0""",
    "pool": "with fork.Pool(2) as pool: print(*pool.map(once, range(3)))",
    "executor": "with ProcessPoolExecutor(2, mp_context=fork) as pool: print(*pool.map(once, range(3)))",
    "a fork's fork": """
if not os.fork():
    once()
    if not os.fork():
        print(once(), flush=True)
    else:
        os.wait()
    os._exit(0)
os.wait()""",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", FORKS)
def test_a_forked_process_has_a_loop_of_its_own(how: str) -> None:
    begin = (
        "import os, multiprocessing, conductor\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "fork = multiprocessing.get_context('fork')\n"
        "def once(_=0): return conductor.ask('What is 2 + 2?', pool='built-in').answer[:9]\n"
    )
    ended = script(f"{begin}once()\n{FORKS[how]}")
    assert (ended.returncode, "2 + 2 = 4" in ended.stdout) == (0, True), ended.stderr


def refused_in(call: str) -> str:
    """The message of a call that is made in an event's listener."""
    raised: list[str] = []

    def listen(event: events.Event) -> None:
        try:
            if call == "stream":
                list(conductor.stream("why?", workflow=ONE, pool=POOL))
            else:
                arguments = {"run": (ONE, "why?"), "change": (ONE, "why?", "w")}.get(call, ("why?",))
                getattr(conductor, call)(*arguments, pool=POOL)
        except ConductorError as error:
            raised.append(str(error))

    conductor.run(ONE, "why?", pool=POOL, on_event=listen)
    return raised[0]


@pytest.mark.parametrize("call", ["plan", "change", "run", "ask", "stream"])
def test_a_call_that_would_wait_for_its_own_loop_is_refused_by_name(call: str) -> None:
    assert f"`await a{call}(...)`" in refused_in(call)


def test_a_function_that_is_a_worker_may_call_the_library() -> None:
    nested = FunctionWorker(lambda _: str(conductor.run(ONE, "why?", pool=POOL).answer), name="nested")
    workflow = Workflow.of([Step(instruction="x", worker="nested")])
    assert conductor.run(workflow, "why?", pool=Pool(workers=(nested,))).answer == "Hello."


def test_threads_that_begin_at_once_share_one_loop() -> None:
    code = (
        "import threading, conductor\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(20) as threads:\n"
        "    list(threads.map(lambda _: conductor.ask('2 + 2', pool='built-in'), range(20)))\n"
        "print(sum(each.name == 'conductor-library' for each in threading.enumerate()))"
    )
    assert script(code).stdout == "1\n"


@pytest.mark.slow
def test_python_ends_in_silence_while_a_daemon_thread_asks() -> None:
    code = (
        "import threading, time, conductor\nfrom conductor import *\n"
        "async def slow(request):\n    import asyncio; await asyncio.sleep(60)\n"
        "pool = Pool(workers=(FunctionWorker(slow, name='slow'),))\n"
        "work = lambda: run(Workflow.of([Step(instruction='x', worker='slow')]), 'why?', pool=pool)\n"
        "threading.Thread(target=work, daemon=True).start(); time.sleep(0.5)"
    )
    ended = script(code)
    assert (ended.returncode, ended.stderr) == (0, "")


async def test_a_coroutine_that_listens_is_awaited() -> None:
    types: list[str] = []

    async def listen(event: events.Event) -> None:
        types.append(event.type)

    await conductor.arun(ONE, "why?", pool=POOL, on_event=listen)
    streamed = [event.type async for event in conductor.astream("why?", workflow=ONE, pool=POOL)]
    assert types == streamed == ["run_started", "step_started", "step_finished", "run_finished"]


def test_a_stream_that_is_left_early_stops_the_work() -> None:
    iterator = conductor.stream("why?", workflow=ONE, pool=POOL)
    assert next(iter(iterator)).type == "run_started"
    iterator.close()  # type: ignore[attr-defined]
    assert list(iterator) == []


def test_a_state_is_read_as_it_was_written() -> None:
    state = conductor.ask("Compare France and Japan", pool="built-in")
    assert RunState.model_validate_json(state.model_dump_json()) == state
    assert len(repr(state)) < 200
    with pytest.raises(FormatError, match="not a run"):
        RunState.model_validate_json('{"run": 1}')


async def _text(request: object) -> object:
    yield "text"


async def _dictionary(request: object) -> object:
    yield {"content": "text"}


async def _unended(request: object) -> object:
    yield Delta("text")


async def _coroutine(request: object) -> object:
    return "text"


async def _broken(request: object) -> object:
    yield Delta("text")
    raise ConductorError("The key is wrong.")


def _plain(request: object) -> object:
    yield Completion(text="text")


MISTAKES = {
    "yields a str": _text,
    "yields a dict": _dictionary,
    "without ending its answer": _unended,
    "is a coroutine": _coroutine,
    "is a generator": _plain,
    "is a list": lambda _: [Completion(text="text")],
    "is a NoneType": lambda _: None,
    "The key is wrong": _broken,
}


@pytest.mark.parametrize("reason", MISTAKES)
def test_a_mistake_in_a_worker_is_named_in_the_failure_of_its_step(reason: str) -> None:
    class Own:
        card = WorkerCard(name="own", kind="simulated", strengths="", model="own")
        stream = staticmethod(MISTAKES[reason])

    workflow = Workflow.of([Step(instruction="x", worker="own")])
    state = conductor.run(workflow, "why?", pool=Pool(workers=(Own(),)))  # type: ignore[arg-type]
    assert reason in str(state.steps[0].failure)
    number = FunctionWorker(lambda _: 3, name="number")  # type: ignore[arg-type,return-value]
    state = conductor.run(
        Workflow.of([Step(instruction="x", worker="number")]), "why?", pool=Pool(workers=(number,))
    )
    assert "number returned a int" in str(state.steps[0].failure)
