"""What is found is remembered for a moment, asked for in the background, and never waited for long."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Thread

import pytest

from conductor.errors import PoolError
from conductor.workers.discovery import local_servers as module
from conductor.workers.discovery.local_servers import Finder, LocalServer

SERVER = LocalServer("Ollama", "http://127.0.0.1:11434/v1", ())


class Loop:
    """Stands for the background loop: a search ends when a test has it end."""

    def __init__(self) -> None:
        self.searches: list[Future[tuple[LocalServer, ...]]] = []

    def spawn(self, coroutine):
        coroutine.close()
        self.searches.append(Future())
        return self.searches[-1]


def test_two_tabs_ask_once_and_a_later_page_asks_again(monkeypatch):
    loop = Loop()
    finder = Finder(loop.spawn)
    assert finder.look(wait=0) == ()
    assert finder.look(wait=0) == ()
    assert finder.looking
    assert len(loop.searches) == 1
    loop.searches[0].set_result((SERVER,))
    assert finder.look(wait=0) == (SERVER,)
    assert not finder.looking
    assert finder.look(wait=0) == (SERVER,)
    assert len(loop.searches) == 1
    monkeypatch.setattr(module, "FRESH_SECONDS", -1.0)
    assert finder.look(wait=0) == (SERVER,)
    assert len(loop.searches) == 2


def test_a_setting_that_cannot_be_read_is_an_error_until_it_is_looked_for_again(monkeypatch):
    loop = Loop()
    finder = Finder(loop.spawn)
    finder.look(wait=0)
    loop.searches[0].set_exception(PoolError("no port"))
    for _ in range(2):
        with pytest.raises(PoolError):
            finder.look(wait=0)
        assert not finder.looking
    monkeypatch.setattr(module, "FRESH_SECONDS", -1.0)
    with pytest.raises(PoolError):
        finder.look(wait=0)
    loop.searches[1].set_result((SERVER,))
    assert finder.look(wait=0) == (SERVER,)


def test_a_real_loop_looks_at_no_port_if_none_is_listed(monkeypatch):
    monkeypatch.setenv("CONDUCTOR_LOCAL_PORTS", "")
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        finder = Finder(lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop))
        assert finder.look(wait=30) == ()
        assert not finder.looking
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
