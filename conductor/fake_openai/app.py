"""The endpoint: `/v1/chat/completions`, `/v1/models`, `/health`, and `/log` for tests.

Puts the parts together and keeps what lasts longer than a request: the log, and how often which
misbehaviour has refused which request. Knows nothing of sockets.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conductor.fake_openai.answer import REASONING, REASONING_FIELD, answer
from conductor.fake_openai.faults import FAULTS, Chosen, chosen
from conductor.fake_openai.log import Entry, Log
from conductor.fake_openai.performance import BreakOff, Performance
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.refusing import Call, wrong_key
from conductor.fake_openai.request import FAULT, ChatRequest, fingerprint, read
from conductor.fake_openai.script import Script, encoded, refused, told

MODELS = ("simulated", f"{REASONING}simulated", f"{REASONING_FIELD}simulated")
"""What is listed where no models are named."""


def _cannot_break_off(*_: object) -> None:
    raise RuntimeError("Only FakeServer can break off a connection; serve the app with it.")


@dataclass(kw_only=True)
class FakeOpenAI:
    """What the endpoint is set to, and what it remembers.

    `models` are the names it answers to, beside `fault:...`; none: it answers to every name. At
    `tokens_per_second` None everything is said at once. With a `key`, who does not send it is refused.
    `owned_by` is what the list of models says; vLLM says "vllm" there. `break_off` is the server's.
    """

    models: Sequence[str] = ()
    tokens_per_second: float | None = None
    key: str | None = field(default=None, repr=False)
    owned_by: str = "conductor-fake"
    log: Log = field(default_factory=Log)
    break_off: BreakOff = _cannot_break_off
    _refusals: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)

    def forget(self) -> None:
        """Clear the log and the counts, as a server that was just started."""
        self.log.clear()
        self._refusals.clear()

    async def chat(self, http: Request) -> Response:
        """`POST /v1/chat/completions`."""
        authorization = http.headers.get("authorization")
        entry = self.log.received(http.url.path, authorization_sent=authorization is not None)
        script = self._script(await http.body(), authorization, entry)
        return Performance(script, entry=entry, log=self.log, break_off=self.break_off)

    async def list_models(self, http: Request) -> Response:
        """`GET /v1/models`: the names it was given, and every misbehaviour as a model."""
        entry = self.log.received(http.url.path, authorization_sent="authorization" in http.headers)
        names = (*(self.models or MODELS), *(f"{FAULT}{name}" for name in FAULTS))
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": self.owned_by} for name in names]
        response = self._allowed(http) or _json({"object": "list", "data": listed})
        entry.status = response.status_code
        self.log.ended(entry, "answered")
        return response

    async def health(self, _: Request) -> Response:
        """`GET /health`."""
        return _json({"status": "ok", "simulated": True})

    async def show_log(self, http: Request) -> Response:
        """`GET /log`: what was sent and what became of it, for tests of a server in another process."""
        return self._allowed(http) or _json(self.log.shape)

    def _script(self, content: bytes, authorization: str | None, entry: Entry) -> Script:
        try:
            self._check_key(authorization)
            request, entry.body = read(content)
            faults = chosen(request.faults)
            entry.faults = request.faults
            self._check_model(request.model)
            return self._spoiled(request, entry.body, faults, authorization)
        except Refusal as refusal:
            return refused(refusal)

    def _spoiled(
        self, request: ChatRequest, body: dict[str, Any], faults: Sequence[Chosen], authorization: str | None
    ) -> Script:
        """The answer as the misbehaviours leave it: a refusal first, then what is said, then how."""
        address = fingerprint(body)
        calls = [
            (one.fault, Call(body, one.value, self._refusals[address, one.fault.name], authorization))
            for one in faults
        ]
        for fault, call in calls:
            if fault.refuse is not None and (script := fault.refuse(call)) is not None:
                self._refusals[address, fault.name] += 1
                return script
        for fault, _ in calls:
            del self._refusals[address, fault.name]
        said = answer(request, id=f"chatcmpl-{address[:24]}")
        for fault, call in calls:
            said = said if fault.change is None else fault.change(said, call.value)
        script = told(said, tokens_per_second=self.tokens_per_second)
        for fault, call in calls:
            script = script if fault.spoil is None else fault.spoil(script, call.value)
        return script

    def _check_model(self, model: str) -> None:
        if self.models and model not in self.models and not model.startswith(FAULT):
            message = f"The model '{model}' does not exist; there are {', '.join(self.models)}."
            raise Refusal(message, status=404, param="model", code="model_not_found")

    def _check_key(self, authorization: str | None) -> None:
        if self.key is None:
            return
        if authorization is None:
            raise Refusal("You did not provide an API key.", status=401)
        # Headers are bytes that arrive as Latin-1.
        if not hmac.compare_digest(authorization.encode("latin-1"), f"Bearer {self.key}".encode()):
            raise wrong_key()

    def _allowed(self, http: Request) -> Response | None:
        """None for who sends the key, else the refusal."""
        try:
            self._check_key(http.headers.get("authorization"))
        except Refusal as refusal:
            return _json(refusal.shape, status=refusal.status)
        return None


def create_app(fake: FakeOpenAI) -> Starlette:
    """The ASGI app; `app.state.fake` is `fake`, `app.state.log` its log."""
    app = Starlette(
        routes=[
            Route("/v1/chat/completions", fake.chat, methods=["POST"]),
            Route("/v1/models", fake.list_models),
            Route("/health", fake.health),
            Route("/log", fake.show_log),
        ],
        exception_handlers={HTTPException: _no_such_route},
    )
    app.state.fake = fake
    app.state.log = fake.log
    return app


async def _no_such_route(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for these only"
    refusal = Refusal(f"{error.detail}: {http.method} {http.url.path}.", status=error.status_code)
    return _json(refusal.shape, status=refusal.status, headers=(error.headers or {}).items())


def _json(shape: Any, *, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Response:
    return Response(encoded(shape), status_code=status, media_type="application/json", headers=dict(headers))
