"""Schemas are built when they are first used, also where many threads are the first."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from conductor.runs.events import EVENT, PlanningDelta
from conductor.values.messages import Message, Part, Request

together = Barrier(16)

def first(number):
    together.wait()
    event = EVENT.validate_json('{"type":"planning_delta","run":"r","seq":0,"at":1.0,"text":"x"}')
    request = Request(messages=(Message(role="user", parts=(Part(kind="query", text=str(number)),)),))
    return event, EVENT.dump_json(event), request.query

with ThreadPoolExecutor(16) as threads:
    results = list(threads.map(first, range(16)))
assert {type(event) for event, _, _ in results} == {PlanningDelta}
assert len({text for _, text, _ in results}) == 1
"""


@pytest.mark.slow
def test_threads_that_use_a_value_first_together_all_get_it() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
