"""The library inside of other programs: their processes, threads, signals and pickles, and their end."""

from __future__ import annotations

import gc
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conductor import (
    Completion,
    FunctionWorker,
    Pool,
    Request,
    Settings,
    Step,
    WorkerCard,
    Workflow,
    ask,
    plan,
    read_pool,
    run,
)
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.runs.waiting import until

ROOT = Path(__file__).parents[2]
ECHO = Pool(workers=(FunctionWorker(lambda request: request.query, name="echo"),))
TWO = Workflow.of([Step(instruction="x", worker="echo"), Step(instruction="y", worker="echo", access=(0,))])

BEGIN = """
import asyncio, os, sys, threading
from functools import partial
from multiprocessing import get_context
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from conductor import *
pool = read_pool(Path(sys.argv[1]))
flow = Workflow.of([Step(instruction="Say it.", worker="alpha")])
once = partial(run, flow, "why?", pool=pool)
"""

PROGRAMS = {
    "one call after the other": "once(); once()",
    "the path of a pool": "ask('why?', pool=Path(sys.argv[1]), settings=Settings(planner='worker:alpha'))",
    "many at once": "batch(['a', 'b', 'c'], workflow=flow, pool=pool, parallel=3)",
    "coroutines in two loops": "for _ in range(2): asyncio.run(arun(flow, 'why?', pool=pool))",
    "coroutines beside waited calls": "once(); asyncio.run(arun(flow, 'why?', pool=pool)); once()",
    "a thread that Python waits for": "threading.Thread(target=once).start()",
    "a thread that Python does not wait for": """
begun = threading.Event()
def listen(event):
    if event.type == "step_delta": begun.set()
threading.Thread(target=partial(once, on_event=listen), daemon=True).start()
begun.wait()""",
    "an error of the listener": """
def listen(event):
    if event.type == "step_delta": raise KeyError
try: once(on_event=listen)
except KeyError: pass""",
    "a stream that is closed early": """
events = stream("why?", workflow=flow, pool=pool)
while next(events).type != "step_delta": pass
events.close()""",
    "a stream that nothing closes": """
events = stream("why?", workflow=flow, pool=pool)
while next(events).type != "step_delta": pass""",
    "an exit in the midst of a stream": """
for event in stream("why?", workflow=flow, pool=pool):
    if event.type == "step_delta": sys.exit()""",
    "a call when all has ended": """
import atexit
def late():
    try: once()
    except ConductorError as error: assert "Python ends" in str(error)
    else: print("called")
atexit.register(late)
once()""",
    "a coroutine that leaves its stream": """
async def first():
    async for event in astream("why?", workflow=flow, pool=pool):
        if event.type == "step_delta": return
asyncio.run(first())""",
    "a fork behind a call": """
once()
if not os.fork():
    assert once().status == "finished"
    os._exit(0)
assert os.wait()[1] == 0
once()""",
    "spawned processes": """
asked = partial(ask, pool=Path(sys.argv[1]), settings=Settings(planner="worker:alpha"))
if __name__ == "__main__":
    asked("why?")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert [each.status for each in processes.map(asked, "ab")] == ["finished"] * 2""",
}
"""What a program does with a real endpoint before Python ends."""

WARNINGS = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")
"""All but that of Python 3.12 about a fork beside threads, as a program's own server makes one."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Served]:
    """Writes slowly enough that an answer can be left in its midst."""
    with serving(FakeOpenAI(tokens_per_second=200)) as served:
        yield served


@pytest.mark.thorough
@pytest.mark.parametrize("program", PROGRAMS)
def test_python_ends_in_silence_behind_calls_of_an_endpoint(
    endpoint: Served, tmp_path: Path, program: str
) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(f'[[worker]]\nname = "alpha"\nmodel = "m"\nbase_url = "{endpoint.base_url}"\n')
    endpoint.fake.forget()
    ended = subprocess.run(
        [sys.executable, *WARNINGS, "-c", f"{BEGIN}{PROGRAMS[program]}", str(file)],
        capture_output=True, text=True, timeout=60, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert any(entry.path.endswith("/chat/completions") for entry in endpoint.log.entries)


def test_signals_stay_as_they_are_in_a_thread_and_in_the_first() -> None:
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with ThreadPoolExecutor(1) as thread:
        in_thread = thread.submit(run, TWO, "why?", pool=ECHO).result(60)
    assert in_thread.answer == run(TWO, "why?", pool=ECHO).answer == "why?"
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers


def test_forty_threads_share_a_pool_and_each_has_its_own_answer() -> None:
    questions = [f"question {at}" for at in range(40)]
    with ThreadPoolExecutor(40) as threads:
        answers = list(threads.map(lambda query: run(TWO, query, pool=ECHO).answer, questions))
    assert answers == questions


@pytest.mark.slow
def test_thirty_pools_give_their_connections_back(endpoint: Served, tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(f'[[worker]]\nname = "echo"\nmodel = "fault:length"\nbase_url = "{endpoint.base_url}"\n')
    for _ in range(30):
        assert run(TWO, "why?", pool=read_pool(file)).status == "finished"
    gc.collect()
    until(lambda: not endpoint.connections, what="all connections are closed")


def test_a_worker_that_calls_the_library_is_shown_how_in_the_failure_of_its_step() -> None:
    class Nested:
        card = WorkerCard(name="echo", kind="simulated", strengths="", model="nested")

        async def stream(self, request: Request) -> object:
            yield Completion(text=ask(request.query, pool="built-in").answer or "")

    state = run(TWO, "why?", pool=Pool(workers=(Nested(),)))  # type: ignore[arg-type]
    assert "write `await aask(...)`" in str(state.steps[0].failure)


PICKLED: dict[str, Callable[[], object]] = {
    "a workflow": lambda: TWO,
    "a plan's report": lambda: plan("Compare France and Japan", pool=ECHO),
    "a run": lambda: run(TWO, "why?", pool=ECHO),
    "settings": lambda: Settings(max_steps=3),
}


@pytest.mark.parametrize("what", PICKLED)
def test_a_value_comes_out_of_a_pickle_as_it_was(what: str) -> None:
    value = PICKLED[what]()
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_pool_without_connections_answers_behind_a_pickle() -> None:
    pool = Pool(workers=(SimulatedWorker(name="echo", answer="here"),))
    assert run(TWO, "why?", pool=pickle.loads(pickle.dumps(pool))).answer == "here"


def test_a_pool_with_connections_names_what_a_process_is_given_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text('[[worker]]\nname = "alpha"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n')
    with pytest.raises(TypeError, match=r"alpha has connections.*path of the pool file"):
        pickle.dumps(read_pool(file))
