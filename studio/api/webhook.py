"""Events of responses in the background: sent to the operator's address, signed as Standard Webhooks has it.

Source: https://github.com/standard-webhooks/standard-webhooks, "Specification"; OpenAI names the events. The
operator sets the address, a client of the API cannot. An event has a response's id and no text. Deliveries
wait in memory: what was not delivered when a server stops is not sent later. Knows HTTP; knows neither runs
nor the store.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from conductor.errors import PoolError, ServeError
from conductor.own_settings import setting
from conductor.workers.endpoint.transport.route import client_options
from conductor.workers.keys.secret import own_secret

ADDRESS = "CONDUCTOR_WEBHOOK_URL"
"""The environment variable with the address of the receiver."""

SECRET = "CONDUCTOR_WEBHOOK_SECRET"  # noqa: S105 - a variable's name
"""The same, or the top-level key of the secrets file, with the secret that signs them: `whsec_` and 24 to 64
bytes in base64."""

PAUSES = (5.0, 30.0, 120.0, 600.0)
"""Seconds before each further attempt; then the event is given up."""

PATIENCE = 15.0
"""Seconds that the receiver has for an answer."""

LAST_SECONDS = 1.0
"""For which a server that stops waits for attempts under way."""

_PREFIX = "whsec_"
_GONE = 410

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Receiver:
    """Where events are sent, and the key that signs them."""

    address: httpx.URL
    key: bytes = field(repr=False)

    def headers(self, id: str, body: bytes, *, at: float) -> dict[str, str]:
        """The headers of one attempt, at a time in Unix seconds."""
        signed = b".".join([id.encode(), str(int(at)).encode(), body])
        signature = base64.b64encode(hmac.digest(self.key, signed, hashlib.sha256)).decode()
        return {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": str(int(at)),
            "webhook-signature": f"v1,{signature}",
        }


def configured_receiver() -> Receiver | None:
    """The receiver in the settings, or None. Raises `ServeError` if they cannot be used."""
    address, secret = setting(ADDRESS) or None, own_secret(SECRET)
    if address is None and secret is None:
        return None
    if address is None or secret is None:
        there, missing = (SECRET, ADDRESS) if address is None else (ADDRESS, SECRET)
        raise ServeError(f"{there} is set and {missing} is not; set both, or neither.")
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise ServeError(f"{ADDRESS} is no address; write it as https://host/path.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ServeError(f"{ADDRESS} is no address of HTTP; it begins with https:// and names a host.")
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        raise ServeError(
            f'{SECRET} is no secret of a webhook; make one with: python -c "import base64, secrets; '
            "print('whsec_' + base64.b64encode(secrets.token_bytes(32)).decode())\""
        )
    try:
        client_options(url)
    except PoolError as error:
        raise ServeError(f"{ADDRESS} cannot be reached: {error}") from error
    return Receiver(url, key)


class Webhooks:
    """Sends events behind the answers, each until it is delivered or given up. Belongs to one event loop.

    `count` is called with the outcome of each: "delivered", "given up" or "not sent".
    """

    def __init__(self, receiver: Receiver, *, count: Callable[[str], None] | None = None) -> None:
        self._receiver = receiver
        self._count = count
        self._under_way: set[asyncio.Task[None]] = set()

    def send(self, response: Mapping[str, Any]) -> None:
        """Send the event of a response that has ended; returns at once."""
        data = {"id": response["id"]}
        details = response.get("incomplete_details")
        if details is not None:
            data["reason"] = details["reason"]
        id = f"evt_{secrets.token_hex(16)}"
        event = {
            "id": id,
            "object": "event",
            "type": f"response.{response['status']}",
            "created_at": int(time.time()),
            "data": data,
        }
        task = asyncio.create_task(self._deliver(id, json.dumps(event).encode()))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def stop(self) -> None:
        """End all deliveries; an attempt that is under way has `LAST_SECONDS` left."""
        left = list(self._under_way)
        if left:
            await asyncio.wait(left, timeout=LAST_SECONDS)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _deliver(self, id: str, body: bytes) -> None:
        outcome, address = "not sent", self._receiver.address
        try:
            async with httpx.AsyncClient(timeout=PATIENCE, **client_options(address)) as client:
                for pause in (*PAUSES, None):
                    fault = await self._attempt(client, id, body)
                    if not fault:
                        break
                    if pause is not None:
                        await asyncio.sleep(pause)
            outcome = "delivered" if fault is None else "given up"
        finally:
            if self._count is not None:
                self._count(outcome)
            if outcome != "delivered":
                _log.warning("the webhook %s to %s was %s", id, address.host, outcome)

    async def _attempt(self, client: httpx.AsyncClient, id: str, body: bytes) -> str | None:
        """Why the event was not delivered, "" where it is not wanted any more; None if it was."""
        headers = self._receiver.headers(id, body, at=time.time())
        request = client.stream("POST", self._receiver.address, content=body, headers=headers)
        try:
            # The head alone is waited for and read: a body may be endless.
            async with asyncio.timeout(PATIENCE), request as answer:
                if answer.is_success:
                    return None
                fault = "" if answer.status_code == _GONE else f"status {answer.status_code}"
        except (TimeoutError, httpx.HTTPError) as error:
            fault = type(error).__name__
        _log.info("the webhook %s is not delivered: %s", id, fault or "it is not wanted any more")
        return fault
