"""The installed package: its command answers, it has every file, and its pages work in a browser."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from storage.database.database import several_may_write
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

ROOT = Path(__file__).parents[3]
SHIPPED = ("conductor", "storage", "studio", "pages", "docs/*.md", "app.py", ".streamlit/config.toml")
PAGES = {
    "/compare": "Compare",
    "/sessions": "Sessions",
    "/evaluation": "Evaluation",
    "/pool": "Pool",
}
PATIENCE = 30_000
"""Milliseconds that an element may take to appear."""


@pytest.fixture
def app(command: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The URL of the installed app, in a folder of its own."""
    with child(
        [command, "serve", "--port", "0", "--json"],
        stop=signal.SIGTERM, cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, "the app ended before it answered"
        yield json.loads(line)["url"]


def test_the_installed_command_answers_a_question(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    printed = output_of(command, "run", "What is 17 * 23?", "--json", cwd=tmp_path, env=environment)
    assert "391" in json.loads(printed)["answer"]


def site_packages(command: Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(output_of(command.with_name("python"), "-c", code).strip())


def output_of(*command: str | Path, **options: Any) -> str:
    """What a command prints; it is to succeed."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_program(command: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("without git and its folder it is not known which files are the program's")
    tracked = output_of("git", "ls-files", *SHIPPED, cwd=ROOT).split()
    site = site_packages(command)
    inside = [name if name.startswith("conductor/") else f"conductor_studio/{name}" for name in tracked]
    assert [name for name in inside if not (site / name).is_file()] == []


def test_the_wheel_takes_no_common_name(command: Path, environment: dict[str, str], tmp_path: Path) -> None:
    [record] = site_packages(command).glob("conductor_studio-*.dist-info/RECORD")
    names = {line.split("/")[0] for line in record.read_text(encoding="utf-8").splitlines()}
    assert names <= {"conductor", "conductor_studio", record.parent.name, ".."}
    python = command.with_name("python")
    code = "from importlib.util import find_spec as f; print(f('storage'), f('studio'), f('pages'), f('app'))"
    assert output_of(python, "-c", code, cwd=tmp_path, env=environment).split() == ["None"] * 4


def test_packages_of_the_same_names_are_not_taken_for_the_app_s(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("storage", "studio", "pages"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the app')\n")
    for start in ([command], [command.with_name("python"), "-m", "conductor"]):
        output_of(*start, "sessions", "list", cwd=tmp_path, env=environment)


@pytest.mark.skipif(not several_may_write(), reason="This SQLite cannot be written to by several processes.")
def test_processes_that_a_server_starts_find_the_app(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with child(
        [command, "serve", "--api-only", "--api-open", "--processes", "2", "--port", "0", "--json"],
        stop=signal.SIGTERM, cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        until(lambda: answers(f"{url}/v1/models"), seconds=120)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_the_command_runs_without_an_installation(
    tool: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """With the locked versions; the environment's settings of pip count for uv, too."""
    program = shutil.which(tool, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"There is no {tool}.")
    locked = ROOT / ".venv" / "locked.txt"
    if tool == "uvx":
        options = ["--python", sys.executable, "--constraints", str(locked), "--from", str(ROOT)]
    else:
        options = ["run", f"--pip-args=--constraint={locked}", "--spec", str(ROOT)]
    mirrors = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    same = {"SSL_CERT_FILE": "CERT", "UV_INDEX_URL": "INDEX_URL", "UV_EXTRA_INDEX_URL": "EXTRA_INDEX_URL"}
    for_uv = {name: mirrors[f"PIP_{each}"] for name, each in same.items() if f"PIP_{each}" in mirrors}
    settings = {**environment, **mirrors, **for_uv, "PIPX_HOME": str(tmp_path / "pipx")}
    printed = output_of(program, *options, "conductor", "--version", cwd=tmp_path, env=settings)
    assert printed.startswith("Conductor Studio ")


def test_the_pages_work_from_the_installed_package(app: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        for path, heading in PAGES.items():
            page.goto(f"{app}{path}")
            expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            expect(page.locator("[data-testid=stException]")).to_have_count(0)
        page.goto(app)
        page.get_by_role("button", name="17 * 23").click()
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("region", name="Answer")).to_contain_text("391")
        # The shipped configuration counts: without it a page would have Streamlit's own font size.
        assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "15px"
        browser.close()
