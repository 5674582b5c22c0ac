"""`examples/edit_and_rerun.ipynb` and `examples/openai_client.py` run as they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conductor import Pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.processes.api_server import serving_api
from tests.support.processes.notebook import Cell, cells_of

EXAMPLES = Path(__file__).parents[2] / "examples"


NOTEBOOK = EXAMPLES / "edit_and_rerun.ipynb"


def test_the_notebook_holds_no_output() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert {(*cell["outputs"], cell["execution_count"]) for cell in code} == {(None,)}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return cells_of(NOTEBOOK, tmp_path_factory.mktemp("notebook"))


@pytest.mark.slow
def test_every_cell_of_the_notebook_runs_and_draws_what_it_ends_in(cells: list[Cell]) -> None:
    _, planned, first, second, difference = cells
    assert "Rule: comparison." in planned.printed
    assert (planned.displays[-1], planned.html.count("<title>")) == ("planned", 3)
    assert "One is in Europe, the other in Asia." in first.html
    assert "Europe here, Asia over there." in second.html
    assert (second.html.count("↺ reused"), second.html.count("✓")) == (2, 1)
    assert "step 3: instruction" in difference.html
    for cell in (planned, first, second, difference):
        assert cell.html.count("<svg xmlns") == 1
        assert len(cell.text.splitlines()) == 1


@pytest.mark.slow
def test_a_notebook_draws_a_run_while_it_goes_on_and_leaves_a_line(cells: list[Cell]) -> None:
    first = cells[2]
    states = [[html.count(sign) for sign in "○●✓"] for html in first.displays if "<svg" in html]
    assert states[0] == [3, 0, 0]
    assert [1, 2, 0] in states, "two steps work side by side"
    assert states[-1] == [0, 0, 3]
    assert first.displays[-1].startswith("finished · ")


@pytest.mark.slow
@pytest.mark.thorough
def test_openais_client_prints_the_models_an_answer_and_a_stream(empty_store: Path, tmp_path: Path) -> None:
    file = shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with serving_api(file, Pool(workers=(SimulatedWorker("alpha", answer="It is 391."),))) as served:
        done = subprocess.run(
            [sys.executable, EXAMPLES / "openai_client.py"],
            env=os.environ | {"OPENAI_BASE_URL": served.base_url, "OPENAI_API_KEY": served.key},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert "conductor" in lines["models"].split(", ")
    assert (lines["answer"], lines["stream"]) == ("It is 391.", "It is 391.")
    assert lines["session"]
