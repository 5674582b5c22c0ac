"""The files of the container agree with the project: what is copied is there, what is set is read.

An engine that builds and runs them is `.ci/container`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
TEAM: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = [*COMPOSE["services"].values(), *TEAM["services"].values()]
ADMITTED = {
    line[1:]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("!")
}


def _product() -> str:
    folders = ("conductor", "storage", "studio", "pages")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def test_what_the_wheel_is_built_of_reaches_the_image() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {"conductor", "storage", "studio", "pages", "app.py", ".streamlit/config.toml", "pyproject.toml"}
    assert needed | {build["project"]["readme"], "LICENSE", "requirements.lock"} <= ADMITTED
    assert all(any(ROOT.glob(path)) for path in ADMITTED)


@pytest.mark.parametrize("name", re.findall(r"COPY (?!--from)(.+) \S+", IMAGE)[0].split())
def test_what_is_copied_is_there_and_admitted(name: str) -> None:
    assert (ROOT / name).is_file()
    assert name in ADMITTED


def test_the_port_is_one_and_the_services_wait_for_their_health() -> None:
    numbers = re.findall(r"(?:EXPOSE |127\.0\.0\.1:|\"--port\", \")(\d+)", IMAGE)
    port = numbers[0]
    assert numbers == [port] * 3
    app, store = COMPOSE["services"]["app"], COMPOSE["services"]["store"]
    assert app["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert app["depends_on"] == {"store": {"condition": "service_healthy"}}
    assert "healthcheck" in store
    assert {volume.split(":")[0] for service in (app, store) for volume in service["volumes"]} == set(
        COMPOSE["volumes"]
    )


@pytest.mark.parametrize(
    "name",
    sorted(
        {name for each in SERVICES for name in each.get("environment", ()) if name.startswith("CONDUCTOR_")}
    ),
)
def test_what_compose_sets_is_read_by_the_program(name: str) -> None:
    assert f'"{name}"' in _product()


def test_no_service_begins_with_a_password_that_everybody_knows() -> None:
    for service in SERVICES:
        for name, value in service.get("environment", {}).items():
            # Without a value it is that of the environment.
            if "PASSWORD" in name and value is not None:
                assert re.fullmatch(r"\$\{\w+:\?.+\}", value)
