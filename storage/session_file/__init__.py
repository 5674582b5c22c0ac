"""Sessions as files: written whole, looked into before they are imported, imported as ones of their own."""

from storage.session_file.document import session_schema
from storage.session_file.importing import import_session, import_sessions
from storage.session_file.preview import ImportPreview, PlanPreview, SessionPreview, look_into
from storage.session_file.writing import write_session, write_sessions

__all__ = [
    "ImportPreview",
    "PlanPreview",
    "SessionPreview",
    "import_session",
    "import_sessions",
    "look_into",
    "session_schema",
    "write_session",
    "write_sessions",
]
