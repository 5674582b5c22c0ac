"""Processes of one server count together, whichever of them is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COUNT = """
import os, sys
from studio.telemetry.metrics import Metrics
metrics = Metrics()
metrics.show_queues(writes=lambda: 7, calls=lambda: 7)
metrics.request_begins()
metrics.request_begins()
metrics.request_ends(route="/v1/models", method="GET", status=200, seconds=0.5)
sys.stdout.write(metrics.text().decode())
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_processes_count_together_and_what_a_dead_one_had_under_way_is_forgotten(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.run(
            [sys.executable, "-c", COUNT], env=environment, capture_output=True, encoding="utf-8", check=True
        )
        for _ in range(3)
    ]
    text = processes[-1].stdout
    assert 'conductor_api_requests_total{method="GET",route="/v1/models",status="200"} 3.0' in text
    assert 'conductor_api_request_seconds_sum{route="/v1/models"} 1.5' in text
    assert "conductor_api_requests_in_progress 1.0" in text
    assert "waiting_writes 7" not in text
