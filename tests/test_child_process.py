"""What a test starts is gone with it, and with a pytest that is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.cases.own_sources import sources
from tests.support.processes.child_process import child, lives
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

FAMILY = ["/bin/sh", "-c", "trap '' TERM; sleep 600 & echo $!; wait"]
"""A process that has one of its own, whose id it prints, and that heeds no SIGTERM."""

KILLED = """
import subprocess, sys, time
from tests.support.processes.child_process import start
family = start(sys.argv[1:], stdout=subprocess.PIPE)
print(family.pid, family.stdout.readline(), flush=True)
time.sleep(600)
"""


def test_a_failure_ends_a_process_and_what_it_has_started():
    with suppress(ZeroDivisionError), child(FAMILY, stdout=subprocess.PIPE) as family:
        grandchild = int(family.stdout.readline())
        raise ZeroDivisionError
    assert family.returncode == -signal.SIGKILL
    until(lambda: not lives(grandchild))


def test_what_heeds_no_request_to_end_is_killed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("child_process.SECONDS", 0.1)
    with child(FAMILY, stop=signal.SIGTERM, stdout=subprocess.PIPE) as family:
        grandchild = int(family.stdout.readline())
    assert family.returncode == -signal.SIGKILL
    until(lambda: not lives(grandchild))


def test_a_process_that_is_asked_to_end_may_do_so_in_its_own_way():
    with child(["/bin/sh", "-c", "trap 'exit 7' TERM; echo; while :; do sleep 0.01; done"],
               stop=signal.SIGTERM, stdout=subprocess.PIPE) as process:  # fmt: skip
        process.stdout.readline()
    assert process.returncode == 7


def test_what_was_started_ends_with_the_process_that_started_it():
    command = [sys.executable, "-c", KILLED, *FAMILY]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with child(command, stdout=subprocess.PIPE, env=environment) as starter:
        family = [int(part) for part in starter.stdout.readline().split()]
        starter.send_signal(signal.SIGKILL)
    for process in family:
        until(lambda process=process: not lives(process))


def test_no_other_file_starts_a_process_that_could_stay():
    starts = re.compile(r"subprocess\.Popen\(\n? *[\w\[*]|create_subprocess_(?:exec|shell)\(")
    names = {name for name, source in sources().items() if starts.search(source)}
    # The second one is no test: it stands in for vLLM, which has a process of its own, too.
    assert names == {"child_process.py", "fake_vllm_server.py"}, "start it with `child` of child_process.py"
