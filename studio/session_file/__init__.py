"""Sessions as files: written whole, shown before they are imported, imported as new sessions."""

from studio.session_file.importing import import_sessions
from studio.session_file.preview import ImportPreview, PlanPreview, SessionPreview, look_into
from studio.session_file.writing import write_sessions

__all__ = [
    "ImportPreview",
    "PlanPreview",
    "SessionPreview",
    "import_sessions",
    "look_into",
    "write_sessions",
]
