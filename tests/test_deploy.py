"""The files of deploy/ agree with the program and with their page: metrics and their labels, ports, names."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as families

from conductor.runs.events import Event
from studio.access.exposure import READY
from studio.api.serving.processes import ENDING_SECONDS
from studio.telemetry.metrics import Metrics
from studio.telemetry.observer import Watches
from tests.support.runs import nested_run
from tests.support.runs.timed_run import timed_events, timed_workflow

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "fifty-people.md").read_text(encoding="utf-8")
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
CADDY = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
TARGETS = [target for panel in DASHBOARD["panels"] for target in panel["targets"]]
SERVERS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}

SELECTOR = re.compile(r"\b((?:conductor|process)_\w+)(?:\{([^}]*)\})?")
BY = re.compile(r"\bby \(([^)]*)\)")
MATCHER = re.compile(r'(\w+)(=~?)"([^"]*)"')
OF_THE_SCRAPE = {"job": "conductor", "instance": "127.0.0.1:8501"}
"""The labels that Prometheus adds."""


@cache
def samples() -> tuple[tuple[str, dict[str, str]], ...]:
    """The name and the labels of what `/metrics` prints of a server at work."""
    metrics = Metrics()
    failed = timed_events(timed_workflow([]), [1.0], fail=[0])
    runs: tuple[list[Event], ...] = (nested_run.events(), failed)
    for events in runs:
        watches = Watches([metrics], "session")
        for event in events:
            watches.see(event)
        watches.end()
    metrics.request_begins()
    metrics.request_ends(route="/v1/models", method="GET", status=500, seconds=0.1)
    metrics.count_webhook("given up")
    return tuple(
        (one.name, {**one.labels, **OF_THE_SCRAPE})
        for family in families(metrics.text().decode())
        for one in family.samples
    )


def unmatched(expression: str) -> list[str]:
    """What of an expression no metric has: selectors that choose no sample, labels to sum by."""
    wrong, labels = [], set[str]()
    for name, matchers in SELECTOR.findall(expression):
        chosen = [
            has
            for of, has in samples()
            if of == name
            and all(
                re.fullmatch(value if kind == "=~" else re.escape(value), has.get(label, ""))
                for label, kind, value in MATCHER.findall(matchers)
            )
        ]
        wrong += [] if chosen else [f"{name}{{{matchers}}}"]
        labels |= {label for has in chosen for label in has}
    return wrong + [label for by in BY.findall(expression) for label in by.split(", ") if label not in labels]


@pytest.mark.parametrize(
    "expression", [target["expr"] for target in TARGETS] + [rule["expr"] for rule in RULES]
)
def test_every_metric_and_label_of_the_dashboard_and_the_alerts_is_printed(expression: str) -> None:
    assert unmatched(expression) == []
    assert SELECTOR.search(expression) or expression == 'up{job="conductor"} == 0'


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("sum by (status) (conductor_api_requests_total)", []),
        ("conductor_requests_total", ["conductor_requests_total{}"]),
        ('conductor_runs_total{outcome="broken"}', ['conductor_runs_total{outcome="broken"}']),
        ('conductor_runs_total{worker="w1"}', ['conductor_runs_total{worker="w1"}']),
        ("sum by (outcome, worker) (conductor_runs_total)", ["worker"]),
    ],
)
def test_a_metric_or_label_that_is_not_there_is_named(expression: str, wrong: list[str]) -> None:
    assert unmatched(expression) == wrong


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["expr"])
def test_a_line_of_the_dashboard_is_named_by_labels_that_it_has(target: dict[str, str]) -> None:
    by = {label for labels in BY.findall(target["expr"]) for label in labels.split(", ")}
    named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
    assert named == by - {"le"} or named == {"instance"}


@pytest.mark.parametrize("name", [file.name for file in DEPLOY.iterdir()] + [rule["alert"] for rule in RULES])
def test_the_page_names_every_file_and_every_alert(name: str) -> None:
    assert re.search(rf"`(?:deploy/)?{re.escape(name)}`", PAGE)


def test_the_balancers_and_the_page_have_the_ports_of_the_processes() -> None:
    def published(kind: str) -> list[str]:
        ports = [port for name, each in SERVERS.items() if name.startswith(kind) for port in each["ports"]]
        return [f"127.0.0.1:{port.split(':')[-2]}" for port in ports]

    balancer = COMPOSE["services"]["balancer"]["environment"]
    defaults = dict(re.findall(r"{\$(\w+):([^}]*)}", CADDY))
    apps, api = defaults["STUDIO_APPS"].split(), defaults["STUDIO_APIS"]
    for name in ("nginx.conf", "traefik.yml"):
        assert re.findall(r"127\.0\.0\.1:\d+", (DEPLOY / name).read_text(encoding="utf-8")) == [*apps, api]
    assert published("app") == apps
    assert balancer["STUDIO_APIS"] == f"${{STUDIO_APIS:-{' '.join(published('api'))}}}"
    assert set(defaults) | {"CADDY_ADMIN"} == set(balancer)
    targets = ", ".join(f'"{address}"' for address in published("app") + published("api"))
    assert f"targets: [{targets}]" in PAGE
    assert CADDY.count(f"health_uri {READY}\n") == 2


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_asked_at_its_own_ports_and_has_the_time_that_its_end_takes(name: str) -> None:
    service = SERVERS[name]
    command, check = service["command"], service["healthcheck"]["test"][-1]
    first = int(command[command.index("--port") + 1])
    number = int(command[command.index("--app-processes") + 1]) if "--app-processes" in command else 1
    inside = [int(port.split(":")[-1]) for port in service["ports"]]
    assert inside == list(range(first, first + number))
    assert READY in check
    assert all(str(port) in check for port in inside)
    assert int(service["stop_grace_period"].removesuffix("s")) > ENDING_SECONDS
