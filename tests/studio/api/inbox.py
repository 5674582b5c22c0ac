"""Where webhooks are received, and a server that sends them there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.api import webhook
from tests.studio.api.stage import Stage, staged
from tests.support.processes.served_app import serving
from tests.support.runs.conductor_cases import plan_text

SECRET = "whsec_" + "c2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVzIQ=="


@dataclass
class Inbox:
    """A receiver that answers with these statuses in turn, the last one for ever, and these headers."""

    statuses: tuple[int, ...] = (204,)
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    address: str = ""

    async def take(self, request: Request) -> Response:
        self.got.append((await request.body(), dict(request.headers)))
        status = self.statuses[min(len(self.got), len(self.statuses)) - 1]
        return Response(status_code=status, headers=self.headers)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body, _ in self.got]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    inbox = Inbox()
    with serving(Starlette(routes=[Route("/hook", inbox.take, methods=["POST"])])) as port:
        inbox.address = f"http://127.0.0.1:{port}/hook"
        yield inbox


@pytest.fixture
def announced(
    inbox: Inbox, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """A server whose operator has set the webhook."""
    monkeypatch.setenv(webhook.ADDRESS, inbox.address)
    monkeypatch.setenv(webhook.SECRET, SECRET)
    (tmp_path / "conductor.db").write_bytes(empty_store.read_bytes())
    with staged(SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}")) as stage:
        stage.plays(SimulatedWorker(name="alpha", answer="Because."), plans=(plan_text((0, "Say.", "[]")),))
        yield stage
