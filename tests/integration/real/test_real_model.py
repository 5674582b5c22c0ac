"""A real model as worker and Conductor: what it writes is often wrong, how it comes must be right."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai import OpenAI
from streamlit.testing.v1 import AppTest

from conductor.baselines.learning.vectors import from_lists
from conductor.planner.conductor import PlanRequest
from conductor.planner.model_planner import ModelConductor
from conductor.planner.planner import plan
from conductor.runs.events import PlanRejected, WorkflowPlanned
from conductor.values.messages import Delta
from conductor.values.output import EMBEDDED_LABEL
from conductor.workers.embedded.embedded_worker import EmbeddedWorker, process_of
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file
from conductor.workers.pool.pool import Pool, read_pool
from conductor.workers.pool.schema import EmbeddedConductorTable, EmbeddedEmbeddingsTable
from conductor.workers.protocol import WorkerCard
from pages.components.tab import services
from tests.support.endpoints.chat_cases import completed, lines_of, request
from tests.support.processes.api_server import serving_api
from tests.support.runs.waiting import until

ROOT = Path(__file__).parents[3]
CARDS = tuple(
    WorkerCard(name=name, kind="embedded", strengths=strengths, model=name)
    for name, strengths in (("smol", "short answers"), ("other", "checks of answers"))
)


def smol(**sampling: float) -> EmbeddedWorker:
    worker = EmbeddedWorker(name="smol")
    worker.card = worker.card.model_copy(
        update={"sampling": worker.card.sampling.model_copy(update=sampling)}
    )
    return worker


async def planned(constrain: str) -> WorkflowPlanned | PlanRejected:
    entry = EmbeddedConductorTable(kind="embedded", constrain=constrain, max_tokens=200)
    wish = PlanRequest(query="How many seconds are in a day?", workers=CARDS, max_steps=3)
    conductor = ModelConductor(entry, max_instruction=20)
    events = [event async for event in plan(wish, conductor=conductor, run="p")]
    assert isinstance(events[-1], WorkflowPlanned | PlanRejected), events[-1]
    return events[-1]


async def test_an_answer_streams_and_is_counted() -> None:
    items = [item async for item in smol().stream(request("What is the capital of France?", max_tokens=16))]
    deltas = [item.text for item in items if isinstance(item, Delta)]
    assert len(deltas) > 3
    assert "".join(deltas) == items[-1].text
    assert items[-1].usage.prompt_tokens > 10
    assert items[-1].usage.cost == 0


async def test_a_cut_answer_is_called_cut() -> None:
    completion = await completed(smol().stream(request("Tell a long story of a fox.", max_tokens=4)))
    assert (completion.finish_reason, completion.usage.completion_tokens) == ("length", 4)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("word " * 60_000, "smol"), ("7" * 12_000, "exceeds the available context size")],
    ids=["before it is sent", "by the server"],
)
async def test_a_question_beyond_the_context_is_refused(text: str, fault: str) -> None:
    (line,) = await lines_of(smol().stream(request(text)))
    assert line.startswith("error: ")
    assert fault in line


async def test_a_plan_is_held_to_a_grammar_and_so_is_valid() -> None:
    end = await planned("auto")
    assert end.report.prompt is not None
    assert end.report.prompt.form == "json"
    cut = any("cut off" in problem.message for problem in end.report.problems)
    assert end.report.ok or cut, end.report.problems
    assert end.report.repairs == () or {each.kind for each in end.report.repairs} == {"json-steps"}


async def test_a_plan_by_a_schema_is_of_its_form() -> None:
    end = await planned("json")
    cut = any("cut off" in problem.message for problem in end.report.problems)
    assert cut or set(json.loads(end.report.text)) == {"reasoning", "steps"}


async def test_questions_of_one_kind_are_nearer_to_each_other_than_to_those_of_another() -> None:
    client = EmbeddedEmbeddingsTable(kind="embedded").build()
    cities = [f"What is the capital of {country}?" for country in ("France", "Japan", "Peru")]
    sums = ["Add 3 and 4.", "Add 12 and 30.", "word " * 20_000]
    rows = from_lists(await client.embed([*cities, *sums]))
    alike = rows @ rows.T
    assert alike[0, 1] > alike[0, 3]
    assert alike[3, 4] > alike[3, 0]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc")
def test_what_a_model_logs_fills_no_pipe_and_no_file() -> None:
    asyncio.run(completed(smol().stream(request("Say hello.", max_tokens=4))))
    child = process_of(model_file(SHIPPED_MODEL), SHIPPED_MODEL).child
    assert child is not None
    outputs = [Path(f"/proc/{child.pid}/fd/{output}").readlink() for output in (1, 2)]
    assert outputs == [Path("/dev/null")] * 2


async def test_a_process_that_is_killed_is_started_again() -> None:
    child = process_of(model_file(SHIPPED_MODEL), SHIPPED_MODEL).child
    assert child is not None
    child.kill()
    completion = await completed(smol().stream(request("Say hello.", max_tokens=8)))
    assert completion.text


def test_the_api_streams_and_labels_its_words(tmp_path: Path, pool_file: Path) -> None:
    pool = Pool(read_pool(pool_file).workers)
    with serving_api(tmp_path / "store.db", pool) as served:
        client = OpenAI(base_url=served.base_url, api_key=served.key, max_retries=0)
        stream = client.chat.completions.create(
            model="worker:smol", messages=[{"role": "user", "content": "Name a colour."}], stream=True
        )
        chunks = list(stream)
        assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
        answer = client.chat.completions.create(
            model="worker:smol", messages=[{"role": "user", "content": "Name a colour."}], max_tokens=4
        )
    assert answer.choices[0].finish_reason == "length"
    assert answer.model_extra is not None
    assert answer.model_extra["conductor"]["label"] == EMBEDDED_LABEL


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "conductor", *arguments],
        cwd=ROOT,
        env={**os.environ, "CONDUCTOR_DATABASE_URL": f"sqlite:///{folder}/store.db"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_command_answers_with_the_label(tmp_path: Path, pool_file: Path) -> None:
    file = tmp_path / "worker.toml"
    file.write_text(pool_file.read_text(encoding="utf-8").partition("[conductor]")[0], encoding="utf-8")
    done = command("run", "What is the capital of France?", "--pool", str(file), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert EMBEDDED_LABEL in done.stderr


def test_twenty_questions_are_evaluated(tmp_path: Path, pool_file: Path) -> None:
    done = command(
        *("evaluate", "run", "countries", "--limit", "20", "--pool", str(pool_file), "--json"),
        *("--planner", "worker:smol"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    shape = json.loads(done.stdout)
    (row,) = (row for row in shape["planners"] if row["planner"] == "worker:smol")
    assert shape["failure"] is None
    assert (row["answers"], row["failed"]) == (20, 0)


def test_the_app_shows_an_answer_with_its_label(
    tmp_path: Path, pool_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "worker.toml"
    file.write_text(pool_file.read_text(encoding="utf-8").partition("[conductor]")[0], encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path}/store.db")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    monkeypatch.chdir(ROOT)
    page = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    page.switch_page("pages/workbench.py")
    try:
        page.run()
        page.chat_input(key="query").set_value("What is the capital of France?").run()
        session = page.query_params["session"]
        bench = services.workbench()
        until(lambda: bench.store.revisions.head(session) is not None)
        page.run()
        if not bench.store.runs.of_session(session):
            page.button(key="run").click().run()
        live = bench.background.live(bench.store.runs.latest(session).id)
        assert live is None or live.done.wait(120)
        page.run()
        assert not page.exception
        texts = [str(each.value) for each in (*page.caption, *page.markdown)]
        assert any(EMBEDDED_LABEL in text.replace("\\", "") for text in texts), texts
    finally:
        services.close()
