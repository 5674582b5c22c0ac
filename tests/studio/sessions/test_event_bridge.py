"""Events that another loop reads, also where that loop was just closed."""

from __future__ import annotations

import asyncio

import pytest
from store_scenario import delta

from studio.sessions.event_bridge import EventBridge


def test_an_event_for_a_server_that_has_just_stopped_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.new_event_loop()
    bridge = EventBridge(loop)
    bridge.put(delta("r", seq=0))
    loop.close()
    # The loop was closed between the check and the call.
    monkeypatch.setattr(loop, "is_closed", lambda: False)
    bridge.put(delta("r", seq=1))
