"""One question to the API over HTTP, as any client sends it, and the answer while it comes.

Knows the address, a key and a model's name; knows nothing of what is behind the API. Written in one event
loop, read from any thread.
"""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

_CONNECT_SECONDS = 5.0


class Attempt:
    """`text` is the answer so far, `progress` the last comment on it, `session` the id of its session.

    `label` is the label of the pool that answered, None if it has none or is not known yet. `failure` is
    why there is no answer, None while there may be one. `seconds` is how long it took, None before the end.
    """

    def __init__(self, url: str, *, key: str, model: str, query: str) -> None:
        """`url` is the API's, with /v1."""
        self.model = model
        self.query = query
        self.text = ""
        self.progress = ""
        self.session: str | None = None
        self.label: str | None = None
        self.failure: str | None = None
        self.seconds: float | None = None
        self._url = url
        self._key = key

    async def make(self) -> None:
        """Send the question and read the answer to its end. Cancelled, it closes the connection, which stops
        the run.
        """
        started = time.monotonic()
        try:
            await self._send()
        except httpx.HTTPError as error:
            reason = f": {error}" if str(error) else ""
            self.failure = f"The API could not be reached at {self._url}, or broke off{reason}."
        finally:
            self.seconds = time.monotonic() - started

    async def _send(self) -> None:
        # No proxy of the environment stands between this process and itself.
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        headers = {"authorization": f"Bearer {self._key}"}
        messages = [{"role": "user", "content": self.query}]
        # With the run's events the comments on its progress come at once, and not behind the first word.
        body = {"model": self.model, "messages": messages, "stream": True, "conductor": {"events": True}}
        async with (
            httpx.AsyncClient(timeout=timeout, trust_env=False, headers=headers) as client,
            client.stream("POST", f"{self._url}/chat/completions", json=body) as answer,
        ):
            if answer.is_error:
                self.failure = _message(await answer.aread(), answer.status_code)
                return
            rest = b""
            # httpx's lines also end at Unicode's line separators, which a text may contain.
            async for piece in answer.aiter_bytes():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._read(line.decode())

    def _read(self, line: str) -> None:
        if line.startswith(":"):
            self.progress = line[1:].strip() or self.progress
        elif line.startswith("data: {"):
            self._take(json.loads(line.removeprefix("data: ")))

    def _take(self, chunk: dict[str, Any]) -> None:
        if "error" in chunk:
            self.failure = str(chunk["error"].get("message") or "The answer broke off.")
        for choice in chunk.get("choices", ()):
            self.text += choice.get("delta", {}).get("content") or ""
        account = chunk.get("conductor") or {}
        self.session = account.get("session") or self.session
        self.label = account.get("label") or self.label


def _message(body: bytes, status: int) -> str:
    """The message of an error, or at least its status."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"The API answered with status {status}."
