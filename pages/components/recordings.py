"""The recordings of runs that are over, kept in memory while they are looked at. Knows the store, no page."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from weakref import WeakKeyDictionary

from conductor.replay import Recording
from storage import SessionStore

KEPT = 4
"""Recordings kept of one store; a replay asks for the same one again and again."""

_recordings: WeakKeyDictionary[SessionStore, OrderedDict[str, Recording]] = WeakKeyDictionary()
_lock = Lock()


def recording(store: SessionStore, run: str) -> Recording:
    """What the store has of a run that is over. Raises `StorageError` for an unknown run."""
    with _lock:
        known = _recordings.setdefault(store, OrderedDict())
        if run in known:
            known.move_to_end(run)
            return known[run]
    read = Recording.of(store.events(run))
    with _lock:
        known[run] = read
        while len(known) > KEPT:
            known.popitem(last=False)
    return read
