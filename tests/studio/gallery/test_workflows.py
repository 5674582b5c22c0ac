"""Each workflow of the gallery is a file that can be imported, and runs on whatever pool is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.errors import FormatError, QueryError
from conductor.planner.planner import check_query
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool, built_in_pool, parse_pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import read_plan
from conductor.workflow.lint.linter import check
from storage import SessionStore
from studio.gallery import GALLERY, entry_of, needs_models, workflow_for
from studio.gallery import workflows as module
from studio.workbench import Workbench

FILES = Path(module.__file__).parent / "files"
MODEL = '[[worker]]\nname = "{0}"\nmodel = "{0}"\nbase_url = "http://127.0.0.1:9/v1"\n'
KEYLESS = MODEL + 'api_key_env = "NO_SUCH_API_KEY"\n'
SUMS = '[[worker]]\nkind = "calculator"\nname = "sums"\n'

every_entry = pytest.mark.parametrize("entry", GALLERY, ids=lambda entry: entry.name)


@pytest.fixture
def opened(empty_store: Path, tmp_path: Path) -> Iterator[Callable[[Pool], Workbench]]:
    """Opens a workbench with a pool and a store of its own."""
    benches: list[Workbench] = []

    def over(pool: Pool) -> Workbench:
        file = tmp_path / f"{len(benches)}.db"
        file.write_bytes(empty_store.read_bytes())
        store = SessionStore.open(f"sqlite:///{file}")
        benches.append(Workbench.over(store, pool=pool, conductor=OfflineConductor()))
        return benches[-1]

    yield over
    for bench in benches:
        bench.close()


def test_there_are_nine_and_every_file_is_one_of_them():
    assert len(GALLERY) == 9
    assert {file.stem for file in FILES.iterdir()} == {entry.name for entry in GALLERY}


@every_entry
def test_a_file_is_a_workflow_without_a_query_whose_workers_are_roles(entry):
    document = read_plan((FILES / f"{entry.name}.json").read_bytes())
    assert document.query is None
    assert document.pool.workers == document.workflow.workers()
    assert check_query(entry.example)
    assert entry.title
    assert entry.sentence.endswith(".")
    assert not entry.fill_in.endswith(".")


@every_entry
def test_check_finds_nothing_in_a_workflow_of_the_gallery(entry):
    pool = Pool(workers=tuple(SimulatedWorker(name=f"w{at}") for at in range(8)))
    assert check(workflow_for(entry, pool), max_steps=8, query=entry.example) == ()


@every_entry
@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_roles_go_to_different_workers_as_far_as_there_are_some(entry, number):
    pool = Pool(workers=tuple(SimulatedWorker(name=f"w{at}") for at in range(number)))
    workflow = workflow_for(entry, pool)
    roles = entry.workflow.workers()
    assert len(workflow.workers()) == min(number, len(roles))
    by_role = {
        role.worker: step.worker for role, step in zip(entry.workflow.steps, workflow.steps, strict=True)
    }
    assert list(by_role.values()) == [f"w{at % number}" for at in range(len(roles))]
    assert [step.access for step in workflow.steps] == [step.access for step in entry.workflow.steps]


def test_models_go_before_a_calculator_and_workers_that_cannot_be_used_are_left_out(monkeypatch):
    monkeypatch.delenv("NO_SUCH_API_KEY", raising=False)
    debate = entry_of("debate")
    mixed = parse_pool(SUMS + KEYLESS.format("c") + MODEL.format("a") + MODEL.format("b"))
    assert set(workflow_for(debate, mixed).workers()) == {"a", "b"}
    assert set(workflow_for(debate, parse_pool(KEYLESS.format("c"))).workers()) == {"c"}
    assert set(workflow_for(debate, built_in_pool()).workers()) == {"smol"}
    assert set(workflow_for(debate, parse_pool(SUMS)).workers()) == {"sums"}
    assert [needs_models(pool) for pool in (mixed, built_in_pool(), parse_pool(SUMS))] == [False, False, True]


EXACT = 'tools = ["exact:*"]\n'
TOOLS = '[[tools]]\nname = "exact"\nbuilt_in = "calculator"\n[[tools]]\nname = "files"\ncommand = ["serve"]\n'


@pytest.mark.parametrize(
    ("pool", "workers"),
    [
        (built_in_pool(), ["smol", "calculator", "calculator"]),
        (parse_pool(MODEL.format("a") + SUMS), ["a", "sums", "sums"]),
        (parse_pool(SUMS + MODEL.format("a") + MODEL.format("b") + EXACT + TOOLS), ["a", "b", "a"]),
        (parse_pool(MODEL.format("a") + EXACT + MODEL.format("b") + EXACT + TOOLS), ["a", "a", "b"]),
        (parse_pool(MODEL.format("a") + 'tools = ["files"]\n' + TOOLS + SUMS), ["a", "sums", "sums"]),
        (parse_pool(MODEL.format("a") + MODEL.format("b")), ["a", "b", "a"]),
    ],
    ids=["built in", "a calculator", "a built-in tool", "two with one", "other tools", "models"],
)
def test_what_computes_goes_to_workers_with_a_built_in_tool_or_to_a_calculator(pool, workers):
    steps = workflow_for(entry_of("look-up-compute-check"), pool).steps
    assert [step.worker for step in steps] == workers


@pytest.mark.slow
def test_a_formula_is_computed_and_checked_without_a_model_of_ones_own(opened):
    bench = opened(Pool(workers=(SimulatedWorker(name="reader", tokens=3), Calculator())))
    entry = entry_of("look-up-compute-check")
    session = bench.editing.open_gallery(entry, entry.example)
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    [run] = bench.store.runs.of_session(session.id)
    state = bench.store.runs.state(run.id)
    assert [state.outputs[step].text.split("\n")[-1] for step in (1, 2)] == ["Answer: 107.1"] * 2


@pytest.mark.slow
def test_a_session_of_the_gallery_is_edited_and_run_as_any_other(opened):
    bench = opened(Pool(workers=(SimulatedWorker(name="only", tokens=3),)))
    session = bench.editing.open_gallery(entry_of("debate"), " Tea or coffee? ")
    head = bench.store.revisions.head(session.id)
    assert (session.query, head.note, head.origin) == ("Tea or coffee?", "From the gallery: Debate", "import")
    assert session.pool_label == "simulated, no model is called"
    bench.editing.edit(
        session.id, head.workflow.with_instruction(0, "Argue for tea."), note="Edited", head=head
    )
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    assert bench.store.sessions.find(session.id).id == session.id
    assert bench.store.runs.of_session(session.id)[0].status == "finished"


def test_nothing_is_stored_without_a_query(opened):
    bench = opened(built_in_pool())
    with pytest.raises(QueryError):
        bench.editing.open_gallery(entry_of("debate"), " \n")
    assert bench.store.sessions.listed() == ()


def test_an_unknown_name_is_answered_with_those_that_there_are():
    with pytest.raises(
        FormatError, match="The gallery has no workflow 'debates'; it has research-report, code-r"
    ):
        entry_of("debates")
