"""An embedded model: one process of a file, which is started when it is asked and again where it has died."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conductor.values.output import EMBEDDED_LABEL
from conductor.workers.embedded import embedded_worker as process
from conductor.workers.embedded.embedded_worker import (
    EMBEDDED_CHARACTERS,
    EmbeddedWorker,
    embedded_workers,
)
from conductor.workers.health.probe import examine, targets
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import EmbeddedEmbeddingsTable
from tests.support.endpoints.chat_cases import completed, lines_of, request
from tests.support.processes.child_process import child, lives
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow


def write(file: Path, content: str) -> None:
    file.write_text(content)


async def answer(worker: EmbeddedWorker, question: str) -> str:
    return (await completed(worker.stream(request(question)))).text


def test_its_card_has_no_address_and_no_cost(embedded_file: Path) -> None:
    card = EmbeddedWorker(str(embedded_file), name="smol").card
    assert (card.kind, card.model, card.endpoint, card.unusable) == ("embedded", "tiny", None, None)
    assert card.price is not None
    assert card.price.prompt == card.price.completion == 0
    assert "often wrong" in card.strengths


def test_the_set_has_one_worker() -> None:
    (worker,) = embedded_workers()
    assert (worker.card.name, worker.card.model) == ("smol", "SmolLM2-135M-Instruct")
    assert Pool((worker,)).label == EMBEDDED_LABEL


async def test_one_process_serves_all_workers_of_a_file(embedded_file: Path) -> None:
    workers = [EmbeddedWorker(str(embedded_file), name=name) for name in ("smol", "other")]
    assert not process._PROCESSES, "nothing is started before the first question"
    answers = await asyncio.gather(*(answer(worker, "who") for worker in workers * 2))
    assert len(set(answers)) == 1
    _, threads, context, model = answers[0].split()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert (int(threads), int(context), model) == (max(1, cores - 1), process.CONTEXT, "tiny")


async def test_texts_are_embedded_by_another_process_each_by_its_beginning(embedded_file: Path) -> None:
    table = EmbeddedEmbeddingsTable(kind="embedded", model=str(embedded_file))
    ((first, length), (second, longest)) = await table.build().embed(["short", "x" * 100_000])
    assert (length, longest) == (5, EMBEDDED_CHARACTERS)
    answered = await answer(EmbeddedWorker(str(embedded_file), name="smol"), "who")
    assert first == second != int(answered.split()[0])
    assert (table.endpoint.model, table.endpoint.key_fault()) == ("tiny", None)


async def test_a_process_that_died_is_started_again(embedded_file: Path) -> None:
    worker = EmbeddedWorker(str(embedded_file), name="smol")
    first = await answer(worker, "who")
    first_child = process.process_of(embedded_file, "tiny").child
    assert first_child is not None
    first_child.kill()
    assert await answer(worker, "who") != first


@pytest.mark.parametrize(
    ("question", "when", "attempts"),
    [("die", "before the first token", 3), ("die late", "after 8 characters", 2)],
)
async def test_a_process_that_dies_of_a_question_is_named(
    embedded_file: Path, question: str, when: str, attempts: int
) -> None:
    lines = await lines_of(EmbeddedWorker(str(embedded_file), name="smol").stream(request(question)))
    assert any(line.startswith("attempt 1: smol: the process of tiny broke the connection") for line in lines)
    assert (
        f"broke the connection {when}, at the last of {attempts} attempts; run the step again." in lines[-1]
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("GGUF broken", "The model tiny does not load (0.00 E srv load_model: failed to load model)"),
        ("GGUF killed", "The process of tiny was killed while it loaded, for want of memory or time"),
    ],
)
async def test_a_model_that_does_not_load_gives_the_reason(
    embedded_file: Path, content: str, reason: str
) -> None:
    write(embedded_file, content)
    (line,) = await lines_of(EmbeddedWorker(str(embedded_file), name="smol").stream(request()))
    assert line.startswith("error: the process of tiny did not start: ")
    assert reason in line


async def test_a_model_that_takes_too_long_is_given_up(
    embedded_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "START_SECONDS", 0.5)
    write(embedded_file, "GGUF slow")
    (line,) = await lines_of(EmbeddedWorker(str(embedded_file), name="smol").stream(request()))
    assert "for want of memory or time" in line


async def test_the_process_gets_no_key(embedded_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked")
    names = await answer(EmbeddedWorker(str(embedded_file), name="smol"), "environment")
    assert "PATH" in names
    assert "OPENAI_API_KEY" not in names


async def test_the_proxies_of_the_environment_do_not_hold(
    embedded_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert await answer(EmbeddedWorker(str(embedded_file), name="smol"), "hello") == "hello"


async def test_the_doctor_examines_it_as_a_served_model(embedded_file: Path) -> None:
    (target,) = targets(Pool((EmbeddedWorker(str(embedded_file), name="smol"),)))
    states = [health async for health in examine(target, lambda _: None)]
    assert states[-1].done
    assert not states[-1].complaints


def test_the_process_ends_with_a_program_that_is_killed(embedded_file: Path) -> None:
    program = textwrap.dedent(f"""
        import asyncio, time
        from conductor.workers.embedded.embedded_worker import process_of
        from pathlib import Path
        process = process_of(Path({str(embedded_file)!r}), "tiny")
        process.address().result()
        print(process.child.pid, flush=True)
        time.sleep(600)
    """)
    with child([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        served = int(parent.stdout.readline())
        parent.kill()
        parent.wait(60)
        until(lambda: not lives(served), what="the process ended")
