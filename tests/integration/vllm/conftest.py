"""One real vLLM server of a tiny random model for all tests here, started and ended by our own command.

`make test-vllm` names the Python that has vLLM in CONDUCTOR_TEST_VLLM; without it nothing here is collected.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.vllm.real_vllm import KEY, VARIABLE, WORKERS, Served, commands, groups_below
from tests.support.endpoints.fake_vllm import free_port
from tests.support.processes.child_process import end, start

ROOT = Path(__file__).parents[3]
_PYTHON = "CONDUCTOR_TEST_VLLM"
_START_SECONDS = 600
"""After that the start has failed; it takes half a minute on two cores."""

collect_ignore_glob = [] if _PYTHON in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny checkpoint of random weights, built by the Python that has vLLM."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    folder.mkdir()
    builder = Path(__file__).with_name("build_tiny.py")
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1"}
    subprocess.run([os.environ[_PYTHON], str(builder), str(folder)], env=environment, check=True)
    return folder


@pytest.fixture(scope="session")
def served(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server, ready. When the tests are done, Ctrl+C must end it and all that it started."""
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    with log.open("wb") as errors:
        process = start(
            [
                *(sys.executable, "-m", "conductor", "vllm", "--model", str(tiny_model), "--json"),
                *("--python", os.environ[_PYTHON], "--port", str(free_port())),
                *("--", "--max-num-seqs", "8"),
            ],
            cwd=ROOT,
            env={**os.environ, VARIABLE: KEY, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"},
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    limit = threading.Timer(_START_SECONDS, process.terminate)
    limit.start()
    try:
        assert process.stdout is not None
        printed = process.stdout.readline()
        limit.cancel()
        assert printed, log.read_text(errors="replace", encoding="utf-8")[-6000:]
        group = groups_below(process.pid)
        assert group
        yield Served(process.pid, json.loads(printed)["pool"])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert not [line for line in commands() if line.split()[0] in group]
        assert KEY not in log.read_text(errors="replace", encoding="utf-8")
    finally:
        limit.cancel()
        # Asked, not killed: it has a server to end.
        end(process, signal.SIGTERM)


@pytest.fixture(scope="session")
def pool_file(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The printed lines as a pool file, the one worker under three names.

    By chance its first word would now and then be the end, so an answer has 16 tokens at least.
    """
    conductor, worker = served.pool.split("[[worker]]")
    worker = f"{worker.rstrip()}\nmax_tokens = 64\nextra = {{ min_tokens = 16 }}\n"
    file = tmp_path_factory.mktemp("pool") / "pool.toml"
    workers = [f"[[worker]]{worker.replace('tiny', name, 1)}" for name in WORKERS]
    file.write_text(conductor + "\n".join(workers), encoding="utf-8")
    return file
