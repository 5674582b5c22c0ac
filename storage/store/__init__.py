"""The store of sessions, in parts: what can be asked of each kind of row."""

from storage.store.session_store import SessionStore, default_url

__all__ = ["SessionStore", "default_url"]
