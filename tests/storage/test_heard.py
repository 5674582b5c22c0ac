"""Events that another loop hears, be it that it has just been closed."""

from __future__ import annotations

import asyncio

import pytest
from store_scenario import delta

from storage.heard import Heard


def test_a_server_that_stops_while_it_is_told_something_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.new_event_loop()
    heard = Heard(loop)
    heard.hear(delta("r", seq=0))
    loop.close()
    # As it was the moment before.
    monkeypatch.setattr(loop, "is_closed", lambda: False)
    heard.hear(delta("r", seq=1))
