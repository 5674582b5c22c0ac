"""A session's page of the app as a browser has it open: a websocket that is clicked and follows changes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping

import aiohttp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_PATIENCE = 180
_REPORTED_AGAIN = 5.0


class PageSocket:
    """Streamlit's messages of a page of the app at `url`, in a browser of its own that has these cookies."""

    def __init__(self, url: str, cookies: Mapping[str, str] | None = None) -> None:
        self._url, self._query, self._hash = url, "", ""
        jar = aiohttp.CookieJar(unsafe=True)
        self._http = aiohttp.ClientSession(cookie_jar=jar, cookies=cookies, raise_for_status=True)
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def connect(self, session: str) -> None:
        """Load the page of a session and open its websocket. Raises `aiohttp.ClientError` or `OSError`."""
        await self._leave()
        self._query, self._hash = f"session={session}", ""
        await (await self._http.get(f"{self._url}/?{self._query}")).read()
        address = f"{self._url.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = await self._http.ws_connect(
            address, protocols=("streamlit",), origin=self._url, max_msg_size=0
        )

    async def disconnect(self) -> None:
        """Close the browser."""
        await self._leave()
        await self._http.close()

    async def _leave(self) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def send(self, message: BackMsg) -> None:
        """Have the page drawn with the changes of widgets that `message` has."""
        assert self._socket is not None
        message.rerun_script.query_string, message.rerun_script.page_script_hash = self._query, self._hash
        await self._socket.send_bytes(message.SerializeToString())

    async def messages(self) -> AsyncIterator[ForwardMsg]:
        """Each message of the server. Raises `ConnectionError` when it closes the page."""
        assert self._socket is not None
        async for data in self._socket:
            if data.type is not aiohttp.WSMsgType.BINARY:
                break
            message = ForwardMsg()
            message.ParseFromString(data.data)
            if message.WhichOneof("type") == "new_session":
                self._hash = message.new_session.page_script_hash
            yield message
        raise ConnectionError("the server closed the page")


class OpenPage(PageSocket):
    """A page that asks each second what has changed, as `live_refresh.js`, and has that drawn."""

    def __init__(self, url: str, session: str) -> None:
        super().__init__(url)
        self._session = session
        self._changes, self._fragment = "", ""
        self._marks: dict[str, str] = {}
        self._whole, self._idle = asyncio.Event(), asyncio.Event()

    async def open(self) -> None:
        """Until it is drawn for the first time."""
        await self.connect(self._session)
        self._work = [asyncio.create_task(work) for work in (self._read(), self._follow())]
        await self.click()

    async def close(self) -> None:
        """Raises what has gone wrong with the page."""
        for work in self._work:
            work.cancel()
        outcomes = await asyncio.gather(*self._work, return_exceptions=True)
        await self.disconnect()
        for outcome in outcomes:
            if not isinstance(outcome, asyncio.CancelledError):
                raise AssertionError("the page has ended") from outcome

    async def click(self) -> float:
        """Have the whole page drawn; the seconds until it is."""
        began = time.perf_counter()
        self._whole.clear()
        await self._send()
        await asyncio.wait_for(self._whole.wait(), _PATIENCE)
        return time.perf_counter() - began

    async def _send(self, changed: str | None = None) -> None:
        message = BackMsg()
        rerun = message.rerun_script
        if changed is not None:
            rerun.fragment_id = self._fragment
            trigger = rerun.widget_states.widgets.add()
            trigger.id = f"$$STREAMLIT_INTERNAL_KEY_{self._changes}__events"
            trigger.json_trigger_value = json.dumps([{"event": "changed", "value": changed}])
        self._idle.clear()
        await self.send(message)

    async def _read(self) -> None:
        async for message in self.messages():
            match message.WhichOneof("type"):
                case "new_session":
                    self._idle.clear()
                case "script_finished":
                    self._idle.set()
                    if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                        self._whole.set()
                case "delta":
                    self._see(message)

    def _see(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        assert element.WhichOneof("type") != "exception", element.exception.message
        if element.WhichOneof("type") == "bidi_component" and element.bidi_component.id.endswith("-changes"):
            self._changes, self._fragment = element.bidi_component.id, message.delta.fragment_id
            self._marks = json.loads(element.bidi_component.json or element.bidi_component.mixed.json)

    async def _follow(self) -> None:
        reported, at = "", 0.0
        while True:
            await asyncio.sleep(1)
            if not self._idle.is_set():
                continue
            async with self._http.get(f"{self._url}/changes?{self._query}") as answer:
                now = await answer.json()
            what = next((kind for kind in ("session", "recent") if now[kind] != self._marks[kind]), None)
            soon = time.perf_counter() - at < _REPORTED_AGAIN
            if what is None or (soon and (what == "recent" or now[what] == reported)):
                continue
            reported, at = now[what], time.perf_counter()
            await self._send(changed=what)
