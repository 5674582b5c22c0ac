"""The websocket accepts the hosts of the app's settings; who closes a tab during a message has left."""

from __future__ import annotations

import pytest
import streamlit as st
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.errors import StreamlitAPIException

from pages.components.streamlit_patches.websocket import DisconnectGuard, allow_hosts


class Browser:
    """Connects, is gone when it is sent something, and is then reported as gone."""

    def __init__(self):
        self.messages = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1001}])

    async def receive(self):
        return next(self.messages)

    async def send(self, message):
        if message["type"] == "websocket.send":
            raise OSError("The connection is closed.")


async def test_a_browser_that_leaves_while_it_is_sent_something_is_known_to_have_left():
    received = []

    async def server(scope, receive, send):
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        await socket.send_bytes(b"news")
        with pytest.raises(WebSocketDisconnect) as left:
            await socket.receive_bytes()
        received.append(left.value.code)

    browser = Browser()
    await DisconnectGuard(server)({"type": "websocket"}, browser.receive, browser.send)
    assert received == [1001]


async def test_without_the_patch_starlette_reports_the_wrong_kind_of_message():
    async def server(scope, receive, send):
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        with pytest.raises(WebSocketDisconnect):
            await socket.send_bytes(b"news")
        await socket.receive_bytes()

    browser = Browser()
    with pytest.raises(RuntimeError, match="not connected"):
        await server({"type": "websocket"}, browser.receive, browser.send)


async def test_a_request_that_cannot_be_answered_still_fails():
    async def server(scope, receive, send):
        await send({"type": "http.response.start"})

    async def broken(message):
        raise OSError("The connection is closed.")

    with pytest.raises(OSError, match="closed"):
        await DisconnectGuard(server)({"type": "http"}, None, broken)


@pytest.fixture
def restored():
    before = st.get_option("server.allowedHosts")
    yield
    allow_hosts(before)


def test_streamlits_own_function_refuses_the_option_which_the_patch_sets(restored):
    with pytest.raises(StreamlitAPIException, match="cannot be set"):
        st.set_option("server.allowedHosts", ["studio.test"])
    allow_hosts(["studio.test"])
    assert "studio.test" in st.get_option("server.allowedHosts")
    assert "localhost" in st.get_option("server.allowedHosts")
