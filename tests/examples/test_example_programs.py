"""`examples/edit_and_rerun.ipynb` and `examples/openai_client.py` run as they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conductor import Pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.processes.api_server import serving_api

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_every_cell_of_the_notebook_runs_and_holds_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((EXAMPLES / "edit_and_rerun.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    printed = capsys.readouterr().out
    assert (
        "One is in Europe, the other in Asia.\nEurope here, Asia over there.\n[True, True, False]\n"
        in printed
    )
    assert "2 changed: instruction" in printed


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
