"""One question to the API as any client asks it, over HTTP, followed while it is answered.

Knows the address, a key and a model's name; knows nothing of what stands behind the API. Written in one event
loop, read from any thread.
"""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

_CONNECT_SECONDS = 5.0


class Attempt:
    """`text` is the answer so far, `progress` what was last said of it, `session` where it can be looked at.

    `label` is what must be said of the pool that answered, None where nothing or as long as it is unknown.
    `failure` says why there is no answer; it is None while there may be one. `seconds` is how long it took,
    None before it is over.
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
        """Ask, and follow the answer to its end. Cancelled, the connection is closed, and with it the run."""
        begun = time.monotonic()
        try:
            await self._ask()
        except httpx.HTTPError as error:
            said = f": {error}" if str(error) else ""
            self.failure = f"The API could not be reached at {self._url}, or broke off{said}."
        finally:
            self.seconds = time.monotonic() - begun

    async def _ask(self) -> None:
        # No proxy of the environment stands between this process and itself.
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        headers = {"authorization": f"Bearer {self._key}"}
        asked = {"model": self.model, "messages": [{"role": "user", "content": self.query}], "stream": True}
        async with (
            httpx.AsyncClient(timeout=timeout, trust_env=False, headers=headers) as client,
            client.stream("POST", f"{self._url}/chat/completions", json=asked) as answer,
        ):
            if answer.is_error:
                self.failure = _message(await answer.aread(), answer.status_code)
                return
            rest = b""
            # Not by httpx's lines, which also end where a text has a line separator of Unicode's.
            async for piece in answer.aiter_bytes():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._hear(line.decode())

    def _hear(self, line: str) -> None:
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
    """What an error says, or at least its status."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"The API answered with status {status}."
