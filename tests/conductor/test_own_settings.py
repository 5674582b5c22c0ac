"""Settings are what the environment had when the program began, read in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conductor import own_settings
from conductor.own_settings import passed_environment, set_here, setting, take
from conductor.workers.keys.hosts import BASE_URL, HOSTS, KeyHost, is_confirmed
from conductor.workers.keys.secret import KEY_NAMES, name_fault
from conductor.workers.pool.pool import configured_path
from storage import default_url
from studio.access.exposure import OPEN, configured_access
from studio.access.origin_check import HOSTS as NAMES
from studio.access.password import SETTING
from studio.api.webhook import ADDRESS, SECRET, configured_receiver

ROOT = Path(__file__).parents[2]

OWN = r'"CONDUCTOR_|\b(HOSTS|OPEN|LOG|AUTHOR|VARIABLE|ADDRESS|PORTS|KEY_NAMES|BASE_URL|UNSAFE_CODE|SETTING)\b'


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that began without any setting, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CONDUCTOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(own_settings, "_environment", os.environ)
    take()


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize(
    ("name", "value", "decided"),
    [
        (
            HOSTS,
            "A_API_KEY=https://a.example",
            lambda: is_confirmed(KeyHost("A_API_KEY", "https://a.example")),
        ),
        (BASE_URL, "https://a.example", lambda: is_confirmed(KeyHost("OPENAI_API_KEY", "https://a.example"))),
        (KEY_NAMES, "AWS_SECRET", lambda: name_fault("AWS_SECRET") is None),
        (OPEN, "1", lambda: configured_access().api_open),
        (NAMES, "evil.example", lambda: configured_access().hosts),
        (SETTING, "correct horse battery", lambda: configured_access().logins),
        (ADDRESS, "https://a.example", configured_receiver),
        (SECRET, "whsec_" + "A" * 32, configured_receiver),
        ("CONDUCTOR_POOL", "other.toml", configured_path),
        ("CONDUCTOR_DATABASE_URL", "sqlite:///other.db", lambda: "other" in default_url()),
        ("PYTHONHOME", "/nowhere", lambda: "PYTHONHOME" in passed_environment()),
    ],
)
def test_what_enters_the_environment_later_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, decided: Callable[[], object]
) -> None:
    monkeypatch.setenv(name, value)
    assert not decided()


@pytest.mark.usefixtures("started")
def test_what_the_program_sets_counts_here_and_for_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_LOG", "text")
    set_here("CONDUCTOR_LOG", " json ")
    take()
    assert setting("CONDUCTOR_LOG") == "json"
    assert os.environ["CONDUCTOR_LOG"] == " json "


def test_no_other_module_reads_a_setting() -> None:
    sources = [
        ROOT / "app.py",
        *(
            path
            for name in ("conductor", "storage", "studio", "pages")
            for path in (ROOT / name).rglob("*.py")
        ),
    ]
    readers = {
        source.relative_to(ROOT).as_posix()
        for source in sources
        if re.search(rf"(environ(\.get)?|getenv|pop)[\[(](?:{OWN})", source.read_text(encoding="utf-8"))
    }
    # What a child reads was given to it by its parent.
    assert readers == {"conductor/limited/supervisor.py", "conductor/limited/isolation.py"}
