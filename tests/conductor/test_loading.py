"""A program is loaded without the collector; once it is loaded, the collector works again."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import gc, sys
from conductor.loading import load_lightly
load_lightly()
assert not gc.isenabled()
import httpx
assert "rich" not in sys.modules
assert httpx.Client
from studio.gc_tuning import THRESHOLDS, resume, settle
{end}()
assert gc.isenabled() and gc.get_freeze_count() and gc.get_threshold() == THRESHOLDS
load_lightly()
assert gc.isenabled()
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["resume", "settle"])
def test_the_collector_works_again_once_a_program_is_loaded(end: str) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT.format(end=end)], check=True)
