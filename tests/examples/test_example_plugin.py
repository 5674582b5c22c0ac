"""`examples/plugin`: the package adds a kind of each group, by its pyproject alone."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from conductor import Pool, Step, Workflow, plan, read_pool, run
from conductor.baselines.named import planner_named
from conductor.errors import PoolError
from conductor.evaluation.items import Item
from conductor.evaluation.scorers import score
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.orchestration.runtime import runtime_of
from conductor.values.presets import Settings
from conductor.workers.pool.pool import parse_pool
from studio.cli.line import main
from tests.support.processes.installed_package import Install

FOLDER = Path(__file__).parents[2] / "examples" / "plugin"
PAGE = FOLDER.parents[1] / "docs" / "extending.md"
POOL = """
[conductor]
kind = "two-readers"
last = "Compare."

[[worker]]
kind = "shout"
name = "loud"
mark = "?!"

[[worker]]
kind = "simulated"
name = "quiet"
"""


@pytest.fixture(autouse=True)
def example(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package as it is beside ours, in an empty folder."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(project["name"], project["entry-points"], folder=FOLDER / "conductor_example")
    monkeypatch.chdir(tmp_path)


def pool_of(text: str = POOL) -> Pool:
    Path("pool.toml").write_text(text, encoding="utf-8")
    return read_pool(Path("pool.toml"))


def test_the_page_shows_its_worker_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    worker = (FOLDER / "conductor_example" / "worker.py").read_text(encoding="utf-8")
    assert f"```python\n{worker}```" in page


def test_pip_finds_all_that_it_needs_in_the_environment_of_a_checkout() -> None:
    (block,) = re.findall(r"```toml\n(\[project\].*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for text in (block, (FOLDER / "pyproject.toml").read_text(encoding="utf-8")):
        for name in tomllib.loads(text)["project"].get("dependencies", ()):
            assert distribution(name).version


def test_its_worker_answers_a_step() -> None:
    workflow = Workflow.of([Step(instruction="Write hello.", worker="loud")])
    assert run(workflow, "A greeting, please", pool=pool_of()).answer == "WRITE HELLO.?!"


def test_an_option_of_its_worker_decides_what_is_reused() -> None:
    assert pool_of().identities["loud"] != pool_of(POOL.replace("?!", "!")).identities["loud"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('mark = "?!"\nmrak = 1', "line 10: worker 1, mrak: unknown key"),
        ("mark = 3", "line 9: worker 1, mark: Input should be a valid string"),
    ],
)
def test_a_wrong_key_of_its_table_is_refused_with_its_line(wrong: str, message: str) -> None:
    with pytest.raises(PoolError, match=message):
        parse_pool(POOL.replace('mark = "?!"', wrong))


def test_its_planner_writes_the_workflow() -> None:
    report = plan("Why?", pool=pool_of())
    assert report.workflow is not None
    assert [(step.worker, step.access) for step in report.workflow.steps] == [
        ("loud", ()),
        ("quiet", ()),
        ("loud", (0, 1)),
    ]
    assert report.workflow.steps[2].instruction == "Compare."
    assert runtime_of(pool_of()).conductor.card.model == "two-readers"


def test_its_baseline_plans() -> None:
    report = plan("Why?", pool=pool_of(), settings=Settings(planner="baseline:chain"))
    assert report.workflow is not None
    assert [step.access for step in report.workflow.steps] == [(), (0,)]
    assert planner_named("baseline:chain:workers=quiet").options.workers == ("quiet",)


def test_its_scorer_compares() -> None:
    item = Item(id="1", input="Who?", target=("Ada Lovelace",), scorer="all-words")
    assert asyncio.run(score("it is lovelace ada", item)).verdict == "right"
    assert asyncio.run(score("it is ada", item)).verdict == "wrong"


def test_its_set_is_read_by_its_name() -> None:
    assert [item.target for item in SHIPPED["capitals"].read().items] == [("Lima",), ("Oslo",)]


def test_the_command_lists_all_five(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["plugins"]
    assert {(row["package"], row["fault"]) for row in rows} == {("conductor-example", None)}
    assert [(row["group"].removeprefix("conductor."), row["name"]) for row in rows] == [
        ("workers", "shout"),
        ("planners", "two-readers"),
        ("baselines", "chain"),
        ("scorers", "all-words"),
        ("datasets", "capitals"),
    ]
