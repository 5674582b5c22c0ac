"""What a command's process shows to others."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SHOW = """
import atexit, ctypes, os, sys
atexit.register(lambda: print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), oct(os.umask(0))))
from conductor.__main__ import run
sys.argv = ["conductor", "--version"]
run()
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this call")
def test_memory_environment_and_files_are_its_users_alone() -> None:
    ran = subprocess.run(
        (sys.executable, "-c", _SHOW), capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.stdout.splitlines()[-1] == "0 0o77", ran.stderr
