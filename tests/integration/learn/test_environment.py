"""The environment that training is tried in: what it holds, and what the program imports without it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

PINS = Path(__file__).with_name("requirements.txt")


def test_training_is_tried_with_the_pinned_versions() -> None:
    pinned = dict(
        re.findall(
            r"^([\w-]+)==(\S+)(?: ; sys_platform == \"linux\")?$", PINS.read_text(encoding="utf-8"), re.M
        )
    )
    if sys.platform != "linux":
        pinned["torch"] = pinned["torch"].removesuffix("+cpu")
    assert {name: version(name) for name in pinned} == pinned


def test_the_commands_load_no_torch_before_training_begins() -> None:
    script = "import sys, studio.cli.line, conductor; print(sorted({'torch', 'trl'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"
