"""The store of sessions, in parts: the methods for each kind of row."""

from storage.store.session_store import SessionStore, data_folder, default_url

__all__ = ["SessionStore", "data_folder", "default_url"]
