"""The browsers, settings and pools with which the browser tests start the app. Knows no server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.scripted_endpoint import QUICK_WORKERS

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Names Chromium is installed under; the first one loads a page with two thirds of the work of the others."""

QUIET = """--no-sandbox --disable-gpu --no-first-run
    --disable-background-networking --disable-component-update --disable-sync""".split()

PACED_POOL = f"""
[[worker]]
name = "planner-7b"
kind = "simulated"
latency = 0.2
tokens = 30
tokens_per_second = 40
seed = 1

{QUICK_WORKERS}
[[worker]]
name = "steady-13b"
kind = "simulated"
tokens = 60
tokens_per_second = 12
seed = 4

[[worker]]
name = "endless-70b"
kind = "simulated"
tokens = 12000
tokens_per_second = 20
seed = 5

[[worker]]
name = "broken-1b"
kind = "simulated"
tokens = 12
fail_on = "e"

[[worker]]
name = '''<b id="worker">*worker*</b>'''
kind = "simulated"
answer = '''<img src="/answer.png" onerror="alert(1)"> <script>alert(2)</script> **bold** [link](http://example.org)'''
"""
"""In turn: quick with a stream, two at once, five seconds, ten minutes, one that fails, a hostile one."""

BUILT_IN_POOL = """
[[worker]]
name = "smol"
kind = "simulated"
tokens = 12

[[worker]]
name = "calculator"
kind = "calculator"
"""

PASSWORD = "correct horse battery"

PATIENCE = 180_000
"""Milliseconds for whatever a test waits for. Only a test that fails waits so long; a busy machine may."""

Visit = Callable[..., Page]


def paced(folder: Path, more: str = "") -> dict[str, str]:
    """The settings that name a pool file of simulated workers and `more`, written to `folder`."""
    (folder / "pool.toml").write_text(PACED_POOL + more, encoding="utf-8")
    return {"CONDUCTOR_POOL": str(folder / "pool.toml")}
